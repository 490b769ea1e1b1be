import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BootImage,
  BootImagePolicy,
  type BootImagePolicySpec,
  ClusterVersion,
  Deployment,
  type Infrastructure,
  MachineSet,
} from '@drydock/api';
import { failureOf as rotationFailureOf } from '../cluster-api/failure.ts';
import { upstreamController } from '../decide/coexistence.ts';
import { explainSet } from '../explain.ts';
import { imageOf } from '../status/boot-image-store.ts';
import {
  computed,
  type FakeCluster,
  type FakeClusterOptions,
  fakeCluster,
  infrastructure,
  machineSet,
  managed,
  newRelease,
  oldRelease,
  published,
  stream,
  workspace,
} from '../testing/fake-cluster.ts';

const oldest = '9.4.20250101-0';
const minute = 60_000;

function put(c: FakeCluster, name: string, spec: BootImagePolicySpec = {}): void {
  c.client.put(BootImagePolicy, { metadata: { name, generation: 1 }, spec });
}

function cluster(spec: BootImagePolicySpec, options: FakeClusterOptions = {}): FakeCluster {
  const c = fakeCluster(options);
  put(c, 'gold', spec);
  return c;
}

function later(c: FakeCluster, minutes: number): void {
  c.clock += minutes * minute;
}

/** Reason and phase of what was said last of a set. */
function said(c: FakeCluster, name = 'wk-a'): string {
  const last = c.last(name);
  assert.ok(last !== undefined, `nothing was said of ${name}`);
  if (last.kind === 'current') return 'current';
  if (last.kind === 'step') return last.phase;
  return `${last.kind} ${last.reason}`;
}

const explain = (c: FakeCluster, name = 'wk-a'): ReturnType<typeof explainSet> => {
  const set = c.client.peek(MachineSet, { namespace: 'openshift-machine-api', name });
  assert.ok(set !== undefined);
  return explainSet(set, c.ports);
};

test('OWN-18 policies of one priority that select one set: both are named, the image stays, and explain says so', async () => {
  const c = cluster(
    { selector: { matchLabels: { tier: 'web' } } },
    {
      sets: [machineSet('wk-a', {}, { labels: { tier: 'web' } }), machineSet('wk-b')],
    },
  );
  put(c, 'base');
  await c.pass();
  const last = c.last('wk-a');
  assert.ok(last?.kind === 'failed' && last.blocked);
  assert.match(last.message, /bootimagepolicies base, gold have the same priority and select machineset wk-a/);
  assert.match(last.nextStep ?? '', /spec\.priority/);
  assert.deepEqual([c.template('wk-a'), c.template('wk-b')], [computed, published]);
  const explained = await explain(c);
  assert.equal(explained.step, 'blocked');
  assert.match(explained.why, /base, gold/);

  put(c, 'gold', { priority: 1, selector: { matchLabels: { tier: 'web' } } });
  await c.pass();
  assert.deepEqual([said(c), c.template('wk-a'), (await explain(c)).policy], ['current', published, 'gold']);
});

test('OWN-18 a policy that cannot be followed keeps the images of its sets, whatever another one says', async () => {
  const c = cluster({ priority: 5, windows: [{ schedule: '0 2 30 2 *', duration: '1h' }] });
  put(c, 'base');
  await c.pass();
  assert.deepEqual([said(c), c.template('wk-a'), c.store.uploads], ['failed PolicyRefused', computed, 0]);
  const last = c.last('wk-a');
  assert.ok(last?.kind === 'failed' && last.blocked);
  assert.match(
    `${last.message} ${last.nextStep}`,
    /bootimagepolicy gold .*never opens.*kubectl edit bootimagepolicy gold/,
  );
});

test('OWN-18 what a policy opts out, or holds, is left alone with its reason; a hold ends by itself', async () => {
  const c = cluster({ optOut: { reason: 'the appliance' } });
  await c.pass();
  assert.deepEqual([said(c), c.store.calls], ['skip OptedOut', []]);
  put(c, 'gold', { hold: { until: '2026-08-02T00:10:00Z', reason: 'the fair' } });
  const again = await c.pass();
  const last = c.last('wk-a');
  assert.ok(last?.kind === 'skip');
  assert.deepEqual([last.reason, last.counted, last.target, c.store.uploads], ['Held', true, newRelease, 0]);
  assert.match(last.message, /held until 2026-08-02T00:10:00Z by bootimagepolicy gold: the fair/);
  assert.deepEqual([again, c.condition('Degraded')?.status], [{ after: 10 * minute }, 'False']);
  c.clock += 10 * minute;
  await c.timer();
  assert.deepEqual([said(c), c.template('wk-a')], ['current', published]);
  // What has its image already is told so, hold or not.
  await c.pass();
  assert.equal(said(c), 'current');
});

