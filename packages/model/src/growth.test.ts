import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { assertLinear, GrowthError } from './growth.ts';

const letters = (size: number): string => 'ab'.repeat(size / 2);

/** Reads each letter once, and `again` letters for each. */
function count(text: string, again: (at: number) => number): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) {
    const end = at + again(at);
    for (let other = at; other < end; other += 1) sum += text.charCodeAt(other % text.length);
  }
  return sum;
}

/** ms that no run of a control takes that is about growth alone, however busy the machine is. */
const BEYOND = 10_000;

const complaint = async (growing: Promise<unknown>): Promise<string> => {
  const error = await growing.then(
    () => assert.fail('nothing was found'),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof GrowthError, String(error));
  return error.message;
};

test('a reader that costs what it reads passes, and its costs are told', async () => {
  const costs = await assertLinear({
    name: 'letters',
    input: letters,
    read: (text) => count(text, () => 20),
    limit: 400_000,
  });
  assert.equal(costs.length, 9);
  assert.deepEqual(costs.map(({ size }) => size).slice(-3), [100_000, 200_000, 400_000]);
  // The kernel counts CPU time in steps, so that the smallest sizes may cost nothing.
  assert.ok(costs.every(({ total, stretch }) => stretch <= total));
  assert.ok((costs.at(-1)?.total ?? 0) > 0);
});

test('negative control: a quadratic reader is found, though none of its runs is long', async () => {
  const growing = assertLinear({
    name: 'letters',
    input: letters,
    read: (text) => count(text, (at) => at),
    ...{ limit: 12_000, stretch: BEYOND },
  });
  assert.match(
    await complaint(growing),
    /^letters: costs grow faster than the input\.\n {2}47: .+\n(.+\n)+ {2}12000: /,
  );
});

test('negative control: a quadratic reader that refuses in the end is found', async () => {
  const growing = assertLinear({
    name: 'refusals',
    input: letters,
    read: (text) => {
      throw new RangeError(String(count(text, (at) => at)));
    },
    ...{ limit: 12_000, stretch: BEYOND },
  });
  assert.match(await complaint(growing), /grow faster/);
});

test('negative control: a linear reader that never lets go is found, before it is given all', async () => {
  const growing = assertLinear({
    name: 'a long stretch',
    input: letters,
    read: (text) => count(text, () => 1000),
    limit: 1_000_000,
    stretch: 20,
  });
  const message = await complaint(growing);
  assert.match(message, /^a long stretch: holds the event loop for more than 20 ms\./);
  assert.ok(!message.includes('1000000:'), message);
});

test('one that lets others run in between has short stretches, however long it takes', async () => {
  const costs = await assertLinear({
    name: 'in parts',
    input: letters,
    read: async (text) => {
      for (let at = 0; at < text.length; at += 20_000) {
        count(text.slice(at, at + 20_000), () => 50);
        await turn();
      }
    },
    limit: 1_000_000,
    stretch: 50,
  });
  const { total = 0, stretch = 0 } = costs.at(-1) ?? {};
  assert.ok(stretch < total / 2, `${stretch} of ${total} ms at one stretch`);
});
