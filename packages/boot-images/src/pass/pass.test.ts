import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion, ConfigMap, MachineConfiguration, MachineSet } from '@drydock/api';
import { fakeCluster, machineSet, newRelease, published, workspace } from '../testing/fake-cluster.ts';
import { runPass } from './pass.ts';

const patches = (writes: readonly string[]): readonly string[] => writes.filter((w) => w.startsWith('patch '));

test('a new release is published and the set is pointed at it by one guarded patch of one leaf', async () => {
  const c = fakeCluster();
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  assert.deepEqual(patches(c.client.writes), ['patch machinesets openshift-machine-api/wk-a']);
  const story = c.events.map((e) => e.split(' ')[1]);
  assert.deepEqual(story, ['Planned', 'DownloadVerified', 'UploadStarted', 'Imported', 'Switched', 'Retained']);
  assert.equal(c.condition('Progressing')?.status, 'False');
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.deepEqual(c.last('wk-a'), {
    kind: 'current',
    current: newRelease,
    target: newRelease,
    template: { server: 'vc1', name: published, release: newRelease, digest: 'ab' },
    by: 'release',
    movedTo: published,
    attempts: { target: newRelease, count: 1 },
  });
});

test('BI-V157 two sets of one failure domain cost one import', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a'), machineSet('wk-b')] });
  await c.pass();
  assert.equal(c.store.uploads, 1);
  assert.deepEqual([c.template('wk-a'), c.template('wk-b')], [published, published]);
});

test('all sets are listed as often for thirty sets as for three: each is looked up by its key before its patch', async () => {
  const lists = async (count: number): Promise<number> => {
    const c = fakeCluster({ sets: Array.from({ length: count }, (_, index) => machineSet(`wk-${index}`)) });
    const { machineSets } = c.ports.world;
    let asked = 0;
    Object.assign(c.ports.world, {
      machineSets: () => {
        asked += 1;
        return machineSets();
      },
    });
    await c.pass();
    assert.equal(patches(c.client.writes).length, count);
    return asked;
  };
  const few = await lists(3);
  assert.ok(few > 0);
  assert.equal(await lists(30), few);
});

test('a concurrent change of the image wins: the guard fails and nothing is overwritten', async () => {
  const c = fakeCluster();
  c.store.onPublish = () => c.edit.set('wk-a', () => machineSet('wk-a', { template: 'by-hand' }));
  await c.pass();
  assert.equal(c.template('wk-a'), 'by-hand');
  assert.match(c.condition('Degraded')?.message ?? '', /unable to patch new machineset: /);
});

test('an outcome that cannot be told stops neither the other sets nor the conditions, and the pass is repeated', async () => {
  const c = fakeCluster({
    sets: [machineSet('wk-a'), machineSet('wk-b'), machineSet('wk-c', { template: 'elsewhere' })],
  });
  const { report } = c.ports;
  const ports = {
    ...c.ports,
    report: (...[set, outcome]: Parameters<typeof report>): Promise<void> =>
      set.metadata.name === 'wk-a' && outcome.kind === 'current'
        ? Promise.reject(new Error('admission webhook denied the request'))
        : report(set, outcome),
  };
  await assert.rejects(runPass(ports, c.state, { reason: 'R', touched: 'all' }), /admission webhook/);
  assert.deepEqual(['wk-a', 'wk-b', 'wk-c'].map(c.template), [published, published, published]);
  assert.equal(c.last('wk-c')?.kind, 'current');
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 3 of 3 MAPI MachineSets/);
  assert.deepEqual([...c.state.looked].toSorted(), ['ms/wk-a', 'ms/wk-b', 'ms/wk-c']);
});

test('a template that somebody destroys in vCenter is made again within the hour, without an event', async () => {
  const c = fakeCluster();
  await c.pass();
  c.clock += 61_000;
  const settled = await c.timer();
  assert.deepEqual(settled, { after: 3_600_000 });
  const writes = c.client.writes.length;
  c.store.templates.delete(published);
  c.clock += settled?.after ?? Number.NaN;
  await c.timer();
  assert.deepEqual([c.store.uploads, c.store.templates.has(published)], [2, true]);
  assert.equal(c.template('wk-a'), published);
  assert.equal(c.client.writes.length, writes, 'the set names it already');
});

test('SAFE-11 a name that no server can have, or of megabytes, is refused at the object: nothing is asked or sent for it, its status is short, every other set goes on', async () => {
  const long = 'x'.repeat(1_300_000);
  const sets = [
    machineSet('wk-a'),
    machineSet('wk-folder', { workspace: { ...workspace, folder: '/DC0/vm/a\u0001b' } }),
    machineSet('wk-template', { template: 'half \ud800' }),
    machineSet('wk-secret', { userDataSecret: { name: long } }),
    machineSet('wk-long', { template: long }),
  ];
  const c = fakeCluster({ sets });
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  assert.deepEqual(patches(c.client.writes), ['patch machinesets openshift-machine-api/wk-a']);
  const said = ['wk-folder', 'wk-template', 'wk-secret', 'wk-long'].map((name) => c.last(name));
  assert.deepEqual(
    said.map((outcome) => (outcome?.kind === 'failed' ? [outcome.blocked, outcome.reason, outcome.message] : outcome)),
    [
      [true, 'workspace.folder has a character that no name can have (U+0001, the 10. of it)'],
      [true, 'template has a character that no name can have (U+D800, the 6. of it)'],
      [true, 'userDataSecret.name has 1300000 characters, of which at most 253 can be a name'],
      [true, 'template has 1300000 characters, of which at most 2048 can be a name'],
    ].map(([blocked, why], at) => [
      blocked,
      'NameUnusable',
      `failed to reconcile machineset ${sets[at + 1]?.metadata.name}, err: providerSpec.value.${why}`,
    ]),
  );
  assert.ok((c.condition('Degraded')?.message ?? '').length < 4096);
});

test('BI-V69 BI-V74 a pass that ends well records the release, and the installed one where a set was left out', async () => {
  const cluster = fakeCluster({ sets: [machineSet('wk-a')] });
  const automatic = { mode: 'Automatic', automatic: { ocpVersion: '4.0.0' } } as const;
  cluster.edit.mc((mc) => ({ ...mc, status: { ...mc.status, bootImageSkewEnforcementStatus: automatic } }));
  const golden = { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' };
  const data = cluster.client.peek(ConfigMap, golden)?.data;
  cluster.client.put(ConfigMap, { metadata: golden, data: { ...data, releaseVersion: '4.22.1' } });
  const record = (): unknown =>
    cluster.client.peek(MachineConfiguration, { name: 'cluster' })?.status?.bootImageSkewEnforcementStatus?.automatic;
  await cluster.pass();
  assert.equal(cluster.last('wk-a')?.kind, 'current');
  assert.deepEqual(record(), { ocpVersion: '4.22.1' });

  cluster.client.put(ClusterVersion, {
    metadata: { name: 'version' },
    status: {
      history: [
        { state: 'Completed', version: '4.22.1' },
        { state: 'Completed', version: '4.18.3' },
      ],
    },
  });
  const owner = { apiVersion: 'v1', kind: 'Owner', name: 'o', uid: 'u' };
  cluster.client.put(MachineSet, machineSet('wk-owned', {}, { ownerReferences: [owner] }));
  await cluster.pass();
  assert.deepEqual(record(), { ocpVersion: '4.18.3' });
});
