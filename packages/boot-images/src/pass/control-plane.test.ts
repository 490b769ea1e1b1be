import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion, ConfigMap, ControlPlaneMachineSet, Deployment, MachineConfiguration } from '@drydock/api';
import { upstreamController } from '../decide/coexistence.ts';
import { replacementAnnotation } from '../decide/control-plane.ts';
import { explainSet } from '../explain.ts';
import { platformWith } from '../gcp/platform.ts';
import { idOf, keptSets } from '../observe/kept-set.ts';
import { standings } from '../standing.ts';
import { imageOf } from '../status/boot-image-store.ts';
import {
  bothManaged,
  controlPlane,
  type FakeCluster,
  type FakeClusterOptions,
  fakeCluster,
  gcpDisks,
  gcpImage,
  gcpInfrastructure,
  gcpSet,
  gcpStream,
  machineSet,
  oldGcpImage,
  planeSpec,
  published,
  rhcosCloud,
} from '../testing/index.ts';
import { runPass } from './pass.ts';
import type { PassPorts } from './pass-state.ts';

const old = rhcosCloud(oldGcpImage);
const wanted = rhcosCloud(gcpImage);
const look = { look: async () => ({ kind: 'available' }) as const };

/** A set of workers and the control plane, on Google Cloud, of a release that leaves masters alone. */
function cluster(plane = controlPlane(gcpSet('like')), more: FakeClusterOptions = {}): FakeCluster {
  const c = fakeCluster({
    ...{ platform: platformWith(look), infrastructure: gcpInfrastructure, stream: gcpStream },
    ...{ sets: [gcpSet('wk-a')], managers: bothManaged('All'), ...more },
  });
  c.client.put(ControlPlaneMachineSet, plane);
  return c;
}

const bootImage = (c: FakeCluster): unknown =>
  (planeSpec(c.client)['disks'] as readonly { readonly image?: unknown }[] | undefined)?.[0]?.image;
const written = (c: FakeCluster): readonly string[] =>
  c.client.writes.filter((write) => write.includes('controlplanemachinesets'));
const reconciled = (c: FakeCluster): string | undefined => c.condition('Progressing')?.message?.split(' | ')[1];

function release(c: FakeCluster, version: string): void {
  c.client.put(ClusterVersion, {
    metadata: { name: 'version' },
    status: { history: [{ state: 'Completed', version }] },
  });
}

test('the control plane gets its image by one guarded patch of one leaf, is counted by its kind and told by its name', async () => {
  const c = cluster();
  await c.pass();
  assert.deepEqual(written(c), ['patch controlplanemachinesets openshift-machine-api/cluster']);
  assert.deepEqual(planeSpec(c.client)['disks'], gcpDisks(wanted));
  assert.deepEqual(
    { ...planeSpec(c.client), disks: [] },
    { ...gcpSet('x').spec?.template?.spec?.providerSpec?.value, disks: [] },
  );
  assert.match(
    c.condition('Progressing')?.message ?? '',
    /^Reconciled 1 of 1 MAPI MachineSets \| Reconciled 1 of 1 ControlPlaneMachineSets \| /,
  );
  assert.equal(c.last('cluster')?.kind, 'current');
  assert.ok(
    c.events.some((event) => /^cluster Switched controlplanemachineset cluster: /.test(event)),
    c.events.join(),
  );
  const { metadata, spec } = imageOf(keptSets(c.ports.world)[1] ?? machineSet('x'));
  assert.equal(metadata.name, 'cpms-cluster');
  assert.deepEqual(spec, {
    machineSet: { apiGroup: 'machine.openshift.io', kind: 'ControlPlaneMachineSet', name: 'cluster' },
  });
  assert.deepEqual(metadata.ownerReferences?.[0], {
    ...{ apiVersion: 'machine.openshift.io/v1', kind: 'ControlPlaneMachineSet', name: 'cluster', uid: 'plane-uid' },
    ...{ controller: true, blockOwnerDeletion: false },
  });
});

test('a machine set with the name of the control plane is another set', async () => {
  const c = cluster(controlPlane(gcpSet('like', ['projects/mine/global/images/own'])), { sets: [gcpSet('cluster')] });
  await c.pass();
  const sets = keptSets(c.ports.world);
  assert.deepEqual(
    sets.map((set) => [idOf(set), imageOf(set).metadata.name]),
    [
      ['ms/cluster', 'ms-cluster'],
      ['cpms/cluster', 'cpms-cluster'],
    ],
  );
  assert.deepEqual([...c.state.looked].toSorted(), ['cpms/cluster', 'ms/cluster']);
  assert.deepEqual(
    c.client.writes.filter((write) => write.startsWith('patch')),
    ['patch machinesets openshift-machine-api/cluster'],
  );
  assert.equal(bootImage(c), 'projects/mine/global/images/own');
});

