import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The room for young objects, in bytes, both halves. */
const YOUNG = 4e6;
/** How often (ms) it is looked whether V8 has made it. */
const LOOK = 20;
/** Answers of one change each that leave less than half of that room behind. */
const ANSWERS = 24;

let collect: (() => void) | undefined;
let answers = 0;

/**
 * Keeps the heap of this process small, and its collections short and rare: what a watch reads lives for milliseconds, and V8 would make room for it that nothing
 * ever needs again (a third of the resident memory after 10,000 machines). To be called before anything is read; works without any flag of the command line.
 *
 * - The room for young objects grows to 4 MB and no further. With the megabyte that V8 begins with, one of a hundred changes would wait for a collection.
 * - One thread collects them: on a busy machine the main thread would wait for helpers that get no processor, for 4 ms in one of ten collections.
 * - They are collected between two answers where there is time for it, see {@link whileWaiting}.
 * - Old objects are collected earlier.
 */
export function keepHeapSmall(): void {
  // V8 asks these whenever it is about to grow or collect, unlike the sizes themselves, which are fixed by now.
  const grow = (factor: 1 | 2): void => setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  for (const flag of ['--no-parallel-scavenge', '--optimize-for-size', '--expose-gc']) setFlagsFromString(flag);
  // The only way to ask V8 for a collection without a flag of the command line.
  const gc = runInNewContext('gc') as NodeJS.GCFunction;
  collect = () => gc({ type: 'minor', execution: 'sync' });
  grow(2);
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (young === undefined || young.space_size < YOUNG) return;
    grow(1);
    clearInterval(timer);
  }, LOOK);
  timer.unref();
}

/** To be called when the next question is on its way to a server: nothing has to be done until it answers. Does nothing without {@link keepHeapSmall}. */
export function whileWaiting(): void {
  answers += 1;
  if (collect === undefined || answers < ANSWERS) return;
  answers = 0;
  // By then the question is written.
  setImmediate(collect);
}
