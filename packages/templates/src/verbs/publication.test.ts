import assert from 'node:assert/strict';
import { explore, scheduler, threadTests, virtualClock } from '@drydock/model';
import type { MoRef, VmSummary } from '@drydock/vsphere';
import { type MemoryInventory, MUTATING_CALLS, memoryInventory, simulatedLoss } from '@drydock/vsphere/testing';
import { type Ports, portsOn } from '../act/ports.ts';
import { isTemplateError } from '../errors.ts';
import { fingerprintOf } from '../fingerprint.ts';
import { BIRTH_KEY, CONTENT_KEY } from '../mark/birth-mark.ts';
import type { Scope } from '../observe/observe.ts';
import { memoryLedger } from '../testing/memory-ledger.ts';
import { memoryOva, testPlacement, testWish } from '../testing/wishes.ts';
import { testWitnesses } from '../testing/witnesses.ts';
import { collectTemplates } from './collect.ts';
import { publishTemplate } from './publication.ts';

const test = threadTests(import.meta.url);

const FOLDER = '/DC0/vm/ocp';
const OLD = 'c1-abcde-rhcos-fd1';

interface World {
  readonly inventory: MemoryInventory;
  readonly clock: ReturnType<typeof virtualClock>;
  readonly ledger: ReturnType<typeof memoryLedger>;
  lost: string[];
  runs: number;
}

/** The folder as a cluster has it: the installer's template, a worker, and a watcher of the name that machine sets use. */
function world(options: { readonly abortLeavesVm?: boolean } = {}): World {
  const clock = virtualClock({ auto: true });
  const inventory = memoryInventory({ now: clock.now, ...options });
  const folder = inventory.at(FOLDER);
  inventory.add(folder, { name: OLD, template: true, productVersion: '9.4' });
  inventory.add(folder, { name: 'worker-0', powerState: 'poweredOn' });
  const made: World = { inventory, clock, ledger: memoryLedger(), lost: [], runs: 0 };
  inventory.subscribe(({ machines }) => {
    const named = machines.filter(({ name, isTemplate, complete }) => name === OLD && isTemplate && complete);
    if (named.length !== 1) made.lost.push(`${named.length} templates named ${OLD}`);
    for (const one of machines)
      if (one.isTemplate && !one.complete) made.lost.push(`${one.name} is a half-made template`);
  });
  return made;
}

/** One process: its own session and identity; earlier identities no longer lead. */
async function publishAs(made: World, holder: string): Promise<string> {
  await using client = made.inventory.client();
  const ports = await portsAs(made, client);
  const published = await publishTemplate(ports, testWish({ holder }), { holderIsLive: (other) => other === holder });
  return published.name;
}

async function portsAs({ clock, ledger }: World, vcenter: ReturnType<MemoryInventory['client']>): Promise<Ports> {
  const witnesses = await testWitnesses(vcenter, clock, ledger);
  const { imported } = witnesses;
  return portsOn({ vcenter, ovas: memoryOva(), clock, running: new Set<string>(), imported, witnesses });
}

const scopeOf = ({ inventory }: World): Scope => ({ folder: inventory.at(FOLDER), datacenter: inventory.at('/DC0') });

function checkEnd({ inventory, lost }: World, uploads: number): void {
  assert.deepEqual(lost, [], 'a concurrent observer saw it');
  const { machines } = inventory.snapshot();
  const fresh = machines.filter(({ productVersion }) => productVersion === '9.6');
  assert.equal(fresh.length, 1, `${fresh.length} objects of the new release`);
  assert.deepEqual([fresh[0]?.isTemplate, fresh[0]?.complete, fresh[0]?.secureBoot], [true, true, false]);
  assert.equal(fresh[0]?.tags.length, 1);
  assert.match(fresh[0]?.annotation ?? '', /kept by Drydock/);
  assert.deepEqual(
    machines.filter(({ productVersion }) => productVersion !== '9.6').map(({ name }) => name),
    [OLD, 'worker-0'],
  );
  assert.ok(inventory.counters.uploads <= uploads, `${inventory.counters.uploads} uploads`);
}

