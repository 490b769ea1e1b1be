import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import type { MoRef } from '@drydock/vsphere';
import { type MachineSnapshot, simulatedFault } from '@drydock/vsphere/testing';
import { isTemplateError } from './errors.ts';
import { templateStore } from './store-vsphere.ts';
import { TEST_KEYS } from './testing/keys.ts';
import { fails, type TestRig, testRig } from './testing/rig.ts';
import { memoryOva, testPlacement, testWish } from './testing/wishes.ts';
import type { TemplateWish } from './wish.ts';

const FOLDER = '/DC0/vm/ocp';
const OWNER = 'cluster-uid';
const DAY = 86_400_000;
const placement = testPlacement();
const keys = { markKeys: async () => TEST_KEYS };

const image = (release: string): Partial<TemplateWish> => ({
  image: { release, location: 'https://m.test/x', sha256: release.replace('.', '').padEnd(64, '0') },
});
const refOf = ({ ref }: MachineSnapshot): MoRef => ({ type: 'VirtualMachine', value: ref.split(':')[1] ?? '' });
const called = (made: TestRig, method: string): number => made.inventory.counters.byMethod.get(method) ?? 0;
const stateOf = (made: TestRig, one: MachineSnapshot) =>
  made.inventory.state.machines.get(one.ref) ?? assert.fail(`${one.name} is gone`);

function named(made: TestRig, name: string): MachineSnapshot {
  return made.in(FOLDER).find((one) => one.name === name) ?? assert.fail(`there is no ${name}`);
}

function rig(
  options: Parameters<typeof testRig>[3] = {},
): TestRig & { readonly clock: ReturnType<typeof virtualClock> } {
  const clock = virtualClock({ auto: true });
  const datastores = [{ path: '/DC0/datastore/DS0' }, { path: '/DC0/datastore/DS9' }];
  return { ...testRig(clock, { datastores }, {}, { ...keys, ...options }), clock };
}

const collect = (made: TestRig, change: object = {}) =>
  made.store.collect(placement, OWNER, { referenced: () => undefined, holderIsLive: () => false, keep: 0, ...change });
const roleOf = async (made: TestRig, name: string): Promise<string | undefined> =>
  (await made.store.list(placement, OWNER)).find((one) => one.name === name)?.role;

test('OWN-1 a template that somebody made a machine of is theirs: kept by every verb, named, and a new one is made beside it', async () => {
  const made = rig();
  const { name } = await made.publish(image('9.6'));
  made.inventory.convert(refOf(named(made, name)), 'machine');
  const before = JSON.stringify(named(made, name));
  assert.equal(await roleOf(made, name), 'converted');
  const again = await made.publish(image('9.6'));
  assert.notEqual(again.name, name);
  assert.equal(named(made, again.name).isTemplate, true);
  made.clock.advance(2 * DAY);
  const kept = (await collect(made)).find((one) => one.name === name);
  assert.match(`${kept?.removed} ${kept?.reason}`, /false it was a template and somebody made a machine of it/);
  assert.equal(JSON.stringify(named(made, name)), before);
  // A person says otherwise by making it a template again.
  made.inventory.convert(refOf(named(made, name)), 'template');
  assert.equal((await made.publish(image('9.6'))).name, name);
});

test("OWN-1 what was retired or adopted before there were records is somebody's, too, once it is a machine", async () => {
  const made = rig();
  made.inventory.add(made.inventory.at(FOLDER), { name: 'stable', template: true, productVersion: '8.10' });
  await made.store.adopt({ placement, owner: OWNER, reference: 'stable', holder: 'h' });
  const { retired = '' } = await made.swap('stable', image('9.6'));
  const key = made.inventory.state.customFields.indexOf('drydock.record');
  for (const machine of made.inventory.state.machines.values()) machine.customValues.delete(key);
  made.inventory.convert(refOf(named(made, retired)), 'machine');
  await made.swap('stable', image('9.6'));
  made.clock.advance(2 * DAY);
  await collect(made);
  assert.equal(named(made, retired).isTemplate, false);
  assert.equal(await roleOf(made, retired), 'converted');
});

