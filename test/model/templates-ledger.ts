import { type MoRef, refKey } from '@drydock/vsphere';
import type { CallPhase, MachineSnapshot, MemoryClient } from '@drydock/vsphere/testing';
import { bearersOf, entryOf, FOLDER, NAME, type World } from './templates-world.ts';

/** Calls that change a machine. What they may be made on is known here from who made the machine, never from what it bears. */
const TOUCHING = new Set(['rename', 'destroy', 'reconfigure', 'markAsTemplate', 'setCustomValue', 'tags.attach']);
/** Those that a fence stands before. */
const FENCED = new Set(['rename', 'destroy', 'reconfigure', 'markAsTemplate', 'setCustomValue']);

/** As docs/templates.md states it. */
const SILENCE_MS = 600_000;

/** What is true of the machines of the folder, and what processes of ours may not do; what they did all the same stands in `World.seen`. */
export interface Ledger {
  /** Refs of what we imported, and of what a swap may put away. */
  readonly ours: Set<string>;
  /** Refs of ours that somebody took, booted or made a machine of. */
  readonly taken: Set<string>;
  /** Refs of what somebody of whom nothing is known uploads at this moment. */
  readonly uploading: Set<string>;
  /** The same of an importer that has died: when an observer first saw what it left, in ms since 1970. */
  readonly silent: Map<string, number>;
  /** What bore the name last. */
  readonly last: string | undefined;
  /** Refs by the number of the call, over all passes, in which they were taken; and how many calls there were. */
  readonly takenAt: Map<string, number>;
  readonly calls: number;
  /** Begins a pass of one process; later passes have another one. `alone`: nothing proves to it what earlier ones imported. */
  begin(client: MemoryClient, version: string, alone?: boolean): PassWatch;
  /** Somebody takes a machine at this moment. */
  take(ref: string): void;
}

/** What is kept of one pass. */
export interface PassWatch {
  /** Around every call of the pass, before any fault. */
  note(method: string, phase: CallPhase, args: readonly unknown[]): void;
  /** It does not lead from now on. */
  unlead(): void;
  leads(): boolean;
  /** A fault is about to happen, or a deed of somebody else. */
  fault(): void;
  /** The pass has ended, and its process lives. */
  end(outcome: { readonly name?: string | undefined; readonly sessionDied: boolean }): void;
}

