import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How long (ms) the process must have had nothing to do; also time for its other caches to list. */
const QUIET = 5_000;
/** The share of that time in which the event loop may have been busy all the same. */
const BUSY = 0.02;
let due = false;

/**
 * The first lists leave several times as much garbage as they leave objects, and V8 keeps it for as long as nothing happens: one full collection gives it
 * back to the machine (a third of the resident memory of an idle operator). It stops the process for some 50 ms, so it waits for a quiet time; a process
 * that never has one collects by itself. Calls until then are answered by the same collection; the process may end before it.
 */
export function dropListGarbage(): void {
  if (due) return;
  due = true;
  let since = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(since);
    since = performance.eventLoopUtilization();
    if (utilization > BUSY) return;
    clearInterval(timer);
    due = false;
    // The only way to ask V8 without a flag of the command line; this flavour also gives back the emptied young generation.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as NodeJS.GCFunction;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }, QUIET);
  timer.unref();
}
