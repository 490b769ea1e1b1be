/** Something that is wanted under a name, and the ids of the first two sets that want it: one is another one than whoever asks. */
interface Wanted<T> {
  readonly wish: T;
  readonly of: readonly string[];
}

/** So many things that are wanted under one name are told apart: two are too many already. */
const TOLD_APART = 8;

/** What sets want under the names that they share, each thing once, so that all sets together cost one look at each. */
export class WantedByName<T> {
  readonly #byName = new Map<string, { readonly wish: T; readonly of: string[] }[]>();
  readonly #same: (one: T, other: T) => boolean;

  constructor(same: (one: T, other: T) => boolean) {
    this.#same = same;
  }

  add(name: string, wish: T, id: string): void {
    const wanted = this.#byName.getOrInsertComputed(name, () => []);
    const found = wanted.find((one) => this.#same(one.wish, wish));
    if (found === undefined && wanted.length < TOLD_APART) wanted.push({ wish, of: [id] });
    else if (found !== undefined && found.of.length < 2) found.of.push(id);
  }

  /** What sets other than this one want under a name, with one of them for each thing. */
  byOthers(name: string, id: string): readonly { readonly wish: T; readonly of: string }[] {
    const wanted: readonly Wanted<T>[] = this.#byName.get(name) ?? [];
    return wanted.flatMap(({ wish, of }) =>
      of
        .filter((other) => other !== id)
        .slice(0, 1)
        .map((other) => ({ wish, of: other })),
    );
  }
}
