import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, type Event } from '@drydock/api';
import pino from 'pino';
import type { Client } from '../client/client.ts';
import { ApiError } from '../errors.ts';
import { type VirtualClock, virtualClock } from '../testing/clock.ts';
import { type EventInput, type EventRecorder, eventRecorder } from './events.ts';

const image: BootImage = { metadata: { name: 'ms-a', namespace: 'machines', uid: 'u1', resourceVersion: '7' } };
const switched: EventInput = {
  type: 'Normal',
  reason: 'Switched',
  action: 'Switch',
  note: 'now starts from 9.8 (operation 1f)',
};

interface Rig {
  readonly events: Map<string, Event>;
  readonly clock: VirtualClock;
  readonly recorder: EventRecorder;
  patches: number;
  fail: number;
}

function rig(): Rig {
  const events = new Map<string, Event>();
  const clock = virtualClock();
  const check = (): void => {
    if (made.fail-- > 0) throw new ApiError({ code: 'Unavailable', action: 'create Event', said: 'no' });
  };
  const client = {
    create: async (_: unknown, event: Event) => {
      check();
      events.set(event.metadata.name, event);
      return event;
    },
    mergePatch: async (_: unknown, key: { name: string }, patch: Partial<Event>) => {
      made.patches++;
      const known = events.get(key.name);
      if (known === undefined) throw new ApiError({ code: 'NotFound', action: 'patch Event', said: 'gone' });
      const event = { ...known, ...patch };
      events.set(key.name, event);
      return event;
    },
  };
  const log = pino({ level: 'silent' });
  const recorder = eventRecorder({
    client: client as unknown as Client,
    controller: 'drydock.dev/test',
    instance: 'pod',
    log,
    clock,
  });
  const made: Rig = { events, clock, recorder, patches: 0, fail: 0 };
  return made;
}

test('an event has what the API demands: six fractional digits, the namespace of its object, its reporter', async () => {
  const { events, recorder } = rig();
  recorder.record(BootImage, image, switched);
  await recorder.flush();
  const [event] = events.values();
  assert.match(event?.eventTime ?? '', /\.\d{6}Z$/);
  assert.equal(event?.metadata.namespace, 'machines');
  assert.equal(event?.reportingController, 'drydock.dev/test');
  assert.equal(event?.series, undefined);
  assert.deepEqual(event?.regarding, {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'BootImage',
    name: 'ms-a',
    namespace: 'machines',
    uid: 'u1',
    resourceVersion: '7',
  });
});

test('repeats become a series of one event, written rarely; another note is another event', async () => {
  const made = rig();
  for (let n = 0; n < 50; n++) {
    made.recorder.record(BootImage, image, switched);
    await made.clock.advance(1_000);
  }
  made.recorder.record(BootImage, image, { ...switched, note: 'another' });
  await made.recorder.flush();
  assert.equal(made.events.size, 2);
  const [first] = made.events.values();
  assert.equal(first?.series?.count, 50);
  assert.ok(made.patches <= 3, `${made.patches} patches`);
});

test('a series ends after six idle minutes, and one whose event expired goes on in a new one', async () => {
  const made = rig();
  made.recorder.record(BootImage, image, switched);
  await made.clock.advance(6 * 60_000);
  made.recorder.record(BootImage, image, switched);
  await made.recorder.flush();
  assert.equal(made.events.size, 2);
  made.events.clear();
  made.recorder.record(BootImage, image, switched);
  await made.recorder.flush();
  const [event] = made.events.values();
  assert.equal(event?.series?.count, 2);
});

test('a passing failure is retried, a lasting one is given up, and disposing never hangs', async () => {
  const made = rig();
  made.fail = 2;
  made.recorder.record(BootImage, image, switched);
  await made.clock.advance(10_000);
  assert.equal(made.events.size, 1);
  made.fail = 1e9;
  made.recorder.record(BootImage, image, { ...switched, note: 'lost' });
  const disposed = made.recorder[Symbol.asyncDispose]();
  await made.clock.advance(5_000);
  await disposed;
  assert.equal(made.events.size, 1);
  assert.equal(made.clock.sleeping, 0);
});

test('long notes are cut at a character boundary within 1,024 bytes', async () => {
  const { events, recorder } = rig();
  recorder.record(BootImage, image, { ...switched, note: 'ä'.repeat(2_000) });
  await recorder.flush();
  const note = [...events.values()][0]?.note ?? '';
  assert.ok(Buffer.byteLength(note) <= 1_024 && note.endsWith('ä…'), note.slice(-5));
});

test('an object whose name no Event can bear, or only in part, is told of all the same', async () => {
  const { events, recorder } = rig();
  const names = ['system:node', `${'a'.repeat(229)}-${'b'.repeat(20)}`, `${'a'.repeat(220)}.-${'.b'.repeat(14)}`];
  for (const name of names) recorder.record(BootImage, { metadata: { name } }, switched);
  await recorder.flush();
  assert.deepEqual(
    [...events.values()].map(({ regarding }) => regarding?.name),
    names,
  );
  // RFC 1123 subdomains, as the API server wants names.
  for (const name of events.keys()) {
    assert.ok(name.length <= 253, name);
    assert.match(name, /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/);
  }
});
