import { attributeText } from '../xml/xml-characters.ts';

const NAMESPACE = /\s(xmlns(?::[^\s=]+)?)\s*=\s*("[^"]*"|'[^']*')/g;

/** As many as servers have ways to write an envelope, and some. */
const MOST = 64;
const declared = new Map<string, string>();

/** The namespace declarations of a tag, as they stand. */
export function namespacesOf(tag: string): string {
  const known = declared.get(tag);
  if (known !== undefined) return known;
  const found = [...tag.matchAll(NAMESPACE)].map(([, name, value]) => ` ${name ?? ''}=${value ?? ''}`).join('');
  if (declared.size < MOST && tag.length < 1_000) declared.set(tag, found);
  return found;
}

const TYPE = /\stype\s*=\s*(?:"([^"]*)"|'([^']*)')/;

/** The attribute `type` without a namespace; '' where there is none. */
export function typeAttribute(tag: string): string {
  const found = TYPE.exec(tag);
  return attributeText(found?.[1] ?? found?.[2] ?? '');
}
