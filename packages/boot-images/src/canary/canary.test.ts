import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deployment, Machine, MachineSet, Node, Secret } from '@drydock/api';
import { ApiError, keyOf } from '@drydock/kube';
import { upstreamController } from '../decide/coexistence.ts';
import { runPass } from '../pass/pass.ts';
import { type CanaryRig, canaryRig, creationsIn, saidOf, workers } from '../testing/canary-rig.ts';
import { computed, machineSet, newRelease, oldRelease, published } from '../testing/fake-cluster.ts';
import { type MachineFate, machineActor } from '../testing/machine-actor.ts';
import { isCanaryName } from './machine.ts';

const minute = 60_000;

for (const publication of ['pointer', 'swap'] as const) {
  test(`OWN-18 ${publication} mode: a machine is made from the image before anything points at it, becomes a node, goes, and then the set is moved`, async () => {
    const c = canaryRig(undefined, { publication });
    await c.pass();
    const [machine] = c.machines();
    assert.ok(machine !== undefined && isCanaryName(machine.metadata.name));
    const tried = machine.spec?.providerSpec?.value?.['template'];
    assert.equal(tried, publication === 'pointer' ? published : `${computed}-${newRelease}-staged`);
    assert.deepEqual([saidOf(c), c.cluster.template('wk-a')], ['Publishing Canary', computed]);
    assert.equal(c.cluster.store.templates.get(computed)?.version, oldRelease);
    assert.match(c.image()?.status?.message ?? '', /canary drydock-canary-[0-9a-f]{12}: phase none, no node/);
    for (let turns = 0; turns < 4; turns += 1) await c.turn();
    assert.deepEqual([saidOf(c), c.image()?.status?.canary?.verdict], ['Current UpToDate', 'Passed']);
    assert.equal(c.cluster.template('wk-a'), publication === 'pointer' ? published : computed);
    const inUse = c.cluster.store.templates.get(publication === 'pointer' ? published : computed);
    assert.equal(inUse?.version, newRelease);
    assert.deepEqual([c.machines(), creationsIn(c).length, c.actor.adopted, c.cluster.store.uploads], [[], 1, [], 1]);
    assert.equal(c.cluster.client.peek(Node, { name: machine.metadata.name }), undefined);
    // The story is told once, however many passes it took.
    const story = c.cluster.events.map((event) => event.split(' ')[1]);
    assert.deepEqual(
      story.filter((reason) => reason === 'Planned'),
      ['Planned'],
    );
  });
}

test('OWN-18 the machine is what the set would make, but for what would have it counted, kept or used', async () => {
  const c = canaryRig();
  await c.pass();
  const [machine] = c.machines();
  const spec = machine?.spec as Readonly<Record<string, unknown>> | undefined;
  assert.deepEqual(Object.keys(machine?.metadata.labels ?? {}).toSorted(), [
    'app.kubernetes.io/managed-by',
    'drydock.dev/canary',
    'machine.openshift.io/cluster-api-cluster',
  ]);
  assert.equal(machine?.metadata.ownerReferences, undefined);
  assert.equal(spec?.['lifecycleHooks'], undefined);
  assert.deepEqual(spec?.['taints'], [
    { key: 'gpu', effect: 'NoSchedule' },
    { key: 'drydock.dev/canary', value: 'true', effect: 'NoSchedule' },
  ]);
  const own = workers('wk-a').spec?.template?.spec?.providerSpec?.value;
  assert.deepEqual(machine?.spec?.providerSpec?.value, { ...own, template: published });
});

test('OWN-18 equal sets share one canary; another stub is another group', async () => {
  const sets = [workers('wk-a'), workers('wk-b'), workers('wk-c', { userDataSecret: { name: 'other-user-data' } })];
  const c = canaryRig(undefined, { sets });
  c.cluster.client.put(...stubOf(c, 'other-user-data'));
  await c.pass();
  assert.equal(c.machines().length, 2);
  for (let turns = 0; turns < 5; turns += 1) await c.turn();
  assert.deepEqual(
    sets.map(({ metadata }) => saidOf(c, metadata.name)),
    Array(3).fill('Current UpToDate'),
  );
  assert.deepEqual([c.machines(), creationsIn(c).length], [[], 2]);
});

/** A user-data Secret like that of the workers. */
function stubOf(c: CanaryRig, name: string): readonly [typeof Secret, Secret] {
  const like = c.cluster.client.peek(Secret, { namespace: 'openshift-machine-api', name: 'worker-user-data' });
  return [Secret, { ...like, metadata: { namespace: 'openshift-machine-api', name } }];
}

