import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { BootImagePolicy, type BootImagePolicySpec } from '@drydock/api';
import { keyOf } from '@drydock/kube';
import { until } from '@drydock/kube/testing';
import { at } from '../observe/json.ts';
import { awsDeployment, awsTemplate, canaryScene } from '../testing/capi-canary.ts';
import { capiMachineActor, type RotatedMachineFate } from '../testing/capi-machine-actor.ts';
import {
  partOf,
  playRotatedMachine,
  ROTATED_MACHINE_SCENARIOS,
  type RotatedMachineRig,
  rotatedParts,
} from '../testing/capi-machine-scenarios.ts';
import { runCapiRole, saidOfDeployment } from '../testing/capi-role.ts';
import {
  bootstrapRef,
  capiCluster,
  capiKind,
  capiObject,
  kubeadmTemplate,
  machineDeployment,
  templateRef,
} from '../testing/capi-world.ts';

const namespace = 'ns';

test('OWN-18 a canary of Cluster API: a machine with clones of what the set’s machines are made of and told, no label and no owner of the set, a taint; when it is a ready node it goes, and all equal sets are moved', async () => {
  await using world = await canaryScene([awsTemplate('a'), awsDeployment('a'), awsTemplate('b'), awsDeployment('b')]);
  const { cluster, all } = world;
  await until('a canary is made', () => all('AWSMachine').length > 0);
  const [machine] = all('Machine');
  const [made] = all('AWSMachine');
  const [told] = all('KubeadmConfig');
  assert.ok(machine !== undefined && made !== undefined && told !== undefined);
  const { name, labels } = machine.metadata;
  const own = {
    'cluster.x-k8s.io/cluster-name': 'c1',
    'drydock.dev/canary': name.slice(-12),
    'app.kubernetes.io/managed-by': 'drydock',
  };
  assert.deepEqual([labels, machine.metadata.ownerReferences], [own, undefined]);
  assert.equal(machine.spec?.['failureDomain'], 'fd');
  assert.deepEqual(machine.spec?.['infrastructureRef'], { ...templateRef(name, 'AWSMachine') });
  assert.deepEqual(made.spec, { ami: { id: 'new' }, instanceType: 'm6i' });
  assert.deepEqual(made.metadata.labels, { ...own, team: 'a' });
  for (const part of [made, told])
    assert.deepEqual(
      part.metadata.ownerReferences?.map(({ uid }) => uid),
      [machine.metadata.uid],
    );
  assert.deepEqual(at(told.spec, ['joinConfiguration', 'nodeRegistration', 'taints']), [
    { key: 'drydock.dev/canary', value: 'true', effect: 'NoSchedule' },
  ]);
  assert.deepEqual(
    world.role.writes.filter((write) => write.startsWith('patch machinedeployments')),
    [],
  );
  for (const set of ['a', 'b'])
    await world.said(set, 'has the image', ({ phase, current }) => phase === 'Current' && current === 'new');
  assert.equal(world.made(), 1, 'one machine for both');
  await until(
    'nothing of it is left',
    () =>
      ['Machine', 'AWSMachine', 'KubeadmConfig'].every((kind) => all(kind).length === 0) ||
      world.actor.round().then(() => false),
  );
  assert.deepEqual(world.actor.adopted, []);
  assert.equal(saidOfDeployment(cluster, 'a')?.canary?.verdict, 'Passed');
});

