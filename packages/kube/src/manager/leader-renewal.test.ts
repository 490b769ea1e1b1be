import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle, virtualClock } from '../testing/clock.ts';
import { contest, failure, LeaseStore } from '../testing/lease-contest.ts';

/** Legal settings, from usual ones to those at the edge: duration > deadline > period. */
const SETTINGS = [
  { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 },
  { leaseDuration: 137_000, renewDeadline: 107_000, retryPeriod: 26_000 },
  { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 9_999 },
  { leaseDuration: 10_001, renewDeadline: 10_000, retryPeriod: 5_000 },
  { leaseDuration: 3_000, renewDeadline: 2_000, retryPeriod: 1_999 },
];

for (const settings of SETTINGS) {
  const { renewDeadline, retryPeriod } = settings;
  const said = `period ${retryPeriod} of ${renewDeadline} ms`;

  test(`SAFE-3 an attempt whose answer never comes leaves time for another one, and leadership goes on (${said})`, async () => {
    const store = new LeaseStore();
    const clock = virtualClock();
    const a = contest(store, 'a', clock, settings);
    await settle();
    let asked = 0;
    // The connection is half-open: what is on it hangs for ever, and does not end with its signal either.
    store.answer = () => {
      asked += 1;
      return asked === 1 ? new Promise(() => undefined) : Promise.resolve();
    };
    for (let ms = 0; ms < 3 * renewDeadline; ms += 100) {
      await clock.advance(100);
      a.leader.assertHeld();
    }
    assert.ok(a.acts() && asked > 1, `${asked} attempts`);
    a.stop.abort();
    assert.equal(await a.done, 'stopped');
  });

  test(`SAFE-3 when all attempts fail, work ends with the deadline and not a pause later (${said})`, async () => {
    const store = new LeaseStore();
    const clock = virtualClock();
    const a = contest(store, 'a', clock, settings);
    await settle();
    store.cut.add('a');
    await clock.advance(renewDeadline - 1);
    assert.ok(a.acts());
    await clock.advance(1);
    assert.deepEqual([await a.done, a.acts()], ['LeaseLost', false]);
    assert.equal(clock.sleeping, 0);
  });
}

test('SAFE-3 a leader that was suspended while another led and released does not lead again', async () => {
  const store = new LeaseStore();
  const suspended = virtualClock();
  const clock = virtualClock();
  const a = contest(store, 'a', suspended);
  await settle();
  const b = contest(store, 'b', clock);
  await clock.advance(40_000);
  assert.ok(b.acts(), 'the lease of the suspended one expired');
  b.stop.abort();
  assert.deepEqual([await b.done, store.holder], ['stopped', '']);
  suspended.jump(60_000);
  assert.throws(() => a.leader.assertHeld(), { code: 'LeaseNotHeld' });
  await suspended.advance(2_000);
  assert.equal(await a.done, 'LeaseLost');
  assert.equal(store.holder, '', 'it has not taken the lease either');
});

test('SAFE-3 a lease that went to another and came back, or that was deleted, is lost', async () => {
  for (const change of [
    (store: LeaseStore) => {
      store.lease = { ...store.lease, metadata: { name: 'lease', namespace: 'ns', resourceVersion: '99' } };
      store.lease = { ...store.lease, spec: { ...store.lease.spec, leaseTransitions: 2 } };
    },
    (store: LeaseStore) => {
      store.lease = undefined;
    },
  ]) {
    const store = new LeaseStore();
    const clock = virtualClock();
    const a = contest(store, 'a', clock);
    await settle();
    change(store);
    await clock.advance(2_000);
    assert.equal(await a.done, 'LeaseLost');
  }
});

test('SAFE-3 an answer that comes after the loss brings nothing back', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const a = contest(store, 'a', clock);
  await settle();
  const late: (() => void)[] = [];
  store.answer = () => new Promise((resolve) => late.push(resolve));
  await clock.advance(10_000);
  assert.equal(await a.done, 'LeaseLost');
  for (const answer of late) answer();
  await settle();
  assert.throws(() => a.leader.assertHeld(), { code: 'LeaseNotHeld' });
});

