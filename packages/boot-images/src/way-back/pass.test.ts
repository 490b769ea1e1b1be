import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BootImage,
  BootImagePolicy,
  type BootImagePolicySpec,
  ClusterVersion,
  ConfigMap,
  Deployment,
  MachineSet,
} from '@drydock/api';
import { keyOf } from '@drydock/kube';
import { upstreamController } from '../decide/coexistence.ts';
import { imageOf } from '../status/boot-image-store.ts';
import {
  computed,
  type FakeClusterOptions,
  infrastructure,
  machineSet,
  newRelease,
  oldRelease,
  published,
  stream,
} from '../testing/fake-cluster.ts';
import { type ReportingCluster, reportingCluster } from '../testing/reporting-cluster.ts';
import type { Pin } from './pin.ts';

const day = 86_400_000;

/** Writes what `drydock image revert` writes. */
function pin({ cluster }: ReportingCluster, set: string, wanted: Pin | undefined): void {
  const image = cluster.client.peek(BootImage, keyOf(imageOf(machineSet(set)))) ?? imageOf(machineSet(set));
  const { pin: _, ...spec } = image.spec ?? {};
  cluster.client.put(BootImage, { ...image, spec: { ...spec, ...(wanted === undefined ? {} : { pin: wanted }) } });
}

const status = (c: ReportingCluster, set = 'wk-a') => c.image(set)?.status;
const old: Pin = { release: oldRelease, image: computed, by: 'alice', reason: 'nodes do not boot' };

for (const publication of ['pointer', 'swap'] as const) {
  const start = async (options: FakeClusterOptions = {}): Promise<ReportingCluster> => {
    const c = reportingCluster({ publication, ...options });
    await c.pass();
    assert.equal(status(c)?.current, newRelease);
    return c;
  };

  test(`${publication} mode: a pinned set goes back without an upload, says so, and does not move when the release changes or the process restarts`, async () => {
    const c = await start();
    const { uploads } = c.cluster.store;
    pin(c, 'wk-a', old);
    await c.pass();
    const said = status(c);
    assert.deepEqual(
      [said?.phase, said?.reason, said?.current, said?.target],
      ['Current', 'Pinned', oldRelease, oldRelease],
    );
    assert.equal(said?.progress, 'pinned by alice until it is released');
    assert.match(said?.message ?? '', /pinned to 9\.6\.20260512-0 by alice until it is released: nodes do not boot$/);
    assert.equal(said?.nextStep, 'drydock image release ms/wk-a');
    assert.deepEqual([said?.history?.[0]?.by, said?.history?.[1]?.outcome], ['revert', 'RevertedFrom']);
    assert.equal(c.cluster.template('wk-a'), computed);
    assert.equal(c.cluster.store.templates.get(computed)?.version, oldRelease);
    const newer = stream.replaceAll(newRelease, '9.9.20261001-0');
    c.cluster.client.put(ConfigMap, {
      metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
      data: { stream: newer },
    });
    for (const again of [false, true, false]) {
      if (again) c.restart();
      await c.pass();
      assert.deepEqual([c.cluster.template('wk-a'), status(c)?.reason], [computed, 'Pinned']);
    }
    assert.equal(c.cluster.store.uploads, uploads, 'nothing was uploaded for it');
    pin(c, 'wk-a', undefined);
    await c.pass();
    assert.equal(status(c)?.current, '9.9.20261001-0', 'a pin that is lifted holds nothing');
    assert.equal(
      status(c)?.conditions?.some(({ type }) => type === 'Pinned'),
      false,
    );
  });

  test(`${publication} mode: a pin to an image that is gone blocks the set where it is, and names what is there`, async () => {
    const c = await start();
    const before = c.cluster.template('wk-a');
    pin(c, 'wk-a', { release: '1.2.3', image: publication === 'swap' ? computed : 'nowhere' });
    await c.pass();
    const said = status(c);
    assert.deepEqual([said?.phase, said?.reason, c.cluster.template('wk-a')], ['Blocked', 'PinnedImageGone', before]);
    assert.match(said?.message ?? '', /pinned to 1\.2\.3 .*there are .*9\.8\.20260802-0/);
    assert.match(said?.nextStep ?? '', /drydock image history ms\/wk-a/);
    assert.equal(c.cluster.store.uploads, 1);
  });

  test(`${publication} mode: a pin of a release alone is met by the image of that release`, async () => {
    const c = await start();
    pin(c, 'wk-a', { release: oldRelease });
    await c.pass();
    assert.deepEqual([status(c)?.current, status(c)?.reason], [oldRelease, 'Pinned']);
  });

  test(`${publication} mode: an opted-out set with a pin stays where it is, and says both`, async () => {
    const c = await start();
    const before = c.cluster.store.templates.get(String(c.cluster.template('wk-a')));
    c.cluster.edit.set('wk-a', (set) => ({
      ...set,
      metadata: { ...set.metadata, annotations: { ...set.metadata.annotations, 'drydock.dev/boot-image': 'Disabled' } },
    }));
    pin(c, 'wk-a', old);
    await c.pass();
    assert.deepEqual([status(c)?.phase, status(c)?.reason], ['Skipped', 'OptedOut']);
    assert.match(status(c)?.message ?? '', /it is pinned to 9\.6\.20260512-0 by alice.*not obeyed/);
    assert.deepEqual(c.cluster.store.templates.get(String(c.cluster.template('wk-a'))), before);
  });

  test(`${publication} mode: beside an upstream controller a pin moves nothing`, async () => {
    const c = await start();
    const before = [...c.cluster.store.templates];
    c.cluster.client.put(Deployment, { metadata: { ...upstreamController } });
    pin(c, 'wk-a', old);
    await c.pass();
    assert.equal(status(c)?.reason, 'LeftToUpstream');
    assert.deepEqual([...c.cluster.store.templates], before);
  });
}

