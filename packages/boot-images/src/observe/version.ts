/** What to do when a template is newer than the stream: leave it (default) or follow the stream down (BI-V153). */
export type DowngradePolicy = 'keep' | 'replace';

/**
 * Compares two RHCOS release strings: negative, zero or positive as in a sort; undefined when either cannot be read.
 * `9.8.20260428-0` is RHEL 9.8; the legacy `418.94.202511191518-0` is RHEL 9.4 of OpenShift 4.18. Releases are ordered by
 * RHEL version, then by build date (a twelve digit date is cut to its day), then by build number.
 */
export function compareReleases(a: string, b: string): number | undefined {
  const left = parse(a);
  const right = parse(b);
  if (left === undefined || right === undefined) return undefined;
  return compareNumbers(left, right);
}

/** The day on which an RHCOS release was built, as `2026-04-28`; undefined where its name does not say it. */
export function buildDate(release: string): string | undefined {
  const [, , day] = parse(release) ?? [];
  return day === undefined ? undefined : String(day).replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');
}

/** Negative, zero or positive as in a sort: by the first number that differs. */
export function compareNumbers(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((value, index) => value !== (right[index] ?? 0));
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

function parse(release: string): readonly number[] | undefined {
  const match = /^(\d{1,4})\.(\d{1,4})\.(\d{8}|\d{12})-(\d{1,6})$/.exec(release);
  if (match === null) return undefined;
  const [, first = '', second = '', date = '', build = ''] = match;
  const legacy = date.length === 12;
  // Legacy releases put OpenShift first and RHEL second: the first digit of `94` or `810` is RHEL's major version.
  const major = legacy ? Number(second.slice(0, 1)) : Number(first);
  const minor = legacy ? Number(second.slice(1) || '0') : Number(second);
  return [major, minor, Number(date.slice(0, 8)), Number(date.slice(8) || '0'), Number(build)];
}