test('OWN-2 a template that was booted in between is tampered: never published again, reported, replaced, kept, and used again once it is adopted', async () => {
  const made = rig();
  const { name } = await made.publish(image('9.6'));
  const ref = refOf(named(made, name));
  made.inventory.convert(ref, 'machine');
  made.inventory.power(ref, 'poweredOn');
  made.inventory.power(ref, 'poweredOff');
  made.inventory.convert(ref, 'template');
  assert.equal(await roleOf(made, name), 'tampered');
  const state = await made.store.inspect(placement, name);
  assert.match(state.kind === 'present' ? (state.estranged ?? '') : '', /^it was powered on since it was published/);
  const again = await made.publish(image('9.6'));
  assert.deepEqual([again.name === name, again.uploads], [false, 1]);
  made.clock.advance(2 * DAY);
  assert.match((await collect(made)).find((one) => one.name === name)?.reason ?? '', /it was powered on/);
  await made.store.adopt({ placement, owner: OWNER, reference: name, holder: 'h' });
  assert.equal(await roleOf(made, name), 'current');
});

test('OWN-2 a generation that was booted since is no way back: history says why, and revert takes the one before it', async () => {
  const made = rig();
  for (const release of ['9.2', '9.4', '9.6']) {
    await made.swap('stable', image(release));
    made.clock.advance(DAY);
  }
  const [, last] = await made.store.history(placement, OWNER, 'stable');
  const one = named(made, last?.name ?? '');
  made.inventory.convert(refOf(one), 'machine');
  made.inventory.power(refOf(one), 'poweredOn');
  made.inventory.power(refOf(one), 'poweredOff');
  made.inventory.convert(refOf(one), 'template');
  const seen = (await made.store.history(placement, OWNER, 'stable')).find(({ name }) => name === one.name);
  assert.match(`${seen?.revertible} ${seen?.reason}`, /^false it was powered on since/);
  const back = await made.store.revert({ placement, owner: OWNER, name: 'stable', holder: 'h' });
  assert.equal(back.release, '9.2');
});

const CHANGES = [
  ['a disk is exchanged', (made, one) => Object.assign(made.disks[0] ?? {}, { uuid: `${one}-other` })],
  ['a disk grows', (made) => Object.assign(made.disks[0] ?? {}, { capacityKB: 99_999_999 })],
  ['a snapshot is taken', (made) => Object.assign(made.disks[0] ?? {}, { parents: ['[DS0] x/base.vmdk'] })],
  ['a disk is added', (made) => void made.disks.push({ file: '[DS0] y/y.vmdk', uuid: 'y', parents: [] })],
  [
    'configuration for the guest is left',
    (made) => void made.extraConfig.set('guestinfo.ignition.config.data', 'e30='),
  ],
  ['it gets another firmware', (made) => void made.hardware.set('config.firmware', 'bios')],
  ['secure boot is turned on', (made) => Object.assign(made, { secureBoot: true })],
] as readonly (readonly [string, (machine: ReturnType<typeof stateOf>, ref: string) => unknown])[];

for (const [what, change] of CHANGES) {
  test(`OWN-2 ${what} while it is a machine for a moment: tampered`, async () => {
    const made = rig();
    const { name } = await made.publish(image('9.6'));
    const one = named(made, name);
    made.inventory.convert(refOf(one), 'machine');
    change(stateOf(made, one), one.ref);
    made.inventory.convert(refOf(one), 'template');
    assert.equal(await roleOf(made, name), 'tampered');
    assert.notEqual((await made.publish(image('9.6'))).name, name);
  });
}

for (const [what, change] of CHANGES.filter(([text]) => !text.startsWith('secure boot'))) {
  test(`OWN-2 ${what} right after it became a template: it is not recorded as published`, async () => {
    const made = rig();
    await made.swap('stable', image('9.4'));
    let changed = '';
    made.inventory.onCall = (method, phase, [ref]) => {
      if (method !== 'markAsTemplate' || phase !== 'after' || changed !== '') return;
      const one = made.in(FOLDER).find((machine) => machine.ref.endsWith((ref as MoRef).value)) ?? assert.fail();
      changed = one.name;
      change(stateOf(made, one), one.ref);
    };
    await made.swap('stable', image('9.6'));
    assert.equal(await roleOf(made, changed), 'tampered');
    assert.notEqual(named(made, 'stable').ref, named(made, changed).ref);
  });
}