test('OWN-18 a canary of Cluster API that fails: nothing is patched, what was seen last is said, it is not tried again; kept only by keepOnFailure, until the image or the policy changes', async () => {
  let minutes = 0;
  await using world = await canaryScene([awsTemplate('a'), awsDeployment('a')], {
    fate: 'quota',
    canary: { keepOnFailure: true },
    elapsed: () => minutes * 60_000,
  });
  await until('a canary is made', () => world.all('AWSMachine').length > 0);
  minutes = 21;
  await world.said('a', 'failed', ({ reason }) => reason === 'CanaryFailed');
  const { message, nextStep, phase } = saidOfDeployment(world.cluster, 'a') ?? {};
  assert.equal(phase, 'Blocked');
  assert.match(
    message ?? '',
    /^the canary of new failed, and nothing is pointed at it: machine drydock-canary-\w+ was no node that is ready/,
  );
  assert.match(nextStep ?? '', /kubectl -n ns describe machines\.cluster\.x-k8s\.io drydock-canary-/);
  assert.equal(world.all('Machine').length, 1, 'it is kept');
  world.policy(2, 'newer', { canary: { mode: 'None' } } as BootImagePolicySpec);
  await world.said('a', 'has the next one', ({ phase: now, current }) => now === 'Current' && current === 'newer');
  await until('the machine goes', async () => {
    await world.actor.round();
    return world.all('Machine').length === 0;
  });
  assert.equal(world.made(), 1);
});

test('OWN-18 a set of Cluster API that is held while its image is tried: nothing is said of a machine that is gone, and it is tried again when the hold is lifted', async () => {
  await using world = await canaryScene([awsTemplate('a'), awsDeployment('a')], { fate: 'no-node' });
  const { all } = world;
  await world.said('a', 'a machine tries it', ({ canary }) => canary?.machine !== undefined);
  world.policy(2, 'new', { hold: { reason: 'the fair' } });
  await until('nobody waits for it', async () => {
    await world.actor.round();
    return all('Machine').length === 0;
  });
  await world.said('a', 'it is held', ({ reason, canary }) => reason === 'Held' && canary === undefined);
  world.policy(3, 'new');
  await world.said(
    'a',
    'another machine tries it',
    ({ canary }) => canary !== undefined && all('Machine').length === 1,
  );
  assert.equal(world.made(), 2);
});

test('OWN-18 a set of Cluster API that wants its canary again while that one still goes, because nobody had waited for it: it did not fail, also where another process asks, and another one is made', async () => {
  for (const restarts of [false, true]) {
    await using world = await canaryScene([awsTemplate('a'), awsDeployment('a')]);
    const { all, cluster } = world;
    await until('a canary is made', () => all('AWSMachine').length > 0);
    await world.actor.round();
    const paused = (is: boolean): void =>
      cluster.put(capiKind('Cluster'), { namespace, name: 'c1' }, capiObject('Cluster', 'c1', { paused: is }));
    paused(true);
    await until('nobody waits for it', () => all('Machine')[0]?.metadata.deletionTimestamp !== undefined);
    if (restarts) await world.role[Symbol.asyncDispose]();
    paused(false);
    await using asks = restarts ? await runCapiRole(cluster) : world.role;
    await until('its set has looked at it', () => saidOfDeployment(cluster, 'a')?.reason?.startsWith('Canary'));
    const { reason, message, canary } = saidOfDeployment(cluster, 'a') ?? {};
    assert.deepEqual([reason, canary], ['Canary', undefined]);
    assert.match(message ?? '', /canary drydock-canary-\w+ of before goes/);
    while (await world.actor.round());
    assert.deepEqual(all('Machine'), []);
    // It looks again in ten seconds; one that comes then looks now.
    await asks[Symbol.asyncDispose]();
    await using _next = await runCapiRole(cluster);
    await world.said('a', 'has the image', ({ phase, current }) => phase === 'Current' && current === 'new');
    assert.equal(world.made(), 2);
  }
});

