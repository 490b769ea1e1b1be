import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { build, crdFolder, recordProcess, scratchFolder, withoutRealServers } from '@drydock/sandbox';
import { fromJSONSchema } from 'zod';

// One way from 4.17 to 4.21 of two of OpenShift's definitions, back, and forward again, by the command as anybody's CI runs it. All eras and shares: npm run rehearsal.

const root = resolve(import.meta.dirname, '../..');
const drydock = join(root, 'apps/drydock/bin/drydock.js');
const KINDS = /clusterversions|machineconfigpools/;

let scratch: ReturnType<typeof scratchFolder>;
before(async () => {
  scratch = scratchFolder();
  await build({ servers: [], crds: ['openshift-4.17', 'openshift-4.21'] });
  for (const set of ['4.17', '4.21']) {
    const [from, to] = [crdFolder(`openshift-${set}`), join(scratch.path, set)];
    mkdirSync(to);
    for (const file of readdirSync(from).filter((name) => KINDS.test(name))) cpSync(join(from, file), join(to, file));
  }
});
after(() => scratch?.[Symbol.dispose]());

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

const skip = withoutRealServers('a rehearsal always runs on them');

function rehearse(...args: readonly string[]): Promise<Ended> {
  return rehearseWith({}, ...args);
}

async function rehearseWith(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ended> {
  const temp = mkdtempSync(join(scratch.path, 'temp-'));
  const child = spawn(process.execPath, [drydock, 'release', 'rehearse', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: scratch.path,
    env: { ...process.env, TMPDIR: temp, ...env },
  });
  recordProcess(scratch.path, 'rehearsal', child.pid ?? 0);
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  assert.deepEqual(readdirSync(temp), [], 'a file was left behind');
  return { code, out, errors };
}

test('where the real servers are not built, the command that builds them is named, with exit code 2', async () => {
  const env = { DRYDOCK_SANDBOX_CACHE: join(scratch.path, 'empty'), KUBEBUILDER_ASSETS: '' };
  const releases = ['--from', '4.17', '--to', '4.21'];
  const { code, errors } = await rehearseWith(env, ...releases);
  assert.equal(code, 2, errors);
  assert.match(errors, /needs the real servers, which are not built: run "make servers"/);
  const more = await rehearseWith(env, ...releases, '--era', 'E1,E2', '--workloads');
  assert.equal(more.code, 2, more.errors);
  assert.match(more.errors, /run "\.\/drydock-sandbox build --era E1 --workloads"/);
});

interface Report {
  readonly passed: boolean;
  readonly seed: number;
  readonly cells: readonly {
    readonly server: string;
    readonly assertions: readonly { readonly id: string; readonly verdict: string }[];
    readonly control: readonly {
      readonly predicted: string;
      readonly observed: string;
      readonly said: string;
      readonly prepared: { readonly taken: number; readonly refused: number };
    }[];
    readonly exercises: readonly { readonly rule: string; readonly effect: string }[];
    readonly timeline: readonly { readonly code: number }[];
  }[];
}

test('RB-R89 RB-R91 RB-R94 there, back and there again: no write is refused, nothing is lost, and an unprepared way is refused in the predicted places', {
  skip,
}, async () => {
  const seed = ['--seed', '5', '--era', 'E0', '--abort-at', '50', '--time-scale', '0.02'];
  const { code, errors, out } = await rehearse('--from', '4.17', '--to', '4.21', ...seed, '--out', 'out', '-o', 'json');
  assert.equal(code, 0, `${out.slice(0, 20_000)}\n${errors}`);
  assert.match(errors, /^seed 5\nE0, broken off at 50 %, seed 5\n/);
  const report = JSON.parse(out) as Report;
  const schema = JSON.parse(readFileSync(join(root, 'docs/schemas/release-rehearse.json'), 'utf8')) as never;
  assert.deepEqual(fromJSONSchema(schema).safeParse(report).error?.issues ?? [], []);
  const [cell = assert.fail('there is a cell')] = report.cells;
  assert.equal(cell.server, 'kube-apiserver v1.34.4');
  assert.deepEqual(
    cell.assertions.map(({ id, verdict }) => `${id} ${verdict}`),
    Array.from({ length: 17 }, (_, at) => `A${at + 1} ${at === 7 || at === 16 ? 'skipped' : 'passed'}`),
  );
  // Something was at stake: a status that the older release refuses, and fields that it cuts.
  assert.deepEqual(new Set(cell.exercises.map(({ effect }) => effect)), new Set(['status', 'cut', 'spec']));
  const refused = cell.control.filter(({ observed }) => observed === 'refused');
  assert.ok(refused.length >= 2, `${refused.length} writes were refused`);
  assert.match(refused[0]?.said ?? '', /OperatorLifecycleManagerV1/);
  // The same objects were written all the while that Drydock went back.
  for (const { prepared } of refused) assert.ok(prepared.taken > 0 && prepared.refused === 0, JSON.stringify(prepared));
  assert.ok(cell.timeline.some((entry) => entry.code === 422));

  const files = join(scratch.path, 'out');
  assert.deepEqual(readdirSync(files).toSorted(), ['junit.xml', 'report.html', 'report.json', 'timeline.ndjson']);
  assert.match(readFileSync(join(files, 'junit.xml'), 'utf8'), /tests="17" failures="0" errors="0" skipped="2"/);
  assert.match(readFileSync(join(files, 'report.html'), 'utf8'), /The way back holds\./);
});

test('what cannot be rehearsed is refused in words, before any server starts', async () => {
  writeFileSync(join(scratch.path, 'note.txt'), 'no release');
  const empty = await rehearse('--from', '.', '--to', '4.21', '--objects', 'note.txt', '--seed', '1');
  assert.equal(empty.code, 2);
  assert.match(empty.errors, /--objects note\.txt: a folder of YAML or JSON files is expected/);
  const none = await rehearse('--from', 'out-of-this-world', '--to', '4.21');
  assert.notEqual(none.code, 0);
  assert.match(none.errors, /out-of-this-world/);
  assert.equal((await rehearse('--from', '4.17', '--to', '4.21', '--era', 'E9')).code, 2);
});
