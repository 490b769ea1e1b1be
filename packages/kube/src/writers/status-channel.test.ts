import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import type { KubeObject } from '../resource.ts';
import { CONFIG_MAP, type ConfigMap } from '../testing/server.ts';
import type { EventInput } from './events.ts';
import { readStatusNote, STATUS_NOTE, type StatusNotice, statusChannel } from './status-channel.ts';

function rig() {
  const events: (EventInput & { readonly name: string })[] = [];
  const registry = new Registry();
  let at = 0;
  const clock = { now: () => at, date: () => new Date(at), sleep: () => Promise.resolve() };
  const record = (_resource: unknown, { metadata }: KubeObject, event: EventInput): void =>
    void events.push({ ...event, name: metadata.name });
  const channel = statusChannel({ registry, events: { record }, clock });
  const about = (name: string) => ({ resource: CONFIG_MAP, uid: name, object: { metadata: { name, namespace: 'n' } } });
  return {
    channel,
    events,
    pass: (ms: number) => {
      at += ms;
    },
    tell: (name: string, notice: { readonly kind: StatusNotice<ConfigMap>['kind']; readonly [key: string]: unknown }) =>
      channel.tell({ ...about(name), ...notice } as StatusNotice<ConfigMap>),
    note: () => readStatusNote(channel.annotations() as Readonly<Record<string, string>>),
    metrics: async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('drydock_status')),
  };
}

const degraded = { kind: 'degraded', places: ['status.a', 'status.b[]'], values: 3 } as const;
const blocked = { kind: 'blocked', why: 'the server refuses it', causes: ['status.c Required'] } as const;

test('what is blocked is an Event, a gauge, a note on the Lease and a remark, and all of them end with it', async () => {
  const { channel, events, metrics, note, pass, tell } = rig();
  assert.deepEqual(channel.annotations(), { [STATUS_NOTE]: undefined });
  tell('a', degraded);
  pass(1_000);
  tell('a', blocked);
  tell('b', blocked);
  const named = { definition: 'configmaps', state: 'blocked', since: '1970-01-01T00:00:01.000Z' };
  const why = 'the server refuses it: status.c Required';
  assert.deepEqual(note(), {
    degraded: 0,
    blocked: 2,
    named: [
      { ...named, object: 'n/a', why },
      { ...named, object: 'n/b', why },
    ],
    more: 0,
  });
  assert.deepEqual(await metrics(), [
    'drydock_status_write_blocked{definition="configmaps"} 2',
    'drydock_status_quarantined_values{definition="configmaps"} 3',
  ]);
  assert.deepEqual(channel.check(), {
    remark: `statuses: 2 not written; configmaps n/a is blocked: ${why}`,
  });
  tell('a', { kind: 'unblocked' });
  assert.deepEqual(note()?.named.at(-1), {
    ...{ definition: 'configmaps', object: 'n/a', state: 'degraded', since: '1970-01-01T00:00:00.000Z' },
    why: 'left out: status.a, status.b[]',
  });
  tell('a', { kind: 'restored' });
  tell('b', { kind: 'gone' });
  assert.deepEqual([channel.annotations(), channel.check()], [{ [STATUS_NOTE]: undefined }, undefined]);
  assert.deepEqual(await metrics(), [
    'drydock_status_write_blocked{definition="configmaps"} 0',
    'drydock_status_quarantined_values{definition="configmaps"} 0',
  ]);
  assert.deepEqual(
    events.map(({ name, reason, type }) => `${name} ${type} ${reason}`),
    [
      'a Warning StatusDegraded',
      'a Warning StatusWriteBlocked',
      'b Warning StatusWriteBlocked',
      'a Normal StatusWriteResumed',
      'a Normal StatusRestored',
    ],
  );
});

test('the note stays small whatever happens, and one that nobody can read is none', () => {
  const { channel, note, tell } = rig();
  for (let index = 0; index < 500; index += 1)
    tell(`a${index}`, { ...blocked, causes: Array.from({ length: 100 }, () => 'status.some.long.path Invalid') });
  assert.deepEqual([note()?.blocked, note()?.named.length, note()?.more], [500, 20, 480]);
  assert.ok((channel.annotations()[STATUS_NOTE]?.length ?? 0) < 16_384);
  for (const text of ['', '{', 'null', '[]', '{"named":3}'])
    assert.equal(readStatusNote({ [STATUS_NOTE]: text }), undefined);
  assert.deepEqual(readStatusNote({ [STATUS_NOTE]: '{"named":[{"object":3}],"degraded":1}' })?.named, []);
});
