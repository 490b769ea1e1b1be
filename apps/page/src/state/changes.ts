import type { PageHead, PageSections, PageState, Row } from './page-state.ts';

/** What became of the rows of one section. */
export interface SectionChange {
  /** Rows that are new, or not what they were. */
  readonly set: readonly Row[];
  /** Ids of those that are gone. */
  readonly gone: readonly string[];
  /** All ids in their order, where that is not the one before without those that are gone and with the new ones at its end. */
  readonly order?: readonly string[];
}

/** What makes one state of the page from the one before. */
export interface PageChange {
  readonly asOf: string;
  readonly head?: PageHead;
  readonly sections: Partial<Record<keyof PageSections, SectionChange>>;
}

/** What has changed; undefined where only time went by. Pure. */
export function changesOf(before: PageState, after: PageState): PageChange | undefined {
  const sections: Partial<Record<keyof PageSections, SectionChange>> = {};
  for (const name of Object.keys(after.sections) as (keyof PageSections)[]) {
    const change = sectionChange(before.sections[name], after.sections[name]);
    if (change !== undefined) sections[name] = change;
  }
  const head = same(before.head, after.head) ? {} : { head: after.head };
  if (Object.keys(sections).length === 0 && head.head === undefined) return undefined;
  return { asOf: after.asOf, ...head, sections };
}

/** The state after a change. Rows that have not changed stay the same objects. */
export function changed(before: PageState, change: PageChange): PageState {
  const sections: Record<string, readonly Row[]> = { ...before.sections };
  for (const [name, one] of Object.entries(change.sections)) sections[name] = rowsAfter(sections[name] ?? [], one);
  return { asOf: change.asOf, head: change.head ?? before.head, sections: sections as unknown as PageSections };
}

function sectionChange(before: readonly Row[], after: readonly Row[]): SectionChange | undefined {
  const old = new Map(before.map((row) => [row.id, row]));
  const ids = new Set(after.map(({ id }) => id));
  const set = after.filter((row) => !same(old.get(row.id), row));
  const gone = before.filter(({ id }) => !ids.has(id)).map(({ id }) => id);
  const usual = orderAfter(before, { set, gone });
  const order = after.map(({ id }) => id);
  const moved = usual.some((id, at) => id !== order[at]);
  if (set.length === 0 && gone.length === 0 && !moved) return undefined;
  return { set, gone, ...(moved ? { order } : {}) };
}

function orderAfter(before: readonly Row[], { set, gone }: Pick<SectionChange, 'set' | 'gone'>): readonly string[] {
  const away = new Set(gone);
  const kept = before.map(({ id }) => id).filter((id) => !away.has(id));
  const there = new Set(kept);
  return [...kept, ...set.map(({ id }) => id).filter((id) => !there.has(id))];
}

function rowsAfter(before: readonly Row[], change: SectionChange): readonly Row[] {
  const rows = new Map([...before, ...change.set].map((row) => [row.id, row]));
  const order = change.order ?? orderAfter(before, change);
  return order.map((id) => rows.get(id)).filter((row) => row !== undefined);
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
