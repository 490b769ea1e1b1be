import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import type { Machine, Observed, Uploader, Wanted } from '../decide/machine.ts';
import { candidatesOf } from '../decide/staging.ts';
import { pointerTexts, readPointers } from '../mark/pointers.ts';
import type { Witnesses } from '../mark/witness.ts';
import { type Mark, readMark } from '../mark.ts';
import { upstreamNames } from '../names.ts';
import type { HolderIsLive } from '../store.ts';
import { linkedMachines } from './links.ts';

/** What tells whose a machine is, and who makes an unfinished import. */
export interface Liveness {
  /** Whose marks need a proof; undefined: everybody's. */
  readonly owner: string | undefined;
  readonly witnesses: Witnesses;
  /** Our own identity. */
  readonly holder: string;
  readonly holderIsLive: HolderIsLive;
  /** Instance UUIDs of the imports that this process makes at this moment. */
  readonly running: ReadonlySet<string>;
}

/** Where to look. */
export interface Scope {
  readonly folder: MoRef;
  /** Whose machines may be linked to the folder's. */
  readonly datacenter: MoRef;
}

/** Reads the publication folder into a plain value. What time it is vCenter says, which dates what is in it: another clock may be ahead of it. */
export async function observe(
  vcenter: VCenter,
  scope: Scope,
  wanted: Wanted,
  liveness: Liveness,
  options: CallOptions,
): Promise<Observed> {
  const now = (await vcenter.currentTime(options)).getTime();
  const children = await vcenter.children(scope.folder, options);
  const plain: Observed = { now, machines: children.map((vm) => machineOf(vm, scope.folder, liveness)) };
  const finished = new Set(candidatesOf(plain, wanted).filter(({ verified }) => verified));
  const foreign = wanted.swap === undefined ? [] : Object.values(upstreamNames(wanted.swap.name));
  const machines: Machine[] = [];
  for (const [index, machine] of plain.machines.entries()) {
    const vm = children[index];
    if (finished.has(machine as Machine & { readonly mark: Mark })) {
      machines.push({ ...machine, tags: await vcenter.tags.attached(machine.ref, options) });
    } else if (vm !== undefined && foreign.includes(machine.name)) {
      const linked = await linkedMachines(vcenter, scope.datacenter, [vm], options);
      machines.push({ ...machine, linked: linked.get(vm) ?? [] });
    } else machines.push(machine);
  }
  return { now, machines };
}

/** A machine as decisions see it. */
export function machineOf(vm: VmSummary, folder: MoRef, liveness: Liveness): Machine {
  const reading = readMark(vm, folder, liveness);
  const createdAt = vm.createDate === undefined ? Number.NaN : Date.parse(vm.createDate);
  return {
    ref: vm.ref,
    name: vm.name,
    instanceUuid: vm.instanceUuid ?? '',
    isTemplate: vm.isTemplate,
    poweredOff: vm.powerState === 'poweredOff',
    ...(vm.productVersion === undefined ? {} : { version: vm.productVersion }),
    ...(Number.isNaN(createdAt) ? {} : { createdAt }),
    busy: vm.activeTasks.length > 0,
    chained: vm.disks.some(({ parents }) => parents.length > 0),
    ...(reading.kind === 'ours' ? { mark: reading.mark } : {}),
    born: reading.kind === 'ours' && reading.born,
    proof: reading.kind === 'ours' ? reading.proof : 'none',
    renew: reading.kind === 'ours' && reading.renew,
    pointers: pointerTexts(readPointers(vm)),
    ...(reading.kind === 'invalid' ? { invalid: reading.reason } : {}),
    verified: reading.kind === 'ours' && reading.verified,
    uploader: reading.kind === 'ours' ? uploaderOf(reading.mark, liveness) : 'unknown',
    tags: [],
    linked: [],
  };
}

function uploaderOf(mark: Mark, { holder, holderIsLive, running }: Liveness): Uploader {
  if (running.has(mark.instanceUuid)) return 'here';
  // An identity belongs to one process: ours, and not running, is an import that we gave up.
  if (mark.holder === holder) return 'gone';
  const live = holderIsLive(mark.holder);
  return live === undefined ? 'unknown' : live ? 'live' : 'gone';
}
