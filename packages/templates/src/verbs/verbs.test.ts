import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { simulatedFault, simulatedLoss } from '@drydock/vsphere/testing';
import { fails, mutations, type TestRig, testRig } from '../testing/rig.ts';
import { testPlacement } from '../testing/wishes.ts';
import type { TemplateImage } from '../wish.ts';

const FOLDER = '/DC0/vm/ocp';
const NAME = 'stable';
const DAY = 86_400_000;
const placement = testPlacement();
const owner = 'cluster-uid';

const image = (release: string): TemplateImage => ({
  release,
  location: 'https://m.test/x',
  sha256: release.replaceAll('.', '').padEnd(64, '0'),
});

/** Releases published one after the other, a day apart. */
async function rig(...releases: string[]) {
  const clock = virtualClock({ auto: true });
  const made = testRig(clock, { folders: [FOLDER, '/DC0/vm/other'] });
  for (const release of releases) {
    await made.swap(NAME, { image: image(release) });
    clock.advance(DAY);
  }
  return { ...made, clock };
}

const revert = (made: TestRig, to?: string) =>
  made.store.revert({ placement, owner, name: NAME, holder: 'h', ...(to === undefined ? {} : { to }) });
const collect = (made: TestRig, options: { keep?: number; dryRun?: boolean; used?: string } = {}) =>
  made.store.collect(placement, owner, {
    referenced: (name) => (name === options.used ? 'MachineSet a' : undefined),
    holderIsLive: () => false,
    ...options,
  });
const releasesOf = async (made: TestRig) =>
  (await made.store.history(placement, owner, NAME)).map(
    ({ release, current }) => `${release}${current ? ' now' : ''}`,
  );

test('history names every generation, newest first, with its retirement and the way back', async () => {
  const made = await rig('9.4', '9.6', '9.8');
  const history = await made.store.history(placement, owner, NAME);
  assert.deepEqual(
    history.map(({ release, current, revertible, reason }) => [release, current, revertible, reason]),
    [
      ['9.8', true, false, 'it bears the name now'],
      ['9.6', false, true, 'it is kept, whole and ready'],
      ['9.4', false, true, 'it is kept, whole and ready'],
    ],
  );
  assert.equal(history[0]?.retiredAt, undefined);
  assert.ok((history[1]?.retiredAt ?? '') > (history[2]?.retiredAt ?? ''));
  assert.deepEqual(await made.store.history(placement, 'second', NAME), []);
});

test('history of pointer publications goes by their base', async () => {
  const made = await rig();
  for (const release of ['9.4', '9.6']) await made.publish({ base: 'b-1', image: image(release) });
  await made.publish({ base: 'b-1-more', image: image('9.8') });
  const history = await made.store.history(placement, owner, 'b-1');
  assert.deepEqual(history.map(({ release, current }) => `${release} ${current}`).toSorted(), [
    '9.4 false',
    '9.6 false',
  ]);
});

test('revert puts the generation before back without an upload, forth again, and any other by its identity', async () => {
  const made = await rig('9.4', '9.6', '9.8');
  made.inventory.counters.uploads = 0;
  const back = await revert(made);
  assert.deepEqual([back.name, back.release, back.uploads, back.absentMs !== undefined], [NAME, '9.6', 0, true]);
  assert.deepEqual(await releasesOf(made), ['9.8', '9.6 now', '9.4']);
  await revert(made);
  assert.deepEqual(await releasesOf(made), ['9.8 now', '9.6', '9.4']);
  const oldest = (await made.store.history(placement, owner, NAME)).at(-1);
  await revert(made, oldest?.instanceUuid);
  assert.deepEqual(await releasesOf(made), ['9.8', '9.6', '9.4 now']);
  const before = mutations(made);
  await revert(made, oldest?.instanceUuid);
  assert.equal(mutations(made), before);
  assert.equal(made.inventory.counters.uploads, 0);
});

test('revert without anything to go back to says so; another owner has none either', async () => {
  const made = await rig('9.4');
  await fails(revert(made), 'NOTHING_TO_REVERT', 'stable has no earlier generation of cluster-uid in the folder');
  await fails(revert(made, 'nobody'), 'NOTHING_TO_REVERT', 'stable has no generation nobody');
  const request = { placement, owner: 'second', name: NAME, holder: 'h' };
  await fails(made.store.revert(request), 'NOTHING_TO_REVERT', 'stable has no earlier generation of second');
});

