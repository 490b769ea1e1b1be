import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tapOps } from '@drydock/durable';
import { contentOf, memoryFs } from '@drydock/durable/testing';
import { decodePod, revisionOfPod } from '../revision/pod.ts';
import { MONITOR, podOf, put } from '../testing/monitor-world.ts';
import { lastKnownGood, markLastKnownGood, previousRevision } from './last-known-good.ts';

/** Directories by name, each with its manifest. */
async function previousOf(names: readonly string[]): Promise<number | undefined> {
  const fs = memoryFs();
  await fs.mkdir('/resources', 0o755);
  for (const name of names) {
    await fs.mkdir(`/resources/${name}`, 0o755);
    await put(fs, `/resources/${name}/kube-apiserver-pod.yaml`, podOf(1));
  }
  return previousRevision(MONITOR, 8, fs);
}

const pods = (...revisions: readonly number[]): readonly string[] =>
  revisions.map((one) => `kube-apiserver-pod-${one}`);

test('DU-D111 DU-D112 DU-D113 DU-D114 DU-D116 DU-D117 DU-D118 DU-D119 DU-D121 DU-D122 the revision before ours', async () => {
  await assert.rejects(previousRevision(MONITOR, 8, memoryFs()), { code: 'ENOENT' });
  assert.equal(await previousOf([]), undefined);
  const files = memoryFs();
  await files.mkdir('/resources', 0o755);
  await put(files, '/resources/kube-apiserver-pod-7', 'a file');
  assert.equal(await previousRevision(MONITOR, 8, files), undefined);
  assert.equal(await previousOf(['etcd-pod-7', 'openshift-kube-apiserver-pod-7']), undefined);
  assert.equal(await previousOf(pods(7)), 7);
  assert.equal(await previousOf(pods(8)), undefined);
  assert.equal(await previousOf(pods(4, 8, 5)), 5);
  assert.equal(await previousOf(pods(5, 8, 4)), 5);
  assert.equal(await previousOf(['kube-apiserver-pod-abc-11']), undefined);
  assert.equal(await previousOf(['kube-apiserver-certs', 'kube-apiserver-7', 'kube-apiserver-11', ...pods(0, 1)]), 1);
});

test('DU-W7 a revision whose manifest is missing, empty or torn is passed over', async () => {
  const fs = memoryFs();
  await fs.mkdir('/resources', 0o755);
  for (const revision of [4, 5, 6, 7]) await fs.mkdir(`/resources/kube-apiserver-pod-${revision}`, 0o755);
  await put(fs, '/resources/kube-apiserver-pod-6/kube-apiserver-pod.yaml', '');
  await put(fs, '/resources/kube-apiserver-pod-5/kube-apiserver-pod.yaml', podOf(5).slice(0, 20));
  await put(fs, '/resources/kube-apiserver-pod-4/kube-apiserver-pod.yaml', podOf(4));
  assert.equal(await previousRevision(MONITOR, 8, fs), 4);
});

test('DU-W7 a revision that cannot be read is passed over, and is an error where it is the only one', async () => {
  const fs = memoryFs();
  await fs.mkdir('/resources', 0o755);
  const unreadable = (revision: number) =>
    tapOps(fs, (call, run) =>
      call.op === 'read' && call.path.includes(`-pod-${revision}/`)
        ? Promise.reject(Object.assign(new Error('EIO: read'), { code: 'EIO' }))
        : run(),
    );
  for (const revision of [6, 7]) {
    await fs.mkdir(`/resources/kube-apiserver-pod-${revision}`, 0o755);
    await put(fs, `/resources/kube-apiserver-pod-${revision}/kube-apiserver-pod.yaml`, podOf(revision));
  }
  assert.equal(await previousRevision(MONITOR, 8, unreadable(7)), 6);
  await assert.rejects(previousRevision(MONITOR, 7, unreadable(6)), { code: 'EIO' });
});

test('DU-D123 DU-D126 DU-W5 the link is made, and replaced in one step', async () => {
  const fs = memoryFs();
  await fs.mkdir('/resources', 0o755);
  assert.equal(await lastKnownGood(MONITOR, fs), undefined);
  const ops: string[] = [];
  const traced = tapOps(fs, (call, run) => {
    ops.push(call.op);
    return run();
  });
  await markLastKnownGood(MONITOR, 7, { ops: traced });
  await markLastKnownGood(MONITOR, 8, { ops: traced });
  assert.equal(
    contentOf(fs.now(), '/resources/kube-apiserver-last-known-good'),
    '-> kube-apiserver-pod-8/kube-apiserver-pod.yaml',
  );
  assert.equal(await lastKnownGood(MONITOR, fs), 8);
  assert.ok(!ops.includes('unlink'));
});

test('DU-D124 a link that cannot be replaced stays', async () => {
  const fs = memoryFs();
  await fs.mkdir('/resources', 0o755);
  await markLastKnownGood(MONITOR, 7, { ops: fs });
  const broken = tapOps(fs, (call, run) =>
    call.op === 'rename' ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) : run(),
  );
  await assert.rejects(markLastKnownGood(MONITOR, 8, { ops: broken }), { name: 'DurableError', visible: 'old' });
  assert.equal(await lastKnownGood(MONITOR, fs), 7);
});

test('DU-D137 DU-D138 DU-D139 the label revision', () => {
  const revision = (label: number | string | undefined): number =>
    revisionOfPod(decodePod(Buffer.from(podOf(label)), 'x'), 'x');
  assert.equal(revision('8'), 8);
  assert.throws(() => revision(undefined), { code: 'BAD_CONTENT', message: /no label revision/ });
  assert.throws(() => revision('eight'), { code: 'BAD_CONTENT', message: /expected a number/ });
});
