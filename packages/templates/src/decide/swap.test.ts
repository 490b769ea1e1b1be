import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { simulatedFault } from '@drydock/vsphere/testing';
import { upstreamNames } from '../names.ts';
import { fails, mutations, type TestRig, testRig } from '../testing/rig.ts';
import { testPlacement, testWish } from '../testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const COMPUTED = 'c1-abcde-rhcos-fd1';
const HOUR = 3_600_000;

function rig(): TestRig & { readonly clock: ReturnType<typeof virtualClock> } {
  const clock = virtualClock({ auto: true });
  return { ...testRig(clock, { folders: [FOLDER, '/DC0/vm/other'] }), clock };
}

/** The installer's template, an hour old. */
function installed(made: ReturnType<typeof rig>, name = COMPUTED): void {
  made.inventory.add(made.inventory.at(FOLDER), { name, template: true, productVersion: '9.4' });
  made.clock.advance(HOUR);
}

const versions = (made: TestRig): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    made.in(FOLDER).map(({ name, productVersion }) => [name.replace(/[0-9a-f]{8}$/, '*'), productVersion]),
  );

test('BI-V133 swap mode: imported under another name, two renames, exactly one template of the release under the name, the old one kept', async () => {
  const made = rig();
  installed(made);
  const published = await made.swap(COMPUTED);
  assert.deepEqual(versions(made), { [COMPUTED]: '9.6', [`${COMPUTED}-retired-*`]: '9.4' });
  assert.deepEqual([published.name, published.uploads, published.adopted], [COMPUTED, 1, false]);
  assert.equal(published.retired, made.in(FOLDER).find(({ productVersion }) => productVersion === '9.4')?.name);
  const done = mutations(made);
  const again = await made.swap(COMPUTED);
  assert.deepEqual([again.uploads, again.adopted, again.absentMs], [0, true, undefined]);
  assert.equal(mutations(made), done);
});

test('BI-V136 swap mode: a custom name is replaced in place, the computed one is left', async () => {
  const made = rig();
  installed(made, 'other');
  installed(made);
  await made.swap('other');
  assert.deepEqual(versions(made), { other: '9.6', 'other-retired-*': '9.4', [COMPUTED]: '9.4' });
});

for (const name of [COMPUTED, 'custom']) {
  test(`BI-V137 BI-V149 swap mode: ${name} is missing and upstream's rollback copy exists: restored first, then updated`, async () => {
    const made = rig();
    installed(made, upstreamNames(name).old);
    const order: string[] = [];
    made.inventory.onCall = (method, phase, args) => {
      if (phase === 'before' && (method === 'rename' || method === 'startImport'))
        order.push(`${method} ${typeof args[1] === 'string' ? args[1] : ''}`);
    };
    await made.swap(name);
    assert.equal(order[0], `rename ${name}`);
    assert.deepEqual(versions(made), { [name]: '9.6', [`${name}-retired-*`]: '9.4' });
  });
}

test('BI-V137 swap mode: the rollback copy is restored even where it may not be replaced', async () => {
  const made = rig();
  installed(made, upstreamNames(COMPUTED).old);
  await fails(made.publish({ publication: { kind: 'swap', name: COMPUTED } }), 'UNMARKED', `${COMPUTED} (vm-`);
  assert.deepEqual(versions(made), { [COMPUTED]: '9.4' });
});

test('BI-V138 swap mode: nothing is there: a new import takes the name at once', async () => {
  const made = rig();
  const published = await made.swap(COMPUTED);
  assert.deepEqual(versions(made), { [COMPUTED]: '9.6' });
  assert.equal(published.absentMs, undefined);
});

