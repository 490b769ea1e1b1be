import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { keysOfText, type MarkKeys, NO_KEYS } from './mark/keys.ts';
import type { ClusterRecords } from './mark/witness.ts';
import { MARK_ATTRIBUTE, MARK_KEYS, PROOF, VERIFIED_KEY } from './mark.ts';
import type { TemplateStoreOptions } from './store-vsphere.ts';
import { TEST_KEYS } from './testing/keys.ts';
import { fails, mutations, type TestRig, testRig } from './testing/rig.ts';
import { testPlacement, testWish } from './testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const OWNER = 'cluster-uid';
const DAY = 86_400_000;
const placement = testPlacement();
const OLD_AND_NEW = keysOfText(`new:${'n'.repeat(64)}\ntest:${'0123456789abcdef'.repeat(4)}`).keys;
const NEW = keysOfText(`new:${'n'.repeat(64)}`).keys;
const nothing: ClusterRecords = { recorded: () => false, refers: () => false, retired: () => false };

/** A folder in which 9.4 and 9.6 were published by pointer, two days ago. */
async function rig(proofs?: Pick<TemplateStoreOptions, 'markKeys' | 'cluster'>) {
  const clock = virtualClock({ auto: true });
  const made = testRig(clock, {}, {}, proofs);
  const image = (release: string) => ({ release, location: 'https://m.test/x', sha256: release.padEnd(64, '0') });
  const published = [];
  for (const release of ['9.4', '9.6']) published.push(await made.publish({ image: image(release) }));
  clock.advance(2 * DAY);
  const [first] = made.in(FOLDER);
  assert.ok(first !== undefined);
  return { ...made, clock, image, first, published };
}

/** Another process on the same vCenter, with other witnesses. */
function another(made: TestRig, proofs: Pick<TemplateStoreOptions, 'markKeys' | 'cluster'>): TestRig {
  const other = testRig(virtualClock({ auto: true }), {}, {}, proofs);
  Object.defineProperty(other.inventory, 'client', { value: () => made.inventory.client() });
  return other;
}

const keyed = (keys: MarkKeys, cluster?: ClusterRecords) => ({
  markKeys: async () => keys,
  ...(cluster === undefined ? {} : { cluster }),
});

/** Sets attributes as whoever has Global.SetCustomField may, on a vCenter that takes any length. */
async function forge(made: TestRig, name: string, values: Readonly<Record<string, unknown>>): Promise<void> {
  const { state } = made.inventory;
  const machine = [...state.machines.values()].find((one) => one.name === name);
  for (const [attribute, value] of Object.entries(values)) {
    if (!state.customFields.includes(attribute)) state.customFields.push(attribute);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    machine?.customValues.set(state.customFields.indexOf(attribute), text);
  }
}

const collect = (made: TestRig) =>
  made.store.collect(placement, OWNER, { referenced: () => undefined, holderIsLive: () => false, keep: 0 });
const names = (made: { in: TestRig['in'] }) =>
  made
    .in(FOLDER)
    .map(({ name }) => name)
    .toSorted();

const UUID = '42000000-0000-4000-8000-00000000000f';
/** Everything public about an import of ours, on a stranger's machine. */
const claimOf = (born: Readonly<Record<string, string>>) => ({
  [MARK_ATTRIBUTE]: {
    ...{ instanceUuid: UUID, id: UUID, owner: OWNER, role: 'retired', operation: born[MARK_KEYS.operation] },
    ...{ digest: born[MARK_KEYS.digest], release: born[MARK_KEYS.release], holder: 'holder-1', verified: true },
  },
});

for (const [what, machine, attributes] of [
  ['a template', { template: true }, {}],
  ['a machine that is off', {}, {}],
  ['a template, with the code of ours', { template: true }, { replayed: true }],
  [
    'a template, with a code under a key that nobody knows',
    { template: true },
    { [PROOF]: `"lost:${'A'.repeat(43)}"` },
  ],
  ['a template, with half a code', { template: true }, { [PROOF]: '"test:AAAA"' }],
  ['a template, with something huge and torn', { template: true }, { [PROOF]: `1/9 00000000 ${'x'.repeat(200)}` }],
] as const) {
  for (const whose of ['with a key', 'as an operator without one'] as const) {
    test(`OWN-3 an attribute with our public owner, operation and digest on a stranger's ${what}, ${whose}: never taken, never touched`, async () => {
      const proofs = whose === 'with a key' ? keyed(TEST_KEYS) : keyed(NO_KEYS, nothing);
      const made = await rig();
      // The real one went: the stranger's would be the release without an upload.
      const { extraConfig } = made.first;
      made.inventory.remove(made.inventory.at(`${FOLDER}/${made.first.name}`));
      made.inventory.add(made.inventory.at(FOLDER), { name: made.first.name, instanceUuid: UUID, ...machine });
      const code = JSON.stringify(extraConfig[PROOF] ?? '');
      const { replayed, ...more } = attributes as Readonly<Record<string, unknown>>;
      await forge(made, made.first.name, {
        ...claimOf(extraConfig),
        ...(replayed === true ? { [PROOF]: code } : more),
      });
      const before = made.in(FOLDER).find(({ instanceUuid }) => instanceUuid === UUID);
      const other = another(made, proofs);
      const published = await other.publish({ image: made.image('9.4') });
      assert.equal(published.uploads, 1, 'the release is what was uploaded');
      assert.notEqual(published.name, made.first.name);
      const collected = await collect(other);
      const said = collected.find(({ name }) => name === made.first.name);
      assert.equal(said?.removed, false, JSON.stringify(collected));
      assert.deepEqual(
        made.in(FOLDER).find(({ instanceUuid }) => instanceUuid === UUID),
        before,
      );
    });
  }
}

