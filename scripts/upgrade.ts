import { cpSync, globSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Crd, diff, readCrds, type Step, split } from '@drydock/crd';
import { root } from './command.ts';

/** Where the definitions of the last release are, in a folder of its version. */
const RELEASED = join(root, 'api/released');

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;

/** What differs between the definitions of two versions. */
export interface Upgrade {
  /** What an upgrade brings, by definition. */
  readonly brings: readonly string[];
  /** What an upgrade would refuse or lose of what was stored before: it needs a new major version, before 1.0.0 a new minor one. */
  readonly breaks: readonly string[];
  /** What going back does not hold; ledgers keep what of it is in a status. */
  readonly leaves: readonly string[];
}

/** The version of the last release, by whose definitions the present ones are judged. */
export function releasedVersion(): string {
  const [version, ...more] = readdirSync(RELEASED);
  if (version === undefined || more.length > 0 || !VERSION.test(version))
    throw new Error(`${RELEASED} must hold one folder, whose name is the version of the last release`);
  return version;
}

/** The definitions of a folder by their name. */
export function definitionsIn(folder: string): ReadonlyMap<string, Crd> {
  const files = globSync('*.yaml', { cwd: folder }).sort();
  const all = files.flatMap((file) => readCrds(readFileSync(join(folder, file), 'utf8'), file));
  return new Map(all.map((crd) => [crd.name, crd]));
}

/** Compares the definitions of a release with those of the next one. */
export function upgradeBetween(before: ReadonlyMap<string, Crd>, after: ReadonlyMap<string, Crd>): Upgrade {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  const told = (name: string, steps: readonly Step[]): readonly string[] =>
    steps.map(({ path, what }) => `\`${name}\` \`${path}\`: ${what}`);
  const ways = names.map((name) => {
    const there = diff(before.get(name), after.get(name));
    const back = diff(after.get(name), before.get(name));
    return {
      brings: told(name, split(there).widening),
      breaks: told(name, split(there).narrowing),
      leaves: told(name, split(back).narrowing),
    };
  });
  return {
    brings: ways.flatMap(({ brings }) => brings),
    breaks: ways.flatMap(({ breaks }) => breaks),
    leaves: ways.flatMap(({ leaves }) => leaves),
  };
}

/** Major, minor and patch; throws where it is no version of a release. */
function numbersOf(version: string): readonly [number, number, number] {
  const [, ...numbers] = VERSION.exec(version) ?? [];
  const [major, minor, patch] = numbers.map(Number);
  if (major === undefined || minor === undefined || patch === undefined)
    throw new Error(`${version} is no version of a release, such as 1.4.2`);
  return [major, minor, patch];
}

/** Negative where `a` is the older version. */
export function compareReleased(a: string, b: string): number {
  const other = numbersOf(b);
  return numbersOf(a).reduce((found, number, at) => found || number - (other[at] ?? 0), 0);
}

/** The least version that may bring these differences after `released` (semver.org; before 1.0.0 a minor version may break). */
export function nextVersion(released: string, { brings, breaks }: Upgrade): string {
  const [major, minor, patch] = numbersOf(released);
  if (breaks.length > 0 && major > 0) return `${major + 1}.0.0`;
  return breaks.length + brings.length > 0 ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

/** What the present definitions change since the last release. */
export function upgradeNow(): Upgrade {
  return upgradeBetween(definitionsIn(join(RELEASED, releasedVersion())), definitionsIn(join(root, 'api/crds')));
}

/** The same in sentences for docs/upgrade.md. */
export function upgradeNotes(released: string, upgrade: Upgrade): string {
  const { brings, breaks, leaves } = upgrade;
  const list = (title: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `\n${title}\n\n${lines.map((line) => `- ${line}`).join('\n')}\n`;
  if (brings.length + breaks.length + leaves.length === 0) return `Since ${released} nothing has changed in them.\n`;
  return [
    `Since ${released}; the next version is ${nextVersion(released, upgrade)} at the least.\n`,
    list('**An upgrade refuses or loses what may be stored:**', breaks),
    list('An upgrade brings:', brings),
    list('Going back loses what is stored there; what is in a status is kept in ledgers:', leaves),
  ].join('');
}

/** A page with its notes between the marks of them. */
export function withNotes(page: string, notes: string): string {
  return page.replace(/(<!-- definitions: .*? -->\n)[\s\S]*?(<!-- end of definitions -->)/, `$1\n${notes}\n$2`);
}

/** Makes the present definitions those of the last release. */
function release(version: string): void {
  const least = nextVersion(releasedVersion(), upgradeNow());
  if (compareReleased(version, least) < 0)
    throw new Error(`${version} cannot bring what the definitions change: ${least} can`);
  rmSync(RELEASED, { recursive: true });
  cpSync(join(root, 'api/crds'), join(RELEASED, version), { recursive: true });
}

if (import.meta.main) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const released = releasedVersion();
  const upgrade = upgradeNow();
  console.log(upgradeNotes(released, upgrade).trimEnd());
  if (process.argv[2] === '--release') release(version);
  else if (upgrade.breaks.length > 0 && compareReleased(version, nextVersion(released, upgrade)) < 0) {
    console.error(`upgrade: raise the version (${nextVersion(released, upgrade)}), or take back what breaks`);
    process.exitCode = 3;
  }
}
