import { attributeText } from '../xml-characters.ts';

const GT = 0x3e;
const QUOTE = 0x22;
const APOSTROPHE = 0x27;

/** Offset behind the `>` that ends the tag at `from`; -1: it is not before `end`. A `>` inside an attribute value does not count. */
export function tagEnd(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from + 1; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    // Letters, nearly always.
    if (byte > GT) continue;
    if (byte === GT) return at + 1;
    if (byte !== QUOTE && byte !== APOSTROPHE) continue;
    at += 1;
    while (at < end && bytes[at] !== byte) at += 1;
  }
  return -1;
}

const NAMESPACE = /\s(xmlns(?::[^\s=]+)?)\s*=\s*("[^"]*"|'[^']*')/g;

/** The namespace declarations of a tag, as they stand. */
export function namespacesOf(tag: string): string {
  return [...tag.matchAll(NAMESPACE)].map(([, name, value]) => ` ${name ?? ''}=${value ?? ''}`).join('');
}

const TYPE = /\stype\s*=\s*(?:"([^"]*)"|'([^']*)')/;

/** The attribute `type` without a namespace; '' where there is none. */
export function typeAttribute(tag: string): string {
  const found = TYPE.exec(tag);
  return attributeText(found?.[1] ?? found?.[2] ?? '');
}
