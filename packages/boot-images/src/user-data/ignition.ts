import { readJson } from '@drydock/api';
import { BootImageError, errorText } from '../errors.ts';
import { isObject, parsedJson } from '../observe/json.ts';
import { type Json, translateSpec2 } from './ignition-spec2.ts';

/** The version that stubs are converted to. */
export const stubVersion = '3.5.0';

/** What became of a stub. */
export type StubResult = { readonly kind: 'current' } | { readonly kind: 'converted'; readonly text: string };

const supported = 'Supported spec versions: 2.2,3.0,3.1,3.2,3.3,3.4,3.5';
const convertible: ReadonlySet<string> = new Set(['2.0.0', '2.1.0', '2.2.0']);

/**
 * Converts an Ignition stub of spec 2 to {@link stubVersion}; spec 3 is left as it is (boot-images.md §5). Texts of errors are
 * upstream's. `secret` is only named in them. Throws `StubInvalid`, and `StubNotConvertible` for what spec 3 cannot express.
 */
export function convertStub(text: string, secret: string): StubResult {
  let stub: unknown;
  try {
    stub = readJson(text);
  } catch (error) {
    // The stray `t` is upstream's typing error in the format verb; its own tests match on it.
    throw invalid(`failed to unmarshal decoded user-data to json (secret ${secret}): ${whereOf(error)}t`, secret);
  }
  const version = versionOf(stub, secret);
  if (version.startsWith('3')) return { kind: 'current' };
  if (!convertible.has(version)) {
    const problem = /^\d+\.\d+\.\d+$/.test(version) ? 'unknown version' : 'invalid version';
    throw invalid(
      `converting ignition stub failed: failed to parse Ignition config: parsing Ignition config failed: ${problem}. ${supported}`,
      secret,
    );
  }
  try {
    return { kind: 'converted', text: JSON.stringify(translateSpec2(stub as Json, stubVersion)) };
  } catch (error) {
    throw new BootImageError('StubNotConvertible', `converting ignition stub failed: ${errorText(error)}`, {
      ...{ cause: error, retriable: false },
      nextStep: `write key userData of secret openshift-machine-api/${secret} anew as Ignition 3, with what the message names in another way or without it; or opt this set out of boot image updates`,
    });
  }
}

/** What a stub may have besides where it gets its configuration from. */
const plain: ReadonlySet<string> = new Set(['version', 'config', 'security', 'timeouts']);

/**
 * Whether a managed stub does what a converted one does: both say nothing but where the configuration is, and say the same of that. What somebody added
 * to his stub would be lost with another one.
 */
export function replacesStub(managed: string, converted: string): boolean {
  const [theirs, ours] = [sourcesOf(managed), sourcesOf(converted)];
  return theirs !== undefined && theirs.length > 0 && theirs.join('\n') === ours?.join('\n');
}

/** The sources of a stub of spec 3 that does nothing else; undefined where it is none. */
function sourcesOf(text: string): readonly string[] | undefined {
  const stub = parsedJson(text);
  if (!isObject(stub) || !isObject(stub['ignition'])) return undefined;
  const { ignition, ...rest } = stub;
  const { version, config } = ignition as Json;
  if (typeof version !== 'string' || !/^3\.\d+\.\d+$/.test(version)) return undefined;
  if (Object.keys(ignition as Json).some((key) => !plain.has(key))) return undefined;
  const says = (part: unknown): boolean => (isObject(part) ? Object.values(part).some(says) : notEmpty(part));
  if (says(rest)) return undefined;
  const { merge = [], replace } = isObject(config) ? config : {};
  const all = [
    ...(Array.isArray(merge) ? (merge as readonly unknown[]) : [merge]),
    ...(replace === undefined ? [] : [replace]),
  ];
  const sources = all.map((one) => (isObject(one) ? one['source'] : undefined)).filter((one) => one !== null);
  return sources.every((one) => typeof one === 'string') ? sources : undefined;
}

function notEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== '';
}

/** What is wrong with a JSON text, without a word of it: user data holds keys and passwords, and the parser quotes what it stumbles over. */
function whereOf(error: unknown): string {
  const text = errorText(error);
  if (text.includes('Unexpected end')) return 'unexpected end of JSON input';
  const position = /at position \d+/.exec(text)?.[0];
  return `invalid JSON${position === undefined ? '' : ` ${position}`}`;
}

function versionOf(stub: unknown, secret: string): string {
  const problem = (detail: string): BootImageError =>
    invalid(`failed to find version field in ignition (user data secret ${secret}): ${detail}`, secret);
  if (!isObject(stub)) throw problem('an object was expected');
  const ignition = stub['ignition'];
  if (ignition === undefined) return '';
  if (!isObject(ignition)) throw problem('.ignition accessor error: an object was expected');
  const version = ignition['version'];
  if (version === undefined) return '';
  if (typeof version !== 'string')
    throw problem(`.ignition.version accessor error: a ${typeof version} is not a string`);
  return version;
}

function invalid(message: string, secret: string): BootImageError {
  return new BootImageError('StubInvalid', message, {
    retriable: false,
    nextStep: `correct key userData of secret openshift-machine-api/${secret}, or opt this set out of boot image updates`,
  });
}
