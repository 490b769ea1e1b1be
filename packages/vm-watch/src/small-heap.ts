import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the heap of this process small, and its collections short: what a watch reads lives for milliseconds, and V8 would make room for it that nothing ever needs again (a third of the
 * resident memory after 10,000 machines). To be called before anything is read; works without any flag of the command line.
 *
 * - Young objects stay in the room that V8 begins with, a megabyte, which is collected in a third of a millisecond.
 * - One thread does that: on a busy machine the main thread would wait for helpers that get no processor, for 4 ms in one of ten collections.
 * - Old objects are collected earlier.
 */
export function keepHeapSmall(): void {
  // V8 asks these whenever it is about to grow or collect, unlike the sizes themselves, which are fixed by now.
  for (const flag of ['--semi-space-growth-factor=1', '--no-parallel-scavenge', '--optimize-for-size'])
    setFlagsFromString(flag);
}
