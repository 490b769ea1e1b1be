import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImage, BootImageSpec } from '@drydock/api';
import { type PinEntry, pinsOf } from './pin-history.ts';
import type { PinWriters } from './pin-writers.ts';

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 9, minute));
const time = (minute: number): string => at(minute).toISOString().replace('.000', '');
const pin = { release: '9.6', by: 'alice', reason: 'nodes do not boot', since: time(0) };

/** The pins after a spec was looked at, from what an earlier look left. */
function look(
  pins: readonly PinEntry[],
  spec: BootImageSpec,
  minute: number,
  writers: PinWriters = {},
): readonly PinEntry[] {
  return pinsOf({ metadata: { name: 'ms-a' }, spec, status: { pins } }, at(minute), writers);
}

const pinned = look([], { pin }, 1);
const said = (entries: readonly PinEntry[]): readonly unknown[] =>
  entries.map(({ by, reason, liftedAt, liftedBy, liftedReason }) => [by, reason, liftedAt, liftedBy, liftedReason]);

test('FIND-18: who pinned a machine set and why stays after the pin is lifted, with who lifted it, when and why', () => {
  assert.deepEqual(pinned, [{ id: pinned[0]?.id, ...pin }]);
  const lifted = { by: 'bob', since: time(5), reason: 'fixed in 9.8' };
  const after = look(pinned, { lifted }, 6);
  assert.deepEqual(said(after), [['alice', 'nodes do not boot', time(5), 'bob', 'fixed in 9.8']]);
  assert.equal(look(after, { lifted }, 7), after, 'nothing is written again');
});

test('FIND-18: a pin that stays is one entry, and its end may change', () => {
  assert.equal(look(pinned, { pin }, 2), pinned);
  const longer = look(pinned, { pin: { ...pin, until: time(50) } }, 2);
  assert.deepEqual(longer, [{ ...pinned[0], until: time(50) }]);
  assert.deepEqual(look(longer, { pin }, 3), pinned);
  const { since: _, ...unsigned } = { release: '9.6', since: time(0) };
  const first = look([], { pin: unsigned }, 1);
  assert.deepEqual([first[0]?.since, look(first, { pin: unsigned }, 9)], [time(1), first]);
});

test('FIND-18: a pin ends by its time, by another pin, or by a hand that left no name', () => {
  const short = look([], { pin: { ...pin, until: time(5) } }, 1);
  assert.deepEqual(said(look(short, { pin: { ...pin, until: time(5) } }, 6)), [
    ['alice', 'nodes do not boot', time(5), 'drydock', 'the pin lapsed'],
  ]);
  const other = { release: '9.5', by: 'carol', since: time(3) };
  assert.deepEqual(said(look(pinned, { pin: other }, 4)), [
    ['carol', undefined, undefined, undefined, undefined],
    ['alice', 'nodes do not boot', time(3), 'carol', 'another pin replaced it'],
  ]);
  const earlier = { by: 'bob', since: new Date(at(0).getTime() - 1000).toISOString() };
  const removed = look(pinned, { lifted: earlier }, 4);
  assert.deepEqual([removed.length, removed[0]?.liftedAt, removed[0]?.liftedBy], [1, time(4), 'unknown']);
  assert.match(
    removed[0]?.liftedReason ?? '',
    /^spec\.pin was removed between 2026-01-01T09:00:00Z and 2026-01-01T09:04:00Z by a client that left no name, such as kubectl edit; only the audit log .* has the user$/,
  );
});

test('FIND-18: the same pin again is an entry of its own, and twenty are kept', () => {
  const { since: _, ...unsigned } = pin;
  let pins: readonly PinEntry[] = [];
  for (let round = 0; round < 30; round += 1) {
    pins = look(pins, { pin: unsigned }, round * 2);
    pins = look(pins, {}, round * 2 + 1);
  }
  assert.equal(pins.length, 20);
  assert.equal(new Set(pins.map(({ id }) => id)).size, 20);
  assert.equal(pins[0]?.liftedAt, time(59));
});

test('FIND-18: texts that are too long are cut, so that a status stays small', () => {
  const image: BootImage = { metadata: { name: 'ms-a' }, spec: { pin: { ...pin, reason: 'x'.repeat(5000) } } };
  assert.ok((pinsOf(image, at(1))[0]?.reason ?? '').length < 1100);
});

test('FIND-18: a pin that a plain client wrote names its field manager, and so does the lifting where a client left one', () => {
  const owner = { manager: 'kubectl-edit', time: time(0) };
  const plain = { release: '9.6' };
  const held = look([], { pin: plain }, 1, { owner });
  assert.deepEqual([held[0]?.by, held[0]?.since], ['kubectl-edit', time(0)]);
  assert.equal(look(held, { pin: plain }, 2), held, 'known without a further read');
  const applied = { manager: 'kubectl-client-side-apply', time: time(5) };
  const lifted = look(held, {}, 6, { last: applied, seen: time(1) });
  assert.deepEqual(said(lifted), [
    ['kubectl-edit', undefined, time(5), 'kubectl-client-side-apply', lifted[0]?.liftedReason],
  ]);
  assert.match(
    lifted[0]?.liftedReason ?? '',
    /^spec\.pin was removed with or before a write of this client; only the audit log .* has the user$/,
  );
  // It wrote before Drydock saw the pin: it lifted nothing.
  const earlier = look(held, {}, 6, { last: { ...applied, time: time(0) }, seen: time(3) });
  assert.deepEqual([earlier[0]?.liftedBy, earlier[0]?.liftedAt], ['unknown', time(6)]);
  assert.match(earlier[0]?.liftedReason ?? '', /between 2026-01-01T09:03:00Z and 2026-01-01T09:06:00Z/);
});
