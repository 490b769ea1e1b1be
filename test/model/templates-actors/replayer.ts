import type { MoRef } from '@drydock/vsphere';
import { refKey } from '@drydock/vsphere';
import type { MachineSnapshot } from '@drydock/vsphere/testing';
import type { World } from '../templates-world.ts';
import { FOLDER } from '../templates-world.ts';

/** What other users of a vCenter do to templates that are owned, or beside them. */
export type ReplayDeed =
  /** Writes all that can be read of each of ours onto a VM of their own. */
  | 'copies as template'
  | 'copies as machine'
  /** The same after ours was removed: under its name, with its instance UUID. */
  | 'replaces as template'
  | 'replaces as machine'
  /** Writes the oldest value of each attribute back. */
  | 'writes older values back'
  /** Writes the attributes of one of ours onto the others. */
  | 'exchanges values'
  | 'empties attributes'
  | 'deletes attributes'
  /** A restored vCenter gives the moref and all texts of ours to a VM of theirs; only the creation date differs. */
  | 'restores'
  /** The same with the creation date: what no vCenter does. */
  | 'restores with the same identity'
  | 'renames'
  /** Ours is registered again: the same files and texts, another moref. */
  | 're-registers';

/** Oldest values of attributes by `ref attribute`. */
export type Oldest = Map<string, string>;

/** A machine as the in-memory vCenter keeps it. */
export type Stored = World['inventory']['state']['machines'] extends Map<string, infer M> ? M : never;

/** Machines and templates of the folder that are not foreign. */
export function ownedIn({ inventory, foreign }: World): readonly MachineSnapshot[] {
  return inventory.snapshot().machines.filter(({ ref, folder }) => folder === FOLDER && !foreign.has(ref));
}

/** Keeps what each attribute had first. */
export function remember({ inventory }: World, oldest: Oldest): void {
  for (const [ref, { customValues }] of inventory.state.machines)
    for (const [key, value] of customValues) if (!oldest.has(`${ref} ${key}`)) oldest.set(`${ref} ${key}`, value);
}

/** Does it: to `victim`, the newest or the oldest of ours, or to each of ours where nothing is taken away. */
export function replay(world: World, deed: ReplayDeed, victim: 'newest' | 'oldest', oldest: Oldest): void {
  const { machines } = world.inventory.state;
  const stored = ownedIn(world).flatMap(({ ref }) => machines.get(ref) ?? []);
  const chosen = victim === 'newest' ? stored.at(-1) : stored[0];
  switch (deed) {
    case 'copies as template':
    case 'copies as machine':
      for (const one of stored)
        theirs(world, one, { name: freeName(world, one), isTemplate: deed.endsWith('template') });
      return;
    case 'replaces as template':
    case 'replaces as machine':
      if (chosen !== undefined) replace(world, chosen, { isTemplate: deed.endsWith('template') });
      return;
    case 're-registers':
      if (chosen !== undefined) replace(world, chosen, {});
      return;
    case 'restores':
    case 'restores with the same identity': {
      if (chosen === undefined) return;
      const { ref, createDate } = chosen;
      const later = new Date(Date.parse(createDate) + 1_000).toISOString();
      replace(world, chosen, { ref, createDate: deed === 'restores' ? later : createDate });
      return;
    }
    case 'renames':
      if (chosen !== undefined) chosen.name = `renamed by hand ${chosen.ref.value}`;
      return;
    case 'writes older values back':
      for (const { ref, customValues } of stored)
        for (const key of customValues.keys()) customValues.set(key, oldest.get(`${refKey(ref)} ${key}`) ?? '');
      return;
    case 'exchanges values': {
      const values = stored.map(({ customValues }) => new Map(customValues));
      for (const [at, { customValues }] of stored.entries())
        for (const [key, value] of values[(at + 1) % values.length] ?? []) customValues.set(key, value);
      return;
    }
    case 'empties attributes':
      for (const { customValues } of stored) for (const key of customValues.keys()) customValues.set(key, '');
      return;
    case 'deletes attributes':
      for (const { customValues } of stored) customValues.clear();
  }
}

/** Ours goes with its lease, and theirs takes its place. */
function replace(world: World, one: Stored, change: Partial<Stored>): void {
  world.inventory.remove(one.ref);
  theirs(world, one, { instanceUuid: one.instanceUuid, ...change });
}

/** A VM of theirs with all that can be read of one of ours; its disks are its own. */
export function theirs(world: World, one: Stored, change: Partial<Stored>): MoRef {
  const { state } = world.inventory;
  const made = world.inventory.add(world.inventory.at(FOLDER), { name: `theirs ${state.next}` });
  const { ref, instanceUuid, disks: files, directory, createDate } = state.machines.get(refKey(made)) ?? one;
  // Other files that say that they are the same disks.
  const disks = one.disks.map((disk, at) => ({ ...disk, file: files[at]?.file ?? `${directory} ${at}`, parents: [] }));
  state.machines.delete(refKey(made));
  const copy: Stored = {
    ...one,
    ...{ ref, instanceUuid, disks, directory, createDate, tasks: [], complete: true },
    extraConfig: new Map(one.extraConfig),
    hardware: new Map(one.hardware),
    customValues: new Map(one.customValues),
    disabledMethods: new Set(),
    tags: new Set(one.tags),
    ...change,
  };
  const key = refKey(copy.ref);
  state.machines.set(key, copy);
  const seen = world.inventory.snapshot().machines.find((machine) => machine.ref === key);
  world.foreign.set(key, JSON.stringify(seen));
  return copy.ref;
}

/** As an import of the same wish would be named, where that is free. */
function freeName({ inventory }: World, { name }: Stored): string {
  const tail = /(-9\.\d-[0-9a-f]{8})$/.exec(name)?.[1] ?? '';
  return `copy ${inventory.state.next}${tail}`;
}
