import { type JsonObject, shown } from '@drydock/kube/testing/api-server';
import { valueAt } from './object-fields.ts';

/** An object that is being made: it is nobody else's, so it is changed in place. */
export type Draft = Record<string, unknown>;

export function copyOf(object: JsonObject): Draft {
  return structuredClone(object) as Draft;
}

/** Whether a value is a draft. */
export function isDraft(value: unknown): value is Draft {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field as a draft; an absent one is made. */
export function within(draft: Draft, field: string): Draft {
  const value = draft[field];
  if (isDraft(value)) return value;
  const made: Draft = {};
  draft[field] = made;
  return made;
}

/** A field as a draft; undefined where there is none. */
export function part(draft: Draft | undefined, ...path: readonly string[]): Draft | undefined {
  let at: unknown = draft;
  for (const field of path) at = isDraft(at) ? at[field] : undefined;
  return isDraft(at) ? at : undefined;
}

/** The objects of a list field. */
export function each(draft: Draft | undefined, field: string): readonly Draft[] {
  const value = draft?.[field];
  return Array.isArray(value) ? value.filter(isDraft) : [];
}

/** Sets fields that are absent, null or empty. */
export function fill(draft: Draft, values: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(values)) {
    const now = draft[field];
    if (now === undefined || now === null || now === '') draft[field] = value;
  }
}

/** A value as text: '' (or what is given) for none. */
export function textOf(value: unknown, none: string = ''): string {
  return value === undefined || value === null ? none : shown(value);
}

/** The values of fields that selectors may name, by dotted path. */
export function fieldValues(object: JsonObject, ...paths: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(paths.map((path) => [path, textOf(valueAt(object, path))]));
}
