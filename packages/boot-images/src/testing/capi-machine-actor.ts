import { type Client, ifFound, isConflict, isNotFound, keyOf } from '@drydock/kube';
import { isRotationCanary } from '../cluster-api/canary.ts';
import type { ClusterApiObject } from '../cluster-api/kinds.ts';
import { referenceOf } from '../cluster-api/set.ts';
import { labelSelector } from '../decide/selection.ts';
import { at, nonEmpty, object } from '../observe/json.ts';
import { capiKind } from './capi-world.ts';
import type { MachineFate } from './machine-actor.ts';

/** What becomes of a machine of Cluster API; as the real controllers and their provider show it. */
export type RotatedMachineFate = Exclude<MachineFate, 'invalid' | 'wrong-image'>;

/** What {@link capiMachineActor} needs. */
export interface CapiMachineActorOptions {
  readonly client: Client;
  /** How many templates bear a name, in the whole inventory: machines are cloned by name, and wait while there is none, or several. */
  readonly templates: (name: string) => number;
  /** Default: every machine boots. */
  readonly fate?: (machine: ClusterApiObject) => RotatedMachineFate;
}

/** Stands in for Cluster API's machine controllers, its vSphere provider, the provider of bootstrap data and the kubelets. */
export interface CapiMachineActor {
  /** Each machine goes one step further. True where anything changed. */
  readonly round: () => Promise<boolean>;
  /** Machines that a set has taken as its own, because their labels are those that it selects. */
  readonly adopted: readonly string[];
}

const FINALIZER = 'machine.cluster.x-k8s.io';
const namespace = 'ns';

