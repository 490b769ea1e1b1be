import { type Add, fault } from './fault.ts';

/** A version by semver.org, without its build metadata, which does not count. */
export class Version {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];

  constructor(numbers: readonly [bigint, bigint, bigint], pre: readonly string[]) {
    this.numbers = numbers;
    this.pre = pre;
  }
}

/** k8s.io/apiserver, pkg/cel/library/semverlib.go. */
export function addVersions(add: Add): void {
  add('semver(string): Version', (text: string) => orFault(read(text)));
  add('semver(string, bool): Version', (text: string, loose: boolean) => orFault(read(text, loose)));
  add('isSemver(string): bool', (text: string) => read(text) !== undefined);
  add('isSemver(string, bool): bool', (text: string, loose: boolean) => read(text, loose) !== undefined);
  add('Version == Version', (a: Version, b: Version) => compare(a, b) === 0);
  add('Version.isGreaterThan(Version): bool', (a: Version, b: Version) => compare(a, b) > 0);
  add('Version.isLessThan(Version): bool', (a: Version, b: Version) => compare(a, b) < 0);
  add('Version.compareTo(Version): int', (a: Version, b: Version) => BigInt(Math.sign(compare(a, b))));
  add('Version.major(): int', ({ numbers }: Version) => numbers[0]);
  add('Version.minor(): int', ({ numbers }: Version) => numbers[1]);
  add('Version.patch(): int', ({ numbers }: Version) => numbers[2]);
}

const NUMBER = '(0|[1-9]\\d*)';
const PRE = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)';
const WORD = '[0-9A-Za-z-]+';
const VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${PRE}(?:\\.${PRE})*))?(?:\\+${WORD}(?:\\.${WORD})*)?$`,
);

function read(text: string, loose = false): Version | undefined {
  const plain = loose ? normalized(text) : text;
  const found = plain === undefined ? null : VERSION.exec(plain);
  if (found === null) return undefined;
  const [, major = '', minor = '', patch = '', pre] = found;
  const numbers = [BigInt(major), BigInt(minor), BigInt(patch)] as const;
  if (numbers.some((number) => number >= 2n ** 64n)) return undefined;
  return new Version(numbers, pre === undefined ? [] : pre.split('.'));
}

/** Without a `v` in front and leading zeros, with zeros for what is left out. */
function normalized(text: string): string | undefined {
  const [, major = '', minor, rest] = /^v?([^.]*)(?:\.([^.]*)(?:\.([\s\S]*))?)?$/.exec(text) ?? [];
  const parts = [major, minor, rest].filter((part) => part !== undefined);
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? '')) return undefined;
  const plain = parts.map((part) => {
    const bare = part.replace(/^0+/, '');
    return part.length <= 1 || /^\d/.test(bare) ? (part.length <= 1 ? part : bare) : `0${bare}`;
  });
  return [...plain, '0', '0'].slice(0, 3).join('.');
}

function compare(a: Version, b: Version): number {
  for (const [at, number] of a.numbers.entries()) {
    const other = b.numbers[at] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  if (a.pre.length === 0 || b.pre.length === 0) return b.pre.length - a.pre.length;
  for (const [at, word] of a.pre.entries()) {
    const other = b.pre[at];
    if (other === undefined) return 1;
    const order = compareWords(word, other);
    if (order !== 0) return order;
  }
  return a.pre.length - b.pre.length;
}

/** Numbers come before words. */
function compareWords(a: string, b: string): number {
  const [one, other] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (one !== other) return one ? -1 : 1;
  if (!one) return a < b ? -1 : a > b ? 1 : 0;
  return a.length === b.length ? (a < b ? -1 : a > b ? 1 : 0) : a.length - b.length;
}

function orFault<T>(answer: T | undefined): T {
  if (answer === undefined) throw fault('a text that is no version');
  return answer;
}
