import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BootImage, Machine, type MachineSet } from '@drydock/api';
import type { KeptSet } from '../observe/kept-set.ts';
import { readPolicy } from '../policy/policy-for.ts';
import { fakeCluster, machineSet } from '../testing/fake-cluster.ts';
import { canaries, canaryMemory } from './canaries.ts';
import { type CanaryObserved, decideCanary } from './decide.ts';
import { MOST_CANARIES } from './spec.ts';

const machine = {
  ...{ name: 'drydock-canary-0123456789ab', uid: 'u', own: true, going: false, made: 0, failed: false },
  ...{ ready: undefined, phase: undefined, seen: 'phase none' },
};
const owner = { apiVersion: 'machine.openshift.io/v1beta1', kind: 'MachineSet', name: 'x', uid: 'x' };
const read = readPolicy({ metadata: { name: 'gold' } });
const step = (observed: Partial<CanaryObserved>, keepOnFailure = false) =>
  decideCanary({ awaited: true, others: 0, waitedMs: 0, ...observed }, { timeoutMs: 1000, keepOnFailure, most: 5 });

test('OWN-18 a machine that has passed goes also where those that failed are kept for a look', () => {
  const passed = { verdict: 'Passed', message: '' } as const;
  assert.deepEqual(step({ machine, verdict: passed }, true), { kind: 'remove', uid: 'u' });
  assert.equal(step({ machine, verdict: { verdict: 'Failed', message: 'no' } }, true).kind, 'fail');
});

test('OWN-18 a canary that somebody deletes before it is ready has failed, and no second one is made', () => {
  const judged = step({ machine: { ...machine, going: true } });
  assert.ok(judged.kind === 'record' && judged.verdict.verdict === 'Failed');
  assert.match(judged.verdict.message, /was deleted by somebody before it was ready/);
  assert.equal(step({ verdict: judged.verdict }).kind, 'fail');
});

/** Canaries of one pass and the next, of which no cache shows what was said; `shown`: nor a machine. */
function passes({ beforeWrite = (): void => undefined, shown = false } = {}) {
  const cluster = fakeCluster();
  const { client } = cluster;
  const said: string[] = [];
  const labels = { 'machine.openshift.io/cluster-api-cluster': 'c1', set: 'x' };
  const set = (name: string): KeptSet => {
    const one = machineSet(name);
    const template = { ...one.spec?.template, metadata: { labels } };
    return { ...one, kind: 'MachineSet', spec: { selector: { matchLabels: labels }, template } } as MachineSet;
  };
  const machines = (): readonly Machine[] =>
    [...client.objects].flatMap(([id, one]) => (id.startsWith('machines ') ? [one as Machine] : []));
  const ports = {
    ...{ client, machineSets: () => [], images: (): BootImage[] => [], elapsed: () => cluster.clock },
    ...{ machines: () => (shown ? machines() : []), now: () => new Date(cluster.clock) },
  };
  const memory = canaryMemory();
  let own = canaries(ports, memory);
  const tried = (name: string, failureDomain: string = name) =>
    own.tried({
      ...{
        set: set(name),
        facts: {},
        failureDomain: failureDomain === '' ? undefined : failureDomain,
        architecture: 'x86_64',
        beforeWrite,
      },
      policy: { name: 'gold', uid: 'p', generation: 1, spec: { canary: { mode: 'Machine' } }, read },
      image: { edits: [{ path: ['template'], from: 'old', to: 'new' }], reference: 'new' },
      record: async ({ verdict }) => void said.push(String(verdict)),
    });
  const sweep = (): Promise<void> =>
    own.sweep({
      ...{ existing: new Set(['ms/wk-a']), ended: new Set<string>(), longestMs: 1, mayRemove: () => true },
    });
  const next = (): void => {
    own = canaries(ports, memory);
  };
  return { client, tried, machines, said, sweep, next };
}

test('OWN-18 canaries at a time are counted also before any cache shows those that were just made', async () => {
  const { tried, machines } = passes();
  for (let at = 0; at < MOST_CANARIES + 2; at += 1) await tried(`wk-${at}`);
  assert.equal(machines().length, MOST_CANARIES);
});

test('OWN-18 a process that may not act any more says nothing of what became of a canary', async () => {
  let over = false;
  const beforeWrite = (): void => {
    if (over) throw new Error('somebody else leads');
  };
  const { client, tried, machines, said, next } = passes({ beforeWrite });
  await tried('wk-a');
  const [made] = machines();
  assert.ok(made);
  client.put(Machine, { ...made, status: { phase: 'Failed' } });
  over = true;
  next();
  await assert.rejects(tried('wk-a'), /somebody else leads/);
  assert.deepEqual(said, []);
});

test('OWN-18 a machine that was asked for in this pass stays, also before any cache shows whose canary it is', async () => {
  const { tried, machines, sweep, next } = passes({ shown: true });
  await tried('wk-a');
  await sweep();
  assert.equal(machines().length, 1);
  next();
  await sweep();
  assert.equal(machines().length, 0, 'nobody waits for it');
});

test('OWN-18 a machine that somebody took, or relabelled, is not removed when nobody waits for it any more', async () => {
  for (const theirs of [{ labels: { 'drydock.dev/canary': 'mine' } }, { ownerReferences: [owner] }]) {
    const { client, tried, machines, sweep, next } = passes({ shown: true });
    await tried('wk-a');
    const [made] = machines();
    assert.ok(made);
    client.put(Machine, { ...made, metadata: { ...made.metadata, ...theirs } });
    next();
    await sweep();
    assert.equal(machines().length, 1, JSON.stringify(theirs));
  }
});

test('OWN-18 a machine that somebody made anew under the name of a canary, while that was removed, stays', async () => {
  const { client, tried, machines, sweep, next } = passes({ shown: true });
  await tried('wk-a');
  const [made] = machines();
  assert.ok(made);
  const { cluster } = client;
  cluster.onCall = ({ verb, resource }, phase) => {
    if (phase !== 'before' || verb !== 'delete' || !resource.startsWith('machines.')) return;
    cluster.onCall = undefined;
    client.put(Machine, {
      ...made,
      metadata: { name: made.metadata.name, namespace: 'openshift-machine-api', uid: 'theirs' },
    });
  };
  next();
  await sweep();
  assert.deepEqual([cluster.onCall, machines().map(({ metadata }) => metadata.uid)], [undefined, ['theirs']]);
});

test('OWN-18 what became of a canary is known before any cache shows it: no second machine is made', async () => {
  const { client, tried, machines, said, next } = passes();
  await tried('wk-a');
  const [made] = machines();
  assert.ok(made);
  client.put(Machine, { ...made, status: { phase: 'Failed' } });
  for (let round = 0; round < 2; round += 1) {
    next();
    await assert.rejects(tried('wk-a'), /the canary of new failed/);
    assert.deepEqual([machines().length, said], [0, ['Failed']]);
  }
});

test('OWN-18 sets of which nobody knows where their machines are made have a canary each', async () => {
  const { tried, machines } = passes();
  for (const [set, domain] of [
    ['wk-a', 'fd'],
    ['wk-b', 'fd'],
    ['wk-c', ''],
    ['wk-d', ''],
  ] as const)
    await tried(set, domain);
  assert.equal(machines().length, 3);
});
