import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import { maySweep } from '../decide/claim.ts';
import type { Candidate, Machine, Observed, Uploader, Wanted } from '../decide/machine.ts';
import { candidatesOf } from '../decide/staging.ts';
import { differenceFrom, hasRun, RAN, versionOf } from '../fingerprint.ts';
import { CONTENT_KEY, HEARTBEAT_KEY } from '../mark/birth-mark.ts';
import { pointerTexts, readPointers } from '../mark/pointers.ts';
import { unchangedFor } from '../mark/sightings.ts';
import type { Witnesses } from '../mark/witness.ts';
import { type Mark, type MarkReading, type Reader, readMark, type Testimony, testimonyOf } from '../mark.ts';
import { isUpstreamName, upstreamNames } from '../names.ts';
import type { HolderIsLive } from '../store.ts';
import { linkedMachines } from './links.ts';

/** What tells whose a machine is, and whether somebody still imports it. Who only looks leaves out the latter: the importer is then unknown. */
export interface Liveness extends Reader {
  /** Our own identity; absent: this process imports nothing. */
  readonly holder?: string;
  readonly holderIsLive?: HolderIsLive | undefined;
  /** Instance UUIDs of the imports that this process makes at this moment. */
  readonly running?: ReadonlySet<string>;
}

/** Where to look. */
export interface Scope {
  readonly folder: MoRef;
  /** Whose machines may be linked to the folder's. */
  readonly datacenter: MoRef;
}

/** Reads the publication folder into a plain value, and remembers since when each machine looks as it does. */
export async function observe(
  vcenter: VCenter,
  scope: Scope,
  wanted: Wanted,
  liveness: Liveness,
  options: CallOptions,
): Promise<Observed> {
  const children = await readFolder(vcenter, scope.folder, liveness.witnesses, options);
  const plain: Observed = { machines: children.map((vm) => machineOf(vm, scope.folder, liveness)) };
  await keepSightings(scope.folder, plain.machines, liveness.witnesses);
  const finished = new Set<Machine>(candidatesOf(plain, wanted).filter(({ verified }) => verified));
  const leftovers = wanted.swap === undefined ? [] : Object.values(upstreamNames(wanted.swap.name));
  // The disks of all machines are the dearest question: it is asked once, and only for what would be removed.
  const doomed = new Map<Machine, VmSummary>();
  for (const [index, machine] of plain.machines.entries()) {
    const vm = children[index];
    if (vm !== undefined && (leftovers.includes(machine.name) || isDoomed(machine, wanted))) doomed.set(machine, vm);
  }
  const links = await linkedMachines(vcenter, scope.datacenter, [...doomed.values()], options);
  const machines: Machine[] = [];
  for (const machine of plain.machines) {
    const base = doomed.get(machine);
    const seen = base === undefined ? machine : { ...machine, ...links.get(base) };
    machines.push(finished.has(machine) ? { ...seen, tags: await vcenter.tags.attached(machine.ref, options) } : seen);
  }
  return { machines };
}

/** How often a folder is read again because another process changed the ledger meanwhile. */
const MOST_READS = 5;

/**
 * The machines of a folder and the ledger as of one moment: an entry that is newer than what was read of its VM would make it look converted, and a missing one would make it look unknown.
 */
export async function readFolder(
  vcenter: Pick<VCenter, 'children'>,
  folder: MoRef,
  { ledger }: Witnesses,
  call: CallOptions,
): Promise<readonly VmSummary[]> {
  await ledger.load();
  for (let reads = 1; ; reads += 1) {
    const children = await vcenter.children(folder, call);
    if (!(await ledger.load()) || reads === MOST_READS) return children;
  }
}

/** Keeps since when the machines of a folder look as they do, for the next process. */
export async function keepSightings(
  folder: MoRef,
  machines: readonly Pick<Machine, 'key'>[],
  { vcenter, ledger }: Witnesses,
): Promise<void> {
  await ledger.keepSightings(`${vcenter}.${folder.value}`, new Set(machines.map(({ key }) => key)));
}

function isDoomed(machine: Machine, { owner }: Wanted): boolean {
  return machine.mark?.owner === owner && !machine.verified && maySweep(machine as Candidate).sweep;
}