test('KEEP-C: beside an upstream controller nothing is done about pins: one that has lapsed stays, and no BootImage is deleted', async () => {
  const c = reportingCluster();
  await c.pass();
  c.cluster.client.put(Deployment, { metadata: { ...upstreamController } });
  pin(c, 'wk-a', { ...old, until: new Date(c.cluster.clock - day).toISOString() });
  const { pin: lapsed } = c.image()?.spec ?? {};
  c.cluster.client.objects.delete('machinesets openshift-machine-api/wk-a');
  await c.pass();
  assert.deepEqual([c.image()?.spec?.pin, lapsed?.by], [lapsed, 'alice']);
  assert.ok(!c.cluster.events.some((event) => event.includes('PinLapsed')));
  c.cluster.client.objects.delete(`deployments ${upstreamController.namespace}/${upstreamController.name}`);
  await c.pass();
  assert.equal(c.image()?.spec?.pin, undefined, 'once it is gone');
});

test('OWN-18 a pin that can name nothing is told on the object with the command that lifts it; one whose digest nothing has says so', async () => {
  const c = reportingCluster();
  await c.pass();
  for (const [wanted, reason, says] of [
    [{}, 'PinInvalid', /names neither a release nor an image/],
    [{ image: 'a\n\u001b[31mb' }, 'PinInvalid', /names image with characters that none has/],
    [{ release: oldRelease, digest: '\u202e' }, 'PinInvalid', /names digest with characters that none has/],
    [
      { release: newRelease, image: 'elsewhere', digest: '00' },
      'PinnedImageGone',
      /\(elsewhere, sha256 00\), which is not in /,
    ],
  ] as const) {
    pin(c, 'wk-a', wanted);
    await c.pass();
    const { phase, reason: is, message, nextStep } = status(c) ?? {};
    assert.deepEqual([phase, is, c.cluster.template('wk-a')], ['Blocked', reason, published]);
    assert.match(message ?? '', says);
    assert.match(nextStep ?? '', /drydock image release ms\/wk-a/);
  }
});

