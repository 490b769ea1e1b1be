import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@drydock/api';
import { type FsOps, replaceFileDurable, replaceSymlinkDurable } from '@drydock/durable';
import { memoryCluster } from '@drydock/kube/testing';
import { install, monitorStartup, prune, syncCerts } from '@drydock/static-pods';
import { type Cuttable, cutEverywhere } from './crash-points.ts';
import { cannotRun, type Kind } from './power-rig.ts';

// Real file systems, real power cuts, the whole of installer, cert syncer, pruner and monitor.

const namespace = 'n';
const pod = (revision: number): string =>
  JSON.stringify({
    kind: 'Pod',
    metadata: { name: 'p', labels: { revision: String(revision) } },
    spec: { containers: [] },
  });

function cluster(revision: number) {
  const made = memoryCluster({ namespaces: [namespace] });
  made.put(ConfigMap, { namespace, name: `config-${revision}` }, { data: { a: `a${revision}` } });
  made.put(ConfigMap, { namespace, name: `p-pod-${revision}` }, { data: { 'pod.yaml': pod(revision) } });
  const key = Buffer.from(`key${revision}`).toString('base64');
  made.put(Secret, { namespace, name: 'tls' }, { data: { crt: key, key } });
  return made;
}

const run = (revision: number) => (ops: FsOps, root: string) =>
  install(
    {
      revision: String(revision),
      nodeName: 'node',
      namespace,
      pod: 'p-pod',
      sources: { configmaps: ['config'] },
      certs: { secrets: ['tls'] },
      certDir: `${root}/r/certs`,
      resourceDir: `${root}/r/res`,
      manifestDir: `${root}/r/man`,
    },
    { client: cluster(revision).client(), ops, installers: false },
  );

const sync = (revision: number) => (ops: FsOps, root: string) => {
  const from = cluster(revision);
  return syncCerts(
    { namespace, dir: `${root}/r`, secrets: [{ name: 'tls' }], configmaps: [] },
    { client: from.client(), ops, cached: (_, name) => from.peek(Secret, { namespace, name }) },
  );
};

const place = (revision: number): string => `res/p-pod-${revision}`;
const manifests = async (ops: FsOps, root: string): Promise<void> => {
  await run(6)(ops, root);
  await run(7)(ops, root);
};
const nothing = async (): Promise<void> => undefined;
const tls = (revision: number) => ({ crt: `key${revision}`, key: `key${revision}` });
const whole = { configmaps: { config: { a: 'a7' } } };

/** `once`: the cuts of the job before, looked at elsewhere, so the harsher half is enough. */
const jobs: readonly (Cuttable & { readonly name: string; readonly once?: true })[] = [
  {
    name: 'installer, manifest',
    prepare: run(6),
    act: run(7),
    path: 'r/man/p-pod.yaml',
    old: compact(6),
    wanted: compact(7),
    recover: nothing,
  },
  {
    name: 'installer, revision',
    once: true,
    prepare: run(6),
    act: run(7),
    path: `r/${place(7)}`,
    old: undefined,
    wanted: { ...whole, 'p-pod.yaml': compact(7) },
    recover: nothing,
  },
  {
    name: 'installer, certificates',
    once: true,
    prepare: run(6),
    act: run(7),
    path: 'r/certs/secrets/tls',
    old: tls(6),
    wanted: tls(7),
    recover: nothing,
  },
  {
    name: 'cert syncer',
    prepare: sync(6),
    act: sync(7),
    path: 'r/secrets/tls',
    old: tls(6),
    wanted: tls(7),
    recover: nothing,
  },
  {
    name: 'pruner',
    prepare: manifests,
    act: (ops, root) =>
      prune(
        { resourceDir: `${root}/r/res`, staticPod: 'p-pod', maxEligibleRevision: 6, protectedRevisions: [] },
        { ops },
      ),
    path: `r/${place(6)}`,
    old: { configmaps: { config: { a: 'a6' } }, 'p-pod.yaml': compact(6) },
    wanted: undefined,
    recover: nothing,
  },
  {
    name: 'startup monitor, link',
    prepare: async (ops, root) => {
      await manifests(ops, root);
      await replaceSymlinkDurable(`${root}/r/res/p-last-known-good`, 'p-pod-6/p-pod.yaml', { ops });
      await replaceFileDurable(`${root}/r/man/p-startup-monitor-pod.yaml`, pod(7), { ops });
    },
    act: (ops, root) =>
      monitorStartup(
        { revision: 7, target: 'p', resourceDir: `${root}/r/res`, manifestDir: `${root}/r/man`, nodeName: 'node' },
        { ops, ready: async () => ({ ready: true, reason: 'Ready', message: '' }) },
      ),
    path: 'r/res/p-last-known-good',
    old: '-> p-pod-6/p-pod.yaml',
    wanted: '-> p-pod-7/p-pod.yaml',
    recover: nothing,
  },
];

/** A manifest as the installer writes it. */
function compact(revision: number): string {
  return JSON.stringify({ apiVersion: 'v1', ...(JSON.parse(pod(revision)) as object) });
}

for (const kind of ['ext4', 'xfs'] as const satisfies readonly Kind[]) {
  const skip = cannotRun(kind);
  for (const job of jobs)
    test(`power cut, ${kind}, ${job.name}: old or new at every call`, { skip }, async (t) => {
      for (const others of job.once === true ? [true] : [false, true]) {
        const { points, old, new: done, corrupt, lost, healed } = await cutEverywhere(kind, job, others);
        t.diagnostic(
          `${others ? 'others sync' : 'quiet'}: ${points} cuts, old ${old}, new ${done}, corrupt ${corrupt.length}, lost ${lost}`,
        );
        assert.deepEqual(corrupt, []);
        assert.equal(lost + healed, 0);
        assert.ok(old > 0 && done > 0, 'the cuts did not reach both sides of the replacement');
      }
    });
}

const upstream: Cuttable = {
  ...(jobs[0] as Cuttable),
  // What library-go's installer does (DU-W1): delete, then write in place.
  act: async (ops, root) => {
    const path = `${root}/r/man/p-pod.yaml`;
    await ops.unlink(path);
    const file = await ops.open(path, 'truncate', 0o600);
    await ops.write(file, Buffer.from(compact(7)), 0);
    await ops.fsync(file);
    await ops.close(file);
  },
};

test('DU-W1, negative control: a manifest that is deleted and then written goes missing or empty', {
  skip: cannotRun('ext4'),
}, async () => {
  const { corrupt } = await cutEverywhere('ext4', upstream, true);
  assert.ok(corrupt.includes('missing') && corrupt.includes('""'), corrupt.join());
});