test('OWN-2 a template that was tampered with frees none that it replaced', async () => {
  const made = rig();
  await made.swap('stable', image('9.4'));
  const { retired = '' } = await made.swap('stable', image('9.6'));
  stateOf(made, named(made, 'stable')).extraConfig.set('guestinfo.ignition.config.data', 'e30=');
  await collect(made);
  made.clock.advance(2 * DAY);
  const kept = (await collect(made)).find(({ name }) => name === retired);
  assert.equal(`${kept?.removed} ${kept?.reason}`, 'false no template of ours bears the name stable now');
});

test('OWN-2 an import that is powered on right after its upload gets no ownership record', async () => {
  const made = rig();
  made.inventory.onCall = (method, phase) => {
    if (method !== 'lease.complete' || phase !== 'after') return;
    const [half] = made.in(FOLDER);
    if (half === undefined) return;
    made.inventory.power(refOf(half), 'poweredOn');
    made.inventory.power(refOf(half), 'poweredOff');
    made.inventory.onCall = undefined;
  };
  await made.publish(image('9.6'));
  const ran = made.in(FOLDER).filter(({ extraConfig }) => 'monitor.phys_bits_used' in extraConfig);
  assert.equal(ran.length, 1);
  assert.equal(ran[0]?.customValues['drydock.ownership'], undefined);
});

test('OWN-2 an import that is powered on once its record is written is not finished', async () => {
  const made = rig();
  let booted: string | undefined;
  made.inventory.onCall = (method, phase, [ref, attribute]) => {
    if (booted !== undefined || method !== 'setCustomValue' || phase !== 'after') return;
    if (attribute !== 'drydock.ownership') return;
    booted = (ref as MoRef).value;
    made.inventory.power(ref as MoRef, 'poweredOn');
    made.inventory.power(ref as MoRef, 'poweredOff');
  };
  await made.publish(image('9.6'));
  const ran = made.in(FOLDER).find(({ ref }) => ref.endsWith(booted ?? '?'));
  assert.deepEqual([ran?.isTemplate, ran?.extraConfig['drydock.content']], [false, undefined]);
});

test('OWN-3 a finished import without a readable record is unproven, not unfinished, wherever nothing else knows it', async () => {
  const made = rig();
  made.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'markAsTemplate' && phase === 'before') client.kill();
  };
  await assert.rejects(made.publish(image('9.6')));
  const [half] = made.in(FOLDER);
  stateOf(made, half ?? assert.fail()).customValues.clear();
  const another = templateStore({
    ...{ vcenters: async () => made.inventory.client(), cacheDir: '/none', clock: made.clock, ovas: memoryOva({}) },
    ...keys,
  });
  assert.deepEqual(
    (await another.list(placement, OWNER)).map(({ role }) => role),
    ['unproven'],
  );
});

test('OWN-2 an import that is powered on while its record is written is not finished', async () => {
  const made = rig();
  made.inventory.onCall = (method, phase, [, attribute], { client }) => {
    if (method === 'setCustomValue' && phase === 'before' && attribute === 'drydock.ownership') client.kill();
  };
  await assert.rejects(made.publish(image('9.6')));
  const [half] = made.in(FOLDER);
  made.inventory.onCall = (method, phase, [ref, attribute]) => {
    const ours = half?.ref.endsWith((ref as MoRef | undefined)?.value ?? '?') === true;
    if (!ours || method !== 'setCustomValue' || phase !== 'after' || attribute !== 'drydock.ownership') return;
    made.inventory.power(ref as MoRef, 'poweredOn');
    made.inventory.power(ref as MoRef, 'poweredOff');
  };
  assert.notEqual((await made.publish(image('9.6'))).name, half?.name);
  const after = named(made, half?.name ?? '');
  assert.deepEqual([after.ref, after.isTemplate, after.extraConfig['drydock.content']], [half?.ref, false, undefined]);
});