test('OWN-18 a canary of Cluster API that a machine set took is left to it, and the set that it was made for says how another one is made', async () => {
  await using world = await canaryScene([awsTemplate('a'), awsDeployment('a')]);
  const { all, cluster } = world;
  await until('a canary is made', () => all('AWSMachine').length > 0);
  const [machine] = all('Machine');
  const key = keyOf(machine ?? assert.fail('it is there'));
  const owner = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'MachineSet', name: 's', uid: 's', controller: true };
  await cluster.client().mergePatch(capiKind('Machine'), key, { metadata: { ownerReferences: [owner] } } as never);
  await world.said('a', 'looked at it', ({ phase }) => phase === 'Blocked' || phase === 'Current');
  const { reason, nextStep } = saidOfDeployment(cluster, 'a') ?? {};
  assert.equal(reason, 'CanaryRefused');
  assert.match(nextStep ?? '', /kubectl -n ns delete machines\.cluster\.x-k8s\.io drydock-canary-/);
  assert.deepEqual(
    all('Machine').map(({ metadata }) => [metadata.uid, metadata.deletionTimestamp]),
    [[machine?.metadata.uid, undefined]],
  );
});

test('OWN-18 a canary of machines that do not start by kubeadm: what they are told is cloned in its own kind, with the taint where that kind has it', async () => {
  const rke2 = capiObject('RKE2ConfigTemplate', 'rke2', {
    template: {
      spec: { preRKE2Commands: ['date'], agentConfig: { nodeTaints: ['a=b:NoSchedule'], nodeLabels: ['x=y'] } },
    },
  });
  const { apiVersion = '', kind = '' } = rke2;
  const bootstrap = { configRef: { apiVersion, kind, name: 'rke2', namespace } };
  await using world = await canaryScene([rke2, awsTemplate('a'), awsDeployment('a', { bootstrap })]);
  await until('a canary is made', () => world.all('RKE2Config').length > 0);
  const [machine] = world.all('Machine');
  const [told] = world.all('RKE2Config');
  const { name = '', uid } = machine?.metadata ?? {};
  assert.deepEqual(at(machine?.spec, ['bootstrap', 'configRef']), { apiVersion, kind: 'RKE2Config', name, namespace });
  assert.deepEqual(
    [told?.metadata.name, told?.apiVersion, told?.metadata.ownerReferences?.[0]?.uid],
    [name, apiVersion, uid],
  );
  assert.deepEqual(told?.spec, {
    preRKE2Commands: ['date'],
    agentConfig: { nodeTaints: ['a=b:NoSchedule', 'drydock.dev/canary=true:NoSchedule'], nodeLabels: ['x=y'] },
  });
  assert.deepEqual(
    world.role.writes.filter((write) => write.startsWith('patch machinedeployments')),
    [],
  );
});