test('OWN-18 outside its windows nothing is begun, and the next one is told; Progressing is true until then', async () => {
  const c = cluster({ windows: [{ schedule: '0 2 * * 6', duration: '4h', timeZone: 'Europe/Berlin' }] });
  // A Sunday; the window opens at 02:00 in Berlin on the next Saturday.
  await c.pass();
  const last = c.last('wk-a');
  assert.ok(last?.kind === 'waiting');
  assert.deepEqual(
    [last.reason, last.brief, c.store.uploads],
    ['WaitsForWindow', 'window opens 2026-08-08T00:00:00Z', 0],
  );
  assert.match(
    last.message,
    /bootimagepolicy gold, which opens at 2026-08-08T00:00:00Z, 2026-08-08 02:00 in Europe\/Berlin/,
  );
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 0 of 1 MAPI MachineSets/);
  assert.equal(c.condition('Progressing')?.status, 'True');
  assert.equal((await explain(c)).step, 'wait');
  c.clock = Date.parse('2026-08-07T23:59:59Z');
  assert.deepEqual(await c.pass(), { after: 1000 });
  c.clock += 1000;
  await c.timer();
  assert.deepEqual([said(c), c.template('wk-a')], ['current', published]);
});

test('OWN-18 a window that closes, a hold and another release while the image is made: the set is not pointed at it', async () => {
  const changes: readonly (readonly [reason: string, change: (c: FakeCluster) => void])[] = [
    ['waiting WaitsForWindow', (c) => later(c, 61)],
    ['skip Held', (c) => put(c, 'gold', { hold: { reason: 'stop' } })],
    ['waiting ImageChanged', (c) => put(c, 'gold', { image: { release: oldRelease } })],
    ['failed PolicyConflict', (c) => put(c, 'silver')],
    ['skip OptedOut', (c) => put(c, 'gold', { optOut: { reason: 'no' } })],
  ];
  for (const [reason, change] of changes) {
    const c = cluster({ windows: [{ schedule: '0 0 2 8 *', duration: '1h' }] });
    c.store.onPublish = () => change(c);
    await c.pass();
    assert.deepEqual([said(c), c.template('wk-a'), c.store.uploads], [reason, computed, 1]);
    assert.deepEqual(
      c.client.writes.filter((write) => write.includes('machinesets')),
      [],
    );
  }
});

test('OWN-18 a release of its own: from the catalogue, from the place, or not at all', async () => {
  const [sha256, url] = ['c'.repeat(64), 'https://images.example/ova'];
  const from = (
    release: string | undefined,
    version: string,
    architecture: 'amd64' | 'arm64' = 'amd64',
  ): BootImagePolicySpec => ({
    image: { ...(release === undefined ? {} : { release }), catalogue: [{ version, architecture, url, sha256 }] },
  });
  const named = cluster(from(undefined, newRelease));
  await named.pass();
  assert.deepEqual(
    named.store.wishes.map(({ image }) => image),
    [{ release: newRelease, location: url, sha256 }],
  );

  const pinned = cluster(from(oldest, oldest));
  await pinned.pass();
  assert.deepEqual([said(pinned), pinned.template('wk-a')], ['current', `${computed}-${oldest}-0123abcd`]);
  assert.deepEqual([pinned.last('wk-a')?.target, pinned.store.wishes.length], [oldest, 1]);
  await pinned.pass();
  assert.equal(said(pinned), 'current');
  assert.match(pinned.condition('Progressing')?.message ?? '', /^Reconciled 0 of 1 MAPI MachineSets \(1 skipped\)/);

  const kept = `${computed}-${oldest}-0123abcd`;
  const there = cluster(
    { image: { release: oldest } },
    {
      templates: { [computed]: { version: oldRelease }, [kept]: { version: oldest, ours: true } },
    },
  );
  await there.pass();
  assert.deepEqual([said(there), there.template('wk-a'), there.store.uploads], ['current', kept, 0]);

  for (const [spec, code, says] of [
    [{ image: { release: oldest } }, 'ReleaseNotOffered', /asks for 9\.4.* and no template of it is in the place/],
    [from(undefined, oldest), 'NotInCatalogue', /the catalogue of bootimagepolicy gold has no image of 9\.8/],
    [from(undefined, newRelease, 'arm64'), 'NotInCatalogue', /has no image of 9\.8/],
    [
      { image: { catalogue: [{ version: newRelease, contentLibraryItem: 'images/rhcos' }] } },
      'CatalogueUnusable',
      /as images\/rhcos without a digest/,
    ],
  ] as const) {
    const c = cluster(spec);
    await c.pass();
    const last = c.last('wk-a');
    assert.ok(last?.kind === 'failed' && last.blocked, code);
    assert.deepEqual([last.reason, c.template('wk-a'), c.store.uploads], [code, computed, 0]);
    assert.match(last.message, says);
    assert.match(last.nextStep ?? '', /kubectl edit bootimagepolicy gold/);
  }
});