test('BI-V119 with the gate off it is neither asked about nor written, whatever the status says', async () => {
  const c = cluster();
  c.gated = true;
  await c.pass();
  assert.deepEqual([written(c), bootImage(c)], [[], old]);
  assert.match(reconciled(c) ?? '', /Reconciled 0 of 0 ControlPlaneMachineSets/);
  const told = c.last('cluster');
  assert.ok(told?.kind === 'skip' && told.message.includes('feature gate ManagedBootImagesCPMS is off'));
});

test('BI-V121 with its manager None, or owned by somebody, it is left alone and not counted as skipped', async () => {
  const none = cluster(undefined, { managers: bothManaged('None') });
  await none.pass();
  assert.deepEqual([written(none), bootImage(none)], [[], old]);
  assert.equal(reconciled(none), 'Reconciled 0 of 0 ControlPlaneMachineSets');

  const owner = { apiVersion: 'v1', kind: 'ClusterDeployment', name: 'hive', uid: 'u' };
  const owned = cluster(controlPlane(gcpSet('like'), { ownerReferences: [owner] }));
  await owned.pass();
  assert.deepEqual([written(owned), bootImage(owned)], [[], old]);
  assert.equal(reconciled(owned), 'Reconciled 1 of 1 ControlPlaneMachineSets');
  const told = owned.last('cluster');
  assert.ok(told?.kind === 'skip' && told.reason === 'Owned');
});

test('BI-V122 on vSphere nothing is done, and that is told with the reason', async () => {
  const c = fakeCluster({ managers: bothManaged('All') });
  c.client.put(ControlPlaneMachineSet, controlPlane(machineSet('like')));
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  assert.deepEqual(written(c), []);
  assert.equal(reconciled(c), 'Reconciled 1 of 1 ControlPlaneMachineSets');
  const told = c.last('cluster');
  assert.ok(told?.kind === 'skip' && told.reason === 'PlatformUnsupported');
  assert.match(told.message, /on vSphere its templates are those of the failure domains in infrastructure\/cluster/);
});

test('BI-V123 another OS stream, and Windows at either place of its label, are out of scope; rhel-9 is kept', async () => {
  const label = (value: string) => ({ labels: { 'machineconfiguration.openshift.io/osstream': value } });
  for (const stream of ['rhel-10', 'custom-stream', 'rhel-9']) {
    const c = cluster(controlPlane(gcpSet('like'), label(stream)));
    await c.pass();
    assert.equal(bootImage(c), stream === 'rhel-9' ? wanted : old, stream);
    assert.equal(reconciled(c), 'Reconciled 1 of 1 ControlPlaneMachineSets');
    assert.equal(c.condition('Degraded')?.status, 'False');
  }
  const like = gcpSet('like');
  const windows = { metadata: { labels: { 'machine.openshift.io/os-id': 'Windows' } } };
  const spec = { ...like.spec?.template?.spec, ...windows };
  const c = cluster(controlPlane({ ...like, spec: { template: { spec } } }));
  await c.pass();
  const told = c.last('cluster');
  assert.ok(told?.kind === 'skip' && told.reason === 'Windows' && bootImage(c) === old);
});

test('BI-V124 an image of somebody’s own stays, and nothing is degraded', async () => {
  const own = 'projects/redhat-marketplace-public/global/images/redhat-coreos-ocp-413';
  const c = cluster(controlPlane(gcpSet('like', [own])));
  await c.pass();
  assert.deepEqual([written(c), bootImage(c), c.condition('Degraded')?.status], [[], own, 'False']);
  assert.equal(reconciled(c), 'Reconciled 1 of 1 ControlPlaneMachineSets');
  const told = c.last('cluster');
  assert.ok(told?.kind === 'skip' && told.reason === 'CustomImage' && !told.counted);
});

test('BI-V126 [N] a control plane without a machine template is an error with its name, no crash', async () => {
  const plane = controlPlane(gcpSet('like'));
  for (const inner of [undefined, null, {}]) {
    const template = {
      machineType: 'machines_v1beta1_machine_openshift_io',
      machines_v1beta1_machine_openshift_io: inner,
    };
    const c = cluster({ ...plane, spec: { ...plane.spec, template } } as ControlPlaneMachineSet);
    await c.pass();
    assert.match(
      c.condition('Degraded')?.message ?? '',
      /Error\(s\): error syncing ControlPlaneMachineSet cluster: failed to reconcile ControlPlaneMachineSet cluster, err: providerSpec field was empty$/,
    );
    assert.match(reconciled(c) ?? '', /Reconciled 0 of 1/);
  }
});

test('BI-V56 [N] errors of both kinds stand in one Degraded, and the one of the control plane stays', async () => {
  const c = cluster(controlPlane(gcpSet('like', [], { disks: 'none' })), {
    sets: [gcpSet('wk-a', [], { disks: 'none' }), gcpSet('wk-b')],
  });
  for (let i = 0; i < 2; i += 1) {
    await c.pass();
    const { status, message = '' } = c.condition('Degraded') ?? {};
    assert.equal(status, 'True');
    assert.match(message, /^1 Degraded MAPI MachineSets \| 1 Degraded ControlPlaneMachineSets \|/);
    assert.match(message, /\[error syncing MAPI MachineSet wk-a: .*, error syncing ControlPlaneMachineSet cluster: /);
  }
  c.edit.set('wk-a', () => gcpSet('wk-a'));
  await c.pass();
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /^0 Degraded MAPI MachineSets \| 1 Degraded ControlPlaneMachineSets .* Error\(s\): error syncing ControlPlaneMachineSet cluster: /,
  );
});