test('swap mode: one name serves many sets: the pin of one holds it for all, and says whose it is', async () => {
  const c = reportingCluster({ publication: 'swap', sets: [machineSet('wk-a'), machineSet('wk-b')] });
  await c.pass();
  pin(c, 'wk-a', old);
  await c.pass();
  await c.pass();
  for (const set of ['wk-a', 'wk-b'])
    assert.deepEqual([status(c, set)?.current, status(c, set)?.reason], [oldRelease, 'Pinned'], set);
  assert.match(status(c, 'wk-b')?.message ?? '', /by the pin of ms\/wk-a, which has the same name/);
  assert.equal(c.cluster.store.templates.get(computed)?.version, oldRelease);
});

test('OWN-18 whose image shares a name is as the policies say: the pin of one set holds it for those alone that are published by swap', async () => {
  const labels = { stable: '' };
  const sets = [machineSet('wk-a', {}, { labels }), machineSet('wk-b', {}, { labels }), machineSet('wk-c')];
  const of = async (publication: 'pointer' | 'swap', spec: BootImagePolicySpec) => {
    const c = reportingCluster({ publication, sets });
    c.cluster.client.put(BootImagePolicy, { metadata: { name: 'gold', generation: 1 }, spec });
    await c.pass();
    pin(c, 'wk-a', old);
    await c.pass();
    await c.pass();
    return c;
  };
  const said = (c: ReportingCluster) =>
    ['wk-a', 'wk-b', 'wk-c'].map((set) => `${status(c, set)?.current} ${status(c, set)?.reason}`);
  const [pinned, current] = [`${oldRelease} Pinned`, `${newRelease} UpToDate`];

  const alone = await of('pointer', { selector: { matchLabels: labels }, publication: 'Swap' });
  assert.deepEqual(said(alone), [pinned, pinned, current]);
  assert.deepEqual([alone.cluster.template('wk-a'), alone.cluster.template('wk-c')], [computed, published]);
  pin(alone, 'wk-b', { release: newRelease, image: computed });
  await alone.pass();
  assert.deepEqual([status(alone, 'wk-a')?.reason, status(alone, 'wk-b')?.reason], ['PinConflict', 'PinConflict']);
  assert.equal(said(alone)[2], current);

  const others = await of('swap', {
    selector: { matchExpressions: [{ key: 'stable', operator: 'DoesNotExist' }] },
    publication: 'Pointer',
  });
  assert.deepEqual(said(others), [pinned, pinned, current]);
  // Without the policy it is as the operator was told.
  others.cluster.client.put(BootImagePolicy, {
    metadata: { name: 'gold', generation: 2 },
    spec: { selector: { matchLabels: { none: '' } }, publication: 'Pointer' },
  });
  await others.pass();
  await others.pass();
  assert.deepEqual(said(others), [pinned, pinned, pinned]);
});

test('swap mode: the pin of a set that was opted out holds nothing for the others under its name', async () => {
  const left = { annotations: { 'drydock.dev/boot-image': 'Disabled' } };
  const c = reportingCluster({ publication: 'swap', sets: [machineSet('wk-a', {}, left), machineSet('wk-b')] });
  await c.pass();
  pin(c, 'wk-a', old);
  await c.pass();
  await c.pass();
  assert.deepEqual([status(c, 'wk-b')?.reason, status(c, 'wk-b')?.current], ['UpToDate', newRelease]);
  assert.equal(c.cluster.store.templates.get(computed)?.version, newRelease);
});

test('swap mode: pins that want different images under one name are refused by name, and nothing moves', async () => {
  const c = reportingCluster({ publication: 'swap', sets: [machineSet('wk-a'), machineSet('wk-b')] });
  await c.pass();
  pin(c, 'wk-a', old);
  pin(c, 'wk-b', { release: newRelease, image: computed });
  const calls = c.cluster.store.calls.length;
  await c.pass();
  for (const set of ['wk-a', 'wk-b']) {
    assert.deepEqual([status(c, set)?.phase, status(c, set)?.reason], ['Blocked', 'PinConflict'], set);
    assert.match(
      status(c, set)?.message ?? '',
      /ms\/wk-a to 9\.6\.20260512-0.*ms\/wk-b to 9\.8|ms\/wk-b to 9\.8.*ms\/wk-a to 9\.6/,
    );
  }
  assert.deepEqual(
    c.cluster.store.calls.slice(calls).filter((call) => call.startsWith('revert')),
    [],
  );
});

