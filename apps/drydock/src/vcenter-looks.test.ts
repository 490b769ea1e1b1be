import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { memoryCluster, settle, virtualClock } from '@drydock/kube/testing';
import type { VCenter } from '@drydock/vsphere';
import { type LookedPlace, vcenterLooks } from './vcenter-looks.ts';
import { VCENTERS, vcenterHealth, vcenterNotes } from './vcenter-notes.ts';

const namespace = 'ops';
const place = (failureDomain: string, datastore: string): LookedPlace => ({
  ...{ server: 'vc1', datacenter: 'dc1', failureDomain, datastore },
});

interface Rig {
  readonly looks: string[];
  fails: boolean;
  connection: VCenter | undefined;
}

function connectionOf(rig: Rig): VCenter {
  const call = <T>(name: string, value: T): Promise<T> => {
    rig.looks.push(name);
    return rig.fails ? Promise.reject(new Error('no answer came')) : Promise.resolve(value);
  };
  return {
    about: () => call('about', { version: '8.0.3', build: '24022510' }),
    sessions: () => call('sessions', { user: 'u', count: 2 }),
    findByPath: (path: string) =>
      call(`find ${path}`, path.endsWith('gone') ? undefined : { type: 'Datastore', value: path }),
    datastore: () => call('datastore', { name: 'ds', freeSpace: 7, capacity: 70, accessible: true }),
  } as unknown as VCenter;
}

test('who leads says once a minute how the vCenters are in which there is a session, and makes none', async () => {
  const clock = virtualClock(Date.now());
  const cluster = memoryCluster({ namespaces: [namespace] });
  const client = cluster.client();
  const rig: Rig = { looks: [], fails: false, connection: undefined };
  const service = vcenterLooks({
    vcenters: {
      loggedIn: () => (rig.connection === undefined ? [] : [{ server: 'vc1', connection: rig.connection }]),
      of: () => Promise.resolve(rig.connection ?? assert.fail('nobody asked for a session')),
      during: (_server, work) => work(),
    },
    places: async () => [
      place('fd1', '/dc1/datastore/ds1'),
      place('fd2', 'ds1'),
      place('fd3', 'gone'),
      place('fd4', ''),
    ],
    notes: vcenterNotes(client, namespace),
    log: { warn: () => undefined },
    clock,
  });
  const stop = new AbortController();
  const running = service.run(stop.signal);
  const pass = async (seconds: number): Promise<void> => {
    for (let at = 0; at < seconds; at += 5) {
      await clock.advance(5000);
      await settle();
    }
  };
  const said = async () => vcenterHealth(client, { namespace, now: clock.date(), signal: stop.signal });
  await pass(120);
  assert.deepEqual([rig.looks, await said()], [[], { kind: 'read', value: [] }]);

  rig.connection = connectionOf(rig);
  await pass(5);
  const first = await said();
  assert.ok(first.kind === 'read');
  const { asOf, ...rest } = first.value[0] ?? assert.fail('it was said');
  assert.deepEqual(rest, {
    ...{ server: 'vc1', version: '8.0.3 build 24022510', sessions: 2 },
    datastores: [
      { path: '/dc1/datastore/ds1', failureDomains: ['fd1', 'fd2'], accessible: true, free: 7, capacity: 70 },
      { path: '/dc1/datastore/gone', failureDomains: ['fd3'], accessible: false, free: 0 },
    ],
  });
  const before = rig.looks.filter((call) => call === 'about').length;
  await pass(300);
  assert.equal(rig.looks.filter((call) => call === 'about').length - before, 5);

  // What fails is told, and a session anew is looked at without a wait.
  rig.fails = true;
  rig.connection = connectionOf(rig);
  await pass(5);
  const failed = await said();
  assert.ok(failed.kind === 'read');
  assert.match(failed.value[0]?.trouble ?? '', /no answer came/);
  assert.notEqual(failed.value[0]?.asOf, asOf);

  stop.abort();
  await running;
  assert.equal(clock.sleeping, 0);
});

test('what a former leader says late replaces nothing, what nobody renewed for a day is forgotten, and nonsense is nothing', async () => {
  const cluster = memoryCluster({ namespaces: [namespace] });
  const client = cluster.client();
  const notes = vcenterNotes(client, namespace);
  const now = new Date('2026-08-02T12:00:00Z');
  const signal = new AbortController().signal;
  const read = async () => {
    const found = await vcenterHealth(client, { namespace, now, signal });
    assert.ok(found.kind === 'read');
    return found.value.map(({ server, asOf }) => `${server} ${asOf}`);
  };
  await notes.say({ server: 'vc1', asOf: '2026-08-02T11:59:00Z', datastores: [] });
  await notes.say({ server: 'vc1', asOf: '2026-08-02T11:58:00Z', datastores: [] });
  await notes.say({ server: 'vc2', asOf: '2026-08-01T11:58:00Z', datastores: [] });
  assert.deepEqual(await read(), ['vc1 2026-08-02T11:59:00Z']);
  const map = await client.get(ConfigMap, { namespace, name: VCENTERS });
  const nonsense = [
    '',
    '{',
    '[]',
    '{"server":1}',
    '{"server":"x","asOf":"never"}',
    '{"server":"vc9","asOf":"2026-08-02T11:00:00Z","datastores":[1,{"path":2}]}',
  ];
  await client.replace(ConfigMap, {
    ...map,
    data: { ...map.data, ...Object.fromEntries(nonsense.map((text, at) => [`n${at}`, text])) },
  });
  assert.deepEqual(await read(), ['vc1 2026-08-02T11:59:00Z', 'vc9 2026-08-02T11:00:00Z']);
});
