import { attributeText } from '../xml/xml-characters.ts';

const NAMESPACE = /\s(xmlns(?::[^\s=]+)?)\s*=\s*("[^"]*"|'[^']*')/g;

/** Namespace declarations of a tag: `xmlns` and `xmlns:*`, each with its value. */
export interface Declarations {
  readonly names: readonly string[];
  readonly values: readonly string[];
}

/** As many as servers have ways to write an envelope, and some. */
const MOST = 64;
const declared = new Map<string, Declarations>();

/** The namespace declarations of a tag. */
export function namespacesOf(tag: string): Declarations {
  const known = declared.get(tag);
  if (known !== undefined) return known;
  const names: string[] = [];
  const values: string[] = [];
  for (const [, name = '', value = ''] of tag.matchAll(NAMESPACE)) {
    names.push(name);
    values.push(attributeText(value.slice(1, -1)));
  }
  const found = { names, values };
  if (declared.size < MOST && tag.length < 1_000) declared.set(tag, found);
  return found;
}

const TYPE = /\stype\s*=\s*(?:"([^"]*)"|'([^']*)')/;

/** The attribute `type` without a namespace; '' where there is none. */
export function typeAttribute(tag: string): string {
  const found = TYPE.exec(tag);
  return attributeText(found?.[1] ?? found?.[2] ?? '');
}
