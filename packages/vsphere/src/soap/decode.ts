import { cut } from '../foreign-text.ts';
import type { MoRef } from '../vcenter.ts';
import { elements, referenceOf, textOf, type XmlElement } from '../xml/xml.ts';

/** Turns an element into a value; undefined where it is not what the schema says. Never throws: a server may be newer than we are. */
export type Decode<T> = (from: XmlElement) => T | undefined;

/** A string. Copied, since a slice would keep the chunk alive that it was received in. */
export const text: Decode<string> = (from) => copied(textOf(from));

/** Shorter ones are no slices. */
function copied(value: string): string {
  return value.length < 13 ? value : Buffer.from(value, 'utf8').toString('utf8');
}

/** A name or a word, which nobody makes long: cut, since it gets into messages. */
export const label: Decode<string> = (from) => cut(text(from) ?? '');

/** xsd:boolean. */
export const flag: Decode<boolean> = (from) => {
  const value = textOf(from).trim();
  if (value === 'true' || value === '1') return true;
  return value === 'false' || value === '0' ? false : undefined;
};

/** A number. Byte counts of datastores stay far below 2^53. */
export const number: Decode<number> = (from) => {
  const value = textOf(from).trim();
  const parsed = value === '' ? Number.NaN : Number(value);
  return Number.isFinite(parsed) ? parsed : undefined;
};

/** A managed object reference. */
export const ref: Decode<MoRef> = (from) => {
  const found = referenceOf(from);
  return found === undefined ? undefined : { type: copied(found.type), value: copied(found.value) };
};

/** One of some words; any other is undefined. */
export function oneOf<const W extends string>(...words: readonly W[]): Decode<W> {
  return (from) => {
    const value = textOf(from).trim();
    return words.find((word) => word === value);
  };
}

/** How a field of a data object is read: once, or as a repeated element. */
export type Field<T> = { readonly one: Decode<T> } | { readonly many: Decode<T> };

/** A field that occurs at most once. */
export function one<T>(decode: Decode<T>): { readonly one: Decode<T> } {
  return { one: decode };
}

/** A repeated element without a wrapper. One occurrence is a list of one: only the descriptor can know that. */
export function many<T>(decode: Decode<T>): { readonly many: Decode<T> } {
  return { many: decode };
}

type ValueOf<F> = F extends { readonly many: Decode<infer T> }
  ? readonly T[]
  : F extends { readonly one: Decode<infer T> }
    ? T | undefined
    : never;

/** A data object by its descriptor. Fields that it does not name are skipped; `concrete` is xsi:type's local name. */
export function object<F extends Readonly<Record<string, Field<unknown>>>>(
  fields: F,
): Decode<{ readonly [K in keyof F]: ValueOf<F[K]> } & { readonly concrete: string | undefined }> {
  return (from) => {
    const out: Record<string, unknown> = { concrete: from.type?.local };
    for (const [name, how] of Object.entries(fields)) {
      const found = elements(from, name);
      if ('many' in how) out[name] = decodeAll(found, how.many);
      else if (found[0] !== undefined) out[name] = how.one(found[0]);
    }
    return out as { readonly [K in keyof F]: ValueOf<F[K]> } & { readonly concrete: string | undefined };
  };
}

/** A property whose type is an array: `ArrayOfX` with children named X, whatever X is. */
export function arrayOf<T>(decode: Decode<T>): Decode<readonly T[]> {
  return (from) => decodeAll(elements(from), decode);
}

function decodeAll<T>(found: readonly XmlElement[], decode: Decode<T>): readonly T[] {
  return found.map(decode).filter((value) => value !== undefined);
}