test('OWN-3 a machine born with a copy of our mark, by whoever may make machines, is neither taken nor destroyed, and does not stop a publication', async () => {
  for (const finished of [true, false]) {
    const made = await rig();
    made.inventory.remove(made.inventory.at(`${FOLDER}/${made.first.name}`));
    const { [VERIFIED_KEY]: verified = '', ...copy } = made.first.extraConfig;
    const extraConfig = { ...copy, [MARK_KEYS.instanceUuid]: UUID, ...(finished ? { [VERIFIED_KEY]: verified } : {}) };
    const forged = {
      name: made.first.name,
      instanceUuid: UUID,
      template: finished,
      extraConfig,
      createDate: '2025-01-01T00:00:00Z',
    };
    made.inventory.add(made.inventory.at(FOLDER), forged);
    const published = await made.publish({ image: made.image('9.4') });
    assert.equal(published.uploads, 1);
    await collect(made);
    assert.ok(names(made).includes(made.first.name));
    const line = (await made.store.list(placement, OWNER)).find(({ name }) => name === made.first.name);
    assert.match(line?.reason ?? '', /its code was made with a key that is gone or is not known here, or is forged/);
  }
});

test('OWN-3 the attribute cannot make an unfinished import whole, nor another release, owner or stable name of what was born', async () => {
  const made = await rig();
  await forge(made, made.first.name, {
    [MARK_ATTRIBUTE]: {
      id: made.first.instanceUuid,
      owner: 'them',
      role: 'retired',
      release: '9.9',
      name: 'theirs',
      digest: 'x',
      operation: 'y',
    },
  });
  const [line] = (await made.store.list(placement, OWNER)).filter(({ name }) => name === made.first.name);
  assert.deepEqual(
    [line?.owner, line?.release, line?.stableName, line?.digest],
    [OWNER, '9.4', undefined, made.image('9.4').sha256],
  );
  const half = made.inventory.add(made.inventory.at(FOLDER), {
    name: 'half',
    template: true,
    instanceUuid: UUID,
    extraConfig: Object.fromEntries(
      Object.entries({ ...made.first.extraConfig, [MARK_KEYS.instanceUuid]: UUID }).filter(
        ([key]) => key !== VERIFIED_KEY,
      ),
    ),
  });
  assert.ok(half);
  await forge(made, 'half', { [MARK_ATTRIBUTE]: { id: UUID, owner: OWNER, role: 'adopted' } });
  const plain = another(made, {});
  const lines = await plain.store.list(placement, OWNER);
  assert.equal(lines.find(({ name }) => name === 'half')?.role, 'unfinished');
});

test('OWN-3 what was adopted stays adopted whatever the attribute says of it later', async () => {
  const made = await rig();
  made.inventory.add(made.inventory.at(FOLDER), {
    name: 'golden',
    template: true,
    productVersion: '9.2',
    createDate: '2025-01-01T00:00:00Z',
  });
  const { instanceUuid } = await made.store.adopt({ placement, owner: OWNER, reference: 'golden', holder: 'h' });
  await forge(made, 'golden', { [MARK_ATTRIBUTE]: { id: instanceUuid, owner: OWNER, role: 'retired' } });
  await collect(made);
  assert.ok(names(made).includes('golden'));
  await forge(made, 'golden', {
    [MARK_ATTRIBUTE]: { id: instanceUuid, owner: OWNER, role: 'retired', name: 'golden', at: '2020-01-01T00:00:00Z' },
  });
  await collect(made);
  assert.ok(names(made).includes('golden'));
});

