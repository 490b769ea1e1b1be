import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@drydock/kube';
import { BootImageError } from '../errors.ts';
import { type Lookup, type LookupOptions, lookup, type Place } from './lookup.ts';

interface Rig {
  readonly images: Lookup<Place, string>;
  readonly calls: string[];
  clock: number;
  fail: Error | undefined;
}

function rig(options: Partial<LookupOptions<Place, string>> = {}): Rig {
  const made: Rig = {
    calls: [],
    clock: 0,
    fail: undefined,
    images: lookup<Place, string>({
      batch: 100,
      keepMs: (answer) => (answer.startsWith('gone') ? 1_000 : 600_000),
      clock: { ...systemClock, now: () => made.clock },
      ask: async ({ key }, ids) => {
        made.calls.push(`${key}: ${ids.length}`);
        if (made.fail !== undefined) throw made.fail;
        return new Map(ids.map((id) => [id, id]));
      },
      ...options,
    }),
  };
  return made;
}

const east: Place = { key: 'us-east-1', host: 'ec2.us-east-1.amazonaws.com' };
const west: Place = { key: 'us-west-2', host: 'ec2.us-west-2.amazonaws.com' };
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `ami-${n}`);

test('what is wanted at the same time in one place is asked in calls of a hundred, each id once', async () => {
  const { images, calls } = rig();
  const ids = [...names(250), ...names(250)];
  assert.deepEqual(await Promise.all(ids.map((id) => images.of(east, id))), ids);
  await images.of(west, 'ami-1');
  assert.deepEqual(calls, ['us-east-1: 100', 'us-east-1: 100', 'us-east-1: 50', 'us-west-2: 1']);
});

test('what is foreseen goes with the first question of its place, so that sets planned one after the other cost one call', async () => {
  const { images, calls } = rig();
  for (const id of names(100)) images.foresee(east, id);
  for (const id of names(100)) await images.of(east, id);
  assert.deepEqual(calls, ['us-east-1: 100']);
});

test('what another question has told is not asked for', async () => {
  const { images, calls } = rig();
  images.learn(east, 'ami-1', 'told');
  assert.deepEqual([await images.of(east, 'ami-1'), calls], ['told', []]);
  assert.equal(await images.of(west, 'ami-1'), 'ami-1');
});

test('an answer counts for its time, that of something missing for less', async () => {
  const r = rig();
  for (const id of ['ami-1', 'gone-1', 'ami-1', 'gone-1']) await r.images.of(east, id);
  assert.equal(r.calls.length, 2);
  r.clock += 1_000;
  for (const id of ['ami-1', 'gone-1']) await r.images.of(east, id);
  assert.equal(r.calls.length, 3);
  r.clock += 600_000;
  await r.images.of(east, 'ami-1');
  assert.equal(r.calls.length, 4);
});

test('a failure is that of all who wait, and is not remembered; a place that is silent is left alone for a moment, the others are not', async () => {
  const r = rig();
  r.fail = new BootImageError('CloudUnavailable', 'silent');
  const all = await Promise.allSettled(['a', 'b'].map((id) => r.images.of(east, id)));
  assert.deepEqual(
    all.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  await assert.rejects(r.images.of(east, 'c'), /silent/);
  assert.equal(r.calls.length, 1);
  r.fail = undefined;
  assert.equal(await r.images.of(west, 'c'), 'c');
  r.clock += 4_000;
  assert.equal(await r.images.of(east, 'c'), 'c');
  r.fail = new BootImageError('CloudAnswerInvalid', 'odd');
  await assert.rejects(r.images.of(east, 'd'), /odd/);
  r.fail = undefined;
  assert.equal(await r.images.of(east, 'd'), 'd');
});

test('so many calls at a time, and who stops waiting stops nobody else', async () => {
  let running = 0;
  let most = 0;
  const gates: (() => void)[] = [];
  const { images } = rig({
    batch: 1,
    atOnce: 2,
    ask: async (_, ids) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => void gates.push(resolve));
      running -= 1;
      return new Map(ids.map((id) => [id, id]));
    },
  });
  const stop = new AbortController();
  const stopped = images.of(east, 'ami-0', { signal: stop.signal });
  const waiting = Promise.all(names(6).map((id) => images.of(east, id)));
  stop.abort(new Error('enough'));
  await assert.rejects(stopped, /enough/);
  let done = false;
  void waiting.then(() => {
    done = true;
  });
  while (!done) {
    gates.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(await waiting, names(6));
  assert.equal(most, 2);
});

test('a call that does not end is an error with a code, the host and what to do, and its place is left alone for a while', async () => {
  const never: LookupOptions<Place, string>['ask'] = (_place, _ids, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const { images } = rig({ ask: never, callMs: 20 });
  const told = (error: unknown): boolean => {
    assert.ok(error instanceof BootImageError, String(error));
    assert.deepEqual([error.code, error.retriable], ['CloudUnavailable', true]);
    assert.equal(error.message, 'failed to look up ami-1 at ec2.us-east-1.amazonaws.com: no end within 20 ms');
    assert.match(error.nextStep ?? '', /see why ec2\.us-east-1\.amazonaws\.com answers so slowly/);
    return true;
  };
  await assert.rejects(images.of(east, 'ami-1'), told);
  await assert.rejects(images.of(east, 'ami-2'), told, 'asked of nobody meanwhile');
});
