import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { until } from '@drydock/kube/testing';
import type { PageWorld } from '../state/page-world.ts';
import { pageAssets } from './assets.ts';
import { feed } from './feed.ts';
import { loopbackOnly } from './loopback.ts';
import { type Admit, type PageServer, startPage } from './server.ts';

let said = 'a';
const worldOf = (): PageWorld => ({
  ...{ now: new Date(), images: [], tree: { clusters: [], policies: [] }, leader: { state: 'led', text: said } },
  ...{ logins: [], releases: [], events: [], notes: [], vcenters: { kind: 'read', value: [] } },
});

let changed = (): void => undefined;
const stack = new AsyncDisposableStack();
const state = stack.use(
  feed({
    read: () => Promise.resolve(worldOf()),
    triggers: (on) => {
      changed = on;
      return { [Symbol.asyncDispose]: () => Promise.resolve() };
    },
  }),
);
const assets = await pageAssets();
const serve = async (admit: Admit): Promise<PageServer> =>
  stack.use(await startPage({ feed: state, assets, admit, host: '127.0.0.1', port: 0 }));
const server = await serve(loopbackOnly);
after(() => stack.disposeAsync());

interface Answer {
  readonly code: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Not by fetch, which sends no Host header but its own. */
async function ask(
  path: string,
  {
    method = 'GET',
    headers = {},
    at = server,
  }: { method?: string; headers?: Record<string, string>; at?: PageServer } = {},
): Promise<Answer> {
  const { hostname, port } = new URL(at.url);
  const made = request({ hostname, port, path, method, headers, agent: false });
  made.end();
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    made.on('response', resolve);
    made.on('error', reject);
  });
  return { code: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

test('a name of somebody else that leads here is refused, and so is what another site asks for', async () => {
  for (const host of [
    'evil.example',
    'evil.example:8088',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '8.8.8.8',
  ])
    assert.equal((await ask('/state', { headers: { host } })).code, 403, host);
  for (const host of ['localhost', 'localhost:8088', '127.0.0.1:1', '[::1]:9', '127.1.2.3'])
    assert.equal((await ask('/state', { headers: { host } })).code, 200, host);
  const from = (site: string, mode: string): Record<string, string> => ({
    'sec-fetch-site': site,
    'sec-fetch-mode': mode,
  });
  assert.equal((await ask('/state', { headers: from('cross-site', 'no-cors') })).code, 403);
  assert.equal((await ask('/events', { headers: from('same-site', 'cors') })).code, 403);
  assert.equal((await ask('/', { headers: from('cross-site', 'navigate') })).code, 200, 'a link may lead here');
});

test('it can only be read, and every answer forbids what the page does not need', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'])
    assert.equal((await ask('/state', { method })).code, 405, method);
  for (const path of [
    '/',
    '/page.js',
    '/page.css',
    '/state',
    '/nothing',
    '/../package.json',
    '/%2e%2e/x',
    '//evil.example/',
  ]) {
    const { headers } = await ask(path);
    assert.match(
      String(headers['content-security-policy']),
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    assert.deepEqual([headers['x-content-type-options'], headers['set-cookie']], ['nosniff', undefined], path);
    assert.equal(headers['access-control-allow-origin'], undefined);
  }
  assert.equal((await ask('/nothing')).code, 404);
});

test('the files of the page are small, and are not sent twice', async () => {
  const { code, headers } = await ask('/page.js');
  assert.equal(code, 200);
  assert.equal((await ask('/page.js', { headers: { 'if-none-match': String(headers['etag']) } })).code, 304);
  const { headers: zipped } = await ask('/page.js', { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(zipped['content-encoding'], 'gzip');
  const sent = [...assets.values()].reduce((sum, { gzipped }) => sum + gzipped.length, 0);
  assert.ok(sent <= 100_000, `${sent} bytes`);
  for (const { body } of assets.values()) assert.doesNotMatch(body.toString(), /\beval\(|new Function\(/);
});

test('a stream has the whole first, then what changes; who comes back with the last id gets what was missed', async () => {
  const follow = async (headers: Record<string, string> = {}) => {
    const answer = await fetch(new URL('/events', server.url), { headers });
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const reader = (answer.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader();
    let heard = '';
    void (async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) heard += part.value;
    })().catch(() => undefined);
    return {
      heard: (): readonly string[] =>
        [...heard.matchAll(/^event: (\w+)$/gm)].map(([, event = '']) => event).filter((event) => event !== 'beat'),
      id: (): string => [...heard.matchAll(/^id: (\S+)$/gm)].at(-1)?.[1] ?? '',
      close: () => reader.cancel(),
    };
  };
  const one = await follow();
  await until('the whole', () => one.heard()[0] === 'state');
  said = 'b';
  changed();
  await until('the change', () => one.heard().includes('change'));
  const id = one.id();
  await one.close();
  const two = await follow({ 'last-event-id': id });
  await until('an answer', () => two.heard().length > 0);
  assert.equal(two.heard()[0], 'seen', 'nothing was missed');
  await two.close();
});

test('so many may look at once, and one more is told to wait', async () => {
  const stop = new AbortController();
  const open = (): Promise<Response> => fetch(new URL('/events', server.url), { signal: stop.signal });
  // Those of tests before may not have been told yet that their readers left.
  const answers: Response[] = [];
  while (answers.length < 70) {
    const answer = await open();
    answers.push(answer);
    if (answer.status === 503) break;
  }
  const refused = answers.at(-1);
  assert.equal(refused?.status, 503);
  assert.match((await refused?.text()) ?? '', /too many people/);
  assert.equal((await ask('/state')).code, 200, 'who asks once is answered');
  stop.abort();
});

test('who is refused learns nothing but why, and the health of the server is told to everybody', async () => {
  const closed = await serve(() => ({ kind: 'refused', code: 401, why: 'a bearer token is expected' }));
  for (const path of ['/', '/page.js', '/state', '/events']) {
    const { code, headers, body } = await ask(path, { at: closed });
    assert.deepEqual(
      [code, headers['www-authenticate'], body],
      [401, 'Bearer', 'drydock: a bearer token is expected\n'],
    );
  }
  assert.deepEqual([(await ask('/healthz', { at: closed })).body], ['ok\n']);
});
