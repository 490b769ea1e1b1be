import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { settle, virtualClock } from '../testing/clock.ts';
import { contest, failure, LeaseStore } from '../testing/lease-contest.ts';
import { type LeaderOptions, leaderElection } from './leader.ts';

const log = pino({ level: 'silent' });

test('one of two leads, renews, and on stop hands over at once with an empty holder', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const a = contest(store, 'a', clock);
  await settle();
  const b = contest(store, 'b', clock);
  await clock.advance(60_000);
  assert.equal(store.holder, 'a');
  assert.deepEqual([a.leader.leading, b.leader.leading], [true, false]);
  assert.ok(store.writes > 25, `renewed every two seconds, saw ${store.writes}`);
  assert.match(store.lease?.spec?.renewTime ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  a.leader.assertHeld();
  assert.throws(() => b.leader.assertHeld(), { code: 'LeaseNotHeld' });
  assert.deepEqual([a.leader.holderIsLive('a'), a.leader.holderIsLive('b')], [true, false]);
  assert.deepEqual([b.leader.holderIsLive('a'), b.leader.holderIsLive('gone')], [true, false]);

  a.stop.abort();
  assert.equal(await a.done, 'stopped');
  assert.deepEqual([store.holder, store.lease?.spec?.leaseDurationSeconds], ['', 1]);
  await clock.advance(3_000);
  assert.equal(store.holder, 'b');
  assert.equal(store.lease?.spec?.leaseTransitions, 1);
  b.stop.abort();
  await b.done;
  assert.equal(clock.sleeping, 0);
});

test('the lease carries what its holder has to tell, no older than a renewal, and not past it', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const told: { note: string | undefined } = { note: 'all is not well' };
  const a = contest(store, 'a', clock, { annotations: () => told });
  await clock.advance(2_500);
  const at = (): unknown => store.lease?.metadata.annotations;
  assert.deepEqual(at(), { note: 'all is not well' });
  store.lease = {
    ...store.lease,
    metadata: { ...store.lease?.metadata, name: 'lease', annotations: { note: 'x', other: 'theirs' } },
  };
  await clock.advance(2_500);
  told.note = 'worse';
  await clock.advance(2_500);
  assert.deepEqual(at(), { note: 'worse' });
  told.note = undefined;
  await clock.advance(2_500);
  assert.deepEqual(at(), {});
  a.stop.abort();
  await a.done;
});

test('before anything was seen every holder counts as live', () => {
  const clock = virtualClock();
  const leader = leaderElection({ client: new LeaseStore().client('a'), namespace: 'ns', name: 'lease', log, clock });
  assert.equal(leader.holderIsLive('whoever'), true);
});

test('wall clocks that are hours apart steal nothing', async () => {
  const store = new LeaseStore();
  const slow = virtualClock(Date.UTC(2026, 0, 1, 0));
  const fast = virtualClock(Date.UTC(2026, 0, 1, 9));
  const a = contest(store, 'a', slow);
  await settle();
  const b = contest(store, 'b', fast);
  for (let ms = 0; ms < 60_000; ms += 500) {
    await slow.advance(500);
    await fast.advance(500);
    assert.ok(!b.acts());
  }
  assert.equal(store.holder, 'a');
  for (const one of [a, b]) one.stop.abort();
  await Promise.all([a.done, b.done]);
});

test('a cut-off leader stops acting before another one starts', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const a = contest(store, 'a', clock);
  await settle();
  const b = contest(store, 'b', clock);
  await clock.advance(20_000);
  store.cut.add('a');
  let gap = 0;
  for (let ms = 0; ms < 30_000 && !b.acts(); ms += 100) {
    await clock.advance(100);
    assert.ok(!(a.acts() && b.acts()), 'two act');
    if (!a.acts() && !b.acts()) gap += 100;
  }
  assert.ok(b.acts() && gap > 0);
  assert.equal(await a.done, 'LeaseLost');
  b.stop.abort();
  await b.done;
});

