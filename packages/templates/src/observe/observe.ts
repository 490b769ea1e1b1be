import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import { maySweep } from '../decide/claim.ts';
import type { Candidate, Machine, Observed, Uploader, Wanted } from '../decide/machine.ts';
import { candidatesOf } from '../decide/staging.ts';
import { differenceFrom, hasRun, RAN } from '../fingerprint.ts';
import { pointerTexts, readPointers } from '../mark/pointers.ts';
import type { Witnesses } from '../mark/witness.ts';
import { type Mark, type MarkReading, readMark, VERIFIED_KEY } from '../mark.ts';
import { upstreamNames } from '../names.ts';
import { CONTENT_KEY, HEARTBEAT_KEY, hasBeenTemplate, lastBeat, markingSince, readRecord } from '../record.ts';
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
  /** Instance UUIDs of the imports that this process has uploaded whole and could not yet finish. */
  readonly uploaded?: { has(instanceUuid: string): boolean };
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
  const finished = new Set<Machine>(candidatesOf(plain, wanted).filter(({ verified }) => verified));
  const leftovers = wanted.swap === undefined ? [] : Object.values(upstreamNames(wanted.swap.name));
  // The disks of all machines are the dearest question: it is asked once, and only for what would be removed.
  const doomed = new Map<Machine, VmSummary>();
  for (const [index, machine] of plain.machines.entries()) {
    const vm = children[index];
    if (vm !== undefined && (leftovers.includes(machine.name) || isDoomed(machine, wanted, now)))
      doomed.set(machine, vm);
  }
  const links = await linkedMachines(vcenter, scope.datacenter, [...doomed.values()], options);
  const machines: Machine[] = [];
  for (const machine of plain.machines) {
    const base = doomed.get(machine);
    const seen = base === undefined ? machine : { ...machine, ...links.get(base) };
    machines.push(finished.has(machine) ? { ...seen, tags: await vcenter.tags.attached(machine.ref, options) } : seen);
  }
  return { now, machines };
}

function isDoomed(machine: Machine, { owner }: Wanted, now: number): boolean {
  return machine.mark?.owner === owner && !machine.verified && maySweep(machine as Candidate, now).sweep;
}

/** A machine as decisions see it. */
export function machineOf(vm: VmSummary, folder: MoRef, liveness: Liveness): Machine {
  const reading = readMark(vm, folder, liveness);
  const createdAt = vm.createDate === undefined ? Number.NaN : Date.parse(vm.createDate);
  const beat = lastBeat(vm);
  const tampered = tamperingOf(vm, reading);
  const since = markingSince(vm);
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
    past: pastOf(vm, reading),
    ...(since === undefined ? {} : { markingSince: since }),
    recorded: readRecord(vm)?.state === 'template',
    ...(tampered === undefined ? {} : { tampered }),
    ran: hasRun(vm),
    ...(vm.unreadable === undefined ? {} : { unreadable: vm.unreadable }),
    uploader: reading.kind === 'ours' ? uploaderOf(reading.mark, liveness) : 'unknown',
    uploaded: reading.kind === 'ours' && liveness.uploaded?.has(reading.mark.instanceUuid) === true,
    beats: vm.extraConfig.has(HEARTBEAT_KEY),
    ...(beat === undefined ? {} : { lastBeat: beat }),
    tags: [],
    linked: [],
    unseen: [],
  };
}

/** Only templates are ever given a role. */
function pastOf(vm: VmSummary, reading: MarkReading): Machine['past'] {
  const role = reading.kind === 'none' ? undefined : reading.mark.role;
  if (role !== undefined || (!vm.isTemplate && hasBeenTemplate(vm))) return 'template';
  return readRecord(vm)?.state ?? 'never';
}

/** What makes a finished machine another one than it was, as a clause. Without a record of what it was, only our own import tells: it is never powered on. */
export function tamperingOf(vm: VmSummary, reading: MarkReading): string | undefined {
  if (reading.kind !== 'ours' || !reading.verified || vm.unreadable !== undefined) return undefined;
  const before = readRecord(vm)?.content ?? vm.extraConfig.get(CONTENT_KEY);
  if (before !== undefined) return differenceFrom(before, vm);
  const imported = vm.extraConfig.get(VERIFIED_KEY) === reading.mark.digest && reading.mark.digest !== '';
  return imported && hasRun(vm) ? RAN : undefined;
}

function uploaderOf(mark: Mark, { holder, holderIsLive, running, uploaded }: Liveness): Uploader {
  if (running.has(mark.instanceUuid) || uploaded?.has(mark.instanceUuid) === true) return 'here';
  // An identity belongs to one process: ours, and not running, is an import that we gave up.
  if (mark.holder === holder) return 'gone';
  const live = holderIsLive(mark.holder);
  return live === undefined ? 'unknown' : live ? 'live' : 'gone';
}