test('BI-V146 swap mode: stale leftovers of exactly this name go once the template is in place; younger, linked, busy ones stay', async () => {
  const made = rig();
  const { temp, old } = upstreamNames(COMPUTED);
  const folder = made.inventory.at(FOLDER);
  installed(made);
  made.inventory.add(folder, { name: temp });
  const base = made.inventory.add(folder, { name: old, template: true });
  made.inventory.add(folder, { name: upstreamNames('another').old, template: true });
  made.inventory.add(made.inventory.at('/DC0/vm/other'), { name: temp });
  const worker = made.inventory.clone(base, {
    name: 'worker',
    folder: made.inventory.at('/DC0/vm/other'),
    linked: true,
  });
  await made.swap(COMPUTED);
  assert.ok(
    made.in(FOLDER).some(({ name }) => name === temp),
    'a young one may be an upload',
  );
  // Another tool does not say that it lives, and may upload over a slow line.
  made.clock.advance(23 * HOUR);
  await made.swap(COMPUTED);
  assert.ok(made.in(FOLDER).some(({ name }) => name === temp));
  made.clock.advance(2 * HOUR);
  const end = made.inventory.startTask(made.inventory.at(`${FOLDER}/${temp}`), 'x');
  await made.swap(COMPUTED);
  assert.deepEqual(made.in(FOLDER).filter(({ name }) => name === temp || name === old).length, 2);
  end();
  made.inventory.remove(worker);
  await made.swap(COMPUTED);
  const left = made.in(FOLDER).map(({ name }) => name);
  assert.ok(!left.includes(temp) && !left.includes(old));
  assert.ok(left.includes(upstreamNames('another').old));
  assert.equal(made.in('/DC0/vm/other').length, 1);
});

test('BI-V147 swap mode: only the vCenter of the placement is asked for', async () => {
  const made = rig();
  await made.swap(COMPUTED, { placement: testPlacement({ server: 'second.test' }) });
  assert.deepEqual(made.logins, ['second.test']);
});

test('BI-V153 swap mode: an older release swaps back to the retired template without an upload', async () => {
  const made = rig();
  const image = (release: string) => ({ release, location: 'https://m.test/x', sha256: release.padEnd(64, '0') });
  await made.swap(COMPUTED, { image: image('9.6') });
  const [first] = made.in(FOLDER);
  await made.swap(COMPUTED, { image: image('9.8') });
  const back = await made.swap(COMPUTED, { image: image('9.6') });
  assert.deepEqual([back.uploads, made.in(FOLDER).length], [0, 2]);
  assert.equal(made.in(FOLDER).find(({ name }) => name === COMPUTED)?.instanceUuid, first?.instanceUuid);
});

test('BI-V157 swap mode: two machine sets share the template: one rebuild, the second does nothing, tags of both', async () => {
  const clock = virtualClock({ auto: true });
  const tags = [
    { name: 'infra', category: 'openshift-infra', id: 'urn:1' },
    { name: 'x', category: 'y', id: 'urn:2' },
  ];
  const made = testRig(clock, { tags });
  made.inventory.add(made.inventory.at(FOLDER), { name: COMPUTED, template: true });
  const [a, b] = await Promise.all([made.swap(COMPUTED), made.swap(COMPUTED, { tagIds: ['urn:2'] })]);
  assert.deepEqual([a.uploads + b.uploads, made.inventory.counters.uploads], [1, 1]);
  assert.deepEqual(made.in(FOLDER).find(({ name }) => name === COMPUTED)?.tags, ['urn:1', 'urn:2']);
});

test('BI-V141 BI-V142 BI-V143 swap mode: whatever is missing is said before anything changes; the old template keeps its name', async () => {
  for (const [change, code] of [
    [{ placement: testPlacement({ computeCluster: 'no' }) }, 'CLUSTER_NOT_FOUND'],
    [{ placement: testPlacement({ datastore: 'no' }) }, 'DATASTORE_NOT_FOUND'],
    [{ placement: testPlacement({ networks: ['no'] }) }, 'NETWORK_NOT_FOUND'],
    [{ placement: testPlacement({ datacenter: 'no', folder: FOLDER }) }, 'DATACENTER_NOT_FOUND'],
    [{ tagName: 'no' }, 'TAG_NOT_FOUND'],
    [{ reserveBytes: 2 ** 50 }, 'NO_SPACE'],
  ] as const) {
    const made = rig();
    installed(made);
    await fails(made.swap(COMPUTED, change), code, /no|infra|bytes free/);
    assert.equal(mutations(made), 0);
  }
});