test("the installer's template is retired with its version as release; a publication that died in its window is taken back by a revert", async () => {
  const made = await rig();
  made.inventory.add(made.inventory.at(FOLDER), { name: NAME, template: true, productVersion: '9.2' });
  await made.swap(NAME, { image: image('9.4') });
  assert.deepEqual((await releasesOf(made)).toSorted(), ['9.2', '9.4 now']);
  made.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'rename' && phase === 'after') client.kill();
  };
  await assert.rejects(made.swap(NAME, { image: image('9.6') }));
  made.inventory.onCall = undefined;
  assert.equal((await made.store.inspect(placement, NAME)).kind, 'absent');
  assert.equal((await revert(made)).release, '9.4');
});

test('BI-V137 the published template was deleted: a revert brings back what was put away last', async () => {
  const made = await rig('9.4', '9.6');
  made.inventory.remove(made.inventory.at(`${FOLDER}/${NAME}`));
  await revert(made);
  assert.deepEqual(await releasesOf(made), ['9.4 now']);
});

test('collection keeps the last two retired ones of each name and says why each stays or goes; a dry run changes nothing', async () => {
  const made = await rig('9.0', '9.2', '9.4', '9.6');
  const before = mutations(made);
  const dry = await collect(made, { dryRun: true });
  assert.equal(mutations(made), before);
  const reasons = (collected: typeof dry) => collected.map(({ removed, reason }) => `${removed} ${reason}`).toSorted();
  assert.deepEqual(reasons(dry), [
    'false it is published under its stable name',
    'false kept as a way back',
    'false kept as a way back',
    'true nothing uses it',
  ]);
  assert.deepEqual(reasons(await collect(made)), reasons(dry));
  assert.deepEqual(await releasesOf(made), ['9.6 now', '9.4', '9.2']);
});

test('VS-W99 VS-T5 collection: used, cloned from, linked to, just retired, or without a successor in place: stays, with the reason', async () => {
  const made = await rig('9.4', '9.6');
  const old = made.in(FOLDER).find(({ name }) => name !== NAME);
  assert.ok(old !== undefined);
  const ref = { type: 'VirtualMachine', value: old.ref.split(':')[1] ?? '' };
  const reason = async (used?: string) =>
    (await collect(made, { keep: 0, ...(used === undefined ? {} : { used }) })).find(({ name }) => name === old.name)
      ?.reason;
  assert.equal(await reason(old.name), 'used by MachineSet a');
  const end = made.inventory.startTask(ref, 'VirtualMachine.clone');
  assert.equal(await reason(), 'a task runs on it');
  end();
  const worker = made.inventory.clone(ref, {
    name: 'worker',
    folder: made.inventory.at('/DC0/vm/other'),
    linked: true,
    powerOn: true,
  });
  assert.equal(await reason(), 'its disks carry those of worker');
  made.inventory.remove(worker);
  made.inventory.remove(made.inventory.at(`${FOLDER}/${NAME}`));
  assert.equal(await reason(), `no template of ours bears the name ${NAME} now`);
  await revert(made);
  await made.swap(NAME, { image: image('9.9') });
  assert.equal(await reason(), 'it is new and may be about to be used');
  made.clock.advance(DAY);
  assert.equal(await reason(), 'nothing uses it');
  assert.deepEqual(
    made.in(FOLDER).map(({ name }) => name),
    [NAME],
  );
});

test('collection: a finished import that was never published is no way back and goes after a day; one that somebody renamed stays', async () => {
  const made = await rig('9.2', '9.4', '9.6');
  made.inventory.onCall = (method, phase, args) => {
    if (method === 'rename' && phase === 'before' && args[1] === NAME)
      throw simulatedFault('ConcurrentAccess', 'x', 'y');
  };
  await assert.rejects(made.swap(NAME, { image: image('9.7') }));
  made.inventory.onCall = undefined;
  await revert(made).catch(() => undefined);
  made.clock.advance(DAY / 2);
  const byRelease = async () =>
    Object.fromEntries(
      (await collect(made, { dryRun: true })).map(({ name, removed, reason }) => [
        name.replace(/[0-9a-f]{8}$/, '*'),
        `${removed} ${reason}`,
      ]),
    );
  const staged = 'c1-abcde-rhcos-fd1-9.7-*';
  assert.equal((await byRelease())[staged], 'false a finished import waits to be published');
  made.clock.advance(DAY);
  assert.equal((await byRelease())[staged], 'true a finished import that was never published');
  const machine = [...made.inventory.state.machines.values()].find(({ name }) => name.includes('-9.7-'));
  assert.ok(machine !== undefined);
  machine.name = 'precious';
  assert.equal((await byRelease())['precious'], 'false an administrator gave it another name');
  await collect(made);
  assert.equal(made.in(FOLDER).length, 4);
});

