import { EvaluationError } from './expression-errors.ts';
import { Opaque } from './expression-values.ts';
import { type Functions, orderFunctions } from './function-overloads.ts';
import { order } from './value-comparison.ts';

interface Semver {
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly prerelease: readonly string[];
}

/** Drops a leading `v` and leading zeros, and adds missing numbers. */
function normalized(text: string): string {
  const [core = '', ...rest] = text
    .replace(/^v/, '')
    .replace(/(^|\.)0+(?=\d)/g, '$1')
    .split(/(?=[-+])/);
  const numbers = core.split('.');
  while (numbers.length < 3) numbers.push('0');
  return numbers.join('.') + rest.join('');
}

function parseSemver(text: string, normalize = false): Semver | undefined {
  const [, major, minor, patch, prerelease] =
    /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-.]+))?(?:\+[0-9A-Za-z-.]+)?$/.exec(
      normalize ? normalized(text) : text,
    ) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  const identifiers = prerelease?.split('.') ?? [];
  if (identifiers.some((one) => one === '' || /^0\d+$/.test(one))) return undefined;
  return { numbers: [BigInt(major), BigInt(minor), BigInt(patch)], prerelease: identifiers };
}

/** Numbers come before texts, and fewer identifiers before more. */
function compareIdentifiers(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
  const [left, right] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (left && right) return order(BigInt(a), BigInt(b));
  if (left !== right) return left ? -1 : 1;
  return a < b ? -1 : 1;
}

function compareSemver(a: Semver, b: Semver): number {
  for (const at of [0, 1, 2] as const) {
    const numbers = order(a.numbers[at], b.numbers[at]);
    if (numbers !== 0) return numbers;
  }
  // A version comes after its prereleases.
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return order(b.prerelease.length, a.prerelease.length);
  for (let at = 0; at < Math.max(a.prerelease.length, b.prerelease.length); at += 1) {
    const identifiers = compareIdentifiers(a.prerelease[at], b.prerelease[at]);
    if (identifiers !== 0) return identifiers;
  }
  return 0;
}

function semver(text: string, normalize = false): Opaque {
  const version = parseSemver(text, normalize);
  if (version === undefined) throw new EvaluationError(`could not parse semver: ${text}`);
  const { numbers, prerelease } = version;
  return new Opaque(
    'semver',
    version,
    [numbers.join('.'), ...(prerelease.length > 0 ? [prerelease.join('.')] : [])].join('-'),
  );
}

const isSemver = (text: string, normalize = false): boolean => parseSemver(text, normalize) !== undefined;
const semverOf = ({ data }: Opaque): Semver => data as Semver;

/** Functions of semantic versions. */
export const SEMVER_FUNCTIONS: Functions = {
  'isSemver(string):bool': isSemver,
  'isSemver(string,bool):bool': isSemver,
  'semver(string):semver': semver,
  'semver(string,bool):semver': semver,
  'semver.major():int': (a: Opaque) => semverOf(a).numbers[0],
  'semver.minor():int': (a: Opaque) => semverOf(a).numbers[1],
  'semver.patch():int': (a: Opaque) => semverOf(a).numbers[2],
  ...orderFunctions('semver', (a: Opaque, b: Opaque) => compareSemver(semverOf(a), semverOf(b))),
};