test('VS-W94 swap mode: the second rename is refused: the old name is back in the same pass, the next one goes through', async () => {
  const made = rig();
  installed(made);
  let renames = 0;
  made.inventory.onCall = (method, phase) => {
    if (method !== 'rename' || phase !== 'before') return;
    renames += 1;
    if (renames === 2) throw simulatedFault('ConcurrentAccess', 'Rename_Task', 'x');
  };
  await fails(made.swap(COMPUTED), 'RENAME_FAILED', /the template before it has its name back.*ConcurrentAccess/);
  assert.equal(versions(made)[COMPUTED], '9.4');
  made.inventory.onCall = undefined;
  assert.equal((await made.swap(COMPUTED)).uploads, 0);
  assert.equal(versions(made)[COMPUTED], '9.6');
});

test('VS-W94 swap mode: neither rename can be undone: both causes are in the error, and the next pass rolls forward', async () => {
  const made = rig();
  installed(made);
  let renames = 0;
  made.inventory.onCall = (method, phase) => {
    if (method !== 'rename' || phase !== 'before') return;
    renames += 1;
    if (renames > 1) throw simulatedFault('SystemError', 'Rename_Task', `rename ${renames}`);
  };
  await assert.rejects(made.swap(COMPUTED), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'SWAP_FAILED');
    assert.ok(error.cause instanceof AggregateError);
    assert.deepEqual(
      error.cause.errors.map((one: Error) => /rename \d/.exec(one.message)?.[0]),
      ['rename 2', 'rename 3'],
    );
    return true;
  });
  made.inventory.onCall = undefined;
  assert.equal((await made.swap(COMPUTED)).uploads, 0);
  assert.deepEqual(versions(made), { [COMPUTED]: '9.6', [`${COMPUTED}-retired-*`]: '9.4' });
});

test('OWN-21 swap mode: the published template was deleted: what we put away has the name again before anything is imported', async () => {
  const made = rig();
  const image = (release: string) => ({ image: { ...testWish().image, release, sha256: release.padEnd(64, '0') } });
  for (const release of ['9.2', '9.4']) await made.swap(COMPUTED, image(release));
  const current = made.inventory.at(`${FOLDER}/${COMPUTED}`);
  const [retired] = made.in(FOLDER).filter(({ ref }) => !ref.endsWith(`:${current.value}`));
  made.inventory.remove(current);
  let whileImporting: string | undefined;
  made.inventory.onCall = (method, phase) => {
    if (method === 'startImport' && phase === 'before')
      whileImporting = made.in(FOLDER).find(({ name }) => name === COMPUTED)?.ref;
  };
  await made.swap(COMPUTED, image('9.6'));
  assert.ok(retired !== undefined);
  assert.equal(whileImporting, retired.ref);
});

test('a caller that gives up between the renames does not leave the name absent', async () => {
  const made = rig();
  installed(made);
  const caller = new AbortController();
  made.inventory.onCall = (method, phase) => {
    if (method === 'rename' && phase === 'after') caller.abort();
  };
  const wish = { publication: { kind: 'swap', name: COMPUTED, unmarked: 'retire' } } as const;
  await assert.rejects(made.store.publish(testWish(wish), { holderIsLive: () => true, signal: caller.signal }));
  assert.equal(versions(made)[COMPUTED], '9.6');
});

test('VS-W104 swap mode: the window is measured by the clock of the process, and is longer where vCenter is slow', async () => {
  const made = rig();
  installed(made);
  let renames = 0;
  made.inventory.onCall = async (method, phase) => {
    if (method !== 'rename' || phase !== 'before') return;
    renames += 1;
    // The server takes its time over the second rename: here real time is what is measured.
    if (renames === 2) await new Promise((resolve) => setTimeout(resolve, 30));
  };
  const { absentMs } = await made.swap(COMPUTED);
  assert.ok(absentMs !== undefined && absentMs >= 29 && absentMs < 5000, String(absentMs));
});

test('VS-W99 swap mode: a template that is being cloned is not renamed; the finished import waits and is used later', async () => {
  const made = rig();
  installed(made);
  const end = made.inventory.startTask(made.inventory.at(`${FOLDER}/${COMPUTED}`), 'VirtualMachine.clone');
  await fails(made.swap(COMPUTED), 'TEMPLATE_BUSY', `a task runs on ${COMPUTED}`);
  assert.equal(versions(made)[COMPUTED], '9.4');
  end();
  assert.equal((await made.swap(COMPUTED)).uploads, 0);
});