test('adopt marks a template where it stands; then it can be replaced, gone back to, and is never collected while it is in place', async () => {
  const made = await rig();
  made.inventory.add(made.inventory.at(FOLDER), { name: NAME, template: true, productVersion: '9.4' });
  const before = made.in(FOLDER)[0];
  const adopted = await made.store.adopt({ placement, owner, reference: `${FOLDER}/${NAME}`, holder: 'h' });
  assert.deepEqual([adopted.role, adopted.release, adopted.owner, adopted.stableName], ['adopted', '9.4', owner, NAME]);
  assert.deepEqual({ ...made.in(FOLDER)[0], customValues: {} }, before);
  const writes = mutations(made);
  await made.store.adopt({ placement, owner, reference: NAME, holder: 'h' });
  assert.equal(mutations(made), writes);
  await fails(made.store.adopt({ placement, owner: 'second', reference: NAME, holder: 'h' }), 'FOREIGN_OWNER', NAME);
  made.clock.advance(DAY);
  assert.deepEqual(
    (await collect(made, { keep: 0 })).map(({ reason }) => reason),
    ['it was made by hand'],
  );
  await made.publish({ publication: { kind: 'swap', name: NAME } });
  made.clock.advance(DAY);
  await revert(made);
  assert.equal(
    (await made.store.inspect(placement, NAME)).kind === 'present' && (await releasesOf(made))[1],
    '9.4 now',
  );
});

test('adopt refuses machines, and names what is not there; a clone of an adopted template is not adopted with it', async () => {
  const made = await rig();
  const folder = made.inventory.at(FOLDER);
  made.inventory.add(folder, { name: 'on', powerState: 'poweredOn' });
  made.inventory.add(folder, { name: 'off' });
  const template = made.inventory.add(folder, { name: NAME, template: true });
  const adopt = (reference: string) => made.store.adopt({ placement, owner, reference, holder: 'h' });
  await fails(adopt('on'), 'POWERED_ON', 'on (vm-');
  await fails(adopt('off'), 'NOT_A_TEMPLATE', 'off (vm-');
  await fails(adopt('none'), 'TEMPLATE_NOT_FOUND', 'there is no none in /DC0/vm/ocp');
  await adopt(NAME);
  made.inventory.clone(template, { name: 'copy', template: true, copyCustomValues: true });
  const lines = await made.store.list(placement, owner);
  assert.deepEqual(
    lines.map(({ name, role, reason }) => [name, role, reason]),
    [
      [
        'copy',
        'unmarked',
        'its ownership record is about another VM (it was registered again, restored or cloned): adopt it if it is what it should be',
      ],
      [NAME, 'adopted', undefined],
    ],
  );
});

test('list tells what each template is, marked machines and leftovers included, workers left out', async () => {
  const made = await rig('9.4', '9.6');
  const folder = made.inventory.at(FOLDER);
  await made.publish({ image: image('9.9') });
  await made.swap('theirs', { cluster: 'second' });
  made.inventory.add(folder, { name: 'by hand', template: true, productVersion: '1' });
  made.inventory.add(folder, { name: 'mco-tmp-01234567' });
  made.inventory.add(folder, { name: 'worker', powerState: 'poweredOn' });
  made.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'lease.upload.half' && phase === 'before') client.kill();
  };
  await assert.rejects(made.publish({ image: image('9.7') }));
  made.inventory.onCall = undefined;
  const lines = await made.store.list(placement, owner);
  assert.deepEqual(Object.fromEntries(lines.map(({ name, role }) => [name.replace(/[0-9a-f]{8}$/, '*'), role])), {
    'by hand': 'unmarked',
    'c1-abcde-rhcos-fd1-9.7-*': 'unfinished',
    'c1-abcde-rhcos-fd1-9.9-*': 'current',
    'mco-tmp-*': 'leftover',
    stable: 'current',
    'stable-retired-*': 'retired',
    theirs: 'foreign',
  });
  const stable = lines.find(({ name }) => name === NAME);
  assert.deepEqual(
    [stable?.release, stable?.digest, stable?.owner, stable?.stableName],
    ['9.6', image('9.6').sha256, owner, NAME],
  );
});

