import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { shownText, wordText } from '@drydock/api/text';
import { readYamlDocument, YamlFlaw } from '@drydock/api/yaml';
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { UsageError } from '../exit.ts';
import { readSmallFile } from '../small-file.ts';
import type { ConfigPath } from './config-path.ts';
import { formerNames, isList, keyOf, SETTINGS, type Setting, wordsFor } from './settings.ts';

/** Of the file: hundreds of contexts take less. */
export const MAX_BYTES: number = 256 * 1024;
const MAX_CONTEXTS = 500;
const MAX_ITEMS = 100;

/** The values of a context, by the id of their setting: words as on a line, files with their whole path. */
export interface Context {
  readonly name: string;
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Ids of settings that it has under their former key. */
  readonly former: ReadonlySet<string>;
  /** As the file has it. */
  readonly said: Readonly<Record<string, unknown>>;
}

/** What the config file says. */
export interface Config {
  readonly path: string;
  readonly current: string | undefined;
  readonly contexts: readonly Context[];
}

/** Reads it; one that nobody named may be absent. Throws `UsageError`, with the line that is wrong and no word of a value. */
export async function readConfig({ path, named }: ConfigPath): Promise<Config> {
  let text: string;
  try {
    const { mode } = await stat(path);
    if ((mode & 0o002) !== 0)
      throw new UsageError(`the config file ${path} can be changed by every user of this machine: chmod o-w ${path}`);
    text = await readSmallFile(path, MAX_BYTES);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (!named && (error as NodeJS.ErrnoException).code === 'ENOENT') return { path, current: undefined, contexts: [] };
    throw new UsageError(`the config file ${path} cannot be read: ${(error as Error).message}`);
  }
  return configOf(text, path);
}

/** What a text says; files in it are relative to its folder. Throws `UsageError`. */
export function configOf(text: string, path: string): Config {
  const flaw: Flaw = (why, ...at) => {
    const line = at.length === 0 ? undefined : lineOf(text, at);
    return new UsageError(
      `the config file ${path} cannot be used: ${line === undefined ? '' : `line ${line}: `}${why}`,
    );
  };
  let given: unknown;
  try {
    given = readYamlDocument(text, { maxBytes: MAX_BYTES, maxAliases: 0 }) ?? {};
  } catch (error) {
    if (error instanceof YamlFlaw) throw flaw(`it is no YAML (${error.message})`);
    throw error;
  }
  if (!isObject(given)) throw flaw('it is not a list of "key: value" lines');
  const { contexts = [], 'current-context': current, ...others } = given;
  for (const key of Object.keys(others)) throw flaw(unknownText(key, ['contexts', 'current-context']), key);
  if (current !== undefined && current !== null && typeof current !== 'string')
    throw flaw('current-context is not a name', 'current-context');
  if (!Array.isArray(contexts) || contexts.length > MAX_CONTEXTS)
    throw flaw(`contexts is not a list of at most ${MAX_CONTEXTS}`, 'contexts');
  const found = new Map<string, Context>();
  for (const [at, one] of contexts.entries()) {
    const context = contextOf(one, dirname(path), (why, ...more) => flaw(why, 'contexts', at, ...more));
    if (found.has(context.name)) throw flaw(`there are two contexts ${context.name}`, 'contexts', at);
    found.set(context.name, context);
  }
  return { path, current: current === '' ? undefined : (current ?? undefined), contexts: [...found.values()] };
}

/** Says what is wrong, and in which line, by the keys that lead there. */
type Flaw = (why: string, ...at: readonly (string | number)[]) => UsageError;

const BY_KEY: ReadonlyMap<string, readonly Setting[]> = Map.groupBy(SETTINGS.values(), keyOf);
const BY_FORMER_KEY: ReadonlyMap<string, Setting> = new Map(
  [...SETTINGS.values()].flatMap((setting) => {
    const former = formerNames(setting);
    return former === undefined ? [] : [[former.key, setting]];
  }),
);

