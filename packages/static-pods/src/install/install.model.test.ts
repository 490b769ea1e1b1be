import assert from 'node:assert/strict';
import { DurableError, type FsCall, type FsOps, type FsTap, inspect, isChange, tapOps } from '@drydock/durable';
import {
  type Content,
  type CrashScenario,
  contentOf,
  exploreCrashes,
  type Image,
  memoryFs,
  withoutEachSync,
} from '@drydock/durable/testing';
import { threadTests } from '@drydock/model';
import { textOf } from '../revision/environment.ts';
import { podYaml, putConfigMap, smallCluster, smallSpec } from '../testing/static-pod-world.ts';
import { install } from './install.ts';

const test = threadTests(import.meta.url);

// Every disk that a power cut may leave of an installer, and what one clean run makes of it.

/**
 * What the model has to try doubles with each call that is not synced: the weak models get a revision without Secret (`small`), and where they run once for
 * each sync one without shared certificates and monitor (`tiny`).
 */
type Size = 'full' | 'small' | 'tiny';

function run(revision: number, ops: FsOps, size: Size): Promise<unknown> {
  const cluster = smallCluster(revision);
  const { certs, certDir, ...spec } = smallSpec(revision);
  const { configmaps = [] } = spec.sources;
  const sources = size === 'full' ? spec.sources : { configmaps };
  if (size === 'tiny')
    putConfigMap(cluster, `kube-apiserver-pod-${revision}`, { 'pod.yaml': podYaml('kube-apiserver') });
  const shared = size === 'tiny' || certs === undefined || certDir === undefined ? {} : { certs, certDir };
  return install({ ...spec, sources, ...shared }, { client: cluster.client(), ops, lanes: 1, installers: false });
}

const PLACES = [
  '/manifests/kube-apiserver-pod.yaml',
  '/manifests/kube-apiserver-startup-monitor-pod.yaml',
  '/certs/secrets/tls',
];
const revisionAt = (revision: number): string => `/resources/kube-apiserver-pod-${revision}`;

/** What a finished installation looks like. */
async function finished(from: Image | undefined, revision: number, size: Size): Promise<Image> {
  const fs = memoryFs(from === undefined ? {} : { image: from });
  await run(revision, fs, size);
  return fs.now();
}

