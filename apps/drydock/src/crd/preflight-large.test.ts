import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { type Answer, misbehavingServer, sendJson, sendStatus } from '@drydock/kube/testing';

const scratch = mkdtempSync(join(tmpdir(), 'drydock-large-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const DEFINITIONS = 200;
const OBJECTS = 10_000;
const PAGE = 500;
/** Of the first kind there are many, of the others as many as are left. */
const OF_FIRST = 5_025;
const OF_OTHERS = (OBJECTS - OF_FIRST) / (DEFINITIONS - 1);

const pluralOf = (index: number): string => `things${index}`;

function definition(index: number, values: readonly string[]): object {
  const status = { type: 'object', properties: { phase: { type: 'string', enum: values }, text: { type: 'string' } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${pluralOf(index)}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { kind: `Thing${index}`, plural: pluralOf(index) },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { status } } },
        },
      ],
    },
  };
}

/** One in a hundred has what the target does not know; each has two kilobytes. */
function thing(kind: number, index: number): object {
  const name = `${pluralOf(kind)}-${index}`;
  const metadata = { name, uid: name, resourceVersion: '7' };
  return { metadata, status: { phase: index % 100 === 0 ? 'New' : 'Old', text: 'x'.repeat(2000) } };
}

/** A server with all of it; the continue token of the first list expires once, in its middle. */
function world(): {
  readonly answer: Answer;
  readonly limits: ReadonlySet<string | null>;
  readonly tries: () => number;
} {
  const limits = new Set<string | null>();
  let tries = 0;
  const answer: Answer = ({ path, query }, response) => {
    const plural = path.split('/').at(-1) ?? '';
    if (path === '/version') return sendJson(response, { major: '1', minor: '34' });
    if (!path.includes('/example.com/')) {
      const all = Array.from({ length: DEFINITIONS }, (_, index) => definition(index, ['Old', 'New']));
      const items = plural === 'customresourcedefinitions' ? all : [];
      return sendJson(response, { metadata: { resourceVersion: '9' }, items });
    }
    limits.add(query.get('limit'));
    const kind = Number(plural.slice('things'.length));
    const from = Number(query.get('continue') ?? 0);
    if (kind === 0 && from === 5 * PAGE && tries++ === 0)
      return sendStatus(response, 410, { reason: 'Expired', message: 'The provided continue parameter is too old' });
    const count = kind === 0 ? OF_FIRST : OF_OTHERS;
    const items = Array.from({ length: Math.min(PAGE, count - from) }, (_, at) => thing(kind, from + at));
    const more = from + PAGE < count ? { continue: `${from + PAGE}` } : {};
    return sendJson(response, { metadata: { resourceVersion: '9', ...more }, items });
  };
  return { answer, limits, tries: () => tries };
}

/** The high-water mark of a process (10^6 bytes) until it ends; undefined where there is no /proc. */
async function peakOf(pid: number, ended: Promise<unknown>): Promise<number | undefined> {
  let peak: number | undefined;
  let running = true;
  void ended.then(() => {
    running = false;
  });
  while (running) {
    try {
      const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      peak = kibibytes === undefined ? peak : (Number(kibibytes) * 1024) / 1e6;
    } catch {
      break;
    }
    await Promise.race([ended, new Promise((done) => setTimeout(done, 20))]);
  }
  return peak;
}

test('RB-R67: 10,000 objects of 200 definitions in pages of 500, of which an expired list starts again, in bounded memory and time', async (t) => {
  const { answer, limits, tries } = world();
  await using host = await misbehavingServer(answer);
  const kubeconfig = join(scratch, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: host.config.server } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const to = join(scratch, 'to.json');
  const items = Array.from({ length: DEFINITIONS }, (_, index) => definition(index, ['Old']));
  writeFileSync(to, JSON.stringify({ kind: 'List', items }));
  const bin = new URL('../../bin/drydock.js', import.meta.url).pathname;
  const args = ['crd', 'preflight', '--kubeconfig', kubeconfig, '--to', to, '--target-version', '1.30', '-o', 'json'];
  // The vector's two minutes.
  const signal = AbortSignal.timeout(120_000);
  const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'pipe', 'inherit'], signal });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [said, peak, [code]] = await Promise.all([text(child.stdout), peakOf(child.pid ?? 0, ended), ended]);
  const { definitions, findings, groups, objects } = JSON.parse(said) as {
    readonly definitions: number;
    readonly objects: number;
    readonly groups: readonly { readonly class: string; readonly objects: number }[];
    readonly findings: readonly { readonly object: string }[];
  };
  assert.deepEqual([code, definitions, objects, groups.length], [3, DEFINITIONS, OBJECTS, DEFINITIONS]);
  const refused = Math.ceil(OF_FIRST / 100) + DEFINITIONS - 1;
  assert.deepEqual([findings.length, new Set(findings.map(({ object }) => object)).size], [refused, refused]);
  assert.deepEqual([tries(), [...limits]], [2, [`${PAGE}`]]);
  if (peak === undefined) t.diagnostic('the memory is not told here');
  else assert.ok(peak < 300, `${peak} MB`);
});
