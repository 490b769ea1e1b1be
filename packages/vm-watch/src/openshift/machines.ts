import type { Machine } from '@drydock/api';
import type { Cache } from '@drydock/kube';
import { type CallOptions, type MoRef, textOf, type UpdateFeed } from '@drydock/vsphere';

/** Names the index of OpenShift Machines by the BIOS UUID of their virtual machine. */
export const MACHINE_UUID_INDEX = 'uuid';

const PROVIDER = 'vsphere://';

/** The index function: the UUID of `spec.providerID` (`vsphere://<uuid>`) and of `status.providerStatus.instanceId`, which comes first. Lower case. */
export function machineUuids({ spec, status }: Machine): readonly string[] {
  const { providerID = '' } = spec ?? {};
  const instanceId = status?.providerStatus?.['instanceId'];
  const found = [
    providerID.startsWith(PROVIDER) ? providerID.slice(PROVIDER.length) : '',
    typeof instanceId === 'string' ? instanceId : '',
  ];
  return [...new Set(found.map((uuid) => uuid.toLowerCase()))].filter((uuid) => uuid !== '');
}

/** The Machine of a virtual machine, as `<namespace>/<name>`; undefined where none is, several are, or the machine is gone. */
export async function machineOf(
  feed: Pick<UpdateFeed, 'property'>,
  machines: Pick<Cache<Machine>, 'by'>,
  ref: MoRef,
  call?: CallOptions,
): Promise<string | undefined> {
  const uuid = await feed.property(ref, 'config.uuid', call);
  if (uuid === undefined) return undefined;
  const [machine, another] = machines.by(MACHINE_UUID_INDEX, textOf(uuid).toLowerCase());
  if (machine === undefined || another !== undefined) return undefined;
  return `${machine.metadata.namespace ?? ''}/${machine.metadata.name}`;
}
