import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capiCluster, capiKind, vsphereTemplate } from '../testing/capi-world.ts';
import { BASE, OURS, RETIRED } from './clone.ts';
import { decideCollection } from './collect.ts';
import { collectTemplates } from './collect-templates.ts';
import type { ClusterApiObject } from './kinds.ts';
import { CLONED_FROM, CLONED_FROM_KIND } from './needs.ts';

const now = new Date('2026-08-02T12:00:00Z');
const graceMs = 600_000;
const ago = (minutes: number): string => new Date(now.getTime() - minutes * 60_000).toISOString();

function copy(name: string, made: number, retired?: number): ClusterApiObject {
  const template = vsphereTemplate(name, name, 1);
  const annotations = { [BASE]: 'worker', ...(retired === undefined ? {} : { [RETIRED]: ago(retired) }) };
  return { ...template, metadata: { ...template.metadata, labels: OURS, annotations, creationTimestamp: ago(made) } };
}

function decided(templates: readonly ClusterApiObject[], needed: readonly string[], keep = 0) {
  const history = ({ metadata }: ClusterApiObject) => (needed.includes(metadata.name) ? 'a history' : undefined);
  const { steps, after } = decideCollection(
    templates,
    { sets: [], infrastructure: [], clusterClasses: [], history },
    { now, keep, graceMs },
  );
  return [steps.map(({ kind, template }) => `${kind} ${template.metadata.name}`), after];
}

test('OWN-18 a copy that says that it goes, and is needed again, does not say so any more', () => {
  assert.deepEqual(decided([copy('worker-1', 99, 99), copy('worker-2', 98)], ['worker-1', 'worker-2']), [
    ['keep worker-1'],
    undefined,
  ]);
  assert.deepEqual(decided([copy('worker-1', 99, 99), copy('worker-2', 98, 99)], [], 1), [
    ['keep worker-2', 'delete worker-1'],
    undefined,
  ]);
});

test('OWN-18 what a machine was made of stays, also where it does not say of which kind that was; one of another kind is another', () => {
  const made = (more: Record<string, string>) => ({
    sets: [],
    infrastructure: [
      { kind: 'VSphereMachine', metadata: { name: 'm', annotations: { [CLONED_FROM]: 'worker-1', ...more } } },
    ],
    ...{ clusterClasses: [], history: () => undefined },
  });
  const steps = (more: Record<string, string>): number =>
    decideCollection([copy('worker-1', 99, 99)], made(more), { now, keep: 0, graceMs }).steps.filter(
      ({ kind }) => kind === 'delete',
    ).length;
  const of = (kind: string) => ({ [CLONED_FROM_KIND]: `${kind}.infrastructure.cluster.x-k8s.io` });
  assert.deepEqual([steps({}), steps(of('VSphereMachineTemplate')), steps(of('AWSMachineTemplate'))], [0, 0, 1]);
});

test('OWN-18 nothing goes before it is old enough, nor before it has said so for as long', () => {
  assert.deepEqual(decided([copy('worker-1', 4)], []), [[], 360_000]);
  assert.deepEqual(decided([copy('worker-1', 10)], []), [['retire worker-1'], undefined]);
  assert.deepEqual(decided([copy('worker-1', 99, 3)], []), [[], 420_000]);
  assert.deepEqual(decided([copy('worker-1', 99, 10)], []), [['delete worker-1'], undefined]);
  assert.deepEqual(decided([copy('worker-1', 99, -30)], []), [[], graceMs], 'a clock that was set back');
});

test('OWN-18 a process that does not lead any more collects nothing', async () => {
  const cluster = capiCluster();
  const template = copy('worker-1', 99, 99);
  cluster.put(capiKind('VSphereMachineTemplate'), { namespace: 'ns', name: 'worker-1' }, template);
  const ports = {
    ...{ client: cluster.client(), resourceOf: (_: string, kind: string) => capiKind(kind) },
    ...{ served: { of: () => undefined }, templates: [capiKind('VSphereMachineTemplate')] },
    ...{ history: () => undefined, removed: () => undefined },
  };
  const mayWrite = (): void => {
    throw new Error('somebody else leads');
  };
  const options = { now, keep: 0, graceMs };
  const before = cluster.snapshot();
  await assert.rejects(collectTemplates('ns', { ...ports, mayWrite }, options), /somebody else leads/);
  assert.deepEqual(cluster.snapshot(), before);
  await collectTemplates('ns', ports, options);
  assert.notDeepEqual(cluster.snapshot(), before);
});