test('verify says of each thing whether it holds, and what to do where it does not', async () => {
  const made = await rig('9.6');
  const [tag] = made.inventory.state.tags.keys();
  const verify = (reference: string, tagIds: readonly string[] = []) =>
    made.store.verify(placement, reference, { tagIds });
  const good = await verify(NAME, [tag ?? '']);
  assert.equal(good.ok, true);
  assert.deepEqual(
    good.checks.map(({ name, ok }) => [name, ok]),
    ['mark', 'digest', 'template', 'tags', 'hosts', 'tasks'].map((name) => [name, true]),
  );
  assert.ok(good.checks.find(({ name }) => name === 'digest')?.detail.includes(image('9.6').sha256));
  made.inventory.startTask(made.inventory.at(`${FOLDER}/${NAME}`), 'VirtualMachine.clone');
  made.inventory.onCall = (method) => {
    if (method === 'hosts') throw simulatedFault('NoPermission', 'x', 'C0', { privilegeId: 'System.View' });
  };
  made.inventory.add(made.inventory.at(FOLDER), { name: 'machine' });
  const bad = [await verify(NAME, ['urn:no']), await verify('machine')].flatMap(({ checks }) =>
    checks.filter(({ ok }) => !ok),
  );
  assert.deepEqual(
    bad.map(({ name }) => name),
    ['tags', 'hosts', 'tasks', 'mark', 'digest', 'template', 'hosts'],
  );
  for (const { next, detail } of bad) assert.ok(next !== undefined && detail !== '');
  await fails(verify('none'), 'TEMPLATE_NOT_FOUND', 'there is no none');
});

test('a missing privilege is named with its object, whatever was being done', async () => {
  const fault = (id: string) =>
    simulatedFault('NoPermission', 'x', 'y', { privilegeId: id, object: { type: 'Folder', value: 'group-v7' } });
  for (const [method, id, work] of [
    ['startImport', 'VApp.Import', (made: TestRig) => made.swap('new')],
    ['rename', 'VirtualMachine.Config.Rename', (made: TestRig) => made.swap(NAME, { image: image('9.8') })],
    ['markAsTemplate', 'VirtualMachine.Provisioning.MarkAsTemplate', (made: TestRig) => made.swap('new')],
    ['setCustomValue', 'Global.SetCustomField', (made: TestRig) => made.swap(NAME, { image: image('9.8') })],
    ['tags.attach', 'InventoryService.Tagging.AttachTag', (made: TestRig) => made.swap('new')],
    ['children', 'System.View', (made: TestRig) => made.store.list(placement, owner)],
  ] as const) {
    const made = await rig('9.6');
    made.inventory.onCall = (called, phase) => {
      if (called === method && phase === 'before') throw fault(id);
    };
    await fails(
      work(made),
      'PRIVILEGE_MISSING',
      new RegExp(`lacks the privilege ${id.replaceAll('.', '\\.')} on Folder:group-v7`),
    );
    assert.ok(made.in(FOLDER).some(({ name, isTemplate }) => name === NAME && isTemplate));
  }
});

test('a tag that cannot be attached is named with its reason: unknown, forbidden, or the connection', async () => {
  const made = await rig();
  await fails(made.swap('a', { tagIds: ['urn:no'] }), 'TAG_NOT_FOUND', /urn:no does not exist/);
  made.inventory.onCall = (method) => {
    if (method === 'tags.attach') throw simulatedLoss(method);
  };
  await fails(made.swap('b'), 'TAG_FAILED', /failed to attach tag: unable to attach tag: .*connection was lost/);
  made.inventory.onCall = (method) => {
    if (method === 'tags.named') throw simulatedLoss(method);
  };
  await fails(made.swap('a'), 'TAG_FAILED', /failed to attach tag: unable to attach tag: look it up: infra/);
});

test('OWN-18 who is asked before a swap can stop it: the new template stays complete under its own name, nothing is renamed, and the next one uploads nothing', async () => {
  const made = await rig('9.4');
  made.inventory.counters.uploads = 0;
  const names = (): readonly string[] => made.inventory.snapshot().machines.map(({ name }) => name);
  const before = names();
  const asked: string[] = [];
  const refusal = new Error('it was not tried yet');
  const stopped = made.swap(
    NAME,
    { image: image('9.6') },
    {
      beforeSwap: async (name) => {
        asked.push(name);
        throw refusal;
      },
    },
  );
  await assert.rejects(stopped, (error) => error === refusal);
  assert.deepEqual(names().toSorted(), [...before, ...asked].toSorted());
  const staged = made.inventory.snapshot().machines.find(({ name }) => name === asked[0]);
  assert.deepEqual([staged?.isTemplate, staged?.complete, asked.length], [true, true, 1]);
  assert.ok((await releasesOf(made)).includes('9.4 now'));
  await made.swap(NAME, { image: image('9.6') }, { beforeSwap: async (name) => void asked.push(name) });
  assert.deepEqual([await releasesOf(made), made.inventory.counters.uploads], [['9.6 now', '9.4'], 1]);
  assert.equal(asked[1], asked[0]);
});