for (const abortLeavesVm of [false, true]) {
  const server = abortLeavesVm ? 'a server that leaves aborted machines' : 'vCenter';
  test(`VS-W93 VS-W91 a crash or a lost answer at every call, before and after, on ${server}: one clean pass converges`, async () => {
    const coverage = await explore<World, 'kill' | 'lose'>({
      setup: () => world({ abortLeavesVm }),
      run: async (made, tripwire) => {
        made.runs += 1;
        made.inventory.onCall = (method, phase, _args, { client }) => {
          // A connection that ends is no call that a process makes.
          if (method === 'logout') return;
          const fault = tripwire.hit(`${phase} ${method}`);
          if (fault === 'kill') client.kill();
          if (fault !== undefined) throw simulatedLoss(method);
        };
        await publishAs(made, `holder-${made.runs}`);
      },
      check: (made) => checkEnd(made, 2),
      faults: ['kill', 'lose'],
    });
    for (const call of MUTATING_CALLS) {
      if (['lease.abort', 'rename', 'destroy', 'customField.define', 'setCustomValue'].includes(call)) continue;
      assert.ok(coverage.places.includes(`after ${call}`), `${call} was not tried`);
    }
    assert.ok(!coverage.complete || coverage.scenarios > 60, `only ${coverage.scenarios} scenarios`);
  });
}

test('VS-W93 crashes in pairs: the recovery itself crashes at every call', async () => {
  const coverage = await explore<World, 'kill'>({
    setup: () => world({ abortLeavesVm: true }),
    run: async (made, tripwire) => {
      made.runs += 1;
      made.inventory.onCall = (method, phase, _args, { client }) => {
        if (method === 'logout' || tripwire.hit(`${phase} ${method}`) === undefined) return;
        client.kill();
        throw simulatedLoss(method);
      };
      await publishAs(made, `holder-${made.runs}`);
    },
    check: (made) => checkEnd(made, 3),
    faults: ['kill'],
    depth: 2,
  });
  assert.ok(!coverage.complete || coverage.scenarios > 900, `only ${coverage.scenarios} scenarios`);
});

test('two publishers racing leave one template and both return it, whatever the interleaving', async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const clock = virtualClock();
    const made = { ...world(), clock };
    const turns = scheduler(seed, clock);
    made.inventory.onCall = (method, phase) => (method === 'logout' || phase === 'after' ? undefined : turns.turn());
    const publish = (holder: string) => async () => {
      const client = made.inventory.client();
      const ports = await portsAs(made, client);
      return publishTemplate(ports, testWish({ holder }), { holderIsLive: () => true });
    };
    const [a, b] = await turns.run([publish('a'), publish('b')]);
    assert.ok(a?.status === 'fulfilled' && b?.status === 'fulfilled', `seed ${seed}: ${JSON.stringify([a, b])}`);
    assert.equal(a.value.name, b.value.name, `seed ${seed}`);
    made.inventory.onCall = undefined;
    checkEnd(made, 1);
  }
});

test('a leader that lost its lease goes on next to the new one: one template is left, none half-made', async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const clock = virtualClock();
    const made = { ...world(), clock };
    const turns = scheduler(seed, clock);
    made.inventory.onCall = (method, phase) => (method === 'logout' || phase === 'after' ? undefined : turns.turn());
    const publish = (holder: string) => async () => {
      const client = made.inventory.client();
      const ports = await portsAs(made, client);
      return publishTemplate(ports, testWish({ holder }), { holderIsLive: (other) => other === 'new' });
    };
    const [, fresh] = await turns.run([publish('old'), publish('new')]);
    assert.equal(fresh?.status, 'fulfilled', `seed ${seed}: ${JSON.stringify(fresh)}`);
    made.inventory.onCall = undefined;
    checkEnd(made, 3);
  }
});

test('another live holder that never finishes: retriable, nothing touched', async () => {
  const made = world();
  const dead = made.inventory.client();
  made.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'lease.complete' && phase === 'before') client.kill();
  };
  const ports = await portsAs(made, dead);
  await assert.rejects(publishTemplate(ports, testWish({ holder: 'a' }), { holderIsLive: () => true }));
  made.inventory.onCall = undefined;
  const before = made.inventory.snapshot().machines.length;
  const again = await portsAs(made, made.inventory.client());
  const wish = testWish({ holder: 'b' });
  await assert.rejects(
    publishTemplate(again, wish, { holderIsLive: () => true }),
    (error) => isTemplateError(error, 'UPLOAD_IN_PROGRESS') && error.retriable,
  );
  // Without Kubernetes nobody knows the holder: age decides.
  await assert.rejects(publishTemplate(again, wish, { holderIsLive: () => undefined }), (error) =>
    isTemplateError(error, 'UPLOAD_IN_PROGRESS'),
  );
  // A clock that is set back again and again must not make it wait for ever.
  let now = made.clock.now();
  const backwards = {
    now: () => now,
    sleep: async () => {
      now -= 3_600_000;
    },
  };
  await assert.rejects(publishTemplate({ ...again, clock: backwards }, wish, { holderIsLive: () => true }), (error) =>
    isTemplateError(error, 'UPLOAD_IN_PROGRESS'),
  );
  assert.equal(made.inventory.snapshot().machines.length, before);
  made.clock.advance(601_000);
  await publishTemplate(again, wish, { holderIsLive: () => undefined });
  checkEnd(made, 2);
});

