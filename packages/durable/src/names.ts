import { randomBytes } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import { invalid } from './errors.ts';

/** What a dotted name of ours holds: something unfinished (or replaced by an exchange), something to put back if its place is empty, or something removed. */
export type LeftoverKind = 'staging' | 'old' | 'trash';

const OURS = /^\.(.+)\.([0-9a-f]{12}|[0-9a-f]{16})\.(staging|old|trash)$/s;
const NAME_BYTES = 255;

/** A fresh name in `dir` that says whose it is: `.<name>.<16 hex>.<kind>`. The dot keeps kubelet and its like from reading it. */
export function ownName(dir: string, name: string, kind: LeftoverKind): string {
  const rest = `.${randomBytes(8).toString('hex')}.${kind}`;
  // `old` names the place it is put back to, so it must not be cut: the kernel then refuses what is too long.
  const kept = kind === 'old' ? name : cut(name, NAME_BYTES - 1 - Buffer.byteLength(rest));
  return join(dir, `.${kept}${rest}`);
}

/** A fresh name beside `path` for a file in the making. */
export function stagingName(path: string): string {
  return ownName(dirname(path), basename(path), 'staging');
}

/** Whether a file name was made by {@link stagingName}. */
export function isStagingName(name: string): boolean {
  return parseOwn(name)?.kind === 'staging';
}

/** The parts of a name made by {@link ownName}. */
export function parseOwn(name: string): { readonly name: string; readonly kind: LeftoverKind } | undefined {
  const match = OURS.exec(name);
  return match === null ? undefined : { name: match[1] ?? '', kind: match[3] as LeftoverKind };
}

/** Throws unless `name` is one plain file name of at most 255 bytes that is not one of ours. */
export function checkName(name: string, of: string): void {
  const problem = problemOf(name);
  if (problem !== undefined) throw invalid(of, `${JSON.stringify(name)} ${problem}`);
}

/** Throws unless each part of a relative path is a plain name. */
export function checkRelative(path: string, of: string): void {
  for (const part of path.split('/')) {
    const problem = problemOf(part);
    if (problem !== undefined)
      throw invalid(of, `${JSON.stringify(path)} is no plain relative path: a part of it ${problem}`);
  }
}

/** The absolute form of any path: not empty, which would be the working directory, and without NUL. */
export function checkPlace(path: string): string {
  if (path === '' || path.includes('\0')) throw invalid(JSON.stringify(path), 'the path is empty or contains NUL');
  return resolve(path);
}

/** The absolute form of a path that can be replaced: not the root. */
export function checkPath(path: string): string {
  const full = checkPlace(path);
  checkName(basename(full), path);
  return full;
}

/** {@link checkPath} for what is replaced or removed: `.` and `..` are refused, which name a directory by where the process is, not by what it is. */
export function checkTarget(path: string): string {
  const last = path.split('/').findLast((part) => part !== '');
  if (last === '.' || last === '..') throw invalid(path, `${JSON.stringify(last)} is no name of a file`);
  return checkPath(path);
}

/** Whether `inner` is `outer` or lies in it. Both absolute. */
export function contains(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`);
}

function problemOf(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name === '.' || name === '..') return 'is no name of a file';
  if (name.includes('/')) return 'contains a path separator';
  if (name.includes('\0')) return 'contains NUL';
  if (Buffer.byteLength(name) > NAME_BYTES) return `is longer than ${NAME_BYTES} bytes`;
  if (parseOwn(name) !== undefined) return 'is reserved for files in the making';
  return undefined;
}

/** The longest prefix of at most `bytes` bytes that does not halve a character. */
function cut(name: string, bytes: number): string {
  let kept = '';
  let used = 0;
  for (const character of name) {
    used += Buffer.byteLength(character);
    if (used > bytes) break;
    kept += character;
  }
  return kept;
}