test('OWN-2 what vCenter changes of its own accord, a rename, a note, tags and a conversion alone are harmless', async () => {
  const made = rig();
  const { name } = await made.publish(image('9.6'));
  const one = named(made, name);
  const machine = stateOf(made, one);
  made.inventory.convert(refOf(one), 'machine');
  made.inventory.convert(refOf(one), 'template');
  // A storage migration moves the files and may make them thick; versions and agents are kept up.
  machine.disks = machine.disks.map((disk) => ({ ...disk, thin: false, file: '[DS1] elsewhere/elsewhere.vmdk' }));
  for (const key of ['nvram', 'vmware.tools.internalversion', 'migrate.hostLog', 'viv.moid', 'ethernet0.pciSlotNumber'])
    machine.extraConfig.set(key, 'renewed');
  machine.annotation = 'a note of somebody';
  machine.changes += 5;
  machine.name = 'renamed by hand';
  assert.equal((await made.publish(image('9.6'))).name, 'renamed by hand');
  assert.equal(await roleOf(made, 'renamed by hand'), 'current');
  assert.equal(made.in(FOLDER).length, 1);
});

test('OWN-5 the disks of all machines are read once however many go; a linked clone, a task and a pointer that come while they are read keep their base', async () => {
  const made = rig();
  const names: string[] = [];
  for (const release of ['9.1', '9.2', '9.3', '9.4', '9.5']) names.push((await made.publish(image(release))).name);
  made.clock.advance(2 * DAY);
  const [cloned = '', busy = '', pointed = '', ...free] = names;
  let flipped = false;
  made.inventory.onCall = (method, phase, args) => {
    // 3,000 machines take seconds; the second look asks for what is new alone.
    if (method !== 'disksOn' || phase !== 'after' || flipped) return;
    assert.equal(args.length, 1);
    flipped = true;
    made.inventory.clone(refOf(named(made, cloned)), {
      name: 'worker',
      folder: made.inventory.at('/DC0/vm'),
      linked: true,
    });
    made.inventory.startTask(refOf(named(made, busy)), 'VirtualMachine.clone');
  };
  const referenced = (name: string): string | undefined => (flipped && name === pointed ? 'machineset a' : undefined);
  const collected = await collect(made, { referenced });
  made.inventory.onCall = undefined;
  const reasons = Object.fromEntries(collected.map(({ name, removed, reason }) => [name, `${removed}: ${reason}`]));
  assert.equal(reasons[cloned], 'false: its disks carry those of worker');
  assert.equal(reasons[busy], 'false: a task runs on it');
  assert.equal(reasons[pointed], 'false: used by machineset a');
  assert.deepEqual(
    free.map((name) => reasons[name]),
    ['true: nothing uses it', 'true: nothing uses it'],
  );
  assert.deepEqual(made.inventory.snapshot().broken, []);
});

test('OWN-5 a machine whose disks cannot be read may carry any disk of its datastores: nothing there goes, and it is named', async () => {
  const made = rig();
  const { name } = await made.publish(image('9.1'));
  const lost = made.inventory.add(made.inventory.at('/DC0/vm'), { name: 'lost' });
  const machine = made.inventory.state.machines.get(`VirtualMachine:${lost.value}`) ?? assert.fail();
  machine.readable = false;
  made.clock.advance(2 * DAY);
  const [kept] = await collect(made);
  assert.match(kept?.reason ?? '', /^it is unknown whether its disks carry those of lost: they cannot be read/);
  // One that has its files on another datastore alone says nothing about these disks.
  machine.disks = [{ file: '[DS9] lost/lost.vmdk', parents: [] }];
  await collect(made);
  assert.ok(!made.in(FOLDER).some((one) => one.name === name));
});