/** See {@link CapiMachineActor}. It passes the same table of scenarios as the real controllers are held to. */
export function capiMachineActor({
  client,
  templates,
  fate = () => 'boots',
}: CapiMachineActorOptions): CapiMachineActor {
  const machines = capiKind('Machine');
  const adopted: string[] = [];

  async function round(): Promise<boolean> {
    const there = await Array.fromAsync(client.list(machines, { namespace }));
    let changed = await collected(new Set(there.map(({ metadata }) => metadata.uid)));
    for (const machine of there) {
      try {
        changed = (await step(machine)) || changed;
      } catch (error) {
        // Somebody else wrote in between; the next round looks again.
        if (!isNotFound(error) && !isConflict(error)) throw error;
        changed = true;
      }
    }
    return changed;
  }

  async function step(machine: ClusterApiObject): Promise<boolean> {
    const { finalizers = [], deletionTimestamp, ownerReferences = [] } = machine.metadata;
    if (deletionTimestamp !== undefined) return gone(machine, finalizers);
    if (!finalizers.includes(FINALIZER)) {
      const cluster = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Cluster', name: 'c1', uid: 'c1' };
      const metadata = { finalizers: [...finalizers, FINALIZER], ownerReferences: [...ownerReferences, cluster] };
      await client.mergePatch(machines, keyOf(machine), { metadata } as never);
      return true;
    }
    const owner = (await Array.fromAsync(client.list(capiKind('MachineSet'), { namespace }))).find(({ spec }) =>
      labelSelector(at(spec, ['selector']) as never)(machine.metadata.labels ?? {}),
    );
    if (owner !== undefined && isRotationCanary(machine)) {
      adopted.push(`${machine.metadata.name} by ${owner.metadata.name}`);
      const { kind = '', metadata } = owner;
      const reference = {
        apiVersion: 'cluster.x-k8s.io/v1beta1',
        kind,
        name: metadata.name,
        uid: 's',
        controller: true,
      };
      const all = { ownerReferences: [...ownerReferences, reference] };
      await client.mergePatch(machines, keyOf(machine), { metadata: all } as never);
      return true;
    }
    return live(machine, fate(machine));
  }

  /** The server's own garbage collector: what belongs to a machine that is gone goes. */
  async function collected(there: ReadonlySet<string | undefined>): Promise<boolean> {
    let changed = false;
    for (const kind of ['KubeadmConfig', 'VSphereMachine', 'AWSMachine'])
      for (const { metadata } of await Array.fromAsync(client.list(capiKind(kind), { namespace }))) {
        const owner = metadata.ownerReferences?.find((one) => one.kind === 'Machine');
        if (owner === undefined || there.has(owner.uid)) continue;
        await absent(client.delete(capiKind(kind), { namespace, name: metadata.name }));
        changed = true;
      }
    return changed;
  }

  /** What it refers to goes first. */
  async function gone(machine: ClusterApiObject, finalizers: readonly string[]): Promise<boolean> {
    if (!finalizers.includes(FINALIZER)) return false;
    for (const path of [['bootstrap', 'configRef'], ['infrastructureRef']]) {
      const reference = referenceOf(at(machine.spec, path));
      if (reference !== undefined)
        await absent(client.delete(capiKind(reference.kind), { namespace, name: reference.name }));
    }
    await client.mergePatch(machines, keyOf(machine), {
      metadata: { finalizers: finalizers.filter((one) => one !== FINALIZER) },
    } as never);
    return true;
  }

  async function live(machine: ClusterApiObject, becomes: RotatedMachineFate): Promise<boolean> {
    const { name } = machine.metadata;
    switch (nonEmpty(object(machine.status)['phase'])) {
      case undefined:
        await status(machine, { phase: 'Pending' });
        return true;
      case 'Pending':
        if ((await referred(machine, ['bootstrap', 'configRef'])) === undefined) return false;
        await status(machine, { phase: 'Provisioning' });
        return true;
      case 'Provisioning':
        return made(machine, becomes);
      case 'Provisioned':
        if (becomes === 'no-node') return false;
        await status(machine, {
          phase: 'Running',
          nodeRef: { name },
          conditions: [node('Unknown', 'node is not yet ready')],
        });
        return true;
      default:
        return ran(machine, becomes);
    }
  }

  async function made(machine: ClusterApiObject, becomes: RotatedMachineFate): Promise<boolean> {
    const infrastructure = await referred(machine, ['infrastructureRef']);
    if (infrastructure === undefined) return false;
    const template = nonEmpty(object(infrastructure.spec)['template']) ?? '';
    const found = templates(template);
    if (found === 0) return waits(machine, `unable to get template by name "${template}": vm '${template}' not found`);
    if (found > 1)
      return waits(
        machine,
        `unable to get template by name "${template}": path '${template}' resolves to multiple vms`,
      );
    if (becomes === 'quota')
      return waits(machine, 'error in cloning: The operation exceeds the quota of the resource pool.');
    if (becomes === 'no-power') return waits(machine, 'error powering on: no host is left for it');
    if (becomes === 'never-boots') return waits(machine, 'waiting for network addresses');
    await status(machine, { phase: 'Provisioned' });
    return true;
  }

  async function waits(machine: ClusterApiObject, message: string): Promise<boolean> {
    if (object(machine.status)['conditions'] !== undefined) return false;
    const told = '* VirtualMachineProvisioned: NotProvisioned';
    const conditions = [{ type: 'InfrastructureReady', status: 'False', reason: 'NotReady', message: told }];
    await status(machine, { phase: 'Provisioning', conditions });
    const reference = referenceOf(at(machine.spec, ['infrastructureRef']));
    const resource = capiKind(reference?.kind ?? '');
    const made = await client.get(resource, { namespace, name: reference?.name ?? '' });
    const why = { type: 'VMProvisioned', status: 'False', reason: 'CloningFailed', message };
    await client.replaceStatus(resource, { ...made, status: { conditions: [why] } });
    return true;
  }

  async function ran(machine: ClusterApiObject, becomes: RotatedMachineFate): Promise<boolean> {
    const wanted =
      becomes === 'kubelet-not-ready'
        ? node('False', 'container runtime network not ready')
        : becomes === 'node-lost'
          ? node('Unknown', `Node ${machine.metadata.name} has been deleted while the Machine still exists`)
          : node('True', '');
    const now = object(machine.status);
    if (JSON.stringify(now['conditions']) === JSON.stringify([wanted])) return false;
    await status(machine, { ...now, conditions: [wanted] });
    return true;
  }

  async function referred(machine: ClusterApiObject, path: readonly string[]): Promise<ClusterApiObject | undefined> {
    const reference = referenceOf(at(machine.spec, path));
    if (reference === undefined) return undefined;
    return await ifFound(client.get(capiKind(reference.kind), { namespace, name: reference.name }));
  }

  async function status(machine: ClusterApiObject, next: NonNullable<ClusterApiObject['status']>): Promise<void> {
    const current = await client.get(machines, keyOf(machine));
    await client.replaceStatus(machines, { ...current, status: next });
  }

  return { round, adopted };
}

function node(status: string, message: string): Readonly<Record<string, string>> {
  return { type: 'NodeReady', status, reason: 'Node', message };
}

async function absent(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
