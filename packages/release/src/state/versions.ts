import { compare, parse, type SemVer } from 'semver';

/** The minor version that two releases share: `4.14`; a version that is none stands for itself. Two majors never share one. */
export function minorOf(version: string): string {
  const parsed = parse(version);
  return parsed === null ? version : `${parsed.major}.${parsed.minor}`;
}

/** The version, or undefined where the text is none: a history may have been edited by hand. */
export function versionIn(text: string): SemVer | undefined {
  return parse(text) ?? undefined;
}

/** Whether `target` is older than `current`, prereleases counted; undefined where one of them is no version. */
export function isOlder(target: string, current: string): boolean | undefined {
  const [to, from] = [versionIn(target), versionIn(current)];
  return to === undefined || from === undefined ? undefined : compare(to, from) < 0;
}
