import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle, virtualClock } from '@drydock/kube/testing';
import type { PageWorld } from '../state/page-world.ts';
import { type Feed, type FeedMessage, feed } from './feed.ts';

interface Rig {
  readonly state: Feed;
  readonly clock: ReturnType<typeof virtualClock>;
  reads: number;
  /** What the cluster says; an error where it cannot be read. */
  text: string | Error;
  watches: number;
  changed: () => void;
}

function rig(): Rig {
  const clock = virtualClock();
  const made: Rig = { state: undefined as never, clock, reads: 0, text: 'a', watches: 0, changed: () => undefined };
  const state = feed({
    clock,
    read: () => {
      made.reads += 1;
      return made.text instanceof Error ? Promise.reject(made.text) : Promise.resolve(worldOf(made.text));
    },
    triggers: (changed) => {
      made.watches += 1;
      made.changed = changed;
      return {
        [Symbol.asyncDispose]: () => {
          made.watches -= 1;
          return Promise.resolve();
        },
      };
    },
  });
  return Object.assign(made, { state });
}

function worldOf(text: string): PageWorld {
  return {
    ...{ now: new Date(), images: [], tree: { clusters: [], policies: [] }, leader: { state: 'led', text } },
    ...{ logins: [], releases: [], events: [], notes: [], vcenters: { kind: 'read', value: [] } },
  };
}

const told = (messages: readonly FeedMessage[]): readonly string[] => messages.map(({ event }) => event);

test('nothing is read or watched while nobody looks; the first who does starts it, the last ends it', async () => {
  const r = rig();
  await r.clock.advance(60_000);
  assert.deepEqual([r.reads, r.watches], [0, 0]);
  const got: FeedMessage[] = [];
  const one = r.state.subscribe(undefined, (message) => got.push(message));
  const two = r.state.subscribe(undefined, () => undefined);
  await r.clock.advance(0);
  await settle();
  assert.deepEqual([told(got), r.reads, r.watches], [['state'], 1, 1]);
  one[Symbol.dispose]();
  assert.equal(r.watches, 1);
  two[Symbol.dispose]();
  const { reads } = r;
  await r.clock.advance(60_000);
  assert.deepEqual([r.reads, r.watches], [reads, 0]);
});

test('FIND-16: who comes after a pause is sent what is so now, never what was so at the last look', async () => {
  const r = rig();
  r.state.subscribe(undefined, () => undefined)[Symbol.dispose]();
  await r.state.now();
  await r.clock.advance(60_000);
  r.text = 'b';
  const got: FeedMessage[] = [];
  using _reader = r.state.subscribe(undefined, (message) => got.push(message));
  await r.clock.advance(0);
  await settle();
  const [first] = got;
  assert.deepEqual(told(got), ['state']);
  assert.equal(first?.event === 'state' && first.data.head.leader.text, 'b');
  await r.state[Symbol.asyncDispose]();
});

test('a change is read at once, a storm of changes once a second, and silence is looked into', async () => {
  const r = rig();
  const got: FeedMessage[] = [];
  using _reader = r.state.subscribe(undefined, (message) => got.push(message));
  await r.clock.advance(0);
  await settle();
  await r.clock.advance(2000);
  const { reads } = r;
  r.text = 'b';
  r.changed();
  await r.clock.advance(0);
  await settle();
  assert.deepEqual([r.reads - reads, got.at(-1)?.event], [1, 'change']);
  const before = r.reads;
  for (let ms = 0; ms < 5000; ms += 50) {
    r.changed();
    await r.clock.advance(50);
    await settle();
  }
  assert.ok(r.reads - before <= 6 && r.reads - before >= 4, `${r.reads - before} reads in five seconds`);
  const quiet = r.reads;
  for (let ms = 0; ms < 30_000; ms += 500) {
    await r.clock.advance(500);
    await settle();
  }
  assert.ok(r.reads - quiet >= 3 && r.reads - quiet <= 5, `${r.reads - quiet} looks in half a minute of silence`);
  assert.equal(got.at(-1)?.event, 'seen');
  await r.state[Symbol.asyncDispose]();
});

test('who comes back gets what was missed, and everything where that is not known any more', async () => {
  const r = rig();
  const got: FeedMessage[] = [];
  const reader = r.state.subscribe(undefined, (message) => got.push(message));
  await r.clock.advance(0);
  await settle();
  using _other = r.state.subscribe(undefined, () => undefined);
  const last = got.findLast((message) => 'id' in message);
  reader[Symbol.dispose]();
  const next = async (text: string): Promise<void> => {
    r.text = text;
    r.changed();
    await r.clock.advance(1100);
    await settle();
  };
  await next('b');
  await next('c');
  const back = (id: string | undefined): readonly string[] => {
    const heard: FeedMessage[] = [];
    r.state.subscribe(id, (message) => heard.push(message))[Symbol.dispose]();
    return told(heard);
  };
  const id = last !== undefined && 'id' in last ? last.id : assert.fail();
  assert.deepEqual(back(id), ['change', 'change', 'seen']);
  assert.deepEqual(back(undefined), ['state']);
  assert.deepEqual(back('0123456789ab-1'), ['state'], 'of another process');
  assert.deepEqual(back(`${id.split('-')[0]}-99`), ['state'], 'from a time that has not come');
  for (let at = 0; at < 80; at += 1) await next(`storm ${at}`);
  assert.deepEqual(back(id), ['state'], 'too long ago');
  await r.state[Symbol.asyncDispose]();
});

test('a cluster that cannot be read is told, to those who come, too, and heals without anybody', async () => {
  const r = rig();
  r.text = new Error('the API server\ndoes not answer');
  const got: FeedMessage[] = [];
  using _reader = r.state.subscribe(undefined, (message) => got.push(message));
  await r.clock.advance(0);
  await settle();
  assert.deepEqual(got, [{ event: 'trouble', data: { text: 'the API server does not answer' } }]);
  await assert.rejects(r.state.now(), /does not answer/);
  r.text = 'a';
  for (let ms = 0; ms < 12_000; ms += 500) {
    await r.clock.advance(500);
    await settle();
  }
  assert.equal(got.find(({ event }) => event === 'state')?.event, 'state');
  await r.state[Symbol.asyncDispose]();
});