test('OWN-18 an image that a catalogue names and that cannot be had, or is another one: the set says where the entry is', async () => {
  const [sha256, url] = ['c'.repeat(64), 'https://images.example/ova'];
  const entry = /spec\.image\.catalogue: kubectl edit bootimagepolicy gold$/;
  for (const [code, next, says] of [
    ['DOWNLOAD_FAILED', 'Check the address.', /^Check the address\. The entry is in /],
    ['DIGEST_MISMATCH', 'Check the file.', /^Check the file\. The entry is in /],
    ['LIBRARY_ITEM_MISSING', 'Check the name.', /^Check the name\. The entry is in /],
    ['NO_SPACE', 'Make room.', undefined],
  ] as const) {
    const c = cluster({ image: { catalogue: [{ version: newRelease, url, sha256 }] } });
    c.store.fail = Object.assign(new Error('no'), { code, retriable: true, next });
    await c.pass();
    const last = c.last('wk-a');
    assert.ok(last?.kind === 'failed', code);
    assert.equal(c.template('wk-a'), computed);
    if (says === undefined) assert.equal(last.nextStep, next);
    else assert.match(last.nextStep ?? '', entry);
    assert.match(last.nextStep ?? '', says ?? /./);
    const { outcome } = rotationFailureOf(c.store.fail, {
      metadata: { name: 'gold' },
      spec: { image: { catalogue: [] } },
    });
    assert.equal(outcome.kind === 'failed' && outcome.nextStep, last.nextStep, 'of Cluster API the same');
  }
});

test('OWN-18 publication by swap for the sets of a policy alone, and what is kept as a way back', async () => {
  const c = cluster(
    { selector: { matchLabels: { stable: '' } }, publication: 'Swap', retention: { keep: 5 } },
    {
      sets: [machineSet('wk-a', {}, { labels: { stable: '' } }), machineSet('wk-b', { template: 'other' })],
      templates: { [computed]: { version: oldRelease }, other: { version: oldRelease } },
      collectAfterMs: 0,
    },
  );
  const keeps: unknown[] = [];
  c.store.collect = async (_place, _cluster, options) => {
    keeps.push(options.keep);
    return [];
  };
  await c.pass();
  await c.pass();
  assert.deepEqual([c.template('wk-a'), c.template('wk-b')], [computed, published]);
  assert.equal(c.store.templates.get(computed)?.version, newRelease);
  assert.equal(keeps.at(-1), 5);
});

const domains = ['fd1', 'fd2'];
const inDomain = (name: string, domain: string): MachineSet =>
  machineSet(name, { workspace: { ...workspace, datastore: `/dc1/datastore/${domain}` } });
const twoDomains: Infrastructure = infrastructure((spec) => {
  const [first] = spec.platformSpec?.vsphere?.failureDomains ?? [];
  assert.ok(first !== undefined);
  const failureDomains = domains.map((name) => ({
    ...first,
    ...{ name, topology: { ...first.topology, datastore: `/dc1/datastore/${name}` } },
  }));
  return {
    ...spec,
    platformSpec: { ...spec.platformSpec, vsphere: { ...spec.platformSpec?.vsphere, failureDomains } },
  };
});