function forbidden(said: string): ApiError {
  return new ApiError({ code: 'Forbidden', action: 'create machine', said });
}

/** How machines end that do not become nodes, and what is said of each. */
const failures: readonly (readonly [fate: MachineFate, seen: RegExp])[] = [
  [
    'quota',
    /after 20 min; seen last: phase Provisioning, InstanceExists: .*, MachineCreation: The operation exceeds the quota/,
  ],
  ['no-power', /after 20 min; seen last: phase Provisioning, .*, MachineCreation: error powering on drydock-canary-/],
  ['invalid', /failed; seen last: phase Failed, error InvalidConfiguration: folder not found/],
  ['never-boots', /no node that is ready after 20 min; seen last: phase Provisioned, instance poweredOn, no node/],
  ['wrong-image', /after 20 min; seen last: phase Provisioned, instance poweredOn, no node/],
  ['no-node', /after 20 min; seen last: phase Provisioned, instance poweredOn, no node/],
  ['kubelet-not-ready', /after 20 min; seen last: phase Running, .*Ready=False KubeletNotReady: container runtime/],
  ['node-lost', /after 20 min; seen last: phase Running, .*node drydock-canary-\w+ is not there/],
];
for (const [fate, seen] of failures) {
  test(`OWN-18 a canary that ends as ${fate}: nothing is patched, what was seen last is said, and the release is not tried again`, async () => {
    const c = canaryRig(() => fate);
    for (let turns = 0; turns < 3; turns += 1) await c.turn();
    c.cluster.clock += 20 * minute;
    for (let turns = 0; turns < 4; turns += 1) {
      await c.turn();
      if (turns === 1) c.restart();
    }
    const status = c.image()?.status;
    assert.deepEqual([saidOf(c), c.cluster.template('wk-a')], ['Blocked CanaryFailed', computed]);
    assert.match(status?.message ?? '', seen);
    assert.match(status?.nextStep ?? '', /keepOnFailure/);
    assert.deepEqual([c.machines(), creationsIn(c).length, status?.canary?.verdict], [[], 1, 'Failed']);
    // The policy changes: it is tried again.
    c.policy({}, 2);
    await c.pass();
    assert.deepEqual([saidOf(c), creationsIn(c).length], ['Publishing Canary', 2]);
  });
}

for (const [jump, where] of [
  [60 * minute, 'forwards, with the process'],
  [60 * minute, 'forwards, before another process'],
  [-60 * minute, 'back'],
] as const)
  test(`OWN-18 the clock on the wall jumps an hour while a canary boots (${where}): no good canary fails, and a bad one does when its time is over`, async () => {
    let fate: MachineFate = 'no-node';
    const c = canaryRig(() => fate);
    await c.turn();
    c.cluster.clock += 5 * minute;
    c.cluster.ahead += jump;
    if (where.includes('another')) c.restart();
    await c.turn();
    assert.deepEqual([saidOf(c), c.machines().length], ['Publishing Canary', 1]);
    c.cluster.clock += 9 * minute;
    await c.turn();
    assert.deepEqual([saidOf(c), c.machines().length], ['Publishing Canary', 1]);
    if (jump > 0) {
      fate = 'boots';
      for (let turns = 0; turns < 4; turns += 1) await c.turn();
      assert.deepEqual([saidOf(c), creationsIn(c).length], ['Current UpToDate', 1]);
      return;
    }
    c.cluster.clock += 7 * minute;
    await c.turn();
    assert.deepEqual([saidOf(c), c.image()?.status?.canary?.verdict], ['Blocked CanaryFailed', 'Failed']);
  });

test('OWN-18 operators that go before the time of a canary is over end it all the same', async () => {
  const c = canaryRig(() => 'no-node');
  await c.turn();
  for (let processes = 0; processes < 4; processes += 1) {
    c.cluster.clock += 11 * minute;
    c.restart();
    await c.turn();
    c.cluster.clock += 11 * minute;
    await c.turn();
  }
  assert.deepEqual([saidOf(c), c.machines(), creationsIn(c).length], ['Blocked CanaryFailed', [], 1]);
});