for (const version of ['4.20.9', '4.21.0-0.nightly-2025-08-30-000000', 'custom']) {
  test(`release ${version} may answer a new image with new masters: nothing is patched before somebody says yes`, async () => {
    const c = cluster();
    release(c, version);
    await c.pass();
    assert.deepEqual([written(c), bootImage(c)], [[], old]);
    assert.equal(reconciled(c), 'Reconciled 1 of 1 ControlPlaneMachineSets');
    assert.equal(c.condition('Degraded')?.status, 'False');
    const told = c.last('cluster');
    assert.ok(told?.kind === 'skip' && told.reason === 'ReplacementNotAccepted');
    assert.deepEqual([told.current, told.target], [oldGcpImage, gcpImage]);
    assert.match(
      told.nextStep ?? '',
      /annotate controlplanemachineset cluster drydock\.dev\/control-plane-replacement=Accepted/,
    );
    const [, plane] = keptSets(c.ports.world);
    assert.ok(plane);
    assert.equal((await explainSet(plane, c.ports)).step, 'skip');

    c.client.put(
      ControlPlaneMachineSet,
      controlPlane(gcpSet('like'), { annotations: { [replacementAnnotation]: 'Accepted' } }),
    );
    await c.pass();
    assert.equal(bootImage(c), wanted);
  });
}

test('KEEP-C: a yes that is taken back before the patch is none: no control plane is replaced', async () => {
  const c = cluster();
  release(c, '4.20.9');
  const withAnnotations = (annotations: Record<string, string>) => controlPlane(gcpSet('like'), { annotations });
  c.client.put(ControlPlaneMachineSet, withAnnotations({ [replacementAnnotation]: 'Accepted' }));
  const report: PassPorts['report'] = async (set, outcome) => {
    await c.ports.report(set, outcome);
    if (set.metadata.name === 'cluster') c.client.put(ControlPlaneMachineSet, withAnnotations({}));
  };
  await runPass({ ...c.ports, report }, c.state, { reason: 'Test', touched: 'all' });
  assert.deepEqual([written(c), bootImage(c)], [[], old]);
  const told = c.last('cluster');
  assert.equal(told?.kind === 'skip' && told.reason, 'ReplacementNotAccepted');
});

test('a release that leaves masters alone needs no yes, and a control plane that is current none either', async () => {
  for (const version of ['4.21.0', '4.21.3-rc.1', '4.22.0-0.nightly-2026-01-01-000000', '5.0.1']) {
    const c = cluster();
    release(c, version);
    await c.pass();
    assert.equal(bootImage(c), wanted, version);
  }
  const current = cluster(controlPlane(gcpSet('like', [wanted])));
  release(current, '4.18.1');
  await current.pass();
  assert.equal(current.last('cluster')?.kind, 'current');
});

test('beside upstream it is left to upstream, and status and explain know it by its name', async () => {
  const c = cluster();
  c.client.put(Deployment, { metadata: upstreamController } as Deployment);
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  const told = c.last('cluster');
  assert.ok(told?.kind === 'skip' && told.reason === 'LeftToUpstream' && told.current === oldGcpImage);

  const { world } = c.ports;
  const { images, unread } = await standings({
    world,
    images: [],
    led: false,
    now: new Date(0),
    architecture: 'x86_64',
  });
  assert.deepEqual(unread, []);
  assert.deepEqual(
    images.map(({ metadata, status }) => [metadata.name, status?.set, status?.reason]),
    [
      ['cpms-cluster', 'cpms/cluster', 'LeftToUpstream'],
      ['ms-wk-a', 'ms/wk-a', 'LeftToUpstream'],
    ],
  );
});

test('the record of the oldest image speaks of workers: a control plane that is left alone changes nothing in it', async () => {
  const c = cluster(controlPlane(gcpSet('like', ['projects/mine/global/images/own'])));
  const automatic = { mode: 'Automatic', automatic: { ocpVersion: '4.0.0' } } as const;
  c.edit.mc((mc) => ({ ...mc, status: { ...mc.status, bootImageSkewEnforcementStatus: automatic } }));
  const golden = { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' };
  c.client.put(ConfigMap, { metadata: golden, data: { stream: gcpStream, releaseVersion: '4.22.1' } });
  await c.pass();
  const { status } = c.client.peek(MachineConfiguration, { name: 'cluster' }) ?? {};
  assert.deepEqual(status?.bootImageSkewEnforcementStatus, { ...automatic, automatic: { ocpVersion: '4.22.1' } });
});
