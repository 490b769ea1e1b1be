/**
 * A fake API server over TLS in a process of its own: the real one is the limit above a few thousand requests a second. Its first line of
 * stdin is a `ServerJob`; it answers with its address and serves until stdin ends.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { createAuthority } from '@drydock/sandbox';
import { type BenchKind, ONE, STAMP, stamp } from './job.ts';
import { benchObject } from './objects.ts';

/** What it serves. */
export interface ServerJob {
  readonly kinds: readonly BenchKind[];
}

/** How many updates go out together, and how far apart (ms) such bursts are. */
const BURST = 10;
const BURST_MS = 10;

const authority = createAuthority('bench');
const identity = authority.issueServer(['127.0.0.1']);
const watchers = new Map<string, Set<ServerResponse>>();
let kinds: readonly BenchKind[] = [];
let version = 1_000_000;
let connections = 0;
const one = JSON.stringify(benchObject({ group: '', version: 'v1', kind: 'ConfigMap', plural: '', count: 1 }, 0, 1));

const server = createServer({ cert: identity.certificate, key: identity.privateKey }, (request, response) => {
  const url = new URL(request.url ?? '/', 'https://server');
  request.resume();
  if (url.pathname === '/bench/connections') return void response.end(String(connections));
  if (url.pathname === '/bench/updates') {
    response.end();
    return void update(url.searchParams.get('plural') ?? '', Number(url.searchParams.get('count')));
  }
  const parts = url.pathname.split('/');
  const kind = kinds.find(({ plural }) => parts.includes(plural));
  response.setHeader('content-type', 'application/json');
  if (kind === undefined) {
    response.statusCode = 404;
    response.end('{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}');
  } else if (parts.at(-1) === ONE) response.end(one);
  else if (/^(?:true|1)$/.test(url.searchParams.get('watch') ?? '')) watch(kind, url.searchParams, response);
  else list(kind, url.searchParams, response);
});
server.on('secureConnection', () => connections++);
server.keepAliveTimeout = 60_000;

function list(kind: BenchKind, query: URLSearchParams, response: ServerResponse): void {
  const start = Number(query.get('continue') ?? 0);
  const limit = Number(query.get('limit') ?? 0);
  const end = limit > 0 ? Math.min(kind.count, start + limit) : kind.count;
  const items: string[] = [];
  for (let index = start; index < end; index++) items.push(JSON.stringify(benchObject(kind, index, index + 1)));
  const more = end < kind.count ? `,"continue":"${end}","remainingItemCount":${kind.count - end}` : '';
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  response.end(
    `{"kind":"${kind.kind}List","apiVersion":"${apiVersion}","metadata":{"resourceVersion":"${version}"${more}},"items":[${items.join(',')}]}`,
  );
}

function watch(kind: BenchKind, query: URLSearchParams, response: ServerResponse): void {
  if (query.get('sendInitialEvents') === 'true') {
    for (let index = 0; index < kind.count; index++) send(response, 'ADDED', benchObject(kind, index, index + 1));
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    send(response, 'BOOKMARK', { kind: kind.kind, metadata: { resourceVersion: String(version), annotations } });
  } else response.flushHeaders();
  const set = watchers.get(kind.plural) ?? new Set();
  watchers.set(kind.plural, set.add(response));
  response.on('close', () => set.delete(response));
}

function send(to: ServerResponse, type: string, object: object): void {
  to.write(`${JSON.stringify({ type, object })}\n`);
}

async function update(plural: string, count: number): Promise<void> {
  const kind = kinds.find((one) => one.plural === plural);
  if (kind === undefined) return;
  for (let index = 0; index < count; index++) {
    if (index % BURST === 0) await pause(BURST_MS);
    const object = benchObject(kind, index % kind.count, ++version, { [STAMP]: String(stamp()) });
    for (const watcher of watchers.get(plural) ?? []) send(watcher, 'MODIFIED', object);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  ({ kinds } = JSON.parse(line) as ServerJob);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ url: `https://127.0.0.1:${port}`, ca: authority.certificate }));
}
server.close();
server.closeAllConnections();
