import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@drydock/api';
import type { FsOps } from '@drydock/durable';
import { type CrashScenario, contentOf, exploreCrashes, memoryFs, withoutEachSync } from '@drydock/durable/testing';
import { memoryCluster } from '@drydock/kube/testing';
import { NAMESPACE, putConfigMap, putSecret } from '../testing/static-pod-world.ts';
import { syncCerts } from './cert-sync.ts';

// Every disk that a power cut may leave of a cert syncer: a key pair is replaced, an optional object is gone.

type State = Readonly<Record<'pair' | 'optional', string | undefined>>;

async function run(ops: FsOps, { pair, optional }: State): Promise<unknown> {
  const cluster = memoryCluster({ namespaces: [NAMESPACE] });
  if (pair !== undefined) putSecret(cluster, 'pair', { crt: pair, key: pair });
  if (optional !== undefined) putConfigMap(cluster, 'optional', { ca: optional });
  return syncCerts(
    {
      namespace: NAMESPACE,
      dir: '/certs',
      secrets: [{ name: 'pair' }],
      configmaps: [{ name: 'optional', optional: true }],
    },
    {
      client: cluster.client(),
      ops,
      lanes: 1,
      cached: (kind, name) =>
        kind === 'secrets'
          ? cluster.peek(Secret, { namespace: NAMESPACE, name })
          : cluster.peek(ConfigMap, { namespace: NAMESPACE, name }),
    },
  );
}

const OLD: State = { pair: 'old', optional: 'old' };

async function scenario(from: State | undefined, to: State): Promise<CrashScenario> {
  const fs = memoryFs();
  if (from !== undefined) await run(fs, from);
  const before: State = from ?? { pair: undefined, optional: undefined };
  const text = (value: string | undefined, names: readonly string[]): string | undefined =>
    value === undefined ? undefined : JSON.stringify(Object.fromEntries(names.map((name) => [name, value])));
  return {
    image: fs.now(),
    act: (ops) => run(ops, to),
    judge: (image, told) => {
      for (const [path, names, key] of [
        ['/certs/secrets/pair', ['crt', 'key'], 'pair'],
        ['/certs/configmaps/optional', ['ca'], 'optional'],
      ] as const) {
        const content = contentOf(image, path);
        const found = content === undefined ? undefined : JSON.stringify(content);
        const [old, wanted] = [text(before[key], names), text(to[key], names)];
        if (found !== old && found !== wanted) return `${path} is torn: ${found}`;
        if (told === 'acked' && found !== wanted) return `${path} was acknowledged, then lost`;
      }
      return undefined;
    },
  };
}

for (const [what, from, to] of [
  ['replaced', OLD, { pair: 'new', optional: 'new' }],
  ['one replaced, one gone', OLD, { pair: 'new', optional: undefined }],
  ['first', undefined, { pair: 'new', optional: undefined }],
] as const) {
  test(`crash model, cert syncer, ${what}: pairs are whole, nothing acknowledged is lost, the next pass completes it`, async (t) => {
    const base = await scenario(from, to);
    const report = await exploreCrashes(base);
    t.diagnostic(`${report.disks} disks of ${report.explored} subsets`);
    assert.equal(report.told, 'acked', String(report.error));
    assert.deepEqual(report.violations, []);
    const judge: CrashScenario['judge'] = (image) => base.judge(image, 'acked');
    const completed = await exploreCrashes({ ...base, recover: (ops) => run(ops, to), judge, models: ['ext4'] });
    assert.deepEqual(completed.violations, []);
  });
}

test('crash model, cert syncer: without one of its syncs something is torn or lost', async () => {
  const results = await withoutEachSync({
    ...(await scenario(OLD, { pair: 'new', optional: 'old' })),
    models: ['weak'],
  });
  const green = results
    .filter(({ report }) => report.violations.length === 0)
    .map(({ left }) => left.split(' ')[1] ?? '');
  // What recovery syncs of a disk that needs none.
  const existing = [
    '/certs',
    '/certs/configmaps',
    '/certs/configmaps/optional',
    '/certs/secrets',
    '/certs/secrets/pair',
    '/',
  ];
  assert.deepEqual(green.toSorted(), existing.toSorted());
  assert.ok(results.length - green.length >= 4);
});
