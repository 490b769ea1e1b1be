import assert from 'node:assert/strict';
import { type Client, isNotFound, type Resource } from '@drydock/kube';
import { decideCanary } from '../canary/decide.ts';
import { seenMachine } from '../cluster-api/canary.ts';
import { canaryParts, ownedBy, rotationSeen } from '../cluster-api/canary-machine.ts';
import type { ClusterApiObject } from '../cluster-api/kinds.ts';
import { rotatedSet } from '../cluster-api/set.ts';
import type { RotatedMachineFate } from './capi-machine-actor.ts';

/** The parts of a canary, without owners yet. */
export interface RotatedParts {
  readonly machine: ClusterApiObject;
  readonly others: readonly ClusterApiObject[];
}

/** What a canary of a deployment is made of, as the operator makes it. */
export function rotatedParts(
  deployment: ClusterApiObject,
  template: ClusterApiObject,
  {
    config,
    group,
    image,
    version,
  }: { readonly config: ClusterApiObject; readonly group: string; readonly image: string; readonly version: string },
): RotatedParts {
  const set = rotatedSet('MachineDeployment', deployment);
  const rotation = {
    ...{ set, template, siblings: [], cluster: undefined, clusterClass: undefined, remediated: [] },
    ...{ beside: () => undefined, otherAuthority: undefined },
  };
  const leaf = { path: ['spec', 'template', 'spec', 'template'], platform: 'vsphere' } as const;
  const tried = { id: group, machine: `drydock-canary-${group}`, image, line: '' };
  const { machine, bootstrap, infrastructure } = canaryParts(rotation, tried, {
    leaf,
    config,
    machineVersion: version,
  });
  return { machine, others: [bootstrap, infrastructure] };
}

/** With the machine as owner. */
export const partOf: typeof ownedBy = ownedBy;

/** A machine that a scenario asks for. */
export interface WantedRotatedMachine {
  readonly name: string;
  /** Of the canary whose machine it plays. */
  readonly group: string;
  readonly fate: RotatedMachineFate;
  /** How many templates in the whole inventory bear the name that it is made from. */
  readonly templates: number;
}

/** Controllers of machines of Cluster API, real or played, and what is around them. */
export interface RotatedMachineRig {
  readonly client: Client;
  readonly namespace: string;
  readonly machines: Resource<ClusterApiObject>;
  /** What belongs to a machine, by its name. */
  readonly parts: readonly Resource<ClusterApiObject>[];
  /** Creates it and what it refers to, as a canary is made. */
  readonly create: (wanted: WantedRotatedMachine) => Promise<void>;
  /** Lets the controllers work until `look` finds something. `seen` says what there was when it does not. */
  readonly until: <T>(what: string, look: () => Promise<T | undefined>, seen: () => unknown) => Promise<T>;
}

/** What becomes of one machine. */
export interface RotatedMachineScenario {
  readonly name: string;
  readonly wanted: Pick<WantedRotatedMachine, 'fate' | 'templates'>;
  /** In the words in which a canary tells of it. */
  readonly seen: RegExp;
  /** What a canary makes of it at once; undefined where only time tells. */
  readonly verdict?: 'Passed';
}

/** What Cluster API and its vSphere provider do, as far as a canary counts on it. The played ones and those of upstream pass it alike: none of them ever ends a machine by itself. */
export const ROTATED_MACHINE_SCENARIOS: readonly RotatedMachineScenario[] = [
  {
    name: 'a machine is cloned from the template of that name, and becomes a node that is ready',
    wanted: { fate: 'boots', templates: 1 },
    seen: /^phase Running, node \S+$/,
    verdict: 'Passed',
  },
  {
    name: 'no template of that name in the whole inventory: it waits, and says so',
    wanted: { fate: 'boots', templates: 0 },
    seen: /^phase Provisioning, .*CloningFailed.*, no node$/,
  },
  {
    name: 'two templates of that name: it waits, and says so',
    wanted: { fate: 'boots', templates: 2 },
    seen: /^phase Provisioning, .*CloningFailed.*, no node$/,
  },
  {
    name: 'the platform refuses the clone',
    wanted: { fate: 'quota', templates: 1 },
    seen: /^phase Provisioning, .*exceeds the quota.*, no node$/,
  },
  {
    name: 'the platform refuses to power it on',
    wanted: { fate: 'no-power', templates: 1 },
    seen: /^phase Provisioning, .*no host is left for it.*, no node$/,
  },
  {
    name: 'the guest never says anything',
    wanted: { fate: 'never-boots', templates: 1 },
    seen: /^phase Provisioning, .*(network|IP).*, no node$/,
  },
  {
    name: 'the guest has addresses, and never joins',
    wanted: { fate: 'no-node', templates: 1 },
    seen: /^phase Provisioned, .*no node$/,
  },
  {
    name: 'the node is not ready',
    wanted: { fate: 'kubelet-not-ready', templates: 1 },
    seen: /^phase Running, .*NodeReady: .*container runtime network not ready.*, node \S+$/,
  },
  {
    name: 'the node goes again',
    wanted: { fate: 'node-lost', templates: 1 },
    seen: /^phase \S+, .*NodeReady: .*(deleted|not found|does not exist).*, node \S+$/i,
  },
];

/** Plays one scenario to its end: the machine comes to what is said of it, and when it is deleted it goes, and all that it referred to with it. */
export async function playRotatedMachine(
  rig: RotatedMachineRig,
  { wanted, seen, verdict }: RotatedMachineScenario,
  group: string,
): Promise<void> {
  const { client, namespace, machines, until } = rig;
  const name = `drydock-canary-${group}`;
  const key = { namespace, name };
  await rig.create({ name, group, ...wanted });
  let last = 'nothing';
  const live = await until(
    String(seen),
    async () => {
      const one = await client.get(machines, key);
      last = rotationSeen(one, await partOfMachine(rig, key));
      return seen.test(last) ? one : undefined;
    },
    () => last,
  );
  const machine = seenMachine(live, group);
  assert.equal(machine.own, true);
  const step = decideCanary(
    { machine, awaited: true, others: 0, waitedMs: 1 },
    { timeoutMs: 60_000, keepOnFailure: false, most: 1 },
  );
  assert.equal(step.kind === 'record' ? step.verdict.verdict : step.kind, verdict ?? 'wait');
  await client.delete(machines, key);
  for (const resource of [machines, ...rig.parts])
    await until(
      `${resource.kind} ${name} is gone`,
      async () => ((await there(client, resource, key)) ? undefined : true),
      () => last,
    );
}

/** What it is made of, where that is there. */
async function partOfMachine(
  { client, parts }: RotatedMachineRig,
  key: { readonly namespace: string; readonly name: string },
): Promise<ClusterApiObject | undefined> {
  const resource = parts.at(-1);
  return resource !== undefined && (await there(client, resource, key)) ? client.get(resource, key) : undefined;
}

async function there(
  client: Client,
  resource: Resource<ClusterApiObject>,
  key: { readonly namespace: string; readonly name: string },
): Promise<boolean> {
  try {
    await client.get(resource, key);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