test('OWN-18 failure domains in turn and one set at a time: what fails keeps those behind it from being begun', async () => {
  const sets = [inDomain('wk-z', 'fd1'), inDomain('wk-y', 'fd1'), inDomain('wk-a', 'fd2'), inDomain('wk-b', 'fd2')];
  const names = { 'c1-abcde-rhcos-fd1': { version: oldRelease }, 'c1-abcde-rhcos-fd2': { version: oldRelease } };
  const start = (): FakeCluster =>
    cluster(
      { pace: { setsAtATime: 1, failureDomains: 'InTurn' } },
      { sets, templates: names, infrastructure: twoDomains },
    );
  const c = start();
  const switched = (one: FakeCluster): readonly string[] =>
    one.client.writes
      .filter((write) => write.startsWith('patch machinesets'))
      .map((write) => write.split('/').at(-1) ?? '');
  await c.pass();
  assert.deepEqual(switched(c), ['wk-y', 'wk-z', 'wk-a', 'wk-b']);

  const stuck = start();
  stuck.client.refuse = (write) => (write.endsWith('/wk-z') ? new Error('admission says no') : undefined);
  await stuck.pass();
  assert.deepEqual(switched(stuck), ['wk-y']);
  assert.deepEqual(
    ['wk-z', 'wk-a', 'wk-b'].map((name) => said(stuck, name)),
    ['failed PatchFailed', 'waiting WaitsForTurn', 'waiting WaitsForTurn'],
  );
  const waits = stuck.last('wk-a');
  assert.match(
    waits?.kind === 'waiting' ? waits.message : '',
    /not begun before machineset wk-z is done, by the pace of bootimagepolicy gold/,
  );
  // Its own time to be tried again has not come, and nobody overtakes it.
  await stuck.timer();
  assert.deepEqual(switched(stuck), ['wk-y']);
  stuck.client.refuse = undefined;
  await stuck.pass();
  assert.deepEqual(switched(stuck), ['wk-y', 'wk-z', 'wk-a', 'wk-b']);

  // Without the pace nobody waits for anybody.
  const free = cluster({}, { sets, templates: names, infrastructure: twoDomains });
  free.client.refuse = (write) => (write.endsWith('/wk-z') ? new Error('admission says no') : undefined);
  await free.pass();
  assert.deepEqual(switched(free).toSorted(), ['wk-a', 'wk-b', 'wk-y']);
});

test('OWN-18 a policy selects by the failure domain that the workspace lies in', async () => {
  const sets = [inDomain('wk-a', 'fd1'), inDomain('wk-b', 'fd2')];
  const c = cluster({ failureDomains: ['fd2'], hold: { reason: 'fair' } }, { sets, infrastructure: twoDomains });
  await c.pass();
  assert.deepEqual([said(c, 'wk-a'), said(c, 'wk-b')], ['current', 'skip Held']);
});

test('OWN-18 beside the upstream controller a policy acts on what that leaves alone, and on nothing else', async () => {
  const sets = [machineSet('theirs', {}, { labels: { by: 'upstream' } }), machineSet('ours'), machineSet('nobodys')];
  const c = fakeCluster({ sets, managers: managed('Partial', { matchLabels: { by: 'upstream' } }) });
  c.client.put(Deployment, { metadata: upstreamController } as Deployment);
  await c.pass();
  assert.deepEqual(
    sets.map(({ metadata }) => said(c, metadata.name)),
    Array(3).fill('skip LeftToUpstream'),
  );
  assert.equal(c.store.uploads, 0);

  put(c, 'gold', { selector: { matchExpressions: [{ key: 'kind', operator: 'DoesNotExist' }] } });
  c.edit.set('nobodys', (set) => ({ ...set, metadata: { ...set.metadata, labels: { kind: 'other' } } }));
  await c.pass();
  assert.deepEqual(
    sets.map(({ metadata }) => said(c, metadata.name)),
    ['skip LeftToUpstream', 'current', 'skip LeftToUpstream'],
  );
  assert.deepEqual([c.template('theirs'), c.template('ours'), c.template('nobodys')], [computed, published, computed]);
  // Its conditions are upstream's.
  assert.deepEqual(c.conditionWrites, []);
  assert.match(
    (await explain(c, 'ours')).answers[0]?.text ?? '',
    /leaves machineset ours alone, about which a bootimagepolicy decides/,
  );
  assert.equal((await explain(c, 'theirs')).step, 'skip');

  // Upstream is told to manage it while its next image is made: it is upstream's from then on.
  c.edit.set('ours', (set) => ({ ...set, spec: machineSet('ours').spec ?? {} }));
  c.store.templates.delete(published);
  c.store.onPublish = () =>
    c.edit.mc((mc) => ({
      ...mc,
      status: { ...mc.status, managedBootImagesStatus: { machineManagers: managed('All') } },
    }));
  await c.pass();
  assert.deepEqual([said(c, 'ours'), c.template('ours')], ['skip LeftToUpstream', computed]);
});

