import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { HolderIsLive } from '@drydock/templates';

/** Who imports, as the mark names it, and whether a recorded one still runs. */
export interface Holder {
  readonly identity: string;
  readonly isLive: HolderIsLive;
}

/** What of `/proc` is read; a test gives its own. */
export interface ProcessTable {
  readonly bootId: string;
  /** PID namespace: the same number means another process in another one. */
  readonly namespace: string;
  /** Start time of a process in clock ticks; undefined: there is no such process. */
  startTime(pid: number): string | undefined;
}

/**
 * Identity of this process: `cli/<host>/<boot>/<pid namespace>/<pid>/<start time>`. Of a holder from the same boot and PID namespace it is known whether
 * it still runs, so that what a killed run left is cleaned up by the next one at once; of any other nobody can tell. A host name alone would prove
 * nothing.
 */
export function processHolder(
  table: ProcessTable | null = procTable(),
  pid: number = process.pid,
  host: string = hostname(),
): Holder {
  if (table === null) return { identity: `cli/${host}/${pid}/${crypto.randomUUID()}`, isLive: () => undefined };
  const home = `cli/${host}/${table.bootId}/${table.namespace}/`;
  const identity = `${home}${pid}/${table.startTime(pid) ?? ''}`;
  return {
    identity,
    isLive: (holder) => {
      if (holder === identity) return true;
      if (!holder.startsWith(home)) return undefined;
      const [other, started] = holder.slice(home.length).split('/');
      return table.startTime(Number(other)) === started;
    },
  };
}

/** null where there is no `/proc` as Linux has it. */
function procTable(): ProcessTable | null {
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8);
    const namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
    return { bootId, namespace, startTime };
  } catch {
    return null;
  }
}

/** Field 22 of `/proc/<pid>/stat`; the command in field 2 may contain spaces and parentheses (proc(5)). */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
