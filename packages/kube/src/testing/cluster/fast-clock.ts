import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';

/** The machine's clock, sped up: for tests over real sockets, where a virtual clock cannot know when everything has come to rest. */
export function fastClock(factor: number): Clock {
  return {
    now: () => performance.now() * factor,
    date: () => new Date(),
    sleep: async (ms, { background, signal } = {}) => {
      await delay(Math.max(0, ms / factor), undefined, {
        ref: background !== true,
        ...(signal === undefined ? {} : { signal }),
      });
    },
  };
}