test('OWN-18 what upstream has not reflected yet, and an upgrade, keep a policy from acting beside it', async () => {
  const start = (): FakeCluster => {
    const c = cluster({}, { managers: managed('None') });
    c.client.put(Deployment, { metadata: upstreamController } as Deployment);
    return c;
  };
  const unreflected = start();
  unreflected.edit.mc((mc) => ({ ...mc, metadata: { ...mc.metadata, generation: 2 } }));
  await unreflected.pass();
  assert.equal(said(unreflected), 'skip LeftToUpstream');
  const c = start();
  const upgrade = (state: string): void =>
    c.client.put(ClusterVersion, {
      metadata: { name: 'version' },
      status: { history: [{ state, version: '4.23.0' }] },
    } as ClusterVersion);
  upgrade('Partial');
  await c.pass();
  assert.deepEqual([said(c), c.store.calls], ['waiting ClusterNotStable', []]);
  upgrade('Completed');
  await c.pass();
  assert.deepEqual([said(c), c.template('wk-a')], ['current', published]);
});

test('a stream that has the release that a policy names needs no catalogue', async () => {
  const c = cluster({ image: { release: newRelease } }, { stream });
  await c.pass();
  assert.deepEqual([said(c), c.template('wk-a')], ['current', published]);
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 1 of 1 MAPI MachineSets \|/);
});

test('OWN-18 policies that want different releases under one name: nobody takes it from the other', async () => {
  const labels = { old: '' };
  const sets = [machineSet('wk-a', {}, { labels }), machineSet('wk-b')];
  const catalogue = [{ version: oldest, url: 'https://images.example/ova', sha256: 'c'.repeat(64) }];
  const spec: BootImagePolicySpec = { selector: { matchLabels: labels }, image: { release: oldest, catalogue } };
  const c = cluster(spec, { sets, publication: 'swap' });
  await c.pass();
  assert.deepEqual([said(c, 'wk-a'), said(c, 'wk-b')], Array(2).fill('failed PolicyConflict'));
  assert.deepEqual([c.store.uploads, c.store.templates.get(computed)?.version], [0, oldRelease]);
  const last = c.last('wk-b');
  assert.match(
    last?.kind === 'failed' ? last.message : '',
    /wk-b is to have the cluster's release and machineset wk-a 9\.4.* by bootimagepolicy gold, and by swap/,
  );
  put(c, 'gold', { ...spec, publication: 'Pointer' });
  await c.pass();
  assert.deepEqual([c.template('wk-a'), said(c, 'wk-b')], [`${computed}-${oldest}-0123abcd`, 'current']);
  // Both by pointer, at the same time, in one place.
  const apart = cluster(spec, { sets });
  await apart.pass();
  assert.deepEqual([apart.template('wk-a'), apart.template('wk-b')], [`${computed}-${oldest}-0123abcd`, published]);
});

test('OWN-18 a pin is stronger than a hold, windows and policies that are not in order, but not than an opt-out', async () => {
  const specs: readonly (readonly [spec: BootImagePolicySpec, moves: boolean])[] = [
    [{ hold: { reason: 'fair' } }, true],
    [{ windows: [{ schedule: '0 0 1 1 *', duration: '1h' }] }, true],
    [{ windows: [{ schedule: '0 0 30 2 *', duration: '1h' }] }, true],
    [{ image: { release: '9.9.20261001-0' } }, true],
    [{ optOut: { reason: 'no' } }, false],
  ];
  for (const [spec, moves] of specs) {
    const c = fakeCluster();
    await c.pass();
    assert.equal(c.template('wk-a'), published);
    put(c, 'gold', spec);
    const pin = { release: oldRelease, image: computed, by: 'alice', reason: 'nodes do not boot' };
    const image = imageOf(machineSet('wk-a'));
    c.client.put(BootImage, { ...image, spec: { ...image.spec, pin } });
    await c.pass();
    assert.equal(c.template('wk-a'), moves ? computed : published, JSON.stringify(spec));
    if (!moves) assert.equal(said(c), 'skip OptedOut');
  }
});
