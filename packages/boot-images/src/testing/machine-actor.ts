import { Machine, MachineSet, Node } from '@drydock/api';
import { type Client, isConflict, isNotFound, keyOf } from '@drydock/kube';
import { canaryTaint } from '../canary/machine.ts';
import { labelSelector } from '../decide/selection.ts';
import { machineApiNamespace } from '../user-data/machine-api.ts';

/** What becomes of a machine. `boots`: a Node that is ready. The others fail, each as the real controllers show it. */
export type MachineFate =
  | 'boots'
  /** The platform refuses the clone. */
  | 'quota'
  /** It names a folder that is not there. */
  | 'invalid'
  /** The platform refuses to power it on. */
  | 'no-power'
  /** It is on, and its guest says nothing. */
  | 'never-boots'
  /** The same, as far as the API tells: it waits in its emergency shell. */
  | 'wrong-image'
  /** It has addresses and does not join. */
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
const NOT_CREATED = {
  ...{ type: 'InstanceExists', status: 'False', severity: 'Warning', reason: 'InstanceNotCreated' },
  ...{ message: 'Instance has not been created', lastTransitionTime: '2026-08-02T00:00:00Z' },
};
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
    // Only the log says that it is passed over.
    if (labels[CLUSTER_LABEL] === undefined) return false;
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
    switch (machine.status?.phase) {
      case undefined:
        await status(machine, { phase: 'Provisioning', conditions: [NOT_CREATED] });
        return true;
      case 'Provisioning':
        return made(machine, becomes);
      case 'Provisioned':
        return joined(machine, becomes);
      case 'Running':
        return ran(machine.metadata.name, becomes);
      default:
        return false;
    }
  }

  async function made(machine: Machine, becomes: MachineFate): Promise<boolean> {
    const { name } = machine.metadata;
    const named = machine.spec?.providerSpec?.value?.['template'];
    const found = await templates(typeof named === 'string' ? named : '');
    if (found === 0) return invalid(machine, 'template not found, specify valid value');
    if (found > 1) return invalid(machine, 'multiple templates found, specify one in config');
    if (becomes === 'invalid') return invalid(machine, 'folder not found, specify valid value');
    // It tries again and again; only its provider's own status says why.
    if (becomes === 'quota') return uncreated(machine, 'The operation exceeds the quota of the resource pool.');
    if (becomes === 'no-power') return uncreated(machine, `error powering on ${name} vm: no host is left for it`);
    await patched(machine, { spec: { providerID: `vsphere://${name}` } });
    const booted = becomes !== 'never-boots' && becomes !== 'wrong-image';
    const dns = { type: 'InternalDNS', address: name };
    const addresses = booted ? [{ type: 'InternalIP', address: '10.0.0.7' }, dns] : [dns];
    const next = { phase: 'Provisioned', providerStatus: { instanceState: 'poweredOn' }, addresses };
    await status(machine, next);
    return true;
  }

  async function invalid(machine: Machine, errorMessage: string): Promise<boolean> {
    await status(machine, { phase: 'Failed', errorReason: 'InvalidConfiguration', errorMessage });
    return true;
  }

  async function uncreated(machine: Machine, message: string): Promise<boolean> {
    if (machine.status?.providerStatus !== undefined) return false;
    const condition = { type: 'MachineCreation', status: 'False', reason: 'MachineCreationSucceeded', message };
    await status(machine, { ...machine.status, providerStatus: { conditions: [condition] } });
    return true;
  }

  async function joined(machine: Machine, becomes: MachineFate): Promise<boolean> {
    if (becomes === 'wrong-image' || becomes === 'no-node' || becomes === 'never-boots') return false;
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
