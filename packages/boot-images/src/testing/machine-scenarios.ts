import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Machine, Node } from '@drydock/api';
import { type Client, ifFound, isNotFound } from '@drydock/kube';
import { canaryMachineOf, decideCanary, seenOf } from '../canary/decide.ts';
import { canaryLabel } from '../canary/machine.ts';
import { machineApiNamespace } from '../user-data/machine-api.ts';
import type { MachineFate } from './machine-actor.ts';

/** A machine that a scenario asks for. */
export interface WantedMachine {
  readonly name: string;
  readonly fate: MachineFate;
  /** How many templates in the whole inventory bear the name that it is made from. */
  readonly templates: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** Controllers of machines, real or played, and what is around them. */
export interface MachineRig {
  readonly client: Client;
  /** Creates it, without an owner. */
  readonly create: (wanted: WantedMachine) => Promise<void>;
  /** Lets the controllers work until `look` finds something. `seen` says what there was when it does not. */
  readonly until: <T>(what: string, look: () => Promise<T | undefined>, seen: () => unknown) => Promise<T>;
}

/** What becomes of one machine. */
export interface MachineScenario {
  readonly name: string;
  readonly wanted: Pick<WantedMachine, 'fate' | 'templates'> & {
    /** By the name of its cluster, without which no machine is made. */
    readonly labelled: boolean;
  };
  /** In the words in which a canary tells of it. */
  readonly seen: RegExp;
  /** What a canary makes of it at once; undefined where only time tells. */
  readonly verdict?: 'Passed' | 'Failed';
}

const usual = { templates: 1, labelled: true } as const;

/** What controllers of machines do, as far as a canary counts on it. The played ones and those of upstream pass it alike. */
export const MACHINE_SCENARIOS: readonly MachineScenario[] = [
  {
    name: 'a machine is cloned from the template of that name, wherever it is, is powered on, and becomes a node that is ready',
    wanted: { fate: 'boots', ...usual },
    seen: /^phase Running, instance poweredOn, node \S+ Ready=True/,
    verdict: 'Passed',
  },
  {
    name: 'no template of that name in the whole inventory: the end',
    wanted: { fate: 'boots', ...usual, templates: 0 },
    seen: /^phase Failed, error InvalidConfiguration: template not found, specify valid value/,
    verdict: 'Failed',
  },
  {
    name: 'two templates of that name: the end',
    wanted: { fate: 'boots', ...usual, templates: 2 },
    seen: /^phase Failed, error InvalidConfiguration: multiple templates found, specify one in config/,
    verdict: 'Failed',
  },
  {
    name: 'a folder that is not there: the end',
    wanted: { fate: 'invalid', ...usual },
    seen: /^phase Failed, error InvalidConfiguration: folder not found, specify valid value/,
    verdict: 'Failed',
  },
  {
    name: 'without the label of its cluster it is passed over without a word',
    wanted: { fate: 'boots', ...usual, labelled: false },
    seen: /^phase none, no node$/,
  },
  {
    name: 'the platform refuses the clone: only the status of its provider says so',
    wanted: { fate: 'quota', ...usual },
    seen: /^phase Provisioning, .*MachineCreation: .*exceeds the quota/,
  },
  {
    name: 'the platform refuses to power it on',
    wanted: { fate: 'no-power', ...usual },
    seen: /^phase Provisioning, .*MachineCreation: .*error powering on \S+ vm: /,
  },
  {
    name: 'the guest never says anything',
    wanted: { fate: 'never-boots', ...usual },
    seen: /^phase Provisioned, instance poweredOn, no node/,
  },
  {
    name: 'the guest waits in its emergency shell',
    wanted: { fate: 'wrong-image', ...usual },
    seen: /^phase Provisioned, instance poweredOn, no node/,
  },
  {
    name: 'the guest has addresses, and never joins',
    wanted: { fate: 'no-node', ...usual },
    seen: /^phase Provisioned, instance poweredOn, no node/,
  },
  {
    name: 'the node is not ready',
    wanted: { fate: 'kubelet-not-ready', ...usual },
    seen: /^phase Running, instance poweredOn, node \S+ Ready=False KubeletNotReady: container runtime network not ready/,
  },
  {
    name: 'the node goes again',
    wanted: { fate: 'node-lost', ...usual },
    seen: /^phase Running, instance poweredOn, node \S+ is not there/,
  },
];

/** Plays one scenario to its end: the machine comes to what is said of it, and when it is deleted it goes, and its node with it. */
export async function playMachine(rig: MachineRig, { wanted, seen, verdict }: MachineScenario): Promise<void> {
  const { client, until } = rig;
  const group = randomBytes(6).toString('hex');
  const name = `drydock-canary-${group}`;
  const key = { namespace: machineApiNamespace, name };
  const { labelled, ...as } = wanted;
  const labels = { [canaryLabel]: group, ...(labelled ? { 'machine.openshift.io/cluster-api-cluster': 'c1' } : {}) };
  await rig.create({ name, ...as, labels });
  let last = 'nothing';
  const { machine, node } = await until(
    String(seen),
    async () => {
      const one = await client.get(Machine, key);
      const there = await nodeOf(client, one);
      last = seenOf(one, there);
      return seen.test(last) ? { machine: one, node: there } : undefined;
    },
    () => last,
  );
  const observed = { machine: canaryMachineOf(machine, node, group), awaited: true, others: 0, waitedMs: 1 };
  const step = decideCanary(observed, { timeoutMs: 60_000, keepOnFailure: false, most: 1 });
  assert.deepEqual(step.kind === 'record' ? step.verdict.verdict : step.kind, verdict ?? 'wait');
  await client.delete(Machine, key);
  await until(
    `${name} is gone`,
    async () => (await absent(client.get(Machine, key))) || undefined,
    () => last,
  );
  if (node !== undefined) assert.equal(await absent(client.get(Node, { name: node.metadata.name })), true);
}

async function nodeOf(client: Client, machine: Machine): Promise<Node | undefined> {
  const name = machine.status?.nodeRef?.name;
  if (name === undefined) return undefined;
  return await ifFound(client.get(Node, { name }));
}

async function absent(reading: Promise<unknown>): Promise<boolean> {
  try {
    await reading;
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}
