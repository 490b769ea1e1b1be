import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** Keys by which codes in marks are made and checked. Their bytes are in no text: a `KeyObject` prints as nothing. */
export interface MarkKeys {
  /** Makes new codes, which bear its id as {@link keyIdOf} derives it; undefined: none can be made. */
  readonly current: { readonly id: string; readonly key: KeyObject } | undefined;
  /**
   * All that codes may be checked by, the current one included: each by its derived id, and also by the name that an administrator gave it. Earlier versions wrote that
   * name into codes as the id.
   */
  readonly known: ReadonlyMap<string, KeyObject>;
}

/** One key, as {@link listKeys} describes it. */
export interface ListedKey {
  /** Derived from the key. */
  readonly id: string;
  /** What its entries are called in the Secret or the key file; empty: its line has no name. */
  readonly names: readonly string[];
  /** It makes new codes. */
  readonly current: boolean;
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
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
/** A line of a key file that is a key alone: hexadecimal or base64. Anything else without a colon is more likely a slip. */
const BARE_KEY = /^[\w+/-]+={0,2}$/;

/**
 * The id of a key: 12 hexadecimal digits that follow from the key, so that no two keys ever share one, and that tell nothing of it. No code is made over this text: a code's is
 * a JSON array.
 */
export function keyIdOf(key: KeyObject): string {
  return createHmac('sha256', key).update('drydock.key-id/1').digest('hex').slice(0, 12);
}

/** Each key once, the current one first. */
export function listKeys({ current, known }: MarkKeys): readonly ListedKey[] {
  const names = new Map<string, string[]>();
  for (const [name, key] of known) {
    const id = keyIdOf(key);
    const listed = names.get(id) ?? [];
    names.set(id, name === id ? listed : [...listed, name]);
  }
  return [...names]
    .map(([id, given]) => ({ id, names: given, current: id === current?.id }))
    .toSorted((a, b) => Number(b.current) - Number(a.current));
}

/** What a Secret or a key file has at one place. Without a name it is a line of a key alone. */
interface Entry {
  readonly name: string | undefined;
  readonly bytes: Buffer;
}

/**
 * The keys in the data of a Secret, base64 as the API server gives it. Each entry is a key, under any name; the entry `current` holds the name of the one that makes new codes, and may be
 * left out where there is one key. A line end at the end of a value is not part of it.
 */
export function keysOfSecret(data: Readonly<Record<string, string>> | undefined): ReadKeys {
  const { current, ...rest } = data ?? {};
  const entries = Object.entries(rest).map(([name, value]) => ({ name, bytes: trimmed(Buffer.from(value, 'base64')) }));
  if (current === undefined) {
    const [only, ...more] = entries;
    return keysOf(
      entries,
      more.length === 0 ? only : undefined,
      'the entry current is missing: it names the key that signs',
    );
  }
  const named = Buffer.from(current, 'base64').toString('utf8').trim();
  const signing = entries.find(({ name }) => name === named);
  return keysOf(entries, signing, 'the entry current names none of the keys');
}

/**
 * The keys in the text of a key file: one `name:key` or one key a line, the current one first. The name is only a label. Empty lines and lines that begin with # are left out.
 */
export function keysOfText(text: string): ReadKeys {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const entries = lines.filter((line) => line !== '' && !line.startsWith('#')).map(entryOf);
  return keysOf(entries, entries[0], 'the first line has none of the keys');
}

function entryOf(line: string): Entry {
  const colon = line.indexOf(':');
  if (colon < 0) return { name: BARE_KEY.test(line) ? undefined : '', bytes: Buffer.from(line) };
  return { name: line.slice(0, colon), bytes: Buffer.from(line.slice(colon + 1)) };
}

/** The usable keys among entries. `without` is the problem where the one that is to sign is none of them. */
function keysOf(entries: readonly Entry[], signing: Entry | undefined, without: string): ReadKeys {
  const named = new Map<string, KeyObject>();
  const derived = new Map<string, KeyObject>();
  const problems: string[] = [];
  let current: MarkKeys['current'];
  for (const entry of entries) {
    const { name, bytes } = entry;
    // What stands in the place of a name may be a key.
    if (name !== undefined && !NAME.test(name))
      problems.push('a name is none: use 1 to 32 lower-case letters, digits and hyphens');
    else if (bytes.length < KEY_BYTES)
      problems.push(`the key ${name ?? 'without a name'} has ${bytes.length} bytes, and ${KEY_BYTES} are needed`);
    else if (name !== undefined && named.has(name)) problems.push(`the name ${name} is used twice`);
    else {
      const key = createSecretKey(bytes);
      const id = keyIdOf(key);
      const same = derived.get(id) ?? key;
      derived.set(id, same);
      if (name !== undefined) named.set(name, same);
      if (entry === signing) current = { id, key: same };
    }
  }
  // A name that is the derived id of another key stands behind that key.
  const keys: MarkKeys = { current, known: new Map([...named, ...derived]) };
  if (current !== undefined) return { keys, problems };
  return { keys, problems: [...problems, derived.size === 0 ? 'there is no key' : without] };
}

function trimmed(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1;
  return bytes.subarray(0, end);
}
