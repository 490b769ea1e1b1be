import { type Entry, type IndexedObject, intersect, type ObjectIndex, type Places } from './object-index.ts';
import { Refusal } from './soap-refusal.ts';
import { type Item, PageMaker, type Shown, updatePage } from './update-page.ts';

/** What each filter listed. */
type Listed = ReadonlyMap<Filter, Places>;

/** Where a reader of updates is. */
interface Position {
  /** All that happened before this point is known to the reader. */
  readonly at: number;
  readonly listed: Listed;
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

/** A filter: what it shows, and of which objects. */
export interface Filter extends Shown {
  readonly id: string;
  /** Whether objects of this type are shown at all. */
  readonly shows: (type: string) => boolean;
  /** The containers and objects that it looks at now, the same set as long as they are the same; undefined: what it stood on is gone. */
  readonly listed: () => Places | undefined;
}

/**
 * A property collector with the versions of a real vCenter. The pages of the first answer are "0_1", "0_2" and so on, with `truncated`, and "1" at the end; later answers are "2",
 * "3", and in pages "2_1" before "3". A version of a complete answer may be asked for again until a later one was, and then brings what happened since. One of a truncated answer is good
 * once. All others are an `InvalidCollectorVersion`.
 */
export class UpdateCollector {
  readonly #index: ObjectIndex;
  readonly #positions = new Map<string, Position>();
  readonly #filters = new Map<string, { readonly filter: Filter; readonly pages: PageMaker }>();
  #prepared: (Position & { readonly version: string; readonly most: number; readonly page: Made }) | undefined;

  constructor(index: ObjectIndex) {
    this.#index = index;
  }

  /** The point in time before which this collector needs nothing. */
  get needs(): number {
    let least = this.#index.now;
    for (const { at } of this.#positions.values()) least = Math.min(least, at);
    return least;
  }

  /** Its filters by id. */
  get filters(): readonly string[] {
    return [...this.#filters.keys()];
  }

  /** The first filter of a collector that was used begins with all that it sees, at whatever version the reader is. */
  addFilter(filter: Filter): void {
    this.#filters.set(filter.id, { filter, pages: new PageMaker(filter.id, filter) });
    this.#prepared = undefined;
  }

  removeFilter(id: string): void {
    this.#filters.delete(id);
    this.#prepared = undefined;
  }

  /** The answer to a wait, at most `most` objects; undefined: nothing has happened yet. Throws a {@link Refusal}. */
  answer(version: string, most: number): Buffer | undefined {
    const now = { at: this.#index.now, listed: this.#listed() };
    if (version === '') {
      this.#positions.clear();
      return this.#issue(this.#make(this.#entering(now.listed), now, most, '0'), most);
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
    if (
      prepared?.version === version &&
      prepared.at === now.at &&
      same(prepared.listed, now.listed) &&
      prepared.most === most
    )
      return this.#issue(prepared.page, most);
    const items = this.#difference(position, now.listed);
    return items.length === 0 ? undefined : this.#issue(this.#make(items, now, most, version), most);
  }

  /** Makes the answer that follows the last one while nobody asks; it is good if nothing happens until then. */
  prepare(most: number): void {
    const [version, position] = [...this.#positions].at(-1) ?? [];
    if (version === undefined || position === undefined || position.rest !== undefined) return;
    const now = { at: this.#index.now, listed: this.#listed() };
    const items = this.#difference(position, now.listed);
    if (items.length > 0) this.#prepared = { ...now, version, most, page: this.#make(items, now, most, version) };
  }

  #listed(): Listed {
    const listed = new Map<Filter, Places>();
    for (const { filter } of this.#filters.values()) {
      const places = filter.listed();
      if (places === undefined) throw new Refusal('ManagedObjectNotFound', '<obj type="ListView">gone</obj>');
      listed.set(filter, places);
    }
    return listed;
  }

  #entering(listed: Listed): readonly Item[] {
    const items: Item[] = [];
    for (const [filter, places] of listed) items.push(...this.#all(filter, places));
    return items;
  }

  *#all(filter: Filter, places: Places): Generator<Item> {
    const pages = this.#filters.get(filter.id)?.pages;
    if (pages === undefined) return;
    for (const object of this.#index.within(places))
      if (filter.shows(object.type)) yield { filter: pages, object, kind: 'enter' };
  }

  /** A page that follows `version`. */
  #make(items: readonly Item[], { at, listed }: Position, most: number, version: string): Made {
    const rest = items.slice(most);
    const truncated = rest.length > 0;
    const [major = 0, minor = 0] = version.split('_').map(Number);
    const next = truncated ? `${major}_${minor + 1}` : String(major + 1);
    const bytes = updatePage(items.slice(0, most), next, truncated);
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

  #difference(position: Position, listed: Listed): readonly Item[] {
    const entries = this.#index.since(position.at);
    if (entries === undefined) throw new Refusal('InvalidCollectorVersion');
    const items: Item[] = [];
    for (const [filter, places] of listed) {
      const before = position.listed.get(filter);
      if (before === undefined) items.push(...this.#all(filter, places));
      else this.#differenceOf(filter, entries, before, places, items);
    }
    return items;
  }

  #differenceOf(filter: Filter, entries: readonly Entry[], was: Places, listed: Places, items: Item[]): void {
    const pages = this.#filters.get(filter.id)?.pages;
    if (pages === undefined) return;
    const touched = new Map<IndexedObject, Touched>();
    const touch = (object: IndexedObject): Touched => {
      let found = touched.get(object);
      if (found === undefined) {
        found = { left: false, paths: new Set() };
        touched.set(object, found);
      }
      return found;
    };
    for (const entry of entries)
      if (filter.shows(entry.object.type)) note(entry, touch(entry.object), was, filter.paths(entry.object.type));
    if (listed !== was) {
      const changed = new Set([...listed].filter((one) => !was.has(one)));
      for (const one of was) if (!listed.has(one)) changed.add(one);
      for (const object of this.#index.within(changed)) if (filter.shows(object.type)) touch(object);
    }
    for (const [object, { first, left, paths }] of touched) {
      const before = intersect(first ?? object.places, was);
      const after = intersect(object.places, listed);
      if (before && (!after || left)) items.push({ filter: pages, object, kind: 'leave' });
      if (after && (!before || left)) items.push({ filter: pages, object, kind: 'enter' });
      else if (after && paths.size > 0) items.push({ filter: pages, object, kind: 'modify', paths });
    }
  }
}

interface Touched {
  first?: Places;
  left: boolean;
  readonly paths: Set<string>;
}

function same(one: Listed, other: Listed): boolean {
  return one.size === other.size && [...one].every(([filter, places]) => other.get(filter) === places);
}

/** Folds one entry into what is known of its object. */
function note({ path, from }: Entry, into: Touched, listed: Places, shown: readonly string[]): void {
  if (path !== undefined) for (const one of shown) if (concerns(path, one)) into.paths.add(one);
  if (from === undefined) return;
  into.first ??= from;
  // Out of sight in between, although it may be back: what it was then nobody knows.
  if (intersect(into.first, listed) && !intersect(from, listed)) into.left = true;
}

/** Whether a change at one path changes what is at another. */
function concerns(changed: string, shown: string): boolean {
  if (changed === shown) return true;
  const [short, long] = changed.length < shown.length ? [changed, shown] : [shown, changed];
  return long.startsWith(short) && (long[short.length] === '.' || long[short.length] === '[');
}