test('OWN-3 a forged note of what is replaced makes nobody retire, rename or remove a stranger', async () => {
  const made = await rig();
  await made.swap('stable', { image: made.image('9.6') });
  const stranger = made.inventory.add(made.inventory.at(FOLDER), {
    name: 'x',
    template: true,
    instanceUuid: UUID,
    createDate: '2025-01-01T00:00:00Z',
  });
  const { retiredName } = await import('./names.ts');
  const machine = made.inventory.state.machines.get(`VirtualMachine:${stranger.value}`);
  assert.ok(machine !== undefined);
  machine.name = retiredName('stable', UUID);
  const current = made.in(FOLDER).find(({ name }) => name === 'stable');
  await forge(made, 'stable', {
    [MARK_ATTRIBUTE]: {
      id: current?.instanceUuid,
      role: 'staged',
      name: 'stable',
      replaces: `${stranger.value} ${UUID}`,
      code: `test:${'A'.repeat(43)}`,
    },
  });
  const before = JSON.stringify(made.in(FOLDER).find(({ instanceUuid }) => instanceUuid === UUID));
  await made.swap('stable', { image: made.image('9.6') });
  made.clock.advance(DAY);
  await collect(made);
  assert.equal(JSON.stringify(made.in(FOLDER).find(({ instanceUuid }) => instanceUuid === UUID)), before);
});

test('OWN-3 a template that calls itself another version than its image did is not pointed at', async () => {
  const made = await rig();
  const machine = made.inventory.state.machines.get(made.first.ref);
  assert.ok(machine !== undefined);
  machine.productVersion = '8.0';
  const again = await made.publish({ image: made.image('9.4') });
  assert.equal(again.uploads, 1);
  assert.notEqual(again.name, made.first.name);
});

test('OWN-3 without a key and a cluster: marks of birth are pointed at and gone back to, and only what this run imported is removed', async () => {
  const made = await rig({});
  const later = another(made, {});
  assert.equal((await later.publish({ image: made.image('9.4') })).uploads, 0);
  const kept = await collect(later);
  assert.deepEqual(
    kept.map(({ removed }) => removed),
    [false, false],
  );
  for (const { reason } of kept) assert.match(reason, /nothing proves that .* is ours: give the key/);
  assert.deepEqual(
    (await collect(made)).map(({ removed }) => removed),
    [true, true],
  );
});

test('OWN-3 without a key what was made by hand is not gone back to, and why is told', async () => {
  const made = await rig({});
  made.inventory.add(made.inventory.at(FOLDER), { name: 'legacy', template: true, productVersion: '8.10' });
  await made.store.adopt({ placement, owner: OWNER, reference: 'legacy', holder: 'h' });
  await made.publish({ publication: { kind: 'swap', name: 'legacy' } });
  await fails(
    made.store.revert({ placement, owner: OWNER, name: 'legacy', holder: 'h' }),
    'NOT_OURS',
    /without a key nothing proves/,
  );
});

test('OWN-3 a half import of a dead run without a key stays, and the next name serves', async () => {
  const made = await rig({});
  made.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'lease.upload.half' && phase === 'before') client.kill();
  };
  await assert.rejects(made.publish({ image: made.image('9.8') }));
  made.inventory.onCall = undefined;
  made.clock.advance(DAY);
  const later = another(made, {});
  const wish = testWish({ image: made.image('9.8'), holder: 'holder-2' });
  assert.equal((await later.store.publish(wish, { holderIsLive: () => false })).uploads, 1);
  assert.equal(made.in(FOLDER).filter(({ complete }) => !complete).length, 1);
});

test('OWN-3 the operation that the cluster recorded before the import proves an unfinished one, without any key', async () => {
  const recorded = new Map<string, string>();
  const cluster: ClusterRecords = { ...nothing, recorded: (operation, uuid) => recorded.get(operation) === uuid };
  for (const known of [true, false]) {
    recorded.clear();
    const made = testRig(virtualClock({ auto: true }), {}, {}, { cluster });
    made.inventory.onCall = (method, phase, _args, { client }) => {
      if (method === 'lease.upload.half' && phase === 'before') client.kill();
    };
    const announce = async ({ id, instanceUuid }: { id: string; instanceUuid: string }) => {
      if (known) recorded.set(id, instanceUuid);
    };
    await assert.rejects(made.store.publish(testWish(), { holderIsLive: () => true, announce }));
    made.inventory.onCall = undefined;
    const later = another(made, { cluster });
    const published = await later.store.publish(testWish({ holder: 'next' }), {
      holderIsLive: (one) => one === 'next',
    });
    assert.equal(published.uploads, 1);
    assert.equal(made.in(FOLDER).length, known ? 1 : 2, 'what nobody recorded is kept');
  }
});

