import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Namespace, Secret, VirtualMachine, type VirtualMachineStatus, Zone } from '@drydock/api';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { connectSwitchboard, type Switchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import { type Connect, credentialsOf, type Links, links } from '@drydock/vm-watch';
import { connectVCenter } from '@drydock/vsphere';
import { eventually } from './voyage.ts';
import { base64 } from './voyage-cluster.ts';

/** Namespace of Zones and VirtualMachines, and of the Secret. */
export const vmNamespace = 'machines';
/** What the cluster calls its vCenter. */
export const vmServer = 'vcenter.machines.example';
/** Where the credentials are. */
export const vmSecret: { readonly namespace: string; readonly name: string } = {
  namespace: vmNamespace,
  name: 'vcenter',
};

/** A cluster with VirtualMachines on a real API server, and its vCenter. */
export interface VmCluster extends AsyncDisposable {
  readonly sandbox: VCenterSandbox;
  readonly client: KubeClient;
  readonly switchboard: Switchboard;
  /** Makes a folder; gives its reference. */
  folder(path: string): Promise<string>;
  zone(name: string, folder: string): Promise<void>;
  /** An object, and a machine that carries its name. */
  machine(name: string, folder: string): Promise<void>;
  object(name: string): Promise<void>;
  status(name: string): Promise<VirtualMachineStatus>;
  shows(name: string, what: string, wanted: (status: VirtualMachineStatus) => boolean): Promise<VirtualMachineStatus>;
  /** Sets the password in the Secret. */
  password(password: string): Promise<void>;
}

/** Starts everything but the watch. */
export async function startVmCluster(): Promise<VmCluster> {
  await using starting = new AsyncDisposableStack();
  const crds = [resolve(import.meta.dirname, '../../../api/optional')];
  const sandbox = starting.use(await startSandbox({ vcenter: true, crds }));
  const client = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  await client.create(Namespace, { metadata: { name: vmNamespace } });
  const { user, password } = sandbox.vcenter;
  await client.create(Secret, { metadata: vmSecret, data: { username: base64(user), password: base64(password) } });
  const key = (name: string): { readonly namespace: string; readonly name: string } => ({
    namespace: vmNamespace,
    name,
  });
  const status: VmCluster['status'] = async (name) => (await client.get(VirtualMachine, key(name))).status ?? {};
  const object: VmCluster['object'] = async (name) => {
    await client.create(VirtualMachine, { metadata: key(name), spec: {} });
  };
  const resources = starting.move();
  return {
    sandbox,
    client,
    switchboard,
    folder: async (path) => (await switchboard.createFolder(path)).moref,
    zone: async (name, folderMoID) => {
      await client.create(Zone, {
        metadata: key(name),
        spec: { managedVMs: { folderMoID }, availabilityZoneReference: { apiVersion: 'v1', name } },
      });
    },
    machine: async (name, folder) => {
      await object(name);
      await switchboard.createVm({
        name,
        folder,
        extraConfig: { 'vmservice.namespacedName': `${vmNamespace}/${name}` },
      });
    },
    object,
    status,
    shows: (name, what, wanted) => {
      let seen: VirtualMachineStatus = {};
      const look = async (): Promise<VirtualMachineStatus | undefined> => {
        seen = await status(name);
        return wanted(seen) ? seen : undefined;
      };
      return eventually(`${name}: ${what}`, look, () => seen);
    },
    password: async (text) => {
      await client.mergePatch(Secret, vmSecret, { data: { password: base64(text) } });
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Real connections to the simulator, with the credentials that `secret` gives. */
export async function simulatorLinks(
  { vcenter }: VCenterSandbox,
  secret: () => Secret | undefined,
): Promise<{ readonly ways: Links; readonly made: () => number }> {
  const ca = await readFile(vcenter.ca, 'utf8');
  let made = 0;
  const connect: Connect = (_server, credentials) => {
    made += 1;
    return connectVCenter({ url: vcenter.url, credentials, tls: { ca }, env: {} });
  };
  const credentials = (server: string): ReturnType<typeof credentialsOf> =>
    credentialsOf(secret(), server, 'the secret');
  return { ways: links({ connect, credentials }), made: () => made };
}
