import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImageFacts } from '../image-facts.ts';
import { CAPI_KINDS, capiCluster, capiKind, capiObject, machineDeployment } from '../testing/capi-world.ts';
import { type RotationCanaries, rotationCanaries } from './canary.ts';
import { rotationGroup } from './canary-machine.ts';
import { rotatedSet } from './set.ts';

const wish = { policy: { name: 'gold', uid: 'p-1', generation: 1 }, timeoutMs: 1_200_000, keepOnFailure: false };
const set = rotatedSet('MachineDeployment', machineDeployment('a', 'a'));
const group = rotationGroup(set, wish, 'new');

/** Ways in which a canary comes to its end: a machine set asks for it, or nothing can be found out about the set. */
const looks: readonly (readonly [what: string, look: (canaries: RotationCanaries) => Promise<unknown>])[] = [
  [
    'its machine set asks',
    (canaries) =>
      canaries.tried({ set } as never, { kind: 'try', leaf: {} as never, image: 'new', wish, facts: {} }, {}),
  ],
  ['its machine set cannot be looked at', (canaries) => canaries.tend({ set, group, wish }, 'vCenter is away', {})],
];

for (const [what, look] of looks)
  test(`KEEP-C: a verdict on a canary of Cluster API that could not be written counts only once it is: ${what}`, async () => {
    const cluster = capiCluster();
    const key = { namespace: 'ns', name: group.machine };
    const labels = { 'drydock.dev/canary': group.id };
    const machine = capiObject('Machine', group.machine, {}, { labels });
    cluster.put(capiKind('Machine'), key, { ...machine, status: { phase: 'Failed' } } as never);
    const written: NonNullable<ImageFacts['canary']>[] = [];
    let refused = 0;
    const canaries = rotationCanaries({
      ...{ client: cluster.client(), served: { of: (_: string, kind: string) => CAPI_KINDS[kind] } },
      ...{ now: () => new Date(), machines: () => [], recorded: () => undefined, awaited: () => true },
      record: async (_, { canary }) => {
        refused += 1;
        if (refused === 1) throw new Error('the API server is overloaded');
        if (canary !== undefined) written.push(canary);
      },
    });
    await assert.rejects(look(canaries), /overloaded/);
    assert.notEqual(cluster.peek(capiKind('Machine'), key), undefined, 'it is there until its verdict is written');
    assert.equal(canaries.verdict(group.id), undefined);
    await assert.rejects(look(canaries), /the canary of new failed/);
    assert.deepEqual(
      written.map(({ verdict }) => verdict),
      ['Failed'],
    );
    assert.equal(cluster.peek(capiKind('Machine'), key), undefined);
  });
