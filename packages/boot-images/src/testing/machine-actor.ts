import { Machine, MachineSet, Node } from '@drydock/api';
import { type Client, isConflict, isNotFound, keyOf } from '@drydock/kube';
import { canaryTaint } from '../canary/machine.ts';
import { labelSelector } from '../decide/selection.ts';
import { machineApiNamespace } from '../user-data/user-data.ts';

/** What becomes of a machine. `boots`: a Node that is ready. The others fail, each as the real controllers show it. */
export type MachineFate =
  | 'boots'
  | 'quota'
  | 'invalid'
  | 'never-boots'
  | 'wrong-image'
  | 'no-node'
  | 'kubelet-not-ready'
  | 'node-lost';

/** What {@link machineActor} needs. */
export interface MachineActorOptions {
  readonly client: Client;
  /** How many templates bear a name, in the whole inventory: machines are cloned by name, and none and several are both the end. */
  readonly templates: (name: string) => number | Promise<number>;
  /** Default: every machine boots. */
  readonly fate?: (machine: Machine) => MachineFate;
}

/** Stands in for Machine API: the controllers of machine sets, of vSphere machines and of their nodes. */
export interface MachineActor {
  /** Each machine goes one step further. True where anything changed. */
  readonly round: () => Promise<boolean>;
  /** Machines that a set has taken as its own, because their labels are those that it selects. */
  readonly adopted: readonly string[];
}

const FINALIZER = 'machine.machine.openshift.io';
const CLUSTER_LABEL = 'machine.openshift.io/cluster-api-cluster';

/** See {@link MachineActor}. It passes the same table of scenarios as the real controllers are held to. */
export function machineActor({ client, templates, fate = () => 'boots' }: MachineActorOptions): MachineActor {
  const adopted: string[] = [];

  async function round(): Promise<boolean> {
    const sets = await Array.fromAsync(client.list(MachineSet, { namespace: machineApiNamespace }));
    const machines = await Array.fromAsync(client.list(Machine, { namespace: machineApiNamespace }));
    let changed = false;
    for (const machine of machines) {
      try {
        changed = (await step(machine, sets)) || changed;
      } catch (error) {
        // Somebody else wrote in between; the next round looks again.
        if (!isNotFound(error) && !isConflict(error)) throw error;
        changed = true;
      }
    }
    return changed;
  }

  async function step(machine: Machine, sets: readonly MachineSet[]): Promise<boolean> {
    const { name, finalizers = [], deletionTimestamp, labels = {}, ownerReferences = [] } = machine.metadata;
    if (deletionTimestamp !== undefined) return gone(machine, finalizers);
    if (!finalizers.includes(FINALIZER)) {
      await patched(machine, { metadata: { finalizers: [...finalizers, FINALIZER] } });
      return true;
    }
    const owner = sets.find(({ spec }) => labelSelector(spec?.selector)(labels));
    if (ownerReferences.length === 0 && owner !== undefined) {
      const { apiVersion = '', kind = '', metadata } = owner;
      const reference = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true };
      adopted.push(`${name} by ${metadata.name}`);
      await patched(machine, { metadata: { ownerReferences: [reference] } });
      return true;
    }
    return live(machine, fate(machine));
  }

  async function gone(machine: Machine, finalizers: readonly string[]): Promise<boolean> {
    if (!finalizers.includes(FINALIZER)) return false;
    const { nodeRef } = machine.status ?? {};
    if (nodeRef?.name !== undefined) await absent(client.delete(Node, { name: nodeRef.name }));
    await patched(machine, { metadata: { finalizers: finalizers.filter((one) => one !== FINALIZER) } });
    return true;
  }

  async function live(machine: Machine, becomes: MachineFate): Promise<boolean> {
    const { name } = machine.metadata;
    switch (machine.status?.phase) {
      case undefined:
        return began(machine, becomes);
      case 'Provisioning':
        if (becomes === 'never-boots') return false;
        await patched(machine, { spec: { providerID: `vsphere://${name}` } });
        await status(machine, { phase: 'Provisioned', providerStatus: { instanceState: 'poweredOn' } });
        return true;
      case 'Provisioned':
        return joined(machine, becomes);
      case 'Running':
        return ran(name, becomes);
      default:
        return false;
    }
  }

  async function began(machine: Machine, becomes: MachineFate): Promise<boolean> {
    const { labels = {} } = machine.metadata;
    const named = machine.spec?.providerSpec?.value?.['template'];
    const template = typeof named === 'string' ? named : '';
    const failed = (errorReason: string, errorMessage: string): Promise<void> =>
      status(machine, { phase: 'Failed', errorReason, errorMessage });
    if (labels[CLUSTER_LABEL] === undefined) await failed('InvalidConfiguration', `missing "${CLUSTER_LABEL}" label`);
    else if (becomes === 'quota') await failed('InsufficientResources', 'insufficient resources: quota exceeded');
    else if (becomes === 'invalid') await failed('InvalidConfiguration', 'failed validating machine provider spec');
    else {
      const found = await templates(template);
      if (found === 0) await failed('InvalidConfiguration', `template not found, specified value: "${template}"`);
      else if (found > 1)
        await failed('InvalidConfiguration', `multiple templates found, specified value: "${template}"`);
      else await status(machine, { phase: 'Provisioning', providerStatus: { instanceState: 'poweredOff' } });
    }
    return true;
  }

  async function joined(machine: Machine, becomes: MachineFate): Promise<boolean> {
    // An image that is another one than the stub was written for ends in its emergency shell; to the API both look alike.
    if (becomes === 'wrong-image' || becomes === 'no-node') return false;
    const { name } = machine.metadata;
    const { taints } = (machine.spec ?? {}) as { readonly taints?: unknown };
    const spec = { providerID: `vsphere://${name}`, taints: Array.isArray(taints) ? taints : [canaryTaint] };
    const node = { metadata: { name }, spec } as Node;
    await client.create(Node, node);
    await status(machine, { ...machine.status, phase: 'Running', nodeRef: { name, uid: name } });
    return true;
  }

  async function ran(name: string, becomes: MachineFate): Promise<boolean> {
    if (becomes === 'node-lost') {
      const there = await absent(client.get(Node, { name }));
      if (there) await client.delete(Node, { name });
      return there;
    }
    const ready = becomes !== 'kubelet-not-ready';
    const condition = ready
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady' }
      : { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'container runtime network not ready' };
    const node = await client.get(Node, { name });
    if (node.status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === condition.status) === true)
      return false;
    await client.replaceStatus(Node, { ...node, status: { ...node.status, conditions: [condition] } });
    return true;
  }

  const patched = async (machine: Machine, patch: object): Promise<void> =>
    void (await client.mergePatch(Machine, keyOf(machine), patch as Parameters<Client['mergePatch']>[2]));

  async function status(machine: Machine, next: NonNullable<Machine['status']>): Promise<void> {
    const current = await client.get(Machine, keyOf(machine));
    await client.replaceStatus(Machine, { ...current, status: next });
  }

  return { round, adopted };
}

/** False where it was not there. */
async function absent(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
