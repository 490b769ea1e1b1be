import { type Entry, intersect, type Places, type SyntheticInventory, type SyntheticMachine } from './inventory.ts';
import { type Item, PageMaker, type Shown } from './page.ts';
import { Refusal } from './refusal.ts';

/** Where a reader of updates is. */
interface Position {
  /** All that happened before this point is known to the reader. */
  readonly at: number;
  /** The containers of the list at that time. */
  readonly listed: Places;
  /** Of a truncated answer: what is still to be sent. */
  readonly rest?: readonly Item[];
  /** The page that comes next, made while the reader was busy with the last one. */
  readonly ready?: { readonly most: number; readonly page: Made };
}

interface Made {
  readonly bytes: Buffer;
  readonly version: string;
  readonly position: Position;
}

/** A filter: what it shows, and of which list of containers. */
export interface Filter extends Shown {
  readonly id: string;
  /** The containers that the list view has now; undefined: the list view is gone. */
  readonly listed: () => Places | undefined;
}

/**
 * A property collector with the versions of a real vCenter. The pages of the first answer are "0_1", "0_2" and so on, with `truncated`, and "1" at the end; later answers are "2",
 * "3", and in pages "2_1" before "3". A version of a complete answer may be asked for again until a later one was, and then brings what happened since. One of a truncated answer is good
 * once. All others are an `InvalidCollectorVersion`.
 */
export class SyntheticCollector {
  readonly #inventory: SyntheticInventory;
  readonly #positions = new Map<string, Position>();
  #prepared: (Position & { readonly version: string; readonly most: number; readonly page: Made }) | undefined;
  #filter: Filter | undefined;
  #pages: PageMaker | undefined;

  constructor(inventory: SyntheticInventory) {
    this.#inventory = inventory;
  }

  /** The point in time before which this collector needs nothing. */
  get needs(): number {
    let least = this.#inventory.now;
    for (const { at } of this.#positions.values()) least = Math.min(least, at);
    return least;
  }

  get filter(): Filter | undefined {
    return this.#filter;
  }

  setFilter(filter: Filter | undefined): void {
    this.#filter = filter;
    this.#pages = filter === undefined ? undefined : new PageMaker(filter.id, filter);
    this.#positions.clear();
  }

  /** The answer to a wait, at most `most` objects; undefined: nothing has happened yet. Throws a {@link Refusal}. */
  answer(version: string, most: number): Buffer | undefined {
    const filter = this.#filter;
    if (filter === undefined) return undefined;
    const listed = filter.listed();
    if (listed === undefined) throw new Refusal('ManagedObjectNotFound', '<obj type="ListView">gone</obj>');
    const now = { at: this.#inventory.now, listed };
    if (version === '') {
      this.#positions.clear();
      const items = [...this.#inventory.within(listed)].map((machine): Item => ({ machine, kind: 'enter' }));
      return this.#issue(this.#make(items, now, most, '0'), most);
    }
    const position = this.#positions.get(version);
    if (position === undefined) throw new Refusal('InvalidCollectorVersion');
    if (position.rest !== undefined) {
      this.#positions.delete(version);
      const { ready } = position;
      return this.#issue(ready?.most === most ? ready.page : this.#make(position.rest, position, most, version), most);
    }
    // Whoever asks for this one has got all before, and may have lost what came after.
    for (const other of this.#positions.keys()) if (other !== version) this.#positions.delete(other);
    const prepared = this.#prepared;
    this.#prepared = undefined;
    if (prepared?.version === version && prepared.at === now.at && prepared.listed === listed && prepared.most === most)
      return this.#issue(prepared.page, most);
    const items = this.#difference(position, listed);
    return items.length === 0 ? undefined : this.#issue(this.#make(items, now, most, version), most);
  }

  /** Makes the answer that follows the last one while nobody asks; it is good if nothing happens until then. */
  prepare(most: number): void {
    const listed = this.#filter?.listed();
    const [version, position] = [...this.#positions].at(-1) ?? [];
    if (listed === undefined || version === undefined || position === undefined || position.rest !== undefined) return;
    const now = { at: this.#inventory.now, listed };
    const items = this.#difference(position, listed);
    if (items.length > 0) this.#prepared = { ...now, version, most, page: this.#make(items, now, most, version) };
  }

  /** A page that follows `version`. */
  #make(items: readonly Item[], { at, listed }: Position, most: number, version: string): Made {
    const rest = items.slice(most);
    const truncated = rest.length > 0;
    const [major = 0, minor = 0] = version.split('_').map(Number);
    const next = truncated ? `${major}_${minor + 1}` : String(major + 1);
    const bytes = this.#pages?.page(items.slice(0, most), next, truncated) ?? Buffer.alloc(0);
    return { bytes, version: next, position: truncated ? { at, listed, rest } : { at, listed } };
  }

  #issue({ bytes, version, position }: Made, most: number): Buffer {
    this.#positions.set(version, position);
    const { rest } = position;
    if (rest !== undefined) {
      setImmediate(() => {
        if (this.#positions.get(version) === position)
          this.#positions.set(version, {
            ...position,
            ready: { most, page: this.#make(rest, position, most, version) },
          });
      });
    }
    return bytes;
  }

  #difference(position: Position, listed: Places): readonly Item[] {
    const entries = this.#inventory.since(position.at);
    if (entries === undefined) throw new Refusal('InvalidCollectorVersion');
    const shown = new Set(this.#filter?.paths);
    const touched = new Map<SyntheticMachine, { first?: Places; left: boolean; readonly paths: Set<string> }>();
    const touch = (machine: SyntheticMachine): { first?: Places; left: boolean; readonly paths: Set<string> } => {
      let found = touched.get(machine);
      if (found === undefined) {
        found = { left: false, paths: new Set() };
        touched.set(machine, found);
      }
      return found;
    };
    for (const entry of entries) note(entry, touch(entry.machine), position.listed, shown);
    if (listed !== position.listed) {
      const changed = new Set([...listed].filter((one) => !position.listed.has(one)));
      for (const one of position.listed) if (!listed.has(one)) changed.add(one);
      for (const machine of this.#inventory.within(changed)) touch(machine);
    }
    const items: Item[] = [];
    for (const [machine, { first, left, paths }] of touched) {
      const before = intersect(first ?? machine.places, position.listed);
      const after = intersect(machine.places, listed);
      if (before && (!after || left)) items.push({ machine, kind: 'leave' });
      if (after && (!before || left)) items.push({ machine, kind: 'enter' });
      else if (after && paths.size > 0) items.push({ machine, kind: 'modify', paths });
    }
    return items;
  }
}

/** Folds one entry into what is known of its machine. */
function note(
  { path, from }: Entry,
  into: { first?: Places; left: boolean; readonly paths: Set<string> },
  listed: Places,
  shown: ReadonlySet<string>,
): void {
  if (path !== undefined && shown.has(path)) into.paths.add(path);
  if (from === undefined) return;
  into.first ??= from;
  // Out of sight in between, although it may be back: what it was then nobody knows.
  if (intersect(into.first, listed) && !intersect(from, listed)) into.left = true;
}
