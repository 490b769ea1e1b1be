import { createSecretKey, type KeyObject } from 'node:crypto';

/** Keys by which codes in marks are made and checked. Their bytes are in no text: a `KeyObject` prints as nothing. */
export interface MarkKeys {
  /** Makes new codes; undefined: none can be made. */
  readonly current: { readonly id: string; readonly key: KeyObject } | undefined;
  /** All that codes may be checked by, the current one included, by id. */
  readonly known: ReadonlyMap<string, KeyObject>;
}

/** Keys, and what is wrong with those that cannot be used: sentences without a byte of a key. */
export interface ReadKeys {
  readonly keys: MarkKeys;
  readonly problems: readonly string[];
}

/** Without a key nothing is made and nothing is believed. */
export const NO_KEYS: MarkKeys = { current: undefined, known: new Map() };

/** What a key must have at least: as many bytes as the code has. */
const KEY_BYTES = 32;
const KEY_ID = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/**
 * The keys in the data of a Secret, base64 as the API server gives it: `current` names the key that makes new codes, every other entry is a key under its
 * id. A line end at the end of a value is not part of it.
 */
export function keysOfSecret(data: Readonly<Record<string, string>> | undefined): ReadKeys {
  const entries = Object.entries(data ?? {}).map(([id, value]) => [id, Buffer.from(value, 'base64')] as const);
  const named = entries
    .find(([id]) => id === 'current')?.[1]
    .toString('utf8')
    .trim();
  const read = keysOf(entries.filter(([id]) => id !== 'current').map(([id, bytes]) => [id, trimmed(bytes)]));
  return withCurrent(read, named, 'the entry current');
}

/** The keys in the text of a key file: one `id:key` a line, the current one first. Empty lines and lines that begin with # are left out. */
export function keysOfText(text: string): ReadKeys {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const entries = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const colon = line.indexOf(':');
      return [colon < 0 ? '' : line.slice(0, colon), Buffer.from(line.slice(colon + 1))] as const;
    });
  return withCurrent(keysOf(entries), entries[0]?.[0], 'the first line');
}

function keysOf(entries: readonly (readonly [id: string, bytes: Buffer])[]): {
  readonly known: ReadonlyMap<string, KeyObject>;
  readonly problems: readonly string[];
} {
  const known = new Map<string, KeyObject>();
  const problems: string[] = [];
  for (const [id, bytes] of entries) {
    // What stands where an id should may be a key.
    if (!KEY_ID.test(id)) problems.push('an id is none: it has 1 to 32 lower-case letters, digits and hyphens');
    else if (bytes.length < KEY_BYTES)
      problems.push(`the key ${id} has ${bytes.length} bytes, and ${KEY_BYTES} are needed`);
    else if (known.has(id)) problems.push(`the id ${id} stands there twice`);
    else known.set(id, createSecretKey(bytes));
  }
  return { known, problems };
}

function withCurrent(
  { known, problems }: Pick<MarkKeys, 'known'> & Pick<ReadKeys, 'problems'>,
  id: string | undefined,
  where: string,
): ReadKeys {
  const key = id === undefined ? undefined : known.get(id);
  if (id !== undefined && key !== undefined) return { keys: { current: { id, key }, known }, problems };
  const why = known.size === 0 ? 'there is no key' : `${where} names none of the keys`;
  return { keys: { current: undefined, known }, problems: [...problems, why] };
}

function trimmed(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1;
  return bytes.subarray(0, end);
}
