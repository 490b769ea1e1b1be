import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Long enough for other caches of the process to have listed too, in ms. */
const AFTER = 5_000;
let due = false;

/**
 * The first lists leave several times as much garbage as they leave objects, and V8 keeps it for as long as nothing happens: one full collection, a few
 * seconds from now, gives it back to the machine (a third of the resident memory of an idle operator). It stops the process for some 50 ms. Calls until then
 * are answered by the same collection; the process may end before it.
 */
export function dropListGarbage(): void {
  if (due) return;
  due = true;
  setTimeout(() => {
    due = false;
    // The only way to ask V8 without a flag of the command line; this flavour also gives back the emptied young generation.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as NodeJS.GCFunction;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }, AFTER).unref();
}