/** See {@link Ledger}: what is in the folder now and is not foreign is ours; or the copy of another ledger, for a copy of its world. */
export function ledgerOf(world: World, from?: Ledger): Ledger {
  const { inventory, clock, foreign, seen } = world;
  const mine = (machine: MachineSnapshot): boolean => machine.folder === FOLDER && !foreign.has(machine.ref);
  const ours = new Set(
    from?.ours ??
      inventory
        .snapshot()
        .machines.filter(mine)
        .map(({ ref }) => ref),
  );
  const taken = new Set(from?.taken);
  const takenAt = new Map(from?.takenAt);
  const uploading = new Set(from?.uploading);
  const silent = new Map(from?.silent);
  let calls = from?.calls ?? 0;
  /** How many were taken in this pass: each has to be made anew. */
  let lost = 0;
  let last: string | undefined;
  inventory.subscribe((snapshot) => {
    const [bearer] = bearersOf(snapshot);
    if (bearer !== undefined) last = bearer.ref;
    else if (last !== undefined && !snapshot.machines.some(({ ref }) => ref === last))
      seen.push('what bore the name last is gone, and nothing bears it');
  });
  last = from === undefined ? bearersOf(inventory.snapshot())[0]?.ref : from.last;

  // From the moment at which the ledger has that the last byte was acknowledged.
  const whole = (ref: string): boolean => (entryOf(world, ref)?.stage ?? 'importing') !== 'importing';
  const usable = (version: string): boolean =>
    inventory
      .snapshot()
      .machines.some(
        ({ ref, productVersion }) => ours.has(ref) && !taken.has(ref) && productVersion === version && whole(ref),
      );

  return {
    ours,
    taken,
    takenAt,
    uploading,
    silent,
    get last() {
      return last;
    },
    get calls() {
      return calls;
    },
    take: (ref) => {
      taken.add(ref);
      takenAt.set(ref, calls);
      lost += 1;
    },
    begin: (client, version, alone = false) => {
      const reads = new Map<string, number>();
      const before = inventory.counters.uploads;
      let needed = usable(version) && !alone ? 0 : 1;
      let leads = true;
      let faults = 0;
      lost = 0;
      const present = bearersOf(inventory.snapshot()).length > 0;
      const lookedAt = (ref: string): number => Math.max(reads.get(ref) ?? 0, reads.get('children') ?? 0);
      const judge = (method: string, ref: string): void => {
        const name = inventory.state.machines.get(ref)?.name ?? ref;
        if (!ours.has(ref)) seen.push(`${method} of ${name}, which nothing proves to be ours`);
        if (uploading.has(ref)) seen.push(`${method} of ${name}, which somebody uploads`);
        const said = silent.get(ref);
        if (said !== undefined && clock.now() - said <= SILENCE_MS)
          seen.push(`${method} of ${name}, whose importer has been silent for ${(clock.now() - said) / 1000} s`);
        const since = takenAt.get(ref);
        const late = since === undefined || since === calls - 1;
        if (method === 'destroy' && !late) seen.push(`destroy of ${name}, which somebody has taken`);
        if ((method === 'reconfigure' || method === 'markAsTemplate') && !late && lookedAt(ref) > since)
          seen.push(`${method} of ${name}, which somebody has taken`);
        // The second half of a pair goes on: the name is absent.
        const closing = method === 'rename' && bearersOf(inventory.snapshot()).length === 0;
        if (!leads && FENCED.has(method) && !closing) seen.push(`${method} of ${name} by a process that leads no more`);
      };
      return {
        note: (method, phase, args) => {
          if (phase === 'before') {
            calls += 1;
            if (method === 'children') reads.set('children', calls);
            if (method === 'vm') reads.set(refKey(args[0] as MoRef), calls);
            if (TOUCHING.has(method)) judge(method, refKey(args[0] as MoRef));
          } else if (method === 'startImport') {
            const { instanceUuid } = args[0] as { readonly instanceUuid: string };
            for (const [key, machine] of inventory.state.machines)
              if (machine.instanceUuid === instanceUuid) ours.add(key);
          }
        },
        unlead: () => {
          leads = false;
        },
        leads: () => leads,
        fault: () => {
          faults += 1;
          // An upload that is under way, or what there was, may be lost by it; nothing that was called finished may.
          const open = [...inventory.state.leases.values()].some(
            (lease) => lease.client === client.id && lease.state === 'ready',
          );
          if (open || (needed === 0 && !usable(version))) needed += 1;
        },
        end: ({ name, sessionDied }) => {
          const snapshot = inventory.snapshot();
          const absent = bearersOf(snapshot).length === 0;
          if (absent && (present || faults === 0) && !sessionDied) seen.push('a pass that lived left the name absent');
          const uploads = inventory.counters.uploads - before;
          if (uploads > needed + lost) seen.push(`${uploads} uploads in a pass that needed ${needed + lost}`);
          if (name === undefined) return;
          const published = snapshot.machines.find((one) => one.folder === FOLDER && one.name === name);
          const ref = published?.ref ?? '';
          const stale = takenAt.get(ref);
          if (published?.isTemplate !== true && (stale === undefined || lookedAt(ref) > stale))
            seen.push(`${name} was published and is no template`);
          if (!ours.has(ref)) seen.push(`${name} was published and is not ours`);
          if (stale !== undefined && lookedAt(ref) > stale) seen.push(`${name} was published although it was taken`);
          if (published !== undefined && (!published.complete || published.productVersion !== version))
            seen.push(`${name} was published and is not whole, or not ${version}`);
        },
      };
    },
  };
}

/** A machine as a process can tell it apart from others: for counting the states of a world, whatever the time and random ids. */
export function shapeOf({ machines }: { readonly machines: readonly MachineSnapshot[] }, world: World): string {
  return machines
    .filter(({ ref }) => !world.foreign.has(ref))
    .map(({ ref, name, isTemplate, powerState, complete, extraConfig, customValues, tags }) =>
      [
        ref,
        name === NAME ? '*' : name.replace(/[0-9a-f]{8}$/, ''),
        isTemplate,
        powerState,
        complete,
        Object.keys(extraConfig).join(),
        Object.keys(customValues).join(),
        entryOf(world, ref)?.stage,
        entryOf(world, ref)?.role,
        tags.length,
      ].join(' '),
    )
    .join('\n');
}
