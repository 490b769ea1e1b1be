import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FsOps, tapOps } from '@drydock/durable';
import {
  type Content,
  contentOf,
  exploreCrashes,
  type MemoryFs,
  memoryFs,
  withoutEachSync,
} from '@drydock/durable/testing';
import { ApiError } from '@drydock/kube';
import { virtualClock } from '@drydock/kube/testing';
import { decodePod, type Pod } from '../revision/pod.ts';
import { MONITOR, monitorDisk, podOf, put } from '../testing/monitor-world.ts';
import { type MonitorEnvironment, monitorStartup } from './monitor.ts';
import type { Readiness } from './monitor-step.ts';

const READY: Readiness = { ready: true, reason: 'Ready', message: '' };
const SICK: Readiness = { ready: false, reason: 'NotReady', message: 'it does not answer' };
const ROOT = '/manifests/kube-apiserver-pod.yaml';
const OWN = '/manifests/kube-apiserver-startup-monitor-pod.yaml';
const LINK = '/resources/kube-apiserver-last-known-good';

/** A monitor on virtual time. `outcome` is the outcome or the error's code. */
async function world(disk: Parameters<typeof monitorDisk>[0], change: Partial<MonitorEnvironment> = {}) {
  const fs: MemoryFs = memoryFs({ image: await monitorDisk(disk) });
  const clock = virtualClock();
  const end = new AbortController();
  const told: number[] = [];
  const env: MonitorEnvironment = {
    ops: fs,
    clock,
    signal: end.signal,
    ready: async () => SICK,
    acknowledge: async (revision) => void told.push(revision),
    ...change,
  };
  let outcome: string | undefined;
  const done = monitorStartup({ ...MONITOR, timeoutMs: 10_000 }, env).then(
    (result) => {
      outcome = result;
    },
    (error: Error & { code?: unknown }) => {
      outcome = typeof error.code === 'string' ? error.code : error.name;
    },
  );
  const at = (path: string): string | undefined => textOf(contentOf(fs.now(), path));
  const isLocked = async (): Promise<boolean> => {
    const file = await fs.open('/installer.lock', 'lock', 0o644);
    const free = await fs.lock(file);
    await fs.close(file);
    return !free;
  };
  return { fs, clock, end, told, at, isLocked, done, outcome: () => outcome };
}

/** The text of a file; what is none is shown as JSON. */
const textOf = (content: Content | undefined): string | undefined =>
  typeof content === 'string' || content === undefined ? content : JSON.stringify(content);

const pod = (text: string | undefined): Pod => decodePod(Buffer.from(text ?? ''), 'test');

test('DU-D131 ready: the link names the revision, the operator is told, the monitor goes; all under the lock', async () => {
  const locked: Record<string, boolean> = {};
  const w = await world(
    { manifest: podOf(8), good: 7 },
    {
      ready: async () => READY,
      acknowledge: async () => {
        locked['told'] = await w.isLocked();
      },
    },
  );
  const rename = w.fs.rename.bind(w.fs);
  Object.assign(w.fs, {
    rename: async (from: string, to: string) => {
      locked[to === LINK ? 'link' : from === OWN ? 'monitor' : to] = await w.isLocked();
      await rename(from, to);
    },
  });
  await w.clock.advance(1_000);
  assert.equal(w.outcome(), 'ready');
  assert.equal(w.at(LINK), '-> kube-apiserver-pod-8/kube-apiserver-pod.yaml');
  assert.equal(w.at(OWN), undefined);
  assert.equal(w.at(ROOT), podOf(8));
  assert.deepEqual(locked, { link: true, told: true, monitor: true });
  assert.equal(await w.isLocked(), false);
});