for (const [what, wants] of [
  ['pins', { release: newRelease, image: computed }],
  ['pins of two contents of one release', { ...old, digest: 'cd' }],
  ['a pin that names nothing', { release: 'a\u0007b' }],
] as const)
  test(`OWN-18 swap mode: beside ${what} that cannot be obeyed, what bears the name now is told, also where another process has moved it`, async () => {
    const c = reportingCluster({ publication: 'swap', sets: [machineSet('wk-a'), machineSet('wk-b')] });
    await c.pass();
    pin(c, 'wk-a', old);
    pin(c, 'wk-b', wants);
    // An operator that died before it could tell.
    c.cluster.store.templates.set(computed, { version: oldRelease, ours: true });
    await c.pass();
    const { phase, current, history = [], target } = status(c, 'wk-b') ?? {};
    assert.deepEqual([phase, current, target], ['Blocked', oldRelease, undefined]);
    assert.deepEqual(
      history.filter(({ until }) => until === undefined).map(({ release }) => release),
      [oldRelease],
    );
  });

test('a pin that will lapse says so before, lapses, is taken off, and the set follows the release', async () => {
  const c = reportingCluster();
  await c.pass();
  const since = c.cluster.clock;
  const until = new Date(since + 10 * day).toISOString();
  pin(c, 'wk-a', { ...old, since: new Date(since).toISOString(), until });
  const first = await c.pass();
  assert.equal(status(c)?.reason, 'Pinned');
  assert.ok((first?.after ?? Number.POSITIVE_INFINITY) <= 9 * day);
  c.cluster.clock = since + 9.5 * day;
  const soon = await c.pass();
  assert.equal(status(c)?.reason, 'PinLapsesSoon');
  assert.ok(c.cluster.events.some((event) => event.startsWith('wk-a PinLapsesSoon')));
  assert.ok((soon?.after ?? Number.POSITIVE_INFINITY) <= 0.5 * day, 'it is looked at again when it lapses');
  assert.equal(c.cluster.template('wk-a'), computed);
  c.cluster.clock = since + 10 * day;
  await c.pass();
  assert.equal(c.cluster.template('wk-a'), published);
  assert.equal(c.image()?.spec?.pin, undefined);
  assert.ok(c.cluster.events.some((event) => event.startsWith('wk-a PinLapsed ms/wk-a was pinned')));
});

test('a BootImage with a pin outlives its set, holds for another one of the same name, and goes when it is released', async () => {
  const c = reportingCluster();
  await c.pass();
  assert.equal(c.image()?.metadata.ownerReferences?.length, 1);
  pin(c, 'wk-a', old);
  await c.pass();
  assert.equal(c.image()?.metadata.ownerReferences, undefined);
  c.cluster.client.objects.delete('machinesets openshift-machine-api/wk-a');
  c.restart();
  await c.pass();
  assert.deepEqual(c.image()?.spec?.pin, old, 'the pin is there although the set is not');
  c.cluster.client.put(MachineSet, machineSet('wk-a', { template: published }));
  await c.pass();
  assert.equal(c.cluster.template('wk-a'), computed, 'a set that was made again has the pinned image');
  pin(c, 'wk-a', undefined);
  await c.pass();
  assert.equal(c.image()?.metadata.ownerReferences?.length, 1);
  pin(c, 'wk-a', old);
  await c.pass();
  c.cluster.client.objects.delete('machinesets openshift-machine-api/wk-a');
  pin(c, 'wk-a', undefined);
  await c.pass();
  assert.equal(c.image(), undefined);
});