/** A worker cloned from the new template, its extraConfig copied as vCenter does. */
async function withClone(): Promise<World> {
  const made = world();
  const name = await publishAs(made, 'a');
  made.inventory.clone(made.inventory.at(`${FOLDER}/${name}`), { name: 'worker-1', folder: made.inventory.at(FOLDER) });
  made.clock.advance(86_400_000 * 2);
  return made;
}

test('a worker cloned from the template, extraConfig copied, survives collection', async () => {
  const made = await withClone();
  const client = made.inventory.client();
  const { witnesses } = await portsAs(made, client);
  const options = {
    referenced: () => undefined,
    holder: 'b',
    holderIsLive: () => false,
    running: new Set<string>(),
    ...{ owner: 'cluster-uid', witnesses },
    keep: 0,
  };
  const collected = await collectTemplates(client, scopeOf(made), 'cluster-uid', options);
  assert.ok(made.inventory.snapshot().machines.some(({ name }) => name === 'worker-1'));
  assert.match(collected.find(({ name }) => name === 'worker-1')?.reason ?? '', /copied/);
  assert.equal(collected.filter(({ removed }) => removed).length, 1, 'the template that nobody uses goes');
});

test('negative control: without the check of the instance UUID the worker counts as ours, and only what it was keeps it', async () => {
  const made = await withClone();
  const client = made.inventory.client();
  const [template] = (await client.children(made.inventory.at(FOLDER))).filter(({ name }) => name.includes('9.6'));
  assert.ok(template !== undefined);
  const { ref, createDate = '', instanceUuid = '', customValues } = template;
  // As if a clone had the identity of its source, and its record.
  const original = { ref, createDate, instanceUuid, customValues };
  const blind = {
    ...client,
    children: async (folder: Parameters<typeof client.children>[0]) =>
      (await client.children(folder)).map((vm) => {
        const birth = vm.extraConfig.get(BIRTH_KEY);
        return birth === undefined ? vm : { ...vm, ...original };
      }),
  };
  const { witnesses } = await portsAs(made, client);
  const options = {
    referenced: () => undefined,
    holder: 'b',
    holderIsLive: () => false,
    running: new Set<string>(),
    ...{ owner: 'cluster-uid', witnesses },
    keep: 0,
  };
  const collected = await collectTemplates(blind, scopeOf(made), 'cluster-uid', options);
  const { reason = '' } = collected.find(({ name }) => name === 'worker-1') ?? {};
  assert.match(reason, /it was a template and somebody made a machine of it/);
});

test('negative control: a publisher that takes an unverified machine for finished is caught by the observer', async () => {
  await assert.rejects(
    explore<World, 'kill'>({
      setup: () => world(),
      run: async (made, tripwire) => {
        made.runs += 1;
        made.inventory.onCall = (method, phase, _args, { client }) => {
          if (method !== 'lease.upload' || tripwire.hit(`${phase} ${method}`) === undefined) return;
          client.kill();
          throw simulatedLoss(method);
        };
        await using client = made.inventory.client();
        const finished = (vm: VmSummary): VmSummary =>
          vm.extraConfig.has(BIRTH_KEY)
            ? { ...vm, extraConfig: new Map([...vm.extraConfig, [CONTENT_KEY, fingerprintOf(vm)]]) }
            : vm;
        const hasty = {
          ...client,
          children: async (folder: MoRef) => (await client.children(folder)).map(finished),
          vm: async (ref: MoRef) => {
            const vm = await client.vm(ref);
            return vm === undefined ? undefined : finished(vm);
          },
        };
        for (const [key, text] of made.ledger.texts)
          made.ledger.texts.set(key, text.replace('"importing"', '"imported"'));
        const ports = await portsAs(made, hasty);
        await publishTemplate(ports, testWish({ holder: `holder-${made.runs}` }), { holderIsLive: () => false });
      },
      check: (made) => checkEnd(made, 2),
      faults: ['kill'],
    }),
    /half-made template/,
  );
});

test('the placement of the tests exists in the in-memory vCenter', async () => {
  assert.equal(testPlacement().folder, FOLDER);
});
