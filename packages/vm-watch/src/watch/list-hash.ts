import { type Decode, eachChild, type ItemRanges, TextRange, type XmlElement } from '@drydock/vsphere';
import type { Hash64 } from './hash.ts';
import { KeySet } from './key-set.ts';
import { RangeHash } from './range-hash.ts';
import { NAMESPACED_NAME } from './watched-paths.ts';

/** A list as one number that its order does not change. */
export interface ListHash {
  /** 0 for a list without items that count: it is as good as unset. */
  readonly hash: bigint;
  /** Value of {@link NAMESPACED_NAME}, where the list has it. */
  readonly carries: string | undefined;
}

const NAME_KEY = new KeySet([NAMESPACED_NAME]);
/** As many as there are sets of ignored keys, which is one. */
const KEYS = new WeakMap<ReadonlySet<string>, KeySet>();
const [KEY, VALUE] = [Buffer.from('key'), Buffer.from('value')];
const range = new TextRange();

/**
 * Hashes the items of a list value and adds the hashes. With `ignoredKeys` the items are `OptionValue`s, and those with such a key do not count. Works on the bytes; where
 * they hold anything out of the ordinary the strict parser reads them. `items`, where known, says where the items are. Throws `XmlSyntaxError` where even that fails.
 */
export function listHash(
  value: Uint8Array,
  decode: Decode | undefined,
  hash: Hash64,
  ignoredKeys?: ReadonlySet<string>,
  items?: ItemRanges,
): ListHash {
  const fast = hashBytes(value, ignoredKeys, items);
  if (fast !== undefined || decode === undefined) return fast ?? { hash: hash(value), carries: undefined };
  return hashTree(decode(value), hash, ignoredKeys);
}

function hashBytes(
  value: Uint8Array,
  ignoredKeys: ReadonlySet<string> | undefined,
  items: ItemRanges | undefined,
): ListHash | undefined {
  const sum = new RangeHash(value);
  const keys = ignoredKeys === undefined ? undefined : keySet(ignoredKeys);
  let carries: string | undefined;
  const item = (from: number, to: number, content: number): boolean => {
    if (keys !== undefined) {
      if (!range.find(value, content, to, KEY)) return false;
      const ignored = keys.has(value, range.from, range.to);
      if (NAME_KEY.has(value, range.from, range.to)) {
        if (!range.find(value, content, to, VALUE)) return false;
        carries = Buffer.from(value.buffer, value.byteOffset + range.from, range.to - range.from).toString();
      }
      if (ignored) return true;
    }
    sum.add(from, to);
    return true;
  };
  const whole = items === undefined ? eachChild(value, item) : items.each(item);
  return whole ? { hash: sum.value, carries } : undefined;
}

function keySet(of: ReadonlySet<string>): KeySet {
  let keys = KEYS.get(of);
  if (keys === undefined) {
    keys = new KeySet(of);
    KEYS.set(of, keys);
  }
  return keys;
}

function hashTree(list: XmlElement, hash: Hash64, ignoredKeys: ReadonlySet<string> | undefined): ListHash {
  let sum = 0n;
  let carries: string | undefined;
  for (const item of list.children) {
    if (typeof item === 'string') continue;
    const key = textIn(item, 'key');
    if (ignoredKeys !== undefined && key === NAMESPACED_NAME) carries = textIn(item, 'value');
    if (ignoredKeys?.has(key ?? '') === true) continue;
    sum += hash(Buffer.from(JSON.stringify(item)));
  }
  return { hash: BigInt.asUintN(64, sum), carries };
}

function textIn(of: XmlElement, name: string): string | undefined {
  for (const node of of.children) {
    if (typeof node === 'string' || node.name !== name) continue;
    return node.children.filter((inner) => typeof inner === 'string').join('');
  }
  return undefined;
}
