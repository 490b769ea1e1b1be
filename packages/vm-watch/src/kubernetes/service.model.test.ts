import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { generator, seeds, virtualClock, withSeed } from '@drydock/model';
import type { Credentials } from '@drydock/vsphere';
import type { KnownObject, Lookup } from '../delivery/resolve.ts';
import { estate } from '../testing/estate.ts';
import { lost } from '../testing/memory-feed.ts';
import { links } from '../watch/links.ts';
import { WatchService } from './service.ts';

const FILE = 'packages/vm-watch/src/kubernetes/service.model.test.ts';
const SERVERS = ['vc1', 'vc2'] as const;
const FOLDERS = ['f1', 'f2'] as const;
const VMS = ['vm-1', 'vm-2', 'vm-3', 'vm-4'] as const;

/**
 * Two vCenters with equal references, of which passwords are rotated, sessions ended, connections cut, servers switched off, folders added and dropped, objects created and deleted, and whose
 * consumer is slow; sometimes another vCenter takes the place of one. '' when everything that has an object was looked at since its last change. `deaf`: nobody hears of new
 * credentials; `blind`: nobody looks again at what the watch finds when it begins. Both must be caught.
 */
async function play(seed: number, { deaf = false, blind = false } = {}): Promise<string> {
  const random = generator(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const clock = virtualClock();
  const vcenters = estate(clock);
  const secret = new Map<string, Credentials>();
  const objects = new Map<string, KnownObject>();
  const looked = new Map<string, string>();
  let calm = false;
  let count = 0;
  const look = (id: string): void => {
    const [server = '', vm = ''] = id.split(' ');
    looked.set(id, vcenters.vcenter(server).feed.describe(vm));
  };
  for (const server of SERVERS) {
    const vcenter = vcenters.vcenter(server);
    vcenter.password = 'p0';
    secret.set(server, { user: 'u', password: 'p0' });
    for (const folder of FOLDERS) vcenter.feed.folders.add(folder);
    for (const vm of VMS) {
      vcenter.create(pick(FOLDERS), vm, `${server}/${vm}`);
      const known = { namespace: server, name: vm, uniqueId: vm, deleting: false };
      objects.set(`${server} ${vm}`, known);
      look(`${server} ${vm}`);
    }
    vcenter.feed.onCall = (call) => {
      if (calm || random() > 0.1) return;
      if (random() < 0.3) vcenter.feed.endSession();
      throw lost(call);
    };
  }
  const ways = links({
    connect: vcenters.connect,
    credentials: (server) => {
      const found = secret.get(server);
      if (found === undefined) throw new Error('the secret is not there');
      return found;
    },
  });
  const lookup = (server: string): Lookup => ({
    named: (namespace, name) => (namespace === server ? objects.get(`${server} ${name}`) : undefined),
    byUniqueId: (id) => [objects.get(`${server} ${id}`)].filter((one) => one !== undefined),
  });
  const service = new WatchService({
    name: 'vms',
    links: ways,
    lookup,
    clock,
    log: { info: () => undefined, warn: () => undefined },
    random,
    onBaseline: (server, ref) => {
      if (!blind) look(`${server} ${ref.value}`);
    },
    deliver: async (server, { ref }) => {
      if (!calm && random() < 0.3) await tick();
      if (!calm && random() < 0.15) throw new Error('the queue is full');
      look(`${server} ${ref.value}`);
    },
  });
  const stop = new AbortController();
  const running = service.run(stop.signal);
  const settle = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) await tick();
  };
  const wanted = new Set<string>();
  const want = (server: string, folder: string, id: string): void => {
    wanted.add(`${server} ${folder} ${id}`);
    void service.add(server, { type: 'Folder', value: folder }, id);
  };
  for (const server of SERVERS) for (const folder of FOLDERS) want(server, folder, 'zone');
  // The hash function is loaded, which takes its time apart from the clock.
  while (service.reports().length < SERVERS.length) await tick();
  for (let step = 0; step < 60; step += 1) {
    const server = pick(SERVERS);
    const vcenter = vcenters.vcenter(server);
    const vm = pick(VMS);
    const id = `${server} ${vm}`;
    const roll = random();
    count += 1;
    if (roll < 0.45) vcenter.feed.set(vm, pick(['name', 'config.annotation', 'snapshot']), `v${count}`);
    else if (roll < 0.5) vcenter.feed.move(vm, pick(FOLDERS));
    else if (roll < 0.55) vcenter.feed.endSession();
    else if (roll < 0.56) {
      vcenter.feed.replace();
      for (const folder of FOLDERS) vcenter.feed.folders.add(folder);
      for (const one of VMS) vcenter.create(pick(FOLDERS), one, `${server}/${one}`, { name: `${one} of ${count}` });
    } else if (roll < 0.6) vcenter.down = !vcenter.down;
    else if (roll < 0.67) {
      vcenter.password = `p${count}`;
      if (random() < 0.5) vcenter.feed.endSession();
    } else if (roll < 0.74) {
      secret.set(server, { user: 'u', password: random() < 0.8 ? (vcenter.password ?? '') : 'wrong' });
      if (!deaf) ways.refresh();
    } else if (roll < 0.8) {
      if (!objects.delete(id)) {
        objects.set(id, { namespace: server, name: vm, uniqueId: vm, deleting: false });
        look(id);
        service.claimed(server, { uniqueId: vm, namespacedName: `${server}/${vm}` });
      }
    } else if (roll < 0.86) {
      const folder = pick(FOLDERS);
      if (wanted.delete(`${server} ${folder} more`))
        void service.remove(server, { type: 'Folder', value: folder }, 'more');
      else want(server, folder, 'more');
    } else clock.advance(Math.floor(random() * 30_000));
    await settle(Math.floor(random() * 8));
  }
  calm = true;
  for (const server of SERVERS) {
    const vcenter = vcenters.vcenter(server);
    vcenter.down = false;
    secret.set(server, { user: 'u', password: vcenter.password ?? '' });
  }
  if (!deaf) ways.refresh();
  for (let round = 0; round < 60; round += 1) {
    await settle(6);
    clock.advance(10_000);
  }
  const missed = [...objects.keys()].filter((id) => {
    const [server = '', vm = ''] = id.split(' ');
    return looked.get(id) !== vcenters.vcenter(server).feed.describe(vm);
  });
  const states = service.reports().map(({ vcenter, state }) => `${vcenter} ${state.name} ${state.reason ?? ''}`);
  stop.abort();
  await settle(20);
  clock.advance(5_000);
  await running;
  await ways[Symbol.asyncDispose]();
  const open = SERVERS.map((server) => vcenters.vcenter(server).feed.open);
  if (missed.length > 0) return `lost changes of ${missed.join()}; ${states.join('; ')}`;
  return open.some((watches) => watches !== 0) ? `${open.join()} watches are left` : '';
}

test(`no change is lost over histories of rotated passwords, dead vCenters, folders and objects that come and go, and a slow consumer`, async () => {
  for (const seed of seeds(100, 100_000, 'histories'))
    await withSeed(seed, FILE, async () => assert.equal(await play(seed), ''));
});

test('negative control: whoever never hears of new credentials loses changes', async () => {
  const caught: string[] = [];
  for (let seed = 1; seed <= 20; seed += 1) caught.push(await play(seed, { deaf: true }));
  assert.ok(caught.filter((what) => what.includes('lost changes')).length > 3, caught.join('\n'));
});

test('negative control: whoever looked before the watch began, and not again, loses what changed in between', async () => {
  const caught: string[] = [];
  for (let seed = 1; seed <= 40; seed += 1) caught.push(await play(seed, { blind: true }));
  assert.ok(caught.filter((what) => what.includes('lost changes')).length > 0, caught.join('\n'));
});
