import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Names one process for good: a pid alone is reused, a pid with its start time is not. The third part is the pid
 * namespace, because pids of another container mean nothing here.
 *
 *     <pid>-<start>-<namespace>
 */
export type ProcessIdentity = string;

function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replaceAll(/[^0-9]/g, '');
  } catch {
    return '0';
  }
}

function startTime(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // The command name may contain blanks and parentheses; the fields after its last ')' start at number 3.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      // A zombie holds nothing any more.
      return fields[0] === 'Z' ? undefined : fields[19];
    } catch {
      return undefined;
    }
  }
  try {
    const text = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return text === '' ? undefined : createHash('sha256').update(text).digest('hex').slice(0, 12);
  } catch {
    return undefined;
  }
}

/** The identity of a running process, or undefined when no such process runs. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const start = startTime(pid);
  return start === undefined ? undefined : `${pid}-${start}-${namespace()}`;
}

/** Whether the process is alive: `unknown` for text that is no identity, and for another pid namespace. */
export function stateOf(identity: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  const [pid, start, space, ...rest] = identity.split('-');
  if (pid === undefined || start === undefined || rest.length > 0 || space !== namespace()) return 'unknown';
  if (!/^[1-9][0-9]*$/.test(pid)) return 'unknown';
  return startTime(Number(pid)) === start ? 'alive' : 'dead';
}

/** SIGKILLs exactly this process; one that is gone, or whose pid was reused, is left alone. */
export function killByIdentity(identity: ProcessIdentity): void {
  if (stateOf(identity) !== 'alive') return;
  try {
    process.kill(Number(identity.split('-')[0]), 'SIGKILL');
  } catch {
    // It ended by itself in between.
  }
}