const states = [
  [
    { power: 'poweredOn', tools: 'guestToolsNotRunning' },
    /no node; vcenter \S+ says: poweredOn, VMware Tools not running, no address; it is not tried again/,
  ],
  [
    { power: 'poweredOn', tools: 'guestToolsRunning', address: '10.0.0.7', hostName: 'localhost' },
    /; vcenter \S+ says: poweredOn, VMware Tools running, address 10\.0\.0\.7, host name localhost; it is/,
  ],
  [undefined, /; vcenter \S+ says: no machine of it is there; it is/],
  [new Error('connect ECONNREFUSED'), /; its platform could not be asked: connect ECONNREFUSED; it is/],
] as const;
for (const [state, says] of states) {
  test(`OWN-18 a canary that failed is told with the state of its guest: ${says.source}`, async () => {
    const c = canaryRig(() => 'never-boots');
    c.cluster.store.guests = state;
    for (let turns = 0; turns < 3; turns += 1) await c.turn();
    const asked = (): number => c.cluster.store.calls.filter((call) => call.startsWith('guest ')).length;
    assert.equal(asked(), 0, 'while it runs nobody is asked');
    c.cluster.clock += 20 * minute;
    for (let turns = 0; turns < 4; turns += 1) {
      await c.turn();
      if (turns === 1) c.restart();
    }
    assert.equal(saidOf(c), 'Blocked CanaryFailed');
    assert.match(c.image()?.status?.message ?? '', says);
    assert.equal(asked(), 1);
  });
}

test('OWN-18 templates by a name that nobody bears, or several do, end a canary as they end every machine', async () => {
  for (const count of [0, 2]) {
    const c = canaryRig();
    const actor = machineActor({ client: c.cluster.client, templates: () => count });
    await c.pass();
    while (await actor.round());
    await c.pass();
    assert.equal(saidOf(c), 'Blocked CanaryFailed');
    assert.match(c.image()?.status?.message ?? '', count === 0 ? /template not found/ : /multiple templates found/);
  }
});

test('OWN-18 keepOnFailure keeps the machine for a look, until the policy changes', async () => {
  const c = canaryRig(() => 'invalid', { canary: { keepOnFailure: true } });
  for (let turns = 0; turns < 3; turns += 1) await c.turn();
  const [machine] = c.machines();
  assert.ok(machine !== undefined);
  assert.match(c.image()?.status?.nextStep ?? '', new RegExp(`describe machine ${machine.metadata.name}`));
  c.restart();
  await c.turn();
  assert.equal(c.machines().length, 1);
  c.policy({ canary: { mode: 'None' } }, 2);
  await c.turn();
  await c.turn();
  assert.deepEqual([c.machines(), saidOf(c), c.cluster.template('wk-a')], [[], 'Current UpToDate', published]);
});

test('OWN-18 whatever ends the wait takes the machine with it, and what was said of it: the policy, the set, a hold, a window, an opt-out, upstream', async () => {
  const ends: Readonly<Record<string, (c: CanaryRig) => void>> = {
    'a window closes': (c) => c.policy({ windows: [{ schedule: '0 3 1 1 *', duration: '1h' }] }, 2),
    'the policy goes': (c) => c.cluster.client.objects.delete('bootimagepolicies gold'),
    'the set goes': (c) => c.cluster.client.objects.delete('machinesets openshift-machine-api/wk-a'),
    'a hold': (c) => c.policy({ hold: { reason: 'fair' } }, 2),
    'an opt-out': (c) => c.policy({ optOut: { reason: 'no' } }, 2),
    upstream: (c) => c.cluster.client.put(Deployment, { metadata: upstreamController } as Deployment),
  };
  for (const [what, end] of Object.entries(ends)) {
    const c = canaryRig(() => 'no-node');
    await c.turn();
    assert.equal(c.machines().length, 1, what);
    end(c);
    await c.turn();
    await c.turn();
    assert.deepEqual(c.machines(), [], what);
    // The object of a set that is gone goes with it.
    if (what !== 'the set goes')
      assert.equal(c.image()?.status?.canary, undefined, `${what}: of a machine that is gone`);
  }
});

test('OWN-18 a hold, or a window, that ends: the image is tried again from the beginning, and the set is moved when it has passed', async () => {
  for (const stop of [{ hold: { reason: 'fair' } }, { windows: [{ schedule: '0 3 1 1 *', duration: '1h' }] }]) {
    const c = canaryRig(() => 'boots');
    await c.pass();
    const [made] = c.machines();
    assert.equal(c.image()?.status?.canary?.machine, made?.metadata.name);
    c.policy(stop, 2);
    await c.pass();
    assert.deepEqual([c.machines(), c.image()?.status?.canary], [[], undefined], 'nobody waits for it');
    c.policy({}, 3);
    for (let turn = 0; turn < 4; turn += 1) await c.turn();
    const { canary, phase } = c.image()?.status ?? {};
    assert.deepEqual([phase, canary?.verdict, c.machines()], ['Current', 'Passed', []]);
    assert.equal(creationsIn(c).length, 2);
  }
});