function contextOf(given: unknown, folder: string, flaw: Flaw): Context {
  if (!isObject(given)) throw flaw('a context is a list of "key: value" lines');
  const { name } = given;
  if (typeof name !== 'string' || !/^[\w.@:/-]{1,253}$/.test(name))
    throw flaw('a context needs a name, of letters, digits and . _ @ : / -');
  const values = new Map<string, readonly string[]>();
  const former = new Set<string>();
  for (const [key, value] of Object.entries(given)) {
    if (key === 'name') continue;
    const old = BY_FORMER_KEY.get(key);
    const settings = old === undefined ? (BY_KEY.get(key) ?? []) : [old];
    const [setting] = settings;
    const about = `context ${name}: ${shownText(wordText(key))}`;
    if (setting === undefined)
      throw flaw(
        secretKey(key) ? `${about}: ${NO_SECRETS}` : `context ${name}: ${unknownText(key, [...BY_KEY.keys()])}`,
        key,
      );
    const kind = isList(setting) ? 'list' : setting.kind;
    const words = wordsOf({ kind }, value);
    if (words === undefined) throw flaw(`${about} must be ${EXPECTED[kind]}`, key);
    if (words.some((word) => isSecret(word, setting)))
      throw flaw(`${about} has a password, a token or a key in it: ${NO_SECRETS}`, key);
    if (old !== undefined) former.add(old.id);
    for (const one of settings) {
      const own = old === undefined ? wordsFor(one, words) : words;
      const all = kind === 'file' ? own.map((word) => resolve(folder, inHome(word))) : own;
      if (all.length > 0) values.set(one.id, [...(values.get(one.id) ?? []), ...all]);
    }
  }
  return { name, values, former, said: given };
}

const EXPECTED: Readonly<Record<Setting['kind'], string>> = {
  text: 'a text',
  file: 'the name of a file',
  switch: 'true or false',
  list: `a text, or a list of at most ${MAX_ITEMS}`,
};

function wordsOf({ kind }: Pick<Setting, 'kind'>, value: unknown): readonly string[] | undefined {
  if (kind === 'switch') return typeof value === 'boolean' ? [String(value)] : undefined;
  const all: readonly unknown[] = kind === 'list' && Array.isArray(value) ? value : [value];
  const words = all.map((one) => (typeof one === 'number' && kind === 'text' ? String(one) : one));
  const fine = words.every((one) => typeof one === 'string' && one !== '' && one.length <= 4096);
  return fine && words.length > 0 && words.length <= MAX_ITEMS ? (words as readonly string[]) : undefined;
}

const NO_SECRETS =
  'nothing secret belongs into this file. Put it into a file that only you can read, and name that one: vcenterPasswordFile, markKeyFile, imageMirrorsFile, registryConfig or kubeconfig';

/** What a key would hold that has no place here; its own name says it. */
function secretKey(key: string): boolean {
  return /pass|token|secret|key|credential/i.test(key);
}

/** An address with a password, a mark key in place of its file, a key in PEM, a token. */
function isSecret(word: string, setting: Setting): boolean {
  return (
    (setting.secret === true && /^[\da-f]{32,}$/i.test(word)) ||
    /^(?:[a-z]+:\/\/)?[^/\s]*:[^/\s]*@/i.test(word) ||
    /=[a-z]+:\/\/[^/\s]*@/i.test(word) ||
    /^[\w.-]+:[\da-f]{32,}/i.test(word) ||
    /-----BEGIN|^eyJ[\w-]+\.eyJ/.test(word)
  );
}

function unknownText(key: string, known: readonly string[]): string {
  const about = `there is no key ${shownText(wordText(key))}`;
  if (known.length < 10) return `${about}; there are ${known.join(', ')}`;
  const plain = (word: string): string => word.toLowerCase().replaceAll(/[^a-z]/g, '');
  const near = known.find((one) => plain(one) === plain(key)) ?? known.find((one) => isNear(plain(one), plain(key)));
  return `${about}${near === undefined ? '' : `: ${near} may be meant`}. All keys: docs/variables.md, or drydock config view --sources VERB -o wide`;
}

/** One letter is missing, too many or another one. */
function isNear(a: string, b: string): boolean {
  const from = a.split('').findIndex((letter, at) => letter !== b[at]);
  if (from < 0) return b.length - a.length === 1;
  const [restA, restB] = [a.slice(from), b.slice(from)];
  return restA.slice(1) === restB.slice(1) || restA.slice(1) === restB || restA === restB.slice(1);
}

function inHome(path: string): string {
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : path;
}

/** The line of a key, or of an item of a list. */
function lineOf(text: string, at: readonly (string | number)[]): number | undefined {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  const last = at.at(-1);
  const parent = at.length === 1 ? document.contents : document.getIn(at.slice(0, -1), true);
  const node = isMap(parent)
    ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === last)?.key
    : isSeq(parent) && typeof last === 'number'
      ? parent.items[last]
      : undefined;
  const offset = isNode(node) ? node.range?.[0] : undefined;
  return offset === undefined ? undefined : lineCounter.linePos(offset).line;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
