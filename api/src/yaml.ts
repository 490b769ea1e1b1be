import {
  boolYaml11Tag,
  CORE_SCHEMA,
  defineScalarTag,
  loadAll,
  mapTag,
  mergeTag,
  NOT_RESOLVED,
  seqTag,
  YAMLException,
} from 'js-yaml';

/** What a YAML text may cost. */
export interface YamlBounds {
  /** UTF-8. Default 8 MiB: the largest real CRD has 2. */
  readonly maxBytes?: number;
  /** Default 100. */
  readonly maxAliases?: number;
  /** Integers beyond 2^53 are read as bigint, up to what the API has (64 bits), instead of as the nearest number. */
  readonly exact?: boolean;
}

const MAX_BYTES = 8 << 20;
/** The deepest real CRD has 30 levels. */
const MAX_DEPTH = 100;
const MAX_ALIASES = 100;
/** So many values may a text with aliases stand for. */
const MAX_VALUES = 1_000_000;

/** A text that is no YAML, or that costs more than it may. `message` says what and in which line, without a word of the text, which may be a secret. */
export class YamlFlaw extends Error {
  override readonly name = 'YamlFlaw';
  readonly tooLarge: boolean;

  constructor(message: string, tooLarge: boolean = false) {
    super(message);
    this.tooLarge = tooLarge;
  }
}

/**
 * All documents of a YAML or JSON text, as kubectl reads them (sigs.k8s.io/yaml, which is YAML 1.1 but for times and base 60): an unquoted `on` is true, and
 * 0644 is octal. Throws `YamlFlaw`; nothing is warned about, because warnings quote the line.
 */
export function readYaml(
  text: string,
  { maxBytes = MAX_BYTES, maxAliases = MAX_ALIASES, exact = false }: YamlBounds = {},
): unknown[] {
  if (Buffer.byteLength(text) > maxBytes) throw new YamlFlaw(`it has more than ${maxBytes} bytes`, true);
  try {
    const documents = loadAll(text, { schema: exact ? EXACT : PLAIN, maxAliases, maxDepth: MAX_DEPTH });
    if (text.includes('*')) assertFew(documents);
    return documents;
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    if (error.reason.includes('maxDepth')) throw new YamlFlaw(`it is nested more than ${MAX_DEPTH} levels deep`, true);
    const line = error.mark === undefined ? '' : ` in line ${error.mark.line + 1}`;
    // What follows a quote, a tag or a colon is a word of the text.
    throw new YamlFlaw(`${/^[^"'`<!(:]*/.exec(error.reason)?.[0].trim()}${line}`);
  }
}

/** The one document of a text; undefined where it is empty. Throws `YamlFlaw`. */
export function readYamlDocument(text: string, bounds: YamlBounds = {}): unknown {
  const [document, ...more] = readYaml(text, bounds);
  if (more.length > 0) throw new YamlFlaw('it has more than one document');
  return document ?? undefined;
}

/** An alias costs a reader of the text nothing, and each who walks through the values all that it stands for. */
function assertFew(documents: readonly unknown[]): void {
  const counts = new Map<object, number>();
  const count = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 1;
    const known = counts.get(value);
    if (known === 0) throw new YamlFlaw('an alias in it stands for itself');
    if (known !== undefined) return known;
    counts.set(value, 0);
    const all = Object.values(value).reduce((sum: number, inner) => sum + count(inner), 1);
    if (all > MAX_VALUES) throw new YamlFlaw(`with its aliases it stands for more than ${MAX_VALUES} values`);
    counts.set(value, all);
    return all;
  };
  count(documents);
}

/** Tags of others say nothing here, as to kubectl: a scalar with one is a text. */
const foreignTags = ['!', 'tag:'].flatMap((tagName) => [
  defineScalarTag(tagName, { matchByTagPrefix: true, identify: () => false, resolve: (source) => source }),
  { ...seqTag, tagName, matchByTagPrefix: true, identify: () => false },
  { ...mapTag, tagName, matchByTagPrefix: true, identify: () => false },
]);

const schemaOf = (integer: (source: string) => number | bigint | undefined) =>
  CORE_SCHEMA.withTags(
    boolYaml11Tag,
    defineScalarTag('tag:yaml.org,2002:int', {
      implicit: true,
      implicitFirstChars: '+-0123456789'.split(''),
      identify: () => false,
      resolve: (source) => integer(source) ?? NOT_RESOLVED,
    }),
    mergeTag,
    ...foreignTags,
  );

const PLAIN = schemaOf((source) => integerOf(source)?.value);
const EXACT = schemaOf((source) => {
  const { value, whole } = integerOf(source) ?? {};
  if (value === undefined || whole === undefined || Number.isSafeInteger(value)) return value;
  const exact = value < 0 ? -BigInt(whole) : BigInt(whole);
  // What is longer Go reads as a floating-point number, too.
  return exact < LEAST || exact > MOST ? value : exact;
});
/** Of int64 and uint64. */
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 64n - 1n];

/** Go's strconv.ParseInt with base 0: as far as doubles hold it, and its digits without sign. */
function integerOf(source: string): { readonly value: number; readonly whole: string } | undefined {
  const [, sign = '', digits = ''] = /^([+-]?)(0b[01_]+|0[0-7_]+|0x[\da-fA-F_]+|0|[1-9][\d_]*)$/i.exec(source) ?? [];
  if (digits === '') return undefined;
  const plain = digits.replaceAll('_', '').toLowerCase();
  const whole = /^0[0-7]/.test(plain) ? `0o${plain.slice(1)}` : plain;
  const value = Number(whole);
  return { value: sign === '-' ? -value : value, whole };
}