test('DU-D127 not ready in time: the last known good revision with three annotations and another uid, 0600; the monitor goes', async () => {
  const w = await world({ manifest: podOf(8), good: 6 });
  await w.clock.advance(8_000);
  assert.equal(w.outcome(), undefined);
  assert.equal(w.at(ROOT), podOf(8));
  await w.clock.advance(2_000);
  assert.equal(w.outcome(), 'fallen-back');
  const { metadata } = pod(w.at(ROOT));
  const prefix = 'startup-monitor.static-pods.openshift.io/fallback';
  assert.deepEqual(metadata.annotations, {
    [`${prefix}-for-revision`]: '8',
    [`${prefix}-reason`]: 'NotReady',
    [`${prefix}-message`]: 'it does not answer',
  });
  assert.equal(metadata.labels?.['revision'], '6');
  assert.match(metadata.uid ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-9[0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal((await w.fs.lstat(ROOT))?.mode, 0o600);
  assert.equal(w.at(OWN), undefined);
  assert.deepEqual(w.told, []);
});

test('DU-D128 without a link: the newest revision before ours is linked and used', async () => {
  const w = await world({ manifest: podOf(8), revisions: [5, 6, 7, 8] });
  await w.clock.advance(11_000);
  assert.equal(w.outcome(), 'fallen-back');
  assert.equal(w.at(LINK), '-> kube-apiserver-pod-7/kube-apiserver-pod.yaml');
  assert.equal(pod(w.at(ROOT)).metadata.labels?.['revision'], '7');
});

test('DU-W3 a manifest that is missing, empty, torn, without label or of the revision before leads to the fallback as well', async () => {
  const unusable = [undefined, '', podOf(8).slice(0, 30), podOf(undefined), podOf('eight'), podOf(7)];
  for (const manifest of unusable) {
    const w = await world({ manifest, good: 7 });
    await w.clock.advance(8_000);
    assert.equal(w.outcome(), undefined, 'not before its time');
    await w.clock.advance(3_000);
    assert.equal(w.outcome(), 'fallen-back', String(manifest));
    assert.equal(pod(w.at(ROOT)).metadata.labels?.['revision'], '7');
  }
});

test('a link to the failed revision itself is not good; where nothing is before it, the manifest stays', async () => {
  const w = await world({ manifest: podOf(8), good: 8 });
  await w.clock.advance(11_000);
  assert.equal(pod(w.at(ROOT)).metadata.labels?.['revision'], '7');
  const alone = await world({ manifest: podOf(8), revisions: [8] });
  await alone.clock.advance(11_000);
  assert.equal(alone.outcome(), 'nothing-to-fall-back-to');
  assert.equal(alone.at(ROOT), podOf(8));
});

test('a newer manifest is never replaced: its own monitor decides', async () => {
  const w = await world({ manifest: podOf(9), good: 7 });
  await w.clock.advance(11_000);
  assert.equal(w.outcome(), 'UNDECIDED');
  assert.equal(w.at(ROOT), podOf(9));
});

test('DU-D129 DU-D134 readiness that cannot be found out: an error in the end, no fallback, the lock free', async () => {
  const w = await world({ manifest: podOf(8), good: 7 }, { ready: async () => Promise.reject(new Error('no answer')) });
  await w.clock.advance(1_500);
  assert.equal(w.outcome(), undefined);
  assert.equal(await w.isLocked(), false, 'between two looks');
  await w.clock.advance(10_000);
  assert.equal(w.outcome(), 'UNDECIDED');
  assert.equal(w.at(ROOT), podOf(8));
  assert.equal(await w.isLocked(), false);
});

test('DU-D132 DU-D133 no lock, or a signal: an error, and nothing is touched', async () => {
  const fs = memoryFs({ image: await monitorDisk({ manifest: podOf(8), good: 7 }) });
  const broken: FsOps = tapOps(fs, (call, run) =>
    call.op === 'lock' ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) : run(),
  );
  const locked = await world({ manifest: podOf(8), good: 7 }, { ops: broken });
  await locked.clock.advance(1);
  assert.equal(locked.outcome(), 'LOCK_FAILED');
  const w = await world({ manifest: podOf(8), good: 7 });
  await w.clock.advance(3_000);
  w.end.abort();
  await w.done;
  assert.equal(w.outcome(), 'AbortError');
  assert.equal(w.at(ROOT), podOf(8));
  assert.equal(w.at(OWN), podOf(8));
  assert.equal(w.clock.sleeping, 0);
});

test('DU-D136 not ready: the lock is held from the last look to the end', async () => {
  const seen: boolean[] = [];
  const w = await world({ manifest: podOf(8), good: 7 });
  const rename = w.fs.rename.bind(w.fs);
  Object.assign(w.fs, {
    rename: async (from: string, to: string) => {
      seen.push(await w.isLocked());
      await rename(from, to);
    },
  });
  await w.clock.advance(11_000);
  assert.deepEqual(seen, [true, true]);
});

test('a monitor that was killed after the fallback leaves without waiting; the fallback of another revision does not count', async () => {
  const first = await world({ manifest: podOf(8), good: 7 });
  await first.clock.advance(11_000);
  const fallback = first.at(ROOT) ?? '';
  const w = await world({ manifest: fallback, good: 7 });
  await w.clock.advance(1);
  assert.equal(w.outcome(), 'fallen-back');
  assert.equal(w.at(ROOT), fallback);
  const other = await world({ manifest: fallback.replace('"8"', '"5"'), good: 7 });
  await other.clock.advance(5_000);
  assert.equal(other.outcome(), undefined);
  await put(other.fs, ROOT, podOf(8));
  other.end.abort();
});

test('DU-W2 crash model, fallback: kubelet finds the old pod or the good one, and the monitor goes only when it is durable', async () => {
  const image = await monitorDisk({ manifest: podOf(8), revisions: [7, 8] });
  const act = async (ops: FsOps): Promise<void> => {
    await monitorStartup({ ...MONITOR, timeoutMs: 1, pollMs: 1 }, { ops, lanes: 1, ready: async () => SICK });
  };
  const undisturbed = memoryFs({ image });
  await act(undisturbed);
  const good = textOf(contentOf(undisturbed.now(), ROOT));
  const judge: Parameters<typeof exploreCrashes>[0]['judge'] = (disk, told) => {
    const found = textOf(contentOf(disk, ROOT));
    if (found !== podOf(8) && found !== good) return `torn: ${found}`;
    const link = textOf(contentOf(disk, LINK));
    if (link !== undefined && link !== '-> kube-apiserver-pod-7/kube-apiserver-pod.yaml')
      return `the link is torn: ${link}`;
    if (found === good && link === undefined) return 'fell back to what no link protects';
    if (contentOf(disk, OWN) === undefined && found !== good)
      return 'the monitor is gone and the failed revision is back';
    return told === 'acked' && (found !== good || contentOf(disk, OWN) !== undefined)
      ? 'acknowledged, then lost'
      : undefined;
  };
  const report = await exploreCrashes({ image, act, judge });
  assert.equal(report.told, 'acked', String(report.error));
  assert.deepEqual(report.violations, []);
  const again = await exploreCrashes({ image, act, recover: act, judge: (disk) => judge(disk, 'acked') });
  assert.deepEqual(again.violations, []);
  const results = await withoutEachSync({ image, act, judge });
  const green = results.filter((one) => one.report.violations.length === 0).map(({ left }) => left.split(' ')[1] ?? '');
  // What recovery syncs of a disk that needs none.
  assert.deepEqual(new Set(green), new Set(['/', '/manifests', '/resources']));
  assert.equal(green.length, 4);
  assert.ok(results.length - green.length >= 4);
});

for (const status of [503, 403] as const)
  test(`SAFE-16 the operator's status cannot be written (${status}): the monitor fails and stays, and the next one tells it`, async () => {
    const fails = async (): Promise<void> => Promise.reject(apiError(status));
    const w = await world({ manifest: podOf(8), good: 7 }, { ready: async () => READY, acknowledge: fails });
    await w.clock.advance(2_000);
    assert.equal(w.outcome(), 'UNTOLD');
    assert.equal(w.at(OWN), podOf(8), 'kubelet finds the manifest and starts it again');
    assert.equal(await w.isLocked(), false);
    const told: number[] = [];
    const acknowledge = async (revision: number): Promise<void> => void told.push(revision);
    const again = monitorStartup(
      { ...MONITOR, timeoutMs: 10_000 },
      { ops: w.fs, ready: async () => READY, acknowledge },
    );
    assert.equal(await again, 'ready');
    assert.deepEqual(told, [8]);
    assert.equal(w.at(OWN), undefined);
  });

test('SAFE-16 where there is no operator nobody is told, and the monitor goes', async () => {
  const fails = async (): Promise<void> => Promise.reject(apiError(404));
  const w = await world({ manifest: podOf(8), good: 7 }, { ready: async () => READY, acknowledge: fails });
  await w.clock.advance(2_000);
  assert.equal(w.outcome(), 'ready');
  assert.equal(w.at(OWN), undefined);
});

test('SAFE-16 an older revision that is well is neither fallen back from nor rewritten; one that is not asked is left alone too', async () => {
  const manifest = podOf(7);
  for (const ready of [async () => READY, async () => Promise.reject(new Error('no answer'))]) {
    const w = await world({ manifest, good: 6 }, { ready });
    await w.clock.advance(11_000);
    assert.equal(w.outcome(), 'UNDECIDED');
    assert.equal(w.at(ROOT), manifest);
    assert.equal(w.at(LINK), '-> kube-apiserver-pod-6/kube-apiserver-pod.yaml');
    assert.equal(w.at(OWN), podOf(8));
  }
});

test('SAFE-16 it asks for the pod that the manifest names, once for each look', async () => {
  const asked: unknown[] = [];
  const named = podOf(8).replace('"labels"', '"namespace":"openshift-kube-apiserver","labels"');
  const w = await world(
    { manifest: named, good: 7 },
    {
      ready: async (pod) => {
        asked.push(pod);
        return READY;
      },
    },
  );
  await w.clock.advance(1_000);
  assert.equal(w.outcome(), 'ready');
  assert.deepEqual(asked, [{ name: 'kube-apiserver', namespace: 'openshift-kube-apiserver', revision: 8 }]);
});

function apiError(status: 403 | 404 | 503): ApiError {
  const code = ({ 403: 'Forbidden', 404: 'NotFound', 503: 'Unavailable' } as const)[status];
  return new ApiError({ code, status, action: 'writing the status', said: 'says the test' });
}