test('a pin ends the fight that was counted before it', async () => {
  const c = reportingCluster();
  await c.pass();
  for (let round = 0; round < 4; round += 1) {
    c.cluster.edit.set('wk-a', (set) => ({ ...set, spec: machineSet('wk-a').spec ?? {} }));
    await c.pass();
  }
  assert.equal(status(c)?.reason, 'HotLoop');
  pin(c, 'wk-a', { release: newRelease, image: published });
  await c.pass();
  assert.deepEqual([status(c)?.reason, c.cluster.template('wk-a')], ['Pinned', published]);
});

/** Somebody else sets back the image of a machine set after each of three moves. */
async function fought(pinned: boolean): Promise<ReportingCluster> {
  const templates = { [computed]: { version: oldRelease }, [published]: { version: newRelease, ours: true } };
  const set = (): MachineSet => machineSet('wk-a', {}, { uid: 'u-1', creationTimestamp: '2026-08-01T00:00:00Z' });
  const c = reportingCluster({ templates, sets: [set()] });
  if (pinned) pin(c, 'wk-a', { release: newRelease, image: published, by: 'alice' });
  for (let i = 0; i < 3; i++) {
    await c.pass();
    assert.equal(c.cluster.template('wk-a'), published);
    c.cluster.edit.set('wk-a', set);
  }
  return c;
}

for (const pinned of [true, false])
  test(`KEEP-C: a restart does not end the hot loop of a machine set that is ${pinned ? 'pinned' : 'not pinned'}; one that is created again under its name is moved`, async () => {
    const c = await fought(pinned);
    c.restart();
    await c.pass();
    assert.deepEqual([status(c)?.reason, c.cluster.template('wk-a')], ['HotLoop', computed]);
    c.restart();
    const creationTimestamp = new Date(c.cluster.clock + 500).toISOString();
    c.cluster.edit.set('wk-a', () => machineSet('wk-a', {}, { uid: 'u-2', creationTimestamp }));
    await c.pass();
    assert.equal(c.cluster.template('wk-a'), published);
  });

test('a pinned set counts as left out in the record of the oldest image', async () => {
  const c = reportingCluster();
  c.cluster.client.put(ConfigMap, {
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream, releaseVersion: '4.22.0' },
  });
  const history = ['4.22.0', '4.20.3'].map((version) => ({ state: 'Completed', version }));
  c.cluster.client.put(ClusterVersion, { metadata: { name: 'version' }, status: { history } });
  c.cluster.edit.mc((mc) => ({
    ...mc,
    status: {
      ...mc.status,
      bootImageSkewEnforcementStatus: { mode: 'Automatic', automatic: { ocpVersion: '4.10.0' } },
    },
  }));
  const record = (): unknown =>
    c.ports.world.machineConfiguration()?.status?.bootImageSkewEnforcementStatus?.automatic?.ocpVersion;
  await c.pass();
  assert.equal(record(), '4.22.0');
  pin(c, 'wk-a', old);
  await c.pass();
  await c.pass();
  assert.equal(record(), '4.20.3', 'no release is named that the oldest image does not have');
});

test('a pin that comes while a set is being moved stops the move: what was found out about it is of before', async () => {
  const c = reportingCluster();
  const patches = (): readonly string[] =>
    c.cluster.client.writes.filter((write) => write.startsWith('patch machinesets'));
  c.cluster.store.onStep = (step) => {
    if (step === 'Publishing') pin(c, 'wk-a', { release: oldRelease, image: computed });
  };
  await c.pass();
  assert.deepEqual(patches(), []);
  assert.equal(status(c)?.reason, 'PinChanged');
  await c.pass();
  assert.deepEqual([patches().length, status(c)?.reason, c.cluster.template('wk-a')], [0, 'Pinned', computed]);
});

test('nothing proves that a template which merely has the name and the release is the one that the set had', async () => {
  const c = reportingCluster({ templates: { [computed]: { version: oldRelease }, theirs: { version: oldRelease } } });
  await c.pass();
  pin(c, 'wk-a', { release: oldRelease, image: 'theirs' });
  await c.pass();
  assert.deepEqual(
    [status(c)?.phase, status(c)?.reason, c.cluster.template('wk-a')],
    ['Blocked', 'PinnedImageUnproven', published],
  );
});