/** A machine as decisions see it. */
export function machineOf(vm: VmSummary, folder: MoRef, liveness: Liveness): Machine {
  const { witnesses } = liveness;
  const testimony = testimonyOf(vm, witnesses);
  const { key, entry } = testimony;
  const reading = readMark(vm, folder, liveness, testimony);
  const ours = reading.kind === 'ours' ? reading : undefined;
  const createdAt = Date.parse(vm.createDate ?? '');
  const tampered = tamperingOf(vm, reading, testimony);
  const { named, ...others } = readPointers(vm);
  const mayGo = ours !== undefined || isUpstreamName(vm.name);
  const remembered = (entry?.holders ?? []).filter((holder) => !named.some(({ what }) => what === holder));
  return {
    ref: vm.ref,
    key,
    name: vm.name,
    instanceUuid: vm.instanceUuid ?? '',
    isTemplate: vm.isTemplate,
    poweredOff: vm.powerState === 'poweredOff',
    ...(vm.productVersion === undefined ? {} : { version: vm.productVersion }),
    ...(Number.isNaN(createdAt) ? {} : { createdAt }),
    busy: vm.activeTasks.length > 0,
    chained: vm.disks.some(({ parents }) => parents.length > 0),
    ...(ours === undefined ? {} : { mark: ours.mark }),
    born: ours?.born === true,
    proof: ours?.proof ?? 'none',
    renew: ours?.renew === true,
    own: ours?.own === true,
    pointers: [...pointerTexts({ named, ...others }), ...remembered],
    holders: [...named.map(({ what }) => what), ...remembered],
    ...(reading.kind === 'invalid' ? { invalid: reading.reason } : {}),
    verified: ours?.verified === true,
    past: pastOf(vm, testimony, reading),
    ...(tampered === undefined ? {} : { tampered }),
    ran: hasRun(vm),
    ...(vm.unreadable === undefined ? {} : { unreadable: vm.unreadable }),
    uploader: ours === undefined ? 'unknown' : uploaderOf(ours.mark, liveness),
    uploaded: ours?.uploaded === true,
    beats: vm.extraConfig.has(HEARTBEAT_KEY),
    // Of the other machines of a folder, thousands perhaps, nothing is remembered.
    unchangedMs: mayGo ? unchangedFor(witnesses.ledger, witnesses.uptime, key, vm) : 0,
    tags: [],
    linked: [],
    unseen: [],
  };
}

/**
 * What a machine has been. One that was about to become a template, by the ledger, and has another version of its configuration now, became one: nothing else was to be done to it.
 */
function pastOf(vm: VmSummary, { entry, record }: Testimony, reading: MarkReading): Machine['past'] {
  if (vm.unreadable !== undefined) return 'never';
  if (entry?.stage === 'template' || (entry === undefined && vm.isTemplate && reading.kind === 'ours'))
    return 'template';
  if (entry?.stage === 'marking') return vm.isTemplate || entry.version !== versionOf(vm) ? 'template' : 'marking';
  const unknown =
    entry === undefined && !vm.isTemplate && (vm.extraConfig.has(CONTENT_KEY) || record.kind !== 'absent');
  return unknown ? 'unknown' : 'never';
}

/** What makes a finished machine another one than it was, as a clause. Without a record of what it was, only our own import tells: it is never powered on. */
export function tamperingOf(vm: VmSummary, reading: MarkReading, { entry, record }: Testimony): string | undefined {
  if (reading.kind !== 'ours' || !(reading.verified || reading.uploaded) || vm.unreadable !== undefined)
    return undefined;
  const recorded = entry?.fingerprint ?? (record.kind === 'read' ? record.record.fingerprint : undefined);
  const before = recorded ?? vm.extraConfig.get(CONTENT_KEY);
  if (before !== undefined && !reading.uploaded) return differenceFrom(before, vm);
  // Finishing settles secure boot; everything else is as it was with the last byte, or another user changed it.
  if (entry?.fingerprint !== undefined)
    return differenceFrom(entry.fingerprint, entry.secureBootOff === true ? { ...vm, secureBoot: false } : vm);
  return reading.born && hasRun(vm) ? RAN : undefined;
}

function uploaderOf(mark: Mark, { holder, holderIsLive, running }: Liveness): Uploader {
  if (running?.has(mark.instanceUuid) === true) return 'here';
  // An identity belongs to one process: ours, and not running, is an import that we gave up.
  if (mark.holder === holder) return 'gone';
  const live = holderIsLive?.(mark.holder);
  return live === undefined ? 'unknown' : live ? 'live' : 'gone';
}
