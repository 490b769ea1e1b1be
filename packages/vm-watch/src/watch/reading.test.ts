import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PropertyWatch, ScannedAnswer } from '@drydock/vsphere';
import { lost } from '../testing/memory-feed.ts';
import { Interrupt } from './interrupt.ts';
import { readWatch } from './reading.ts';

test('the ledger hears until when all is known: the time at which the first page of an answer was asked for, also after an interruption', async () => {
  const told: string[] = [];
  let time = 0;
  const answers: (() => ScannedAnswer)[] = [
    () => ({ version: '0_1', truncated: true }),
    () => ({ version: '1', truncated: false }),
    () => {
      throw lost('next');
    },
    () => ({ version: undefined, truncated: false }),
    () => ({ version: '2', truncated: false }),
  ];
  const end = new AbortController();
  const watch: Pick<PropertyWatch, 'next'> = {
    next: async () => {
      time += 10;
      const answer = answers.shift();
      if (answer !== undefined) return answer();
      end.abort();
      throw lost('next');
    },
  };
  await assert.rejects(
    readWatch(watch as PropertyWatch, new Interrupt(end.signal), {
      ledger: {
        sink: () => ({}) as never,
        beginPass: () => void told.push('pass'),
        heard: (asked) => void told.push(`heard ${asked}`),
        resumed: () => void told.push('resumed'),
      },
      endPass: async () => void told.push('passed'),
      onLive: () => undefined,
      enter: () => undefined,
      now: () => time,
      sleep: async () => undefined,
      random: () => 0,
    }),
  );
  assert.deepEqual(told, ['pass', 'passed', 'heard 0', 'resumed', 'heard 30', 'heard 40']);
});