test('OWN-6 an import whose importer says that it lives stays, whoever that is and however long it takes; ten minutes of silence are death', async () => {
  let beat: () => void = () => assert.fail('no import is under way');
  const pacemaker = (tick: () => void) => {
    beat = tick;
    return { [Symbol.dispose]: () => undefined };
  };
  const made = rig({ pacemaker });
  const stranger = { holderIsLive: () => undefined };
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: uploading, resolve: started } = Promise.withResolvers<void>();
  made.inventory.onCall = (method, phase) => {
    if (method !== 'lease.upload' || phase !== 'before') return;
    started();
    return held;
  };
  const slow = made.publish({ ...image('9.6'), holder: 'cli/elsewhere' });
  await uploading;
  const wish = testWish({ ...image('9.6'), holder: 'operator' });
  const rival = async (): Promise<unknown> => {
    await using store = templateStore({
      vcenters: async () => made.inventory.client(),
      cacheDir: '/nonexistent',
      clock: made.clock,
      ovas: memoryOva(),
      ...keys,
    });
    await store.collect(placement, OWNER, { referenced: () => undefined, ...stranger, keep: 0 });
    return await store.publish(wish, stranger);
  };
  for (let minutes = 0; minutes < 40; minutes += 8) {
    made.clock.advance(8 * 60_000);
    const before = called(made, 'setCustomValue');
    beat();
    while (called(made, 'setCustomValue') === before) await new Promise(setImmediate);
    await assert.rejects(rival(), (error) => isTemplateError(error, 'UPLOAD_IN_PROGRESS'));
    assert.equal(made.in(FOLDER).length, 1, `after ${minutes} minutes`);
  }
  release();
  assert.equal((await slow).uploads, 1);
});

test('OWN-6 an import that never says anything, as other tools make them, is left alone for a day', async () => {
  const made = rig();
  made.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'lease.upload' && phase === 'after') client.kill();
  };
  await assert.rejects(made.publish({ ...image('9.6'), holder: 'elsewhere' }));
  made.inventory.onCall = undefined;
  const [half] = made.in(FOLDER);
  assert.ok(half !== undefined);
  stateOf(made, half).extraConfig.delete('drydock.heartbeat');
  const unknown = { holderIsLive: () => undefined };
  await collect(made, unknown);
  made.clock.advance(23 * 3_600_000);
  assert.match((await collect(made, unknown))[0]?.reason ?? '', /may still be being imported by elsewhere/);
  made.clock.advance(2 * 3_600_000);
  assert.match((await collect(made, unknown))[0]?.reason ?? '', /was silent for 24 hours/);
  assert.deepEqual(made.in(FOLDER), []);
});

test('OWN-7 a leader that was paused between judging and acting destroys, renames, marks and reconfigures nothing', async () => {
  let leads = true;
  const fence = (): void => {
    if (!leads) throw new Error('lease drydock/boot-images is not held');
  };
  // What would be called, and after which call the process is stopped for an hour.
  for (const [method, stopped] of [
    ['reconfigure', 'lease.complete'],
    ['setCustomValue', 'lease.complete'],
    ['markAsTemplate', 'reconfigure'],
    ['rename', 'obstacle'],
    ['destroy', 'disksOn'],
  ] as const) {
    leads = true;
    const made = rig({ fence });
    for (const release of ['9.2', '9.4']) await made.swap('stable', image(release));
    made.clock.advance(2 * DAY);
    const before = called(made, method);
    made.inventory.onCall = (name, phase) => {
      if (name === stopped && phase === 'after') leads = false;
    };
    const act = method === 'destroy' ? collect(made) : made.swap('stable', image('9.6'));
    await fails(act, 'NOT_LEADING', /does not lead any more/);
    assert.equal(called(made, method), before, method);
    assert.equal(named(made, 'stable').isTemplate, true);
  }
  // Where the vCenter does not know the attribute yet, the mark is two calls.
  leads = true;
  const made = rig({ fence });
  made.inventory.onCall = (name, phase) => {
    if (name === 'customField.define' && phase === 'after') leads = false;
  };
  await fails(made.publish(image('9.2')), 'NOT_LEADING', /does not lead any more/);
  assert.equal(called(made, 'setCustomValue'), 0);
});

test('OWN-8 a task that holds the last change back is waited for; where it lasts, the upload waits for the next pass and is not made again', async () => {
  for (const busy of [3, 99]) {
    const made = rig();
    let left = busy;
    made.inventory.onCall = (method, phase) => {
      if (method !== 'reconfigure' || phase !== 'before' || left === 0) return;
      left -= 1;
      throw simulatedFault('TaskInProgress', 'ReconfigVM_Task', 'x', { task: { type: 'Task', value: 'task-1' } });
    };
    const first = made.publish(image('9.6'));
    if (busy === 3) assert.equal((await first).uploads, 1);
    else {
      await assert.rejects(first, (error) => isTemplateError(error, 'IMPORT_FAILED') && error.retriable);
      assert.equal(made.in(FOLDER).length, 1, 'it is kept');
      left = 0;
      assert.equal((await made.publish(image('9.6'))).uploads, 0);
    }
    assert.equal(made.inventory.counters.uploads, 1);
  }
});