test('a paused leader is fenced by its own clock when it wakes, and cannot write over its successor', async () => {
  const store = new LeaseStore();
  const paused = virtualClock();
  const clock = virtualClock();
  const a = contest(store, 'a', paused);
  await settle();
  const b = contest(store, 'b', clock);
  await clock.advance(40_000);
  assert.ok(b.acts(), 'the lease expired');
  assert.ok(a.acts(), 'it has not noticed: that is the danger');
  paused.pause(40_000);
  assert.throws(() => a.leader.assertHeld(), { code: 'LeaseNotHeld' });
  await paused.advance(1);
  assert.equal(await a.done, 'LeaseLost');
  assert.equal(store.holder, 'b');
  b.stop.abort();
  await b.done;
});

test('a leader whose clock ran slow learns of its successor from the conflict', async () => {
  const store = new LeaseStore();
  const slow = virtualClock();
  const a = contest(store, 'a', slow);
  await settle();
  const spec = { holderIdentity: 'thief', leaseDurationSeconds: 15 };
  store.lease = { metadata: { name: 'lease', namespace: 'ns', resourceVersion: '999' }, spec };
  await slow.advance(2_000);
  assert.equal(await a.done, 'LeaseLost');
  assert.equal(store.holder, 'thief');
});

test('work that fails keeps the lease, so that nobody starts beside what may still write', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const leader = leaderElection({
    client: store.client('a'),
    namespace: 'ns',
    name: 'lease',
    identity: 'a',
    log,
    clock,
  });
  const lead = (): Promise<void> => Promise.reject(new Error('broken'));
  await assert.rejects(leader.run(lead, new AbortController().signal), { message: 'broken' });
  assert.equal(store.holder, 'a');
});

test('leadership counts from when the renewal was sent, and an answer that never comes ends it at the deadline', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  store.answer = () => clock.sleep(4_000);
  const a = contest(store, 'a', clock);
  await clock.advance(4_000);
  assert.ok(a.acts());
  // From now on nothing is answered, and nothing ends with its signal either.
  store.answer = () => new Promise(() => undefined);
  await clock.advance(5_999);
  a.leader.assertHeld();
  await clock.advance(1);
  assert.throws(() => a.leader.assertHeld(), { code: 'LeaseNotHeld' });
  await clock.advance(2_000);
  assert.equal(await a.done, 'LeaseLost');
});

test('a renewal whose answer was lost is found to be our own, and leadership goes on', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const a = contest(store, 'a', clock);
  await settle();
  store.answer = () => Promise.reject(failure('Connection'));
  await clock.advance(2_000);
  store.answer = () => Promise.resolve();
  await clock.advance(60_000);
  a.leader.assertHeld();
  a.stop.abort();
  assert.equal(await a.done, 'stopped');
  assert.equal(store.lease?.spec?.leaseTransitions, 0);
});

test('a suspended machine, whose monotonic clock stood still, is fenced by its wall clock until it has renewed', async () => {
  const store = new LeaseStore();
  const suspended = virtualClock();
  const clock = virtualClock();
  const a = contest(store, 'a', suspended);
  await settle();
  suspended.jump(9_999);
  a.leader.assertHeld();
  suspended.jump(1);
  assert.throws(() => a.leader.assertHeld(), { code: 'LeaseNotHeld' });
  // Nobody took the lease: the renewal, guarded by its version, proves it.
  await suspended.advance(2_000);
  a.leader.assertHeld();
  assert.ok(a.acts());

  const b = contest(store, 'b', clock);
  await clock.advance(40_000);
  suspended.jump(40_000);
  assert.ok(b.acts());
  assert.throws(() => a.leader.assertHeld(), { code: 'LeaseNotHeld' });
  await suspended.advance(2_000);
  assert.equal(await a.done, 'LeaseLost');
  b.stop.abort();
  await b.done;
});

test('a wall clock that is set back neither fences nor extends', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const a = contest(store, 'a', clock);
  await settle();
  clock.jump(-3_600_000);
  a.leader.assertHeld();
  store.cut.add('a');
  await clock.advance(10_000);
  assert.throws(() => a.leader.assertHeld(), { code: 'LeaseNotHeld' });
  await clock.advance(2_000);
  assert.equal(await a.done, 'LeaseLost');
});