test('VS-W103 swap mode: what may not be put away stays, nothing is uploaded, and the error says what it is and what to do', async () => {
  for (const [machine, code, text] of [
    [{ powerState: 'poweredOn' }, 'POWERED_ON', /is a machine that is not powered off/],
    [{}, 'NOT_A_TEMPLATE', /is a machine, not a template/],
    [{ template: true, disks: [{ file: 'a', parents: ['b'] }] }, 'HAS_SNAPSHOTS', /has snapshots or is a linked clone/],
  ] as const) {
    const made = rig();
    made.inventory.add(made.inventory.at(FOLDER), { name: COMPUTED, ...machine });
    const before = made.in(FOLDER);
    await fails(made.swap(COMPUTED), code, text);
    assert.deepEqual(made.in(FOLDER), before);
    assert.equal(mutations(made), 0);
  }
  const made = rig();
  installed(made);
  await fails(made.publish({ publication: { kind: 'swap', name: COMPUTED } }), 'UNMARKED', /bears no mark/);
  await made.swap(COMPUTED);
  await fails(made.swap(COMPUTED, { cluster: 'second' }), 'FOREIGN_OWNER', /belongs to cluster-uid/);
});

test('names of 0 and 81 characters are refused, 80 are used; what is no machine under the name is named', async () => {
  const made = rig();
  await fails(made.swap('x'.repeat(81)), 'NAME_TOO_LONG', 'length of VM template name `xxx');
  await fails(made.swap(''), 'NAME_TOO_LONG', 'the name of the template is empty');
  const long = `${'n'.repeat(79)}⚓`;
  installed(made, long);
  assert.equal((await made.swap(long)).name, long);
  assert.ok(made.in(FOLDER).every(({ name }) => name.length <= 80));
  const sub = testRig(virtualClock({ auto: true }), { folders: [FOLDER, `${FOLDER}/${COMPUTED}`] });
  await fails(sub.swap(COMPUTED), 'NAME_TAKEN', /Folder:.* is no machine/);
});

for (const name of [
  'a/b',
  '100% *?[x]',
  'R&D <1>',
  'x\\y',
  'ñ ⚓ 🚢',
  'vm-12',
  'VirtualMachine:vm-1',
  'mco-old-88443e3a',
  '%2f',
]) {
  test(`BI-W12 BI-W17 VS-W84 swap mode: ${JSON.stringify(name)} is a literal name`, async () => {
    const made = rig();
    installed(made, name);
    assert.equal((await made.swap(name)).name, name);
    assert.equal((await made.store.inspect(testPlacement(), name)).kind, 'present');
    assert.deepEqual(
      made
        .in(FOLDER)
        .map(({ productVersion }) => `${productVersion}`)
        .toSorted(),
      ['9.4', '9.6'],
    );
  });
}

test('BI-W15 two clusters of equal names in two datacenters, and one name in two folders: each is where its placement says', async () => {
  const clock = virtualClock({ auto: true });
  const host = { hosts: [{ name: 'h' }] };
  const made = testRig(clock, {
    folders: [FOLDER, '/DC0/vm/other', '/DC1/vm/ocp'],
    datastores: [{ path: '/DC0/datastore/DS0' }, { path: '/DC1/datastore/DS0' }],
    networks: ['/DC0/network/VM Network', '/DC1/network/VM Network'],
    clusters: [
      { path: '/DC0/host/C0', ...host },
      { path: '/DC1/host/C0', ...host },
    ],
  });
  for (const folder of [FOLDER, '/DC0/vm/other', '/DC1/vm/ocp'])
    made.inventory.add(made.inventory.at(folder), { name: COMPUTED, template: true, productVersion: '9.4' });
  const placement = testPlacement({
    datacenter: 'DC1',
    folder: 'ocp',
    datastore: 'DS0',
    computeCluster: 'C0',
    resourcePool: '',
  });
  await made.swap(COMPUTED, { placement });
  const bearer = (folder: string) => made.in(folder).find(({ name }) => name === COMPUTED)?.productVersion;
  assert.deepEqual([FOLDER, '/DC0/vm/other', '/DC1/vm/ocp'].map(bearer), ['9.4', '9.4', '9.6']);
});
