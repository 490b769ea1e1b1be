import { VimError } from '../errors.ts';
import { refText } from '../foreign-text.ts';
import type { SessionCaller } from '../session/caller.ts';
import { type Retrieval, referredBy } from '../session/retrieve.ts';
import type { ObjectContent } from '../soap/call.ts';
import { arrayOf, flag, label, number, ref } from '../soap/decode.ts';
import { unescapeName } from '../soap/names.ts';
import { refKey } from '../soap/soap.ts';
import type { ActiveTask, CallOptions, DatastoreSummary, HostSummary, MoRef, VmSummary } from '../vcenter.ts';
import type { CustomFields } from './custom-fields.ts';
import { activeTask, read, VM_PATHS, type VmFacts, vmFacts, vmSummary } from './vm-summary.ts';

/** See `VCenter.children`. */
export async function children(
  caller: SessionCaller,
  fields: CustomFields,
  folder: MoRef,
  options?: CallOptions,
): Promise<readonly VmSummary[]> {
  const what: Retrieval = { type: 'VirtualMachine', paths: VM_PATHS, from: referredBy(folder, 'childEntity') };
  return summaries(caller, fields, await caller.retrieveEach(what, vmFacts, options), options);
}

/** See `VCenter.vm`. */
export async function vm(
  caller: SessionCaller,
  fields: CustomFields,
  of: MoRef,
  options?: CallOptions,
): Promise<VmSummary | undefined> {
  const found = await caller.retrieve([of], 'VirtualMachine', VM_PATHS, options);
  return (await summaries(caller, fields, found.map(vmFacts), options))[0];
}

/** Tasks that are queued or running, of those that ran lately on some objects. */
export async function activeTasks(
  caller: SessionCaller,
  tasks: readonly MoRef[],
  options?: CallOptions,
): Promise<readonly ActiveTask[]> {
  if (tasks.length === 0) return [];
  const found = await caller.retrieve(tasks, 'Task', ['info.state', 'info.descriptionId'], options);
  return found.map(activeTask).filter((task) => task !== undefined);
}

async function summaries(
  caller: SessionCaller,
  fields: CustomFields,
  facts: readonly VmFacts[],
  options: CallOptions | undefined,
): Promise<readonly VmSummary[]> {
  const tasks = await activeTasks(
    caller,
    facts.flatMap((one) => one.tasks),
    options,
  );
  const active = new Map(tasks.map((task) => [refKey(task.ref), task]));
  const keys = facts.flatMap(({ custom }) => custom.map(({ key }) => key));
  const names = await fields.names(keys, options);
  return facts.map((one) => vmSummary(one, names, active));
}

/** See `VCenter.hosts`. */
export async function hosts(
  caller: SessionCaller,
  computeResource: MoRef,
  options?: CallOptions,
): Promise<readonly HostSummary[]> {
  const paths = [
    'name',
    'runtime.connectionState',
    'runtime.powerState',
    'runtime.inMaintenanceMode',
    'datastore',
    'network',
  ];
  const what = { type: 'HostSystem', paths, from: referredBy(computeResource, 'host') };
  return caller.retrieveEach(what, hostSummary, options);
}

function hostSummary(host: ObjectContent): HostSummary {
  const unread = host.missing.some(({ path }) => path === 'network');
  return {
    ref: host.ref,
    name: unescapeName(read(host, 'name', label) ?? ''),
    connectionState: read(host, 'runtime.connectionState', label) ?? 'unknown',
    powerState: read(host, 'runtime.powerState', label) ?? 'unknown',
    inMaintenanceMode: read(host, 'runtime.inMaintenanceMode', flag) ?? false,
    datastores: read(host, 'datastore', arrayOf(ref)) ?? [],
    ...(unread ? {} : { networks: read(host, 'network', arrayOf(ref)) ?? [] }),
  };
}

/** See `VCenter.datastore`. */
export async function datastore(caller: SessionCaller, of: MoRef, options?: CallOptions): Promise<DatastoreSummary> {
  const [found] = await caller.retrieve(
    [of],
    'Datastore',
    ['summary.name', 'summary.freeSpace', 'summary.capacity', 'summary.accessible'],
    options,
  );
  if (found === undefined) {
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_GONE',
      op: 'datastore',
      message: `${refText(of)} does not exist at ${caller.server}`,
    });
  }
  const capacity = read(found, 'summary.capacity', number);
  return {
    name: unescapeName(read(found, 'summary.name', label) ?? ''),
    freeSpace: read(found, 'summary.freeSpace', number) ?? 0,
    ...(capacity === undefined ? {} : { capacity }),
    accessible: read(found, 'summary.accessible', flag) ?? false,
  };
}
