import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyOf } from '@drydock/kube';
import { capiCluster, capiKind, capiObject, machineDeployment, vsphereTemplate } from '../testing/capi-world.ts';
import { type Acted, type ActPorts, actCollection, actRotation } from './act.ts';
import { BASE, RETIRED } from './clone.ts';
import type { ClusterApiObject } from './kinds.ts';
import { rotatedSet } from './set.ts';

const now = new Date('2026-08-02T00:00:00Z');
const made = vsphereTemplate('worker-01234567', 'old', 1);
const marked = (annotations: Record<string, string>): ClusterApiObject => ({
  ...made,
  metadata: { ...made.metadata, annotations: { [BASE]: 'worker', ...annotations } },
});
const set = machineDeployment('worker', 'worker');
const place = {
  ...{ shared: false, list: undefined },
  name: '/spec/topology/variables/0/name',
  value: '/spec/topology/variables/0/value',
  current: 'old',
};

const writes: readonly (readonly [
  what: string,
  object: ClusterApiObject,
  write: (seen: ClusterApiObject, ports: ActPorts) => Promise<Acted>,
])[] = [
  [
    'a set is pointed at a copy',
    set,
    (seen, ports) =>
      actRotation(
        rotatedSet('MachineDeployment', seen),
        { kind: 'point', from: 'worker', to: 'worker-89abcdef', facts: {} },
        ports,
      ),
  ],
  [
    'a variable of a ClusterClass is changed',
    capiObject('Cluster', 'c1', { topology: { variables: [{ name: 'image', value: 'old' }] } }),
    (cluster, ports) =>
      actRotation(
        rotatedSet('MachineDeployment', set),
        { kind: 'variable', cluster, variable: 'image', place, value: 'new', facts: {} },
        ports,
      ),
  ],
  ...(['retire', 'keep', 'delete'] as const).map(
    (kind) =>
      [
        `a template is told to ${kind}`,
        kind === 'retire' ? marked({}) : marked({ [RETIRED]: now.toISOString() }),
        (template: ClusterApiObject, ports: ActPorts) => actCollection({ kind, template }, now, ports),
      ] as const,
  ),
];

for (const [what, object, write] of writes)
  test(`OWN-18 ${what}, and not where anything of it is another than it was decided upon`, async () => {
    const cluster = capiCluster();
    const client = cluster.client();
    const resource = capiKind(object.kind ?? '');
    const key = { namespace: 'ns', name: object.metadata.name };
    const ports: ActPorts = { client, resourceOf: (_, kind) => capiKind(kind) };
    cluster.put(resource, key, object);
    const typed = { apiVersion: object.apiVersion ?? '', kind: object.kind ?? '' };
    const seen = { ...(await client.get(resource, key)), ...typed };
    await client.mergePatch(resource, keyOf(seen), { metadata: { labels: { 'somebody-writes': 'it' } } });
    const changed = cluster.snapshot();
    assert.equal(await write(seen, ports), 'moved');
    assert.deepEqual(cluster.snapshot(), changed);
    const live = { ...(await client.get(resource, key)), ...typed };
    assert.equal(await write(live, ports), 'done');
    assert.notDeepEqual(cluster.snapshot(), changed);
  });