test('OWN-3 an exchanged key: all is proven by the new one before the old goes, and afterwards counts without it', async () => {
  const made = await rig();
  made.inventory.add(made.inventory.at(FOLDER), { name: 'golden', template: true });
  await made.store.adopt({ placement, owner: OWNER, reference: 'golden', holder: 'h' });
  const both = another(made, keyed(OLD_AND_NEW));
  const used = { referenced: () => 'MachineSet a', holderIsLive: () => false };
  await both.store.collect(placement, OWNER, used);
  const after = mutations(made);
  await both.store.collect(placement, OWNER, used);
  assert.equal(mutations(made), after, 'once is enough');
  const lines = await another(made, keyed(NEW)).store.list(placement, OWNER);
  assert.deepEqual(
    lines.map(({ proof, keyIds }) => [proof, keyIds?.includes(NEW.current?.id ?? '')]),
    lines.map(() => ['keyed', true]),
  );
});

test('OWN-3 a lost key loses nothing: what the cluster refers to or recorded is proven by the next one, everything else is kept and named', async () => {
  const made = await rig();
  await made.swap('stable', { image: made.image('9.6') });
  const refers = (name: string) => name === made.first.name;
  const later = another(made, keyed(NEW, { ...nothing, refers }));
  const collected = await later.store.collect(placement, OWNER, {
    referenced: (name) => (refers(name) ? 'MachineSet a' : undefined),
    holderIsLive: () => false,
    keep: 0,
  });
  assert.deepEqual(
    collected.filter(({ removed }) => removed),
    [],
  );
  assert.equal(collected.filter(({ reason }) => /a key that is gone or is not known here/.test(reason)).length, 2);
  const proven = await another(made, keyed(NEW)).store.list(placement, OWNER);
  assert.deepEqual(
    proven.filter(({ proof }) => proof === 'keyed').map(({ name }) => name),
    [made.first.name],
  );
  // A person may say so of the others.
  await later.store.adopt({ placement, owner: OWNER, reference: 'stable', holder: 'h' });
  assert.equal((await later.store.list(placement, OWNER)).find(({ name }) => name === 'stable')?.proof, 'keyed');
});

test('OWN-3 marks from before there was a key are taken over by what the cluster knows; a claim that only an attribute makes is not', async () => {
  const made = await rig({});
  made.inventory.add(made.inventory.at(FOLDER), { name: 'theirs', template: true });
  const theirs = made.in(FOLDER).find(({ name }) => name === 'theirs');
  const legacy = {
    instanceUuid: theirs?.instanceUuid,
    owner: OWNER,
    role: 'adopted',
    publishes: 'theirs',
    release: '9.4',
  };
  await forge(made, 'theirs', { [MARK_ATTRIBUTE]: legacy });
  const cluster = { ...nothing, refers: () => true };
  const operator = another(made, keyed(TEST_KEYS, cluster));
  await operator.store.collect(placement, OWNER, { referenced: () => 'MachineSet a', holderIsLive: () => false });
  const lines = await another(made, keyed(TEST_KEYS)).store.list(placement, OWNER);
  assert.deepEqual(Object.fromEntries(lines.map(({ name, proof, role }) => [name, `${role} ${proof}`])), {
    theirs: 'unproven undefined',
    ...Object.fromEntries(made.published.map(({ name }) => [name, 'current keyed'])),
  });
});

test('OWN-3 a clone of ours, its extraConfig, code and attributes copied, is somebody else', async () => {
  const made = await rig();
  const source = made.inventory.at(`${FOLDER}/${made.first.name}`);
  await forge(made, made.first.name, { [PROOF]: JSON.stringify(made.first.extraConfig[PROOF]) });
  made.inventory.clone(source, { name: 'copy', template: true, copyCustomValues: true });
  made.inventory.remove(source);
  assert.equal((await made.publish({ image: made.image('9.4') })).uploads, 1);
  await collect(made);
  assert.ok(names(made).includes('copy'));
});

test('OWN-3 no key is in any text: errors, problems, inspection', async () => {
  const secret = 'a-key-that-must-not-be-seen-anywhere-at-all';
  const { inspect } = await import('node:util');
  const { keysOfSecret } = await import('./mark/keys.ts');
  for (const read of [
    keysOfText(secret),
    keysOfText(`${secret}:x`),
    keysOfText(`k1:${secret}`),
    keysOfText(`k1:short-${secret.slice(0, 6)}`),
    keysOfSecret({ k1: Buffer.from(secret).toString('base64') }),
    keysOfSecret({ current: Buffer.from(secret).toString('base64') }),
  ])
    assert.ok(!`${inspect(read, { depth: 9 })}${JSON.stringify(read)}`.includes(secret.slice(0, 12)));
  assert.deepEqual(keysOfSecret({}).problems, ['there is no key']);
  assert.deepEqual(keysOfSecret(undefined).keys, NO_KEYS);
});
