import type { Decode, XmlElement } from '@drydock/vsphere';
import type { Hash64 } from './hash.ts';
import { eachChild, plainText } from './list-items.ts';
import { NAMESPACED_NAME } from './watched-paths.ts';

/** A list as one number that its order does not change. */
export interface ListHash {
  /** 0 for a list without items that count: it is as good as unset. */
  readonly hash: bigint;
  /** Value of {@link NAMESPACED_NAME}, where the list has it. */
  readonly carries: string | undefined;
}

/**
 * Hashes the items of a list value and adds the hashes. With `ignoredKeys` the items are `OptionValue`s, and those with such a key do not count. Works on the bytes; where
 * they hold anything out of the ordinary the strict parser reads them. Throws `XmlSyntaxError` where even that fails.
 */
export function listHash(
  value: Uint8Array,
  decode: Decode | undefined,
  hash: Hash64,
  ignoredKeys?: ReadonlySet<string>,
): ListHash {
  const fast = hashBytes(value, hash, ignoredKeys);
  if (fast !== undefined || decode === undefined) return fast ?? { hash: hash(value), carries: undefined };
  return hashTree(decode(value), hash, ignoredKeys);
}

function hashBytes(
  value: Uint8Array,
  hash: Hash64,
  ignoredKeys: ReadonlySet<string> | undefined,
): ListHash | undefined {
  let sum = 0n;
  let carries: string | undefined;
  let plain = true;
  const whole = eachChild(value, (from, to) => {
    if (!plain) return;
    if (ignoredKeys !== undefined) {
      const key = plainText(value, from, to, 'key');
      if (key === undefined) {
        plain = false;
        return;
      }
      if (key === NAMESPACED_NAME) {
        carries = plainText(value, from, to, 'value');
        plain = carries !== undefined;
      }
      if (ignoredKeys.has(key)) return;
    }
    sum += hash(value.subarray(from, to));
  });
  return whole && plain ? { hash: BigInt.asUintN(64, sum), carries } : undefined;
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