const withoutName = infrastructure((spec) => {
  const vsphere = spec.platformSpec?.vsphere;
  const failureDomains = vsphere?.failureDomains?.map((domain) => ({
    ...domain,
    topology: { ...domain.topology, template: '' },
  }));
  return { ...spec, platformSpec: { ...spec.platformSpec, vsphere: { ...vsphere, failureDomains } } } as never;
});

const refused = /nothing proves that it is the template that the set had: it is not adopted, and no failure domain of/;
const cases: readonly (readonly [what: string, options: FakeClusterOptions, refused: RegExp | undefined])[] = [
  ['the installer’s own that no failure domain names', { infrastructure: withoutName }, refused],
  ['the installer’s own that a failure domain names', {}, undefined],
  [
    'one that was adopted',
    { infrastructure: withoutName, templates: { [computed]: { version: oldRelease, ours: true } } },
    undefined,
  ],
  [
    'one that somebody changed',
    { templates: { [computed]: { version: oldRelease, ours: true, estranged: 'it was powered on' } } },
    /it was powered on/,
  ],
];
for (const [what, options, why] of cases)
  test(`OWN-18 what the history says of a way back is what a pin is obeyed with: ${what}`, async () => {
    const c = reportingCluster(options);
    await c.pass();
    c.cluster.clock += 60_000;
    await c.pass();
    const [, entry] = status(c)?.history ?? [];
    assert.deepEqual([entry?.image, entry?.revertable], [computed, why === undefined]);
    pin(c, 'wk-a', old);
    await c.pass();
    assert.equal(c.cluster.template('wk-a'), why === undefined ? computed : published);
    if (why === undefined) return assert.equal(entry?.why, undefined);
    assert.match(entry?.why ?? '', why);
    assert.match(status(c)?.message ?? '', why, 'in the same words');
    if (why !== refused) return;
    const say = `drydock template adopt ${computed} --url https://vc1 --datacenter dc1 --folder /dc1/vm/c1 --owner cluster-uid --mark-key FILE`;
    assert.ok(status(c)?.nextStep?.includes(say) === true, status(c)?.nextStep ?? 'nothing');
    // A person says so.
    c.cluster.store.templates.set(computed, { version: oldRelease, ours: true });
    await c.pass();
    assert.deepEqual([status(c)?.reason, c.cluster.template('wk-a')], ['Pinned', computed]);
  });

test('swap mode: a pin that is lifted while the kept image is brought back is not obeyed any more', async () => {
  const c = reportingCluster({ publication: 'swap' });
  await c.pass();
  const { store } = c.cluster;
  const before = new Map(store.templates);
  pin(c, 'wk-a', old);
  store.onPublish = () => pin(c, 'wk-a', undefined);
  await c.pass();
  assert.ok(
    store.calls.some((call) => call.startsWith('revert ')),
    'it was under way',
  );
  assert.deepEqual(store.templates, before, 'no template was renamed');
  store.onPublish = undefined;
  await c.pass();
  assert.deepEqual([status(c)?.reason, status(c)?.current, store.templates], ['UpToDate', newRelease, before]);
});

test('where no space is left the set is Blocked, and nothing that a history needs is collected for it', async () => {
  const c = reportingCluster();
  await c.pass();
  c.cluster.clock += 600_000;
  c.cluster.store.fail = Object.assign(new Error('datastore ds1 has 10 bytes free'), {
    code: 'NO_SPACE',
    retriable: true,
  });
  const newer = stream.replaceAll(newRelease, '9.9.20261001-0');
  c.cluster.client.put(ConfigMap, {
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream: newer },
  });
  await c.pass();
  assert.deepEqual([status(c)?.phase, status(c)?.reason, status(c)?.current], ['Blocked', 'NoSpace', newRelease]);
  assert.deepEqual(c.cluster.store.removed, []);
  c.cluster.store.fail = undefined;
  c.cluster.clock += 600_000;
  await c.pass();
  assert.equal(status(c)?.current, '9.9.20261001-0', 'it is tried again');
});