test('OWN-8 TRUTH-2 a session that ends in mid-upload is no failure: the import begins anew at once, and that is said', async () => {
  const made = rig();
  let ended = false;
  made.inventory.onCall = (method, phase) => {
    if (method !== 'lease.manifest' || phase !== 'before' || ended) return;
    ended = true;
    throw simulatedFault('ManagedObjectNotFound', 'HttpNfcLeaseGetManifest', 'session[1]', {
      obj: { type: 'HttpNfcLease', value: 'session[1]' },
    });
  };
  const notes: (string | undefined)[] = [];
  const published = await made.store.publish(testWish(image('9.6')), {
    holderIsLive: () => true,
    onProgress: ({ note }) => notes.push(note),
  });
  assert.deepEqual([published.uploads, made.in(FOLDER).length], [2, 1]);
  assert.deepEqual(
    notes.filter((note) => note !== undefined),
    ['the session ended; the upload starts again'],
  );
});

test('OWN-12 what nobody can read may be what is wanted: nothing is imported in its place, nothing is touched, and it is named', async () => {
  const made = rig();
  const { name } = await made.publish(image('9.6'));
  await made.swap('stable', image('9.6'));
  for (const one of [named(made, name), named(made, 'stable')])
    Object.assign(stateOf(made, one), { readable: false, connectionState: 'inaccessible' });
  const before = JSON.stringify(made.in(FOLDER));
  const { uploads } = made.inventory.counters;
  for (const act of [made.publish(image('9.6')), made.swap('stable', image('9.8'))])
    await assert.rejects(act, (error) => isTemplateError(error, 'TEMPLATE_UNREADABLE') && error.retriable);
  await fails(made.store.inspect(placement, name), 'TEMPLATE_UNREADABLE', /cannot be told/);
  made.clock.advance(2 * DAY);
  for (const { removed, reason } of await collect(made))
    assert.match(`${removed} ${reason}`, /^false its configuration/);
  assert.equal(await roleOf(made, name), 'unreadable');
  assert.equal(made.inventory.counters.uploads, uploads);
  assert.equal(JSON.stringify(made.in(FOLDER)), before);
});

test('OWN-13 a disabled method, a lost connection and a host in maintenance are seen before the first rename and before a destroy', async () => {
  for (const [what, stand] of [
    [
      'vCenter has disabled Rename_Task',
      (made: TestRig, one: MachineSnapshot) => void stateOf(made, one).disabledMethods.add('Rename_Task'),
    ],
    [
      'it is disconnected',
      (made: TestRig, one: MachineSnapshot) => Object.assign(stateOf(made, one), { connectionState: 'disconnected' }),
    ],
    [
      'its host host-a is in maintenance mode',
      (made: TestRig) => {
        for (const host of made.inventory.state.hosts.values()) Object.assign(host, { inMaintenanceMode: true });
      },
    ],
  ] as const) {
    const made = rig();
    await made.swap('stable', image('9.4'));
    await made.publish({ ...image('9.6'), publication: { kind: 'swap', name: 'other', unmarked: 'retire' } });
    const renames = called(made, 'rename');
    const blocked = made.swap('other', image('9.4'));
    stand(made, named(made, 'other'));
    await assert.rejects(blocked, (error) => {
      assert.ok(isTemplateError(error), String(error));
      const seen = error.code === 'OBSTRUCTED' || error.code === 'HOSTS_UNAVAILABLE';
      assert.ok(seen && error.retriable, `${what}: ${error.text}`);
      return true;
    });
    assert.equal(called(made, 'rename'), renames, what);
  }
  const made = rig();
  const { name } = await made.publish(image('9.1'));
  made.clock.advance(2 * DAY);
  stateOf(made, named(made, name)).disabledMethods.add('Destroy_Task');
  assert.match(
    (await collect(made))[0]?.reason ?? '',
    /it could not be removed: failed to remove .*vCenter has disabled Destroy_Task/,
  );
  assert.equal(called(made, 'destroy'), 0);
});
