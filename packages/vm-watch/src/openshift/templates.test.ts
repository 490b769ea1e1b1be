import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Machine, MachineSet } from '@drydock/api';
import { createCache, run } from '@drydock/kube';
import { memoryCluster, until } from '@drydock/kube/testing';
import { type Clock, systemClock } from '@drydock/vsphere';
import { pino } from 'pino';
import { type EstateVCenter, estate } from '../testing/estate.ts';
import { fastClock } from '../testing/synthetic-rig.ts';
import { links } from '../watch/links.ts';
import { MACHINE_UUID_INDEX, machineOf, machineUuids } from './machines.ts';
import { templatePlace } from './template-places.ts';
import { type TemplateChange, templateWatch } from './templates.ts';

const set = (template: string, workspace: object = {}): Partial<MachineSet> => ({
  spec: {
    template: {
      spec: {
        providerSpec: {
          value: { template, workspace: { server: 'vc1', datacenter: 'dc', folder: '/dc/vm/c', ...workspace } },
        },
      },
    },
  },
});

interface Rig extends AsyncDisposable {
  readonly vc1: EstateVCenter;
  readonly put: (name: string, set: Partial<MachineSet> | undefined) => void;
  readonly told: TemplateChange[];
  /** What happened to the machine named probe, and when folders began to be watched. */
  readonly probes: string[];
  readonly watched: () => readonly string[];
  readonly next: (what: string) => Promise<string>;
}