test('an outage of the API server ends leadership at the renew deadline, and when it is over exactly one leads again', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const a = contest(store, 'a', clock);
  await settle();
  const b = contest(store, 'b', clock);
  await clock.advance(20_000);
  for (const who of ['a', 'b', 'a2']) store.cut.add(who);
  await clock.advance(60_000);
  assert.deepEqual([await a.done, a.acts(), b.acts()], ['LeaseLost', false, false]);
  const restarted = contest(store, 'a2', clock);
  store.cut.clear();
  await clock.advance(30_000);
  assert.equal([restarted, b].filter((one) => one.acts()).length, 1);
  for (const one of [restarted, b]) one.stop.abort();
  await Promise.all([restarted.done, b.done]);
  assert.equal(clock.sleeping, 0);
});

test('an outage shorter than the renew deadline costs nothing', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const a = contest(store, 'a', clock);
  await settle();
  await clock.advance(20_000);
  store.cut.add('a');
  await clock.advance(7_000);
  store.cut.clear();
  await clock.advance(30_000);
  assert.ok(a.acts());
  assert.equal(store.lease?.spec?.leaseTransitions, 0);
  a.stop.abort();
  assert.equal(await a.done, 'stopped');
});

test('a renewal whose answer the stop cuts off does not keep the lease from being handed over', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const a = contest(store, 'a', clock);
  await settle();
  const b = contest(store, 'b', clock);
  // The server has stored the renewal; its answer does not come before the stop.
  store.answer = () =>
    new Promise((_, reject) => {
      a.stop.signal.addEventListener('abort', () => reject(failure('Connection')));
    });
  await clock.advance(2_500);
  const stored = store.writes;
  store.answer = () => Promise.resolve();
  a.stop.abort();
  assert.equal(await a.done, 'stopped');
  assert.deepEqual([store.writes, store.holder], [stored + 1, '']);
  await clock.advance(3_000);
  assert.ok(b.acts(), 'the other one does not wait for the lease to expire');
  b.stop.abort();
  await b.done;
});

test('a lease that is to be left is given back once its work has ended, taken by nobody, and taken again when it may be', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const waits: LeaderOptions['waits'] = ({ metadata }) => metadata.annotations?.['left'] !== undefined;
  const leader = leaderElection({
    ...{ client: store.client('a'), namespace: 'ns', name: 'lease', identity: 'a', log, clock, waits },
  });
  const ends = Promise.withResolvers<void>();
  let told = false;
  const stop = new AbortController();
  const done = leader.run(async (_, left) => {
    left.addEventListener('abort', () => {
      told = true;
    });
    await ends.promise;
  }, stop.signal);
  await settle();
  const b = contest(store, 'b', clock, { waits });
  await clock.advance(4_000);
  const leave = (annotations: Readonly<Record<string, string>>): void => {
    const { lease } = store;
    // As another writer's: a version that nobody has seen.
    const metadata = { ...lease?.metadata, name: 'lease', annotations, resourceVersion: `left-${store.writes}` };
    store.lease = { ...lease, metadata };
  };
  leave({ left: 'by a person' });
  await clock.advance(2_500);
  assert.ok(told, 'its holder was told');
  await clock.advance(60_000);
  assert.equal(store.holder, 'a', 'what is under way is under its lease');
  leader.assertHeld();
  ends.resolve();
  await done;
  assert.deepEqual([store.holder, store.lease?.metadata.annotations], ['', { left: 'by a person' }]);
  await clock.advance(60_000);
  assert.deepEqual([store.holder, b.acts()], ['', false]);
  leave({});
  await clock.advance(3_000);
  assert.deepEqual([store.holder, b.acts()], ['b', true]);
  b.stop.abort();
  await b.done;
  assert.equal(clock.sleeping, 0);
});

test('whoever was killed while it led a lease that is to be left is not followed before it may be', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  let left = true;
  store.lease = {
    metadata: { name: 'lease', namespace: 'ns', resourceVersion: '1' },
    spec: { holderIdentity: 'killed', leaseDurationSeconds: 15 },
  };
  const b = contest(store, 'b', clock, { waits: () => left });
  await clock.advance(120_000);
  assert.deepEqual([store.holder, store.writes], ['killed', 0]);
  left = false;
  await clock.advance(3_000);
  assert.equal(store.holder, 'b');
  b.stop.abort();
  await b.done;
});
