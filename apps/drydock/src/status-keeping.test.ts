import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { ledgerName, losses } from '@drydock/crd';
import {
  type EventInput,
  type KubeObject,
  kubeMetrics,
  type Resource,
  readStatusNote,
  statusChannel,
} from '@drydock/kube';
import { memoryCluster, SCENARIO_CRDS, settle, virtualClock, WIDGET } from '@drydock/kube/testing';
import { pino } from 'pino';
import { statusKeeping, statusKeepingRules } from './status-keeping.ts';

const log = pino({ level: 'silent' });
const where = { namespace: 'default', name: ledgerName(WIDGET) };
const widget = WIDGET as unknown as Resource<never>;

function rig() {
  const cluster = memoryCluster({ crds: SCENARIO_CRDS });
  const clock = virtualClock();
  const recorded: (EventInput & { readonly about: string })[] = [];
  const events = {
    record: (_resource: unknown, { metadata }: KubeObject, event: EventInput): void =>
      void recorded.push({ ...event, about: metadata.name }),
  };
  const channel = statusChannel({ registry: kubeMetrics().registry, events, clock });
  const keepers = statusKeeping('test', {
    ...{ client: cluster.client(), namespace: 'default', channel, events, log, clock, release: 'drydock test' },
  });
  return { cluster, clock, recorded, channel, keepers };
}

const origin = { schemaHash: 'h', firstSeen: '2026-01-01T00:00:00Z', release: 'r' };

test('what a ledger holds of objects that are gone, or that are others of the same name, is forgotten; the rest stays', async () => {
  const { cluster, clock, keepers } = rig();
  const { ledger } = keepers.of(widget);
  const names = ['kept', 'gone', 'another'];
  for (const name of names) {
    cluster.put(WIDGET, { namespace: 'default', name }, { spec: { size: 1 } });
    const { uid = '' } = cluster.peek(WIDGET, { namespace: 'default', name })?.metadata ?? {};
    const subject = {
      uid: name === 'another' ? 'an-earlier-one' : uid,
      object: `default/${name}`,
      resourceVersion: '1',
    };
    await ledger?.grow(subject, losses({ phase: 'Ready' }, {}), origin, {});
  }
  cluster.put(WIDGET, { namespace: 'default', name: 'gone' }, undefined);
  const stop = new AbortController();
  const swept = keepers.sweeper.run(stop.signal);
  const held = (): number => Object.keys(cluster.peek(ConfigMap, where)?.data ?? {}).length;
  await clock.advance(60_000);
  assert.equal(held(), 3, 'not at once: a start has other things to do');
  await clock.advance(10 * 60_000);
  await settle();
  assert.equal(held(), 1);
  stop.abort();
  await swept;
});

test('what happens to a status reaches the Events, the note and the readiness; a ledger of somebody else is told once read', async () => {
  const { cluster, recorded, channel, keepers } = rig();
  cluster.put(ConfigMap, where, { data: { x: 'theirs' } });
  const { ledger, tell, release } = keepers.of(widget);
  assert.equal(release, 'drydock test');
  assert.deepEqual((await ledger?.view('u'))?.entries, []);
  const object = { metadata: { name: 'a', namespace: 'default', uid: 'u' } };
  tell?.({ kind: 'blocked', uid: 'u', object, why: 'no', causes: [] });
  assert.equal(readStatusNote(channel.annotations() as Record<string, string>)?.blocked, 1);
  tell?.({ kind: 'quarantined', uid: 'u', object, lost: [], places: ['status.a'], schemaHash: 'h', again: false });
  tell?.({ kind: 'unblocked', uid: 'u', object });
  tell?.({ kind: 'restored', uid: 'u', object });
  tell?.({ kind: 'gone', uid: 'u', object: undefined });
  assert.equal(channel.check(), undefined);
  assert.deepEqual(
    recorded.map(({ about, reason }) => `${about} ${reason}`),
    [
      `${where.name} LedgerProblem`,
      'a StatusWriteBlocked',
      'a StatusDegraded',
      'a StatusWriteResumed',
      'a StatusRestored',
    ],
  );
  assert.match(recorded[0]?.note ?? '', /the ledger cannot be read: .*it lacks the labels of Drydock/);
});

test('the rules of a role name each of its ConfigMaps', () => {
  assert.deepEqual(statusKeepingRules([widget])[0]?.resourceNames, [where.name]);
});