test('OWN-18 where a machine cannot be cloned: CanaryUnsupported, nothing made and nothing patched; never for control planes', async () => {
  const selector = { matchLabels: { 'cluster.x-k8s.io/cluster-name': 'c1' } };
  const ref = templateRef('plane', 'AWSMachineTemplate');
  const other = {
    configRef: { apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1', kind: 'TalosConfigTemplate', name: 'x' },
  };
  const double = kubeadmTemplate('tainted', {
    joinConfiguration: { nodeRegistration: { kubeletExtraArgs: { 'register-with-taints': 'a=b:NoSchedule' } } },
  });
  await using world = await canaryScene([
    double,
    ...['data', 'other', 'tainted', 'plane'].map(awsTemplate),
    awsDeployment('data', { bootstrap: { dataSecretName: 's' } }),
    awsDeployment('other', { bootstrap: other }),
    awsDeployment('tainted', { bootstrap: bootstrapRef('tainted') }),
    capiObject(
      'KubeadmControlPlane',
      'plane',
      { version: 'v1.34.2', machineTemplate: { infrastructureRef: ref } },
      { labels: { 'cluster.x-k8s.io/cluster-name': 'c1' } },
    ),
  ]);
  const why = {
    data: /bootstrap data, which cannot keep workloads off/,
    other: /TalosConfigTemplate, of which it is not known/,
    tainted:
      /kubeadmconfigtemplate tainted: joinConfiguration\.nodeRegistration\.kubeletExtraArgs has register-with-taints/,
  };
  for (const [name, text] of Object.entries(why)) {
    await world.said(name, 'blocked', ({ reason }) => reason === 'CanaryUnsupported');
    assert.match(saidOfDeployment(world.cluster, name)?.message ?? '', text);
  }
  const plane = (): string =>
    JSON.stringify(Object.entries(world.cluster.snapshot()).find(([id]) => id.endsWith('/capi-kcp-plane'))?.[1] ?? '');
  await until('the control plane is blocked', () => plane().includes('would join etcd'));
  // A health check that would count it.
  world.cluster.put(
    capiKind('MachineHealthCheck'),
    { namespace, name: 'all' },
    capiObject('MachineHealthCheck', 'all', { clusterName: 'c1', selector }),
  );
  world.cluster.put(capiKind('AWSMachineTemplate'), { namespace, name: 'counted' }, awsTemplate('counted'));
  world.cluster.put(capiKind('MachineDeployment'), { namespace, name: 'counted' }, awsDeployment('counted'));
  await world.said('counted', 'blocked', ({ reason }) => reason === 'CanaryUnsupported');
  assert.match(
    saidOfDeployment(world.cluster, 'counted')?.message ?? '',
    /machinehealthcheck all would count it as one of its own/,
  );
  assert.deepEqual(
    world.role.writes.filter((write) =>
      /machines |kubeadmconfigs |templates |patch machinedep|patch kubeadm/.test(write),
    ),
    [],
  );
});

test('OWN-18 without a right that a canary of Cluster API needs the policy is refused with the missing verb, and no image is looked for', async () => {
  await using world = await canaryScene([awsTemplate('a'), awsDeployment('a')], {
    may: (verb, resource) => !(verb === 'create' && resource === 'kubeadmconfigs'),
  });
  await world.said('a', 'refused', ({ reason }) => reason === 'PolicyRefused');
  const { message, nextStep } = saidOfDeployment(world.cluster, 'a') ?? {};
  assert.match(
    message ?? '',
    /the operator may not create kubeadmconfigs\.bootstrap\.cluster\.x-k8s\.io, which a canary needs$/,
  );
  assert.equal(nextStep, 'grant it: kubectl apply -k deploy/rbac/cluster-api-canary');
  await until('the policy says so', () =>
    JSON.stringify(world.cluster.peek(BootImagePolicy, { name: 'gold' })?.status ?? '').includes('CanaryNotPermitted'),
  );
});

function playedRig(): RotatedMachineRig {
  const cluster = capiCluster();
  const client = cluster.client();
  const wanted = new Map<string, { readonly fate: RotatedMachineFate; readonly templates: number }>();
  const actor = capiMachineActor({
    client,
    templates: (name) => wanted.get(name)?.templates ?? 0,
    fate: ({ metadata }) => wanted.get(metadata.name)?.fate ?? 'boots',
  });
  return {
    ...{ client, namespace, machines: capiKind('Machine') },
    parts: [capiKind('KubeadmConfig'), capiKind('VSphereMachine')],
    create: async ({ name, group, fate, templates }) => {
      wanted.set(name, { fate, templates });
      const parts = rotatedParts(
        machineDeployment('w', 'w', { bootstrap: bootstrapRef('boot') }),
        capiObject('VSphereMachineTemplate', 'w', { template: { spec: {} } }),
        { config: kubeadmTemplate('boot'), group, image: name, version: 'v1beta1' },
      );
      const machine = await client.create(capiKind('Machine'), parts.machine);
      for (const part of parts.others)
        await client.create(capiKind(part.kind ?? ''), partOf(part, { ...parts.machine, ...machine }));
    },
    until: async (what, look, seen) => {
      for (let rounds = 0; rounds < 40; rounds += 1) {
        const found = await look();
        if (found !== undefined) return found;
        await actor.round();
      }
      throw new Error(`${what}: ${JSON.stringify(seen())}`);
    },
  };
}

for (const scenario of ROTATED_MACHINE_SCENARIOS)
  test(`OWN-18 the played controllers of Cluster API: ${scenario.name}`, () =>
    playRotatedMachine(playedRig(), scenario, randomBytes(6).toString('hex')));