function same(a: Content | undefined, b: Content | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Nothing torn, nothing that leads to something absent; all of it once acknowledged. */
function judgeCut(old: Image, wanted: Image): CrashScenario['judge'] {
  return (image, told) => {
    const is = (path: string, like: Image): boolean => same(contentOf(image, path), contentOf(like, path));
    for (const path of PLACES)
      if (!is(path, old) && !is(path, wanted)) return `${path} is torn: ${JSON.stringify(contentOf(image, path))}`;
    const revision = revisionAt(7);
    if (contentOf(image, revision) !== undefined && !is(revision, wanted)) return `${revision} is not whole`;
    if (!is(revisionAt(6), old)) return 'the old revision was touched';
    const [main = '', ...before] = PLACES;
    if (is(main, wanted) && !same(contentOf(old, main), contentOf(wanted, main)))
      for (const path of [revision, ...before]) if (!is(path, wanted)) return `the manifest was there before ${path}`;
    if (told === 'acked')
      for (const path of [revision, ...PLACES]) if (!is(path, wanted)) return `${path} was acknowledged, then lost`;
    return undefined;
  };
}

async function scenario(first: boolean, size: Size): Promise<CrashScenario> {
  const old = first ? memoryFs().now() : await finished(undefined, 6, size);
  const wanted = await finished(first ? undefined : old, 7, size);
  const cut = judgeCut(old, wanted);
  return {
    image: old,
    models: size === 'full' ? ['ext4'] : ['weak', 'torn'],
    act: (ops) => run(7, ops, size),
    // One clean run afterwards, whatever the cut left.
    recover: async (ops) => {
      await run(7, ops, size);
      for (const root of ['/resources', '/certs', '/manifests'])
        assert.deepEqual((await inspect(root, { ops })).leftovers, [], `${root} is not clean after the next run`);
    },
    judgeBefore: cut,
    judge: (image) => cut(image, 'acked'),
  };
}

for (const [first, size] of [
  [false, 'full'],
  [true, 'full'],
  [false, 'small'],
  [true, 'small'],
] as const) {
  const what = `${first ? 'first installation' : 'next revision'}, ${size === 'full' ? 'ext4' : 'weak and torn'}`;
  test(`crash model, installer, ${what}: nothing torn, nothing dangling, nothing acknowledged lost; one clean run completes it`, async (t) => {
    const report = await exploreCrashes(await scenario(first, size));
    t.diagnostic(`${report.disks} disks of ${report.explored} subsets`);
    assert.equal(report.told, 'acked', String(report.error));
    assert.deepEqual(report.violations, []);
    assert.ok(report.disks > 100);
  });
}

test('crash model, installer: without one of its syncs something is torn or lost', async () => {
  const results = await withoutEachSync({ ...(await cutOnly('tiny')), models: ['weak'] });
  const green = results.filter(({ report }) => report.violations.length === 0).map(({ left }) => left);
  // What recovery syncs of a disk that needs none: the two directories and their parent.
  assert.deepEqual(
    green.map((left) => left.split(' ')[1]),
    ['/resources', '/', '/manifests', '/'],
  );
  assert.ok(results.length - green.length >= 8, `${results.length} syncs`);
});

test('crash model, installer: each call that fails is an error with stage and path; readers see old or new, and one clean run completes it', async (t) => {
  const base = await scenario(false, 'full');
  const calls: FsCall[] = [];
  const note: FsTap = (call, go) => {
    calls.push(call);
    return go();
  };
  await exploreCrashes({ ...base, models: [], tap: note });
  let [failed, fine] = [0, 0];
  for (const [index, { op, path }] of calls.entries()) {
    const what = `call ${index}, ${op} ${path}`;
    const code = op === 'write' ? 'ENOSPC' : 'EIO';
    const tap = failAt(index, code);
    const { now, error } = await exploreCrashes({ ...base, models: [], tap });
    if (error === undefined) fine += 1;
    else {
      failed += 1;
      assert.ok(error instanceof DurableError, `${what}: ${textOf(error)}`);
      assert.equal(error.errno, code, what);
      assert.ok(error.path.startsWith('/') && error.message.includes(error.stage), error.message);
    }
    assert.equal(base.judgeBefore?.(now, 'nothing'), undefined, what);
    const fs = memoryFs({ image: now });
    await run(7, fs, 'full');
    assert.equal(base.judge(fs.now(), 'acked'), undefined, `${what}, then a clean run`);
    for (const root of ['/resources', '/certs', '/manifests'])
      assert.deepEqual((await inspect(root, { ops: fs })).leftovers, [], `${what}, then a clean run: ${root}`);
  }
  t.diagnostic(`${calls.length} failing calls: ${failed} errors, ${fine} without consequence`);
  assert.ok(failed > 100);
});

test('crash model, installer: killed after any call, run again, then a power cut', async () => {
  const base = await cutOnly('small');
  const calls: FsCall[] = [];
  const note: FsTap = (call, go) => {
    calls.push(call);
    return go();
  };
  await exploreCrashes({ ...base, models: [], tap: note });
  let kills = 0;
  for (const [index, call] of calls.entries()) {
    if (!isChange(call)) continue;
    kills += 1;
    const act = async (ops: FsOps): Promise<void> => {
      await run(7, tapOps(ops, dieAfter(index)), 'small').catch(() => undefined);
      // Another process: it knows nothing of what the first one synced, and the kernel has dropped the first one's locks.
      await run(7, withoutOldLocks(ops), 'small');
    };
    const report = await exploreCrashes({ ...base, act, models: ['ext4'] });
    assert.equal(report.told, 'acked', String(report.error));
    assert.deepEqual(report.violations, [], `killed after call ${index}, ${call.op} ${call.path}`);
  }
  assert.ok(kills > 40, `${kills} kills`);
});

/** The same, judged as the cut leaves it. */
async function cutOnly(size: Size): Promise<CrashScenario> {
  const whole = await scenario(false, size);
  return {
    image: whole.image,
    act: (ops) => whole.act(ops),
    judge: (image, told) => whole.judgeBefore?.(image, told),
  };
}

/** Lets calls 0 to `index` through; then the process is dead and no call does anything. */
function dieAfter(index: number): FsTap {
  let seen = -1;
  return (call, go) => {
    seen += 1;
    return seen > index ? Promise.reject(new Error(`dead before ${call.op}`)) : go();
  };
}

/** Lets one call fail. */
function failAt(index: number, code: string): FsTap {
  let seen = -1;
  return (call, go) => {
    seen += 1;
    return seen === index
      ? Promise.reject(Object.assign(new Error(`${code}: ${call.op} ${call.path}`), { code }))
      : go();
  };
}

function withoutOldLocks(ops: FsOps): FsOps {
  return { ...tapOps(ops, (_, go) => go()), lock: async () => true };
}