test('OWN-18 a set that is managed again while the canary that nobody waited for still goes: it did not fail, and another one is made, also by another process', async () => {
  for (const restarts of [false, true]) {
    const c = canaryRig();
    await c.pass();
    await c.actor.round();
    const optOut = (metadata: object): void => {
      const set = workers('wk-a');
      c.cluster.client.put(MachineSet, { ...set, metadata: { ...set.metadata, ...metadata } });
    };
    optOut({ annotations: { 'drydock.dev/boot-image': 'Disabled' } });
    await c.pass();
    const [going] = c.machines();
    assert.notEqual(going?.metadata.deletionTimestamp, undefined, 'nobody waits for it');
    optOut({});
    if (restarts) c.restart();
    await c.pass();
    assert.deepEqual([saidOf(c), c.image()?.status?.canary?.verdict], ['Publishing Canary', undefined]);
    for (let turns = 0; turns < 5; turns += 1) await c.turn();
    assert.deepEqual([saidOf(c), c.machines(), creationsIn(c).length], ['Current UpToDate', [], 2]);
  }
});

test('OWN-18 swap mode: a hold that comes while the machine of an image that has passed is removed: no template is renamed', async () => {
  const c = canaryRig(undefined, { publication: 'swap' });
  await c.turn();
  const before = c.cluster.store.templates.get(computed);
  const { cluster } = c.cluster.client;
  cluster.onCall = ({ verb, resource }, phase) => {
    if (phase === 'after' && verb === 'delete' && resource.startsWith('machines.'))
      c.policy({ hold: { reason: 'fair' } }, 2);
  };
  await c.pass();
  cluster.onCall = undefined;
  const { reason, canary } = c.image()?.status ?? {};
  assert.deepEqual([reason, canary?.verdict], ['Held', 'Passed']);
  assert.deepEqual(c.cluster.store.templates.get(computed), before);
});

test('OWN-18 a canary whose set is stopped by something else is not left behind: it goes when its time is over, and another one is made once the set can go on', async () => {
  const c = canaryRig(() => 'no-node');
  await c.turn();
  assert.equal(c.machines().length, 1);
  const { templates } = c.cluster.store;
  const [name, template] = [...templates].find(([one]) => one === published) ?? assert.fail('it is published');
  templates.delete(name);
  c.cluster.store.fail = Object.assign(new Error('no such folder'), { code: 'NOT_FOUND', retriable: false });
  c.cluster.clock += 19 * 60_000;
  await c.turn();
  assert.deepEqual([saidOf(c).split(' ')[0], c.machines().length], ['Blocked', 1], 'that may pass');
  c.cluster.clock += 2 * 60_000;
  await c.pass();
  assert.notEqual(c.machines()[0]?.metadata.deletionTimestamp, undefined, 'it goes');
  assert.equal(c.cluster.template('wk-a'), computed);
  c.cluster.store.fail = undefined;
  templates.set(name, template);
  c.cluster.clock += 10 * 60_000;
  await c.turn();
  assert.deepEqual([saidOf(c), c.machines().length, creationsIn(c).length], ['Publishing Canary', 0, 1]);
  await c.turn();
  assert.deepEqual([saidOf(c), c.machines().length, creationsIn(c).length], ['Publishing Canary', 1, 2]);
});

test('OWN-18 a machine that somebody relabelled, or took, is left alone, and the set says how another one is made', async () => {
  for (const change of [
    { labels: { 'drydock.dev/canary': 'elsewhere' } },
    { ownerReferences: [{ apiVersion: 'v1', kind: 'Other', name: 'other', uid: 'u' }] },
  ]) {
    const c = canaryRig(() => 'boots');
    await c.pass();
    const [made] = c.machines();
    const key = keyOf(made ?? assert.fail('a canary is made'));
    await c.cluster.client.mergePatch(Machine, key, { metadata: change } as object);
    await c.turn();
    assert.deepEqual(
      [saidOf(c), c.machines().length, c.cluster.template('wk-a')],
      ['Blocked CanaryRefused', 1, computed],
    );
    assert.match(c.image()?.status?.nextStep ?? '', /kubectl -n openshift-machine-api delete machine drydock-canary-/);
    await c.cluster.client.delete(Machine, key);
    c.cluster.clock += 10 * 60_000;
    for (let turns = 0; turns < 4; turns += 1) await c.turn();
    assert.equal(c.cluster.template('wk-a'), published);
  }
});

