import type { CallOptions, MoRef, VCenter } from '@drydock/vsphere';
import { mayPointAt, mayRestore } from '../decide/authority.ts';
import { estranged } from '../decide/claim.ts';
import type { Candidate } from '../decide/machine.ts';
import { lineOf } from '../decide/retention.ts';
import { retiredIdentity } from '../decide/swap.ts';
import { readFailure } from '../failure.ts';
import type { Generation } from '../library.ts';
import type { Reader } from '../mark.ts';
import { retiredName } from '../names.ts';
import { machineOf } from '../observe/observe.ts';

/** Generations of a stable name or base, newest first; see `TemplateStore.history`. */
export async function historyOf(
  vcenter: VCenter,
  folder: MoRef,
  reader: Reader,
  name: string,
  call: CallOptions,
): Promise<readonly Generation[]> {
  const children = await vcenter.children(folder, call).catch((error: unknown) => {
    throw readFailure('read the history of', name, error);
  });
  return children
    .map((vm) => machineOf(vm, folder, reader))
    .filter((machine): machine is Candidate => machine.mark?.owner === reader.owner && machine.verified)
    .filter((machine) => machine.isTemplate && lineOf(machine) === name)
    .toSorted((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0) || (a.name < b.name ? -1 : 1))
    .map((machine) => generation(machine, name));
}

function generation(machine: Candidate, stableName: string): Generation {
  const { mark, createdAt, busy } = machine;
  const pointer = mark.publishes === undefined;
  const current = !pointer && machine.name === stableName;
  const retiredAt = mark.role === 'retired' ? mark.at : undefined;
  return {
    name: machine.name,
    stableName,
    current,
    ...(mark.release === '' ? {} : { release: mark.release }),
    ...(mark.digest === '' ? {} : { digest: mark.digest }),
    ...(createdAt === undefined ? {} : { createdAt: new Date(createdAt).toISOString() }),
    ...(retiredAt === undefined ? {} : { retiredAt }),
    instanceUuid: machine.instanceUuid,
    revertible: !current && !busy && mayRestore(machine) && estranged(machine) === undefined,
    reason: reasonFor(machine, stableName),
  };
}

function reasonFor(machine: Candidate, stableName: string): string {
  const { name, busy, mark } = machine;
  if (name === stableName) return 'it bears the name now';
  const foreign = estranged(machine);
  if (foreign !== undefined) return foreign;
  if (busy) return 'a task runs on it';
  const permission = mayPointAt(machine);
  if (!permission.may && !mayRestore(machine)) return permission.reason;
  if (mark.publishes === undefined) return 'point to it';
  const putAway = name === retiredName(stableName, retiredIdentity(machine));
  return putAway ? 'it is kept, whole and ready' : 'it is whole, but never bore the name';
}
