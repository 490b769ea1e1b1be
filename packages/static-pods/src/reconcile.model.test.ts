import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import type { FsOps } from '@drydock/durable';
import { type CrashScenario, contentOf, exploreCrashes, memoryFs, withoutEachSync } from '@drydock/durable/testing';
import { install } from './install/install.ts';
import { NAMESPACE, podYaml, putConfigMap, smallCluster, smallSpec } from './testing/static-pod-world.ts';

// The same revision again, of which one object changed and an optional one is gone, while pods have the directory mounted.

function run(ops: FsOps, text: string, optional: boolean): Promise<unknown> {
  const cluster = smallCluster(7);
  putConfigMap(cluster, 'config-7', { 'config.yaml': text });
  putConfigMap(cluster, 'optional-7', { o: 'o' });
  if (!optional) cluster.put(ConfigMap, { namespace: NAMESPACE, name: 'optional-7' }, undefined);
  putConfigMap(cluster, 'kube-apiserver-pod-7', { 'pod.yaml': podYaml('kube-apiserver') });
  const { certs: _certs, certDir: _dir, ...spec } = smallSpec(7);
  const sources = { configmaps: ['config'], optionalConfigmaps: ['optional'] };
  return install({ ...spec, sources }, { client: cluster.client(), ops, lanes: 1, installers: false });
}

const at = '/resources/kube-apiserver-pod-7';

test('crash model, installer, the same revision again: each object is old or new, the rest stays, one clean run completes it', async (t) => {
  const fs = memoryFs();
  await run(fs, 'old', true);
  const image = fs.now();
  const pods = ['/manifests/kube-apiserver-pod.yaml', `${at}/kube-apiserver-pod.yaml`].map((path) =>
    contentOf(image, path),
  );
  const judge: CrashScenario['judge'] = (disk, told) => {
    const config = JSON.stringify(contentOf(disk, `${at}/configmaps/config`));
    const optional = JSON.stringify(contentOf(disk, `${at}/configmaps/optional`));
    const now = ['/manifests/kube-apiserver-pod.yaml', `${at}/kube-apiserver-pod.yaml`].map((path) =>
      contentOf(disk, path),
    );
    if (JSON.stringify(now) !== JSON.stringify(pods)) return 'a manifest was touched';
    if (config !== '{"config.yaml":"old"}' && config !== '{"config.yaml":"new"}') return `torn: ${config}`;
    if (optional !== undefined && optional !== '{"o":"o"}') return `torn: ${optional}`;
    const done = config === '{"config.yaml":"new"}' && optional === undefined;
    return told === 'acked' && !done ? 'acknowledged, then lost' : undefined;
  };
  const act = (ops: FsOps): Promise<unknown> => run(ops, 'new', false);
  const report = await exploreCrashes({ image, act, judge });
  t.diagnostic(`${report.disks} disks of ${report.explored} subsets`);
  assert.equal(report.told, 'acked', String(report.error));
  assert.deepEqual(report.violations, []);
  const completed = await exploreCrashes({ image, act, recover: act, judge: (disk) => judge(disk, 'acked') });
  assert.deepEqual(completed.violations, []);
  const results = await withoutEachSync({ image, act, judge, models: ['weak'] });
  const red = results.filter((one) => one.report.violations.length > 0).map(({ left }) => left.split(' ')[1] ?? '');
  const staged = red.filter((path) => path.endsWith('.staging') || path.includes('.staging/'));
  assert.deepEqual([staged.length, red.length > staged.length], [2, true], red.join());
});