async function rig(clock: Clock = systemClock): Promise<Rig> {
  await using made = new AsyncDisposableStack();
  const vcenters = estate(clock);
  const vc1 = vcenters.vcenter('vc1');
  vc1.paths.set('/dc/vm/c', { type: 'Folder', value: 'f1' });
  vc1.feed.folders.add('f1');
  vc1.feed.folders.add('f2');
  const cluster = memoryCluster({ resources: [MachineSet], namespaces: ['api'] });
  const put: Rig['put'] = (name, object) => cluster.put(MachineSet, { namespace: 'api', name }, object);
  const client = made.use(cluster.client());
  const machineSets = createCache({ client, resource: MachineSet });
  const ways = made.use(links({ connect: vcenters.connect, credentials: () => ({ user: 'u', password: 'p' }) }));
  const log = pino({ level: 'silent' });
  const watch = templateWatch({ machineSets, links: ways, clock, log });
  const told: TemplateChange[] = [];
  const probes: string[] = [];
  watch.subscribe((change) => {
    if (change.name?.startsWith('probe') === true || change.kind === 'watched') probes.push(change.kind);
    else told.push(change);
  });
  made.use(
    await run({
      client,
      caches: { machineSets },
      controllers: [watch.controller],
      services: [watch.service],
      log,
      signal: new AbortController().signal,
    }),
  );
  const resources = made.move();
  let seen = 0;
  return {
    vc1,
    put,
    told,
    probes,
    watched: () =>
      ['api/a', 'api/b'].flatMap((id) => watch.service.holdings(id).map(({ ref }) => `${id} ${ref.value}`)),
    next: async (what) => {
      const change = await until(what, () => told[seen]);
      seen += 1;
      return [change.kind, change.server, change.name, change.to].filter((part) => part !== undefined).join(' ');
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

test('whoever looked when he heard that a template is watched is told when what he saw came and went unheard', async () => {
  await using world = await rig();
  const { vc1 } = world;
  vc1.create('f1', 't1', undefined, { 'config.template': 'true' });
  world.put('a', set('t1'));
  await until('it is watched', () => world.probes.includes('watched'));
  vc1.create('f1', 'probe', undefined, { 'config.template': 'true' });
  let names = 0;
  await until('the watch is live', () => {
    names += 1;
    vc1.feed.set('probe', 'name', `probe-${names}`);
    return world.probes.length > 1;
  });
  vc1.feed.mute = true;
  vc1.feed.set('t1', 'name', 'in between');
  vc1.feed.set('t1', 'name', 't1');
  vc1.feed.mute = false;
  vc1.feed.endSession();
  assert.equal(await world.next('there and back'), 'changed vc1 t1');
});

test('a template that is destroyed, renamed, moved or turned into a machine is told at once; ordinary machines are not', async () => {
  await using world = await rig();
  const { vc1 } = world;
  const template = { 'config.template': 'true' };
  for (const name of ['t1', 't2', 't3', 't4']) vc1.create('f1', name, undefined, template);
  vc1.create('f1', 'worker');
  world.put('a', set('t1'));
  world.put('b', set('plain'));
  await until('the folder is watched', () => world.watched().length === 2 && vc1.feed.open === 1);
  vc1.create('f1', 'probe', undefined, template);
  let names = 0;
  await until('what was there is known', () => {
    names += 1;
    vc1.feed.set('probe', 'name', `probe-${names}`);
    return world.probes.includes('renamed');
  });
  assert.equal(world.probes[0], 'watched', 'whoever looked before has to look again');
  vc1.feed.set('worker', 'name', 'worker-2');
  vc1.feed.destroy('worker');
  vc1.feed.destroy('t1');
  assert.equal(await world.next('destroyed'), 'destroyed vc1 t1');
  vc1.feed.set('t2', 'name', 't2-old');
  assert.equal(await world.next('renamed'), 'renamed vc1 t2 t2-old');
  vc1.feed.set('t3', 'config.template', 'false');
  assert.equal(await world.next('converted'), 'converted vc1 t3');
  vc1.feed.move('t4', 'f2');
  assert.equal(await world.next('moved'), 'moved vc1 t4');
  // A set refers to it: whatever it is, it concerns the set.
  vc1.create('f1', 'plain');
  assert.equal(await world.next('a referenced machine'), 'created vc1 plain');
  vc1.feed.destroy('plain');
  assert.equal(await world.next('its end'), 'destroyed vc1 plain');
});

test('folders are watched as long as a set needs them, and one that appears later as soon as it is seen', async () => {
  await using world = await rig();
  world.put('a', set('t1'));
  world.put('b', set('t1'));
  await until('both want the folder', () => world.watched().length === 2);
  world.put('b', set('t1', { folder: '/dc/vm/nowhere' }));
  await until('one wants it', () => world.watched().join() === 'api/a f1');
  world.put('a', undefined);
  await until('nobody wants it', () => world.watched().length === 0);
  const told = world.probes.length;
  world.put('a', set('t1'));
  await until('whoever looked while nobody watched has to look again', () => world.probes.length > told);
  assert.equal(world.probes.at(-1), 'watched');
});

test('the place of a template is read from the providerSpec', () => {
  const place = (of: Partial<MachineSet>): unknown => templatePlace({ metadata: { name: 'a' }, ...of });
  assert.deepEqual(place(set('t')), { server: 'vc1', folders: ['/dc/vm/c'], name: 't' });
  assert.deepEqual(place(set('/dc/vm/images/t', { folder: '' })), {
    server: 'vc1',
    folders: ['/dc/vm', '/dc/vm/images'],
    name: 't',
  });
  assert.deepEqual(place(set('t', { folder: 'x/y/' })), { server: 'vc1', folders: ['/dc/vm/x/y'], name: 't' });
  assert.equal(place({ spec: {} }), undefined);
  assert.equal(place(set('t', { server: 7 })), undefined);
});

test('SAFE-11 a set that names what no vCenter can have is no place: nobody is asked for it', () => {
  const place = (of: Partial<MachineSet>): unknown => templatePlace({ metadata: { name: 'a' }, ...of });
  assert.equal(place(set('t', { folder: '/dc/vm/a\u0001b' })), undefined);
  assert.equal(place(set('t\ud800')), undefined);
  assert.equal(place(set('x'.repeat(1_300_000))), undefined);
});

test('an OpenShift Machine is found by the UUID of its virtual machine', async () => {
  const machine = (name: string, providerID: string | undefined, instanceId?: string): Machine => ({
    metadata: { namespace: 'api', name },
    spec: providerID === undefined ? {} : { providerID },
    ...(instanceId === undefined ? {} : { status: { providerStatus: { instanceId } } }),
  });
  assert.deepEqual(machineUuids(machine('m', 'vsphere://B-VM-1', 'b-vm-1')), ['b-vm-1']);
  assert.deepEqual(machineUuids(machine('m', undefined, 'b-vm-2')), ['b-vm-2']);
  assert.deepEqual(machineUuids(machine('m', 'aws:///x')), []);

  const cluster = memoryCluster({ resources: [Machine], namespaces: ['api'] });
  await using client = cluster.client();
  for (const [name, id] of [
    ['m1', 'u-1'],
    ['m2', 'u-2'],
    ['m3', 'u-2'],
  ] as const)
    cluster.put(Machine, { namespace: 'api', name }, machine(name, `vsphere://${id}`));
  await using machines = createCache({ client, resource: Machine, indexes: { [MACHINE_UUID_INDEX]: machineUuids } });
  await machines.synced;
  const feed = {
    property: async ({ value }: { readonly value: string }) =>
      value === 'gone' ? undefined : { uri: '', name: 'val', attributes: [], children: [value.toUpperCase()] },
  };
  const owner = (value: string): Promise<string | undefined> =>
    machineOf(feed, machines, { type: 'VirtualMachine', value });
  assert.equal(await owner('u-1'), 'api/m1');
  assert.deepEqual([await owner('u-2'), await owner('u-3'), await owner('gone')], [undefined, undefined, undefined]);
});

test('another vCenter under the same address: the folder is found by its path again, and everybody is told to look', async () => {
  await using world = await rig();
  const { vc1 } = world;
  vc1.feed.create('f1', 'vm-1', { name: 'one', 'config.template': 'true' });
  world.put('a', set('one'));
  await until('it is watched', () => world.watched().join() === 'api/a f1' && world.probes.includes('watched'));
  const before = world.probes.length;
  vc1.feed.replace();
  vc1.paths.set('/dc/vm/c', { type: 'Folder', value: 'f7' });
  vc1.feed.create('f7', 'vm-1', { name: 'another', 'config.template': 'true' });
  await until('the new folder is watched', () => world.watched().join() === 'api/a f7');
  await until('it is told', () => world.probes.length > before);
  assert.deepEqual(new Set(world.probes), new Set(['watched']));
  assert.deepEqual(world.told, [], 'what the two call by one reference is not compared');
  vc1.feed.create('f7', 'vm-2', { name: 'one', 'config.template': 'true' });
  assert.equal(await world.next('the template'), 'created vc1 one');
});

test('SAFE-6 a folder that is removed and made again under the same path is watched again', async () => {
  await using world = await rig(fastClock(500));
  const { vc1 } = world;
  vc1.create('f1', 't1', undefined, { 'config.template': 'true' });
  world.put('a', set('t1'));
  await until('the folder is watched', () => world.watched().join() === 'api/a f1' && vc1.feed.open === 1);
  vc1.feed.folders.delete('f1');
  vc1.paths.set('/dc/vm/c', { type: 'Folder', value: 'f5' });
  vc1.feed.folders.add('f5');
  await until('the new one is watched', () => world.watched().join() === 'api/a f5');
});
