import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImage, BootImageSpec } from '@drydock/api';
import { type PinEntry, pinsOf } from './pin-history.ts';

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 9, minute));
const time = (minute: number): string => at(minute).toISOString().replace('.000', '');
const pin = { release: '9.6', by: 'alice', reason: 'nodes do not boot', since: time(0) };

/** The pins after a spec was looked at, from what an earlier look left. */
function look(pins: readonly PinEntry[], spec: BootImageSpec, minute: number): readonly PinEntry[] {
  return pinsOf({ metadata: { name: 'ms-a' }, spec, status: { pins } }, at(minute));
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
  assert.deepEqual(said(look(pinned, { lifted: earlier }, 4)), [
    ['alice', 'nodes do not boot', time(4), 'unknown', undefined],
  ]);
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
