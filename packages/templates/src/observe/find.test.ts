import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { simulatedLoss } from '@drydock/vsphere/testing';
import { isTemplateError } from '../errors.ts';
import { testRig } from '../testing/rig.ts';
import { testPlacement } from '../testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const UUID = '42000000-0000-4000-8000-000000000001';

function rig() {
  const made = testRig(virtualClock({ auto: true }), { folders: [FOLDER, '/DC0/vm/other'] });
  made.inventory.add(made.inventory.at(FOLDER), { name: 'rhcos', template: true, instanceUuid: UUID });
  made.inventory.add(made.inventory.at(FOLDER), { name: 'a/b %', template: true });
  made.inventory.add(made.inventory.at('/DC0/vm/other'), { name: 'elsewhere', template: true });
  return made;
}

for (const reference of [
  'rhcos',
  '/DC0/vm/ocp/rhcos',
  '/DC0/vm//ocp/rhcos',
  'ocp/rhcos',
  './ocp/rhcos',
  'DC0/vm/ocp/rhcos',
  UUID,
  UUID.toUpperCase(),
  'a/b %',
  '/DC0/vm/ocp/a%2fb %25',
  'ocp/a%2fb %25',
]) {
  test(`BI-W12 BI-V131 ${reference} is found in its folder`, async () => {
    const state = await rig().store.inspect(testPlacement(), reference);
    assert.equal(state.kind === 'present' ? state.name : '', reference.includes('b') ? 'a/b %' : 'rhcos');
  });
}

for (const reference of [
  '',
  'rhco*',
  'rhcos/',
  '/',
  'elsewhere',
  '/DC0/vm/other/elsewhere',
  'other/elsewhere',
  '/DC1/vm/ocp/rhcos',
  'vm-1',
  '../ocp/rhcos',
]) {
  test(`BI-W12 BI-W15 BI-W16 ${JSON.stringify(reference)} is not in the folder, wherever else it may be`, async () => {
    assert.deepEqual(await rig().store.inspect(testPlacement(), reference), { kind: 'absent' });
  });
}

test('a look-up that falls back to another keeps both errors', async () => {
  const made = rig();
  made.inventory.onCall = (method) => {
    if (method === 'findByInstanceUuid' || method === 'findChild') throw simulatedLoss(method);
  };
  await assert.rejects(made.store.inspect(testPlacement(), UUID), (error) => {
    assert.ok(isTemplateError(error, 'VCENTER_FAILED'));
    assert.match(error.text, /findByInstanceUuid.*findChild/);
    return error.cause instanceof AggregateError && error.cause.errors.length === 2;
  });
});

test('the release of a template of ours is what it was published as, whatever the OVA calls itself', async () => {
  for (const version of ['nightly', '']) {
    const made = testRig(
      virtualClock({ auto: true }),
      { folders: [FOLDER], tags: [{ name: 'infra', category: 'c' }] },
      { version },
    );
    const { name } = await made.publish();
    const state = await made.store.inspect(testPlacement(), name);
    const { digest, ...found } = state.kind === 'present' ? state : { ...state, digest: undefined };
    assert.deepEqual(found, { kind: 'present', name, version: '9.6', isTemplate: true, ours: true });
    assert.match(digest ?? '', /^[0-9a-f]{64}$/);
  }
});

test('BI-V131 the folder may end in a slash, be relative, or be none: then names are looked up in the root of all folders', async () => {
  const made = rig();
  made.inventory.add(made.inventory.at('/DC0/vm'), { name: 'top', template: true });
  for (const [folder, reference, found] of [
    [`${FOLDER}/`, 'rhcos', 'rhcos'],
    ['ocp', 'rhcos', 'rhcos'],
    ['ocp/', `${FOLDER}/rhcos`, 'rhcos'],
    ['', 'top', 'top'],
    ['', '/DC0/vm/top', 'top'],
    ['', 'rhcos', undefined],
  ] as const) {
    const state = await made.store.inspect(testPlacement({ folder }), reference);
    assert.equal(state.kind === 'present' ? state.name : undefined, found, `${reference} in ${folder}`);
  }
});
