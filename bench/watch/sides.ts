import type { Figure } from '../measure.ts';
import { startWorker, type Worker } from '../worker.ts';
import type { Changed, ServerJob, Target, WatchJob, WatchResult } from './job.ts';

/** Whose watch it is. */
export type Side = 'ours' | 'peer';

/** The process of one side. */
export type Watcher = Worker<WatchJob, WatchResult>;

/** What the measurements of this benchmark share. */
export interface Bench {
  readonly report: (figure: Figure) => void;
  /** Starts a server with so many machines in each folder; the one before is gone. */
  serve(machines: number, folders?: number): Promise<Target>;
  change(how: Partial<ServerJob & { readonly do: 'change' }> & { readonly updates: number }): Promise<Changed>;
  tell(watcher: Watcher, job: WatchJob): Promise<WatchResult>;
  start(side: Side): Promise<Watcher>;
}

/** Machines of all measurements but the first. */
export const FLEET = 2_000;
/** Nothing comes any more after this long. */
export const QUIET_MS = 3_000;

/** A session of its own is a group of its own to the scheduler, which weighs groups (`sched_autogroup_enabled`), and processes only within one. */
const FIRST = 'echo -15 2>/dev/null >/proc/self/autogroup; exec nice -n -15 "$0" "$@"';

/**
 * Starts a worker that goes before whatever else the machine does, where this user may ask for that: then a latency is that of what is measured. Both sides and the server are started
 * so.
 */
export function startPrompt<Job, Result>(
  command: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Worker<Job, Result> {
  return process.platform === 'linux' && process.getuid?.() === 0
    ? startWorker('setsid', ['sh', '-c', FIRST, command, ...args], env)
    : startWorker(command, args, env);
}