test('OWN-18 never for control planes or masters, and never where another set would count it', async () => {
  const masters = workers('wk-a');
  const role = { 'machine.openshift.io/cluster-api-machine-role': 'master' };
  const template = masters.spec?.template;
  const asMaster = {
    ...masters,
    spec: { ...masters.spec, template: { ...template, metadata: { labels: role } } },
  } as MachineSet;
  const labels = { 'machine.openshift.io/cluster-api-machineset': 'wk-a' };
  const stray = {
    ...masters,
    spec: { ...masters.spec, selector: { matchLabels: labels }, template: { ...template, metadata: { labels } } },
  } as MachineSet;
  const greedy = { ...machineSet('wk-z'), spec: { ...machineSet('wk-z').spec, selector: {} } } as MachineSet;
  for (const [sets, why] of [
    [[asMaster], /its machines are masters/],
    [[stray], /its machines lack label machine\.openshift\.io\/cluster-api-cluster, and Machine API passes over/],
    [[workers('wk-a'), greedy], /machineset wk-z would count it as one of its own/],
  ] as const) {
    const c = canaryRig(undefined, { sets: [...sets] });
    await c.turn();
    assert.deepEqual(
      [saidOf(c), c.cluster.template('wk-a'), c.machines()],
      ['Blocked CanaryUnsupported', computed, []],
    );
    assert.match(c.image()?.status?.message ?? '', why);
  }
});

test('OWN-18 a server that will not have the machine blocks the set with its words; canaries at a time are counted', async () => {
  const c = canaryRig();
  c.cluster.client.refuse = (write) =>
    write.startsWith('create machines') ? forbidden('exceeded quota: machines, used: 9, limited: 9') : undefined;
  await c.turn();
  assert.equal(saidOf(c), 'Blocked CanaryRefused');
  assert.match(c.image()?.status?.message ?? '', /exceeded quota: machines/);

  const many = Array.from({ length: 7 }, (_, at) => workers(`wk-${at}`, { userDataSecret: { name: `stub-${at}` } }));
  const busy = canaryRig(() => 'no-node', { sets: many });
  for (const at of many.keys()) busy.cluster.client.put(...stubOf(busy, `stub-${at}`));
  await busy.turn();
  await busy.turn();
  assert.equal(busy.machines().length, 5);
  assert.equal(busy.image('wk-6')?.status?.progress, 'waits for other canaries');
});

test('OWN-18 without the right to make machines the policy is refused with the missing verb, before an image is made', async () => {
  const c = canaryRig();
  const world = { ...c.ports.world, canaryMissing: () => 'the operator may not delete machines.machine.openshift.io' };
  await runPass({ ...c.ports, world }, c.state, { reason: 'Test', touched: 'all' });
  assert.deepEqual([saidOf(c), c.cluster.store.uploads, c.machines()], ['Blocked PolicyRefused', 0, []]);
  assert.match(c.image()?.status?.message ?? '', /may not delete machines\.machine\.openshift\.io/);
  assert.equal(c.image()?.status?.nextStep, 'grant it: kubectl apply -k deploy/rbac/canary');
});

test('OWN-18 negative control: a canary with the labels of its set is taken by it, and that is seen', async () => {
  const c = canaryRig();
  const { client } = c.cluster;
  const careless = {
    ...c.ports,
    client: {
      ...client,
      create: ((resource, object, options) => {
        const labels = { ...object.metadata.labels, ...workers('wk-a').spec?.selector?.matchLabels };
        const counted = resource.kind === 'Machine' ? { ...object, metadata: { ...object.metadata, labels } } : object;
        return client.create(resource, counted, options);
      }) satisfies typeof client.create,
    },
  };
  const go = () => runPass(careless, c.state, { reason: 'Test', touched: 'all' });
  await go();
  while (await c.actor.round());
  assert.equal(c.actor.adopted.length, 1);
  await go();
  assert.deepEqual([saidOf(c), c.cluster.template('wk-a')], ['Blocked CanaryRefused', computed]);
});

test('TRUTH-18 somebody points a set elsewhere while its canary has failed: its BootImage and its history say what it starts from', async () => {
  const c = canaryRig(() => 'invalid');
  for (let turns = 0; turns < 3; turns += 1) await c.turn();
  assert.equal(saidOf(c), 'Blocked CanaryFailed');
  c.cluster.store.templates.set('own', { version: '9.5.20260101-0' });
  c.cluster.client.put(MachineSet, workers('wk-a', { template: 'own' }));
  await c.turn();
  const { current, history = [] } = c.image()?.status ?? {};
  assert.deepEqual([saidOf(c), current], ['Blocked CanaryFailed', '9.5.20260101-0']);
  const [first, second] = history;
  assert.deepEqual([first?.image, first?.until, second?.image], ['own', undefined, computed]);
});