test('SAFE-3 somebody else who edits the lease, and changes neither holder nor term, costs nothing', async () => {
  const store = new LeaseStore();
  const clock = virtualClock();
  const a = contest(store, 'a', clock);
  await settle();
  for (let edits = 0; edits < 20; edits += 1) {
    const metadata = {
      name: 'lease',
      namespace: 'ns',
      resourceVersion: `edit-${edits}`,
      labels: { edited: `${edits}` },
    };
    store.lease = { ...store.lease, metadata };
    await clock.advance(2_000);
    a.leader.assertHeld();
  }
  store.answer = () => Promise.reject(failure('ServerError'));
  await clock.advance(10_000);
  assert.equal(await a.done, 'LeaseLost');
});

/** OpenShift's leases, how long (s) its API server may be unavailable, and how long a takeover takes after a crash. */
const OPENSHIFT = [
  { leaseDuration: 137_000, renewDeadline: 107_000, retryPeriod: 26_000, outage: 90, takeover: 163 },
  { leaseDuration: 270_000, renewDeadline: 240_000, retryPeriod: 60_000, outage: 200, takeover: 330 },
];

for (const { outage, takeover, ...settings } of OPENSHIFT) {
  test(`FIND-2: an API server that is unavailable for ${outage} s, from whatever moment on, costs no leadership (${settings.renewDeadline} ms)`, async () => {
    for (const hangs of [false, true]) {
      for (let begins = 0; begins <= settings.retryPeriod; begins += 1_000) {
        const store = new LeaseStore();
        const clock = virtualClock();
        const a = contest(store, 'a', clock, settings);
        await settle();
        const b = contest(store, 'b', clock, settings);
        await clock.advance(settings.leaseDuration + begins);
        if (hangs) store.answer = () => new Promise(() => undefined);
        else for (const who of ['a', 'b']) store.cut.add(who);
        for (let second = 0; second < outage; second += 1) {
          await clock.advance(1_000);
          a.leader.assertHeld();
        }
        store.answer = () => Promise.resolve();
        store.cut.clear();
        for (let second = 0; second < 2 * outage; second += 1) {
          await clock.advance(1_000);
          a.leader.assertHeld();
        }
        assert.deepEqual([a.acts(), b.acts(), store.lease?.spec?.leaseTransitions], [true, false, 0]);
        for (const one of [a, b]) one.stop.abort();
        assert.deepEqual([await a.done, await b.done], ['stopped', 'stopped']);
      }
    }
  });

  test(`FIND-2: another process leads within ${takeover} s of a crash, and at once after a release (${settings.leaseDuration} ms)`, async () => {
    for (let run = 0; run < 20; run += 1) {
      const store = new LeaseStore();
      const clock = virtualClock();
      store.lease = {
        metadata: { name: 'lease', namespace: 'ns', resourceVersion: '0' },
        spec: { holderIdentity: 'killed', leaseDurationSeconds: settings.leaseDuration / 1_000 },
      };
      const b = contest(store, 'b', clock, settings);
      await settle();
      // The last renewal comes right after a look, and is seen with the next one.
      store.lease = { ...store.lease, metadata: { name: 'lease', namespace: 'ns', resourceVersion: '00' } };
      await clock.advance(settings.leaseDuration - 1);
      assert.ok(!b.acts(), 'the lease has not expired');
      await clock.advance(takeover * 1_000 - settings.leaseDuration + 1);
      assert.ok(b.acts());
      const c = contest(store, 'c', clock, settings);
      await clock.advance(100);
      b.stop.abort();
      assert.equal(await b.done, 'stopped');
      await clock.advance(settings.retryPeriod);
      assert.ok(c.acts(), 'the next one does not wait for the lease to expire');
      c.stop.abort();
      await c.done;
    }
  });
}
