import { isAbsolute, join, sep } from 'node:path';
import { DurableError, during } from './errors.ts';
import { checkPlace } from './names.ts';
import { nodeOps } from './node-ops.ts';
import type { EntryStat, FsOps } from './ops.ts';

const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;
/** Only an entry's own owner may rename or remove it, as in `/tmp`. */
const STICKY = 0o1000;

/** Links that one path may lead through, as the kernel counts them. */
const MOST_LINKS = 40;

/**
 * Fails with `UNTRUSTED` unless nobody but root and the user of this process can change where a path leads, or what lies there under which name: each directory on
 * the way, and the one at its end, belongs to one of the two and is writable by nobody else (or sticky), and so does each link. What is missing is fine.
 */
export async function checkTrusted(path: string, { ops = nodeOps }: { readonly ops?: FsOps } = {}): Promise<void> {
  const full = checkPlace(path);
  const where = { code: 'READ_FAILED', stage: 'validate', path: full, visible: 'old' } as const;
  let at: string = sep;
  let links = 0;
  const rest = ['', ...full.split(sep).filter((part) => part !== '')];
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    if (part === '.') continue;
    const next = join(at, part);
    const stat = await during(where, () => ops.lstat(next));
    if (stat === undefined) return;
    if (!isOurs(stat.uid)) throw untrusted(full, next, `belongs to user ${stat.uid}`);
    if (stat.kind === 'symlink') {
      links += 1;
      if (links > MOST_LINKS) throw untrusted(full, next, 'leads through too many links');
      const to = await during(where, () => ops.readlink(next));
      rest.unshift(...to.split(sep).filter((one) => one !== ''));
      if (isAbsolute(to)) at = sep;
      continue;
    }
    if (stat.kind === 'directory' && isOpenToOthers(stat)) throw untrusted(full, next, 'can be written to by others');
    at = next;
  }
}

/** Whether something of this owner is changed by nobody but root and this process's user. */
export function isOurs(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

function isOpenToOthers({ mode, gid }: EntryStat): boolean {
  if ((mode & STICKY) !== 0) return false;
  const ownGroup = gid === 0 || gid === process.getegid?.();
  return (mode & WRITABLE_BY_ALL) !== 0 || ((mode & WRITABLE_BY_GROUP) !== 0 && !ownGroup);
}

function untrusted(path: string, at: string, said: string): DurableError {
  const message = `${at} ${said}, who could put something else in its place`;
  return new DurableError({ code: 'UNTRUSTED', stage: 'validate', path, visible: 'old', message });
}
