import { boolYaml11Tag, CORE_SCHEMA, defineScalarTag, loadAll, NOT_RESOLVED } from 'js-yaml';
import { parseAllDocuments, type Tags } from 'yaml';
import { CrdError } from '../errors.ts';
import { isList, isObject, type Json, type JsonObject, textOf } from './json.ts';

/** What a document may cost. The largest real CRD has 2 MB and 30 levels. */
const MAX_BYTES = 8 << 20;
const MAX_DEPTH = 100;

/** What JSON has no values for; kubectl reads a time as a text. */
const UNKNOWN = /:(?:timestamp|binary|omap|pairs|set)$/;

/** All objects of a YAML or JSON text, those of Lists included. Throws `CrdError`. */
export function readManifests(text: string, source: string): readonly JsonObject[] {
  if (Buffer.byteLength(text) > MAX_BYTES)
    throw new CrdError('TOO_LARGE', `${source} has more than ${MAX_BYTES} bytes`);
  return (readPlainYaml(text) ?? readYaml(text, source)).flatMap((value) =>
    (isObject(value) && isList(value['items']) && textOf(value['kind']).endsWith('List')
      ? value['items']
      : [value]
    ).filter(isObject),
  );
}

/**
 * The documents of a YAML text without aliases. Undefined for every other text, an ill-formed one included. Three times as fast as the library that keeps
 * what it read, and definitions are read by the megabyte; that one is for what is odd, and says what is wrong in it.
 */
function readPlainYaml(text: string): readonly Json[] | undefined {
  try {
    return loadAll(text, { schema: PLAIN, maxAliases: 0, maxDepth: MAX_DEPTH }) as readonly Json[];
  } catch {
    return undefined;
  }
}

/**
 * Plain words and numbers as kubectl reads them (sigs.k8s.io/yaml, which is YAML 1.1 but for times and base 60): an unquoted `on` is true, and 0644 is octal.
 */
const PLAIN = CORE_SCHEMA.withTags(
  boolYaml11Tag,
  defineScalarTag('tag:yaml.org,2002:int', {
    implicit: true,
    implicitFirstChars: '+-0123456789'.split(''),
    identify: () => false,
    resolve: (source) => integerOf(source) ?? NOT_RESOLVED,
  }),
);

/** Go's strconv.ParseInt with base 0, as far as doubles hold it. */
function integerOf(source: string): number | undefined {
  const [, sign = '', digits = ''] = /^([+-]?)(0b[01_]+|0[0-7_]+|0x[\da-fA-F_]+|0|[1-9][\d_]*)$/i.exec(source) ?? [];
  if (digits === '') return undefined;
  const plain = digits.replaceAll('_', '').toLowerCase();
  const value = Number(/^0[0-7]/.test(plain) ? `0o${plain.slice(1)}` : plain);
  return sign === '-' ? -value : value;
}

function readYaml(text: string, source: string): readonly Json[] {
  const options = {
    version: '1.1',
    schema: 'yaml-1.1',
    customTags: (tags: Tags) =>
      tags.filter((tag) => typeof tag === 'string' || !(tag.format === 'TIME' || UNKNOWN.test(tag.tag))),
    uniqueKeys: true,
    intAsBigInt: false,
    prettyErrors: false,
  } as const;
  return parseAllDocuments(text, options).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new CrdError('UNREADABLE', `${source} cannot be read: ${error.message}`, error);
    try {
      return document.toJS({ maxAliasCount: 100 }) as Json;
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : '';
      throw new CrdError('UNREADABLE', `${source} cannot be read: ${why}`, cause);
    }
  });
}
