import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type BootImageStatus, ControlPlaneMachineSet, type MachineManager, MachineSet, Secret } from '@drydock/api';
import { explainSet } from '../explain.ts';
import { setFacts } from '../pass/set-facts.ts';
import type { Platform } from '../platform.ts';
import { standings } from '../standing.ts';
import { bootImageStatus } from '../status/boot-image.ts';
import { azureError, type FakeAzure, startAzure } from '../testing/clouds/azure.ts';
import {
  type AzureSpecImage,
  aro,
  azureInfrastructure,
  azureSecret,
  azureSet,
  azureStream,
  azureStreamWith,
  bought,
  furnishAzure,
  installerUpload,
  oldAzureVersion,
  oldPaidVersion,
  paidImage,
  publishAzure,
  unpaidImage,
  urnOf,
} from '../testing/fake-azure.ts';
import { type FakeCluster, fakeCluster, stub22 } from '../testing/fake-cluster.ts';
import { bothManaged, controlPlane, planeSpec } from '../testing/fake-control-plane.ts';
import { azurePlatform } from './platform.ts';

let azure: FakeAzure;
const opened: Platform[] = [];
const old = unpaidImage(aro('418-v2', oldAzureVersion));
const wanted = unpaidImage(aro('419-v2'));
const wantedUrn = urnOf(aro('419-v2'));

before(async () => {
  azure = await startAzure();
});
after(async () => {
  for (const platform of opened) await platform[Symbol.asyncDispose]?.();
  await azure?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  for (const map of [azure.images, azure.uploads, azure.terms]) map.clear();
  azure.denied.clear();
  azure.fault = undefined;
});

/** A cluster on Azure, whose clock is also the one of what is remembered of images. */
function cluster(
  options: {
    readonly sets?: readonly MachineSet[];
    readonly userData?: string;
    readonly stream?: string;
    readonly azure?: Readonly<Record<string, string>>;
    readonly managers?: readonly MachineManager[];
  } = {},
): FakeCluster {
  const platform = azurePlatform({
    ...azure.options,
    bounds: { attempts: 1, exchangeMs: 20_000 },
    clock: { now: () => c.clock, date: () => new Date(), sleep: async () => undefined },
  });
  opened.push(platform);
  const c: FakeCluster = fakeCluster({
    ...{ sets: [azureSet('wk-a', old)], stream: azureStream, ...options },
    ...{ platform, infrastructure: azureInfrastructure(options.azure) },
  });
  furnishAzure(c.client, azure);
  return c;
}

const spec = (c: FakeCluster, set: string = 'wk-a'): Readonly<Record<string, unknown>> =>
  c.client.peek(MachineSet, { namespace: 'openshift-machine-api', name: set })?.spec?.template?.spec?.providerSpec
    ?.value ?? {};

/** The status after all that was told of the set, as the one writer makes it. */
function statusOf(c: FakeCluster, name: string = 'wk-a'): BootImageStatus {
  let status: BootImageStatus | undefined;
  const set = c.ports.world.machineSets().find(({ metadata }) => metadata.name === name) ?? assert.fail('no set');
  for (const outcome of c.outcomes.get(name) ?? [])
    status = bootImageStatus(status, outcome, {
      ...{ set: `ms/${name}`, platform: 'azure', generation: 1, now: new Date(c.clock) },
      facts: setFacts(set, c.ports),
    });
  return status ?? assert.fail('nothing was told');
}

function verified(status: BootImageStatus): string {
  const found = status.conditions?.find(({ type }) => type === 'Verified');
  return `${found?.status} ${found?.reason}: ${found?.message}`;
}

test('BI-V109 a set is moved to the image of the release once that was seen; nothing else in it changes', async () => {
  const c = cluster();
  const before = spec(c);
  await c.pass();
  assert.deepEqual(spec(c), { ...before, image: wanted });
  assert.deepEqual(spec(c)['foo'], { bar: 1 });
  assert.deepEqual(c.client.writes, ['patch machinesets openshift-machine-api/wk-a']);
  const status = statusOf(c);
  assert.deepEqual(
    [status.phase, status.current, status.target, status.revertTo],
    ['Current', wantedUrn, wantedUrn, urnOf(aro('418-v2', oldAzureVersion))],
  );
  assert.equal(verified(status), `True Verified: image ${wantedUrn} is there, and machines can start from it`);
});

test('BI-V107 BI-V111 a set that has it is reconciled without a write, also while the cloud does not answer', async () => {
  const paid = paidImage(bought('rh-ocp-worker', 'rh-ocp-worker'));
  const c = cluster({ sets: [azureSet('wk-a', wanted), azureSet('wk-paid', paid)] });
  await c.pass();
  for (const set of ['wk-a', 'wk-paid']) assert.match(verified(statusOf(c, set)), /^True Verified/);
  c.clock += 600_000;
  azure.fault = () => azureError(503, 'ServerBusy', 'busy');
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 2 of 2 MAPI MachineSets \|/);
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.match(verified(statusOf(c)), /^Unknown CloudUnavailable: /);
});

test('BI-V108 BI-V113 [N] machines of other processors are not counted as skipped, those of a security type are; nothing is written', async () => {
  const labels = (arch: string) => ({
    'capacity.cluster-autoscaler.kubernetes.io/labels': `kubernetes.io/arch=${arch}`,
  });
  const on = (name: string, arch: string): MachineSet => {
    const set = azureSet(name, old);
    return { ...set, metadata: { ...set.metadata, annotations: labels(arch) } };
  };
  const secure = azureSet('wk-c', old, { securityProfile: { settings: { securityType: 'ConfidentialVM' } } });
  const c = cluster({ sets: [on('wk-p', 'ppc64le'), on('wk-s', 's390x'), secure], userData: stub22 });
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 2 of 3 MAPI MachineSets \(1 skipped\)/);
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.deepEqual(
    [statusOf(c, 'wk-c').reason, statusOf(c, 'wk-p').reason],
    ['SecurityType', 'ArchitectureUnsupported'],
  );
});

test('BI-V112 BI-V116 [N] what the stream lacks, galleries and unknown marketplaces are skipped with a reason and a next step, none degrades', async () => {
  const gallery = { resourceID: '/resourceGroups/x/providers/Microsoft.Compute/galleries/own/images/a/versions/1.0.0' };
  const marketplace = { publisher: 'redhat', offer: 'rhel', sku: '9', version: '1' };
  const images: readonly AzureSpecImage[] = [unpaidImage(aro('aro_418')), gallery, marketplace, {}];
  const stream = azureStreamWith({ marketplace: { azure: { 'no-purchase-plan': { hyperVGen2: aro('419-v2') } } } });
  const c = cluster({ sets: images.map((image, n) => azureSet(`wk-${n}`, image)), stream, userData: stub22 });
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.match(c.condition('Progressing')?.message ?? '', /\(4 skipped\)/);
  assert.deepEqual(
    images.map((_, n) => statusOf(c, `wk-${n}`).reason),
    ['NotInStream', 'CustomImage', 'CustomImage', 'CustomImage'],
  );
  for (const [n] of images.entries()) assert.notEqual(statusOf(c, `wk-${n}`).nextStep ?? '', '');
  assert.match(verified(statusOf(c, 'wk-1')), /^False ImageNotPublished/, 'that the customer’s own is gone is said');
});

test('BI-V118 on Azure Stack Hub nobody is asked and nothing is written', async () => {
  const c = cluster({ azure: { cloudName: 'AzureStackCloud', armEndpoint: 'https://management.local' } });
  const calls = azure.calls.length;
  await c.pass();
  assert.deepEqual([c.client.writes, azure.calls.length - calls], [[], 0]);
  assert.deepEqual([statusOf(c).phase, statusOf(c).reason], ['Skipped', 'PlatformUnsupported']);
});

test('BI-V103 BI-V104 an installer’s upload moves to the marketplace, once that image was seen in the location', async () => {
  const c = cluster({
    sets: [
      azureSet('wk-a', { resourceID: installerUpload() }),
      azureSet('wk-b', { resourceID: installerUpload(true) }),
    ],
  });
  azure.images.delete(`westeurope ${urnOf(aro('aro_419'))}`);
  await c.pass();
  assert.deepEqual([spec(c, 'wk-a')['image'], spec(c, 'wk-b')['image']], [{ resourceID: installerUpload() }, wanted]);
  assert.equal(statusOf(c).reason, 'ImageNotPublished');
  assert.equal(statusOf(c).current, 'gallery_c1_abcde/c1-abcde/419.94.2025');
  publishAzure(azure, aro('aro_419'));
  c.clock += 10_000;
  await c.timer();
  assert.deepEqual(spec(c)['image'], unpaidImage(aro('aro_419')));
});

test('terms that nobody accepted block the set with the command, unpatched, its stub untouched; once accepted it moves by itself', async () => {
  const paid = bought('rh-ocp-worker', 'rh-ocp-worker', oldPaidVersion);
  const c = cluster({ sets: [azureSet('wk-a', paidImage(paid))], userData: stub22 });
  azure.terms.set('redhat:rh-ocp-worker:rh-ocp-worker', false);
  await c.pass();
  assert.deepEqual([c.client.writes, spec(c)['image']], [[], paidImage(paid)]);
  const status = statusOf(c);
  assert.deepEqual([status.phase, status.reason], ['Blocked', 'ImageTermsNotAccepted']);
  assert.match(
    status.nextStep ?? '',
    /az vm image terms accept --publisher redhat --offer rh-ocp-worker --plan rh-ocp-worker/,
  );
  assert.match(verified(status), /^False ImageTermsNotAccepted/);
  azure.terms.set('redhat:rh-ocp-worker:rh-ocp-worker', true);
  c.clock += 10_000;
  await c.timer();
  assert.deepEqual(spec(c)['image'], paidImage(bought('rh-ocp-worker', 'rh-ocp-worker')));
});

test('without the right to look, and without credentials, the set is patched and declared unverified, with what is missing', async () => {
  for (const [lay, missing] of [
    [
      () => void azure.denied.add('Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read'),
      /missing: permission Microsoft\.Compute\/locations\/.*\/versions\/read on subscription/,
    ],
    [
      (c: FakeCluster) => c.client.objects.delete('secrets drydock/drydock-cloud-credentials'),
      /missing: Secret drydock\/drydock-cloud-credentials or openshift-machine-api\/azure-cloud-credentials$/,
    ],
    [
      ({ client }: FakeCluster) =>
        client.put(Secret, azureSecret({ ...azure.keySecret, azure_client_secret: 'expired' }, '2')),
      /missing: valid credentials$/,
    ],
  ] as const) {
    azure.denied.clear();
    const c = cluster();
    lay(c);
    await c.pass();
    assert.deepEqual(spec(c)['image'], wanted);
    const told = (c.outcomes.get('wk-a') ?? []).map(({ kind, verified: seen }) => `${kind} ${seen?.status}`);
    assert.deepEqual(told, ['step Unknown', 'current Unknown'], 'before the patch, too');
    assert.match(verified(statusOf(c)), missing);
    assert.equal(c.condition('Degraded')?.status, 'False');
  }
});

test('BI-V68 [N] 503, throttling with Retry-After and a truncated answer degrade, are asked again with growing pauses, and clear without an event', async () => {
  for (const fault of [
    azureError(503, 'ServerBusy', 'busy'),
    azureError(429, 'TooManyRequests', 'slower', { 'retry-after': '120' }),
    'truncated',
  ] as const) {
    const c = cluster();
    azure.fault = ({ host }) => (host.startsWith('management.') ? fault : undefined);
    assert.deepEqual(await c.pass(), { after: 5_000 });
    assert.deepEqual([c.condition('Degraded')?.status, spec(c)['image']], ['True', old]);
    assert.match(
      c.condition('Degraded')?.message ?? '',
      /failed to get image azureopenshift:.* at management\.azure\.com/,
    );
    c.clock += 5_000;
    assert.deepEqual(await c.timer(), { after: 10_000 });
    azure.fault = undefined;
    c.clock += 10_000;
    await c.timer();
    assert.deepEqual([c.condition('Degraded')?.status, spec(c)['image']], ['False', wanted]);
  }
});

test('sets with one image in one location cost one question, also of a fleet; a cloud that never answers holds nobody for long', async () => {
  const names = Array.from({ length: 200 }, (_, n) => `wk-${n}`);
  const fleet = cluster({ sets: names.map((name) => azureSet(name, old)) });
  const before = azure.asked.length;
  await fleet.pass();
  assert.equal(azure.asked.length - before, 1);
  assert.ok(names.every((name) => (spec(fleet, name)['image'] as AzureSpecImage).version === wanted.version));
  const waiting = cluster({ sets: names.map((name) => azureSet(name, old)) });
  azure.fault = () => 'hang';
  const calls = azure.calls.length;
  await waiting.pass();
  assert.equal(azure.calls.length - calls, 1);
  assert.match(waiting.condition('Degraded')?.message ?? '', /^200 Degraded MAPI MachineSets/);
});

test('a control plane gets its image as sets of workers do, the whole of it and nothing else', async () => {
  const c = cluster({ managers: bothManaged('All') });
  c.client.put(ControlPlaneMachineSet, controlPlane(azureSet('like', old)));
  const before = planeSpec(c.client);
  await c.pass();
  assert.deepEqual(planeSpec(c.client), { ...before, image: wanted });
  const owned = cluster({ managers: bothManaged('All') });
  owned.client.put(ControlPlaneMachineSet, controlPlane(azureSet('like', { publisher: 'redhat', offer: 'rhel' })));
  await owned.pass();
  assert.deepEqual(planeSpec(owned.client)['image'], { publisher: 'redhat', offer: 'rhel' });
  assert.equal(owned.condition('Degraded')?.status, 'False');
});

test('a withdrawn current image is named where nothing is to be done', async () => {
  const c = cluster({ sets: [azureSet('wk-a', wanted)] });
  publishAzure(azure, aro('419-v2'), { deprecation: { imageState: 'Deprecated' } });
  await c.pass();
  const status = statusOf(c);
  assert.deepEqual([status.phase, status.progress], ['Current', 'its image is no longer good']);
  assert.match(verified(status), /^False ImageWithdrawn/);
});

test('explain says what is seen of the image and what would be changed; status goes by API objects and asks nobody', async () => {
  const c = cluster();
  const [set] = c.ports.world.machineSets();
  const said = await explainSet(set ?? assert.fail('no set'), c.ports);
  assert.deepEqual([said.step, said.edits?.length, said.verified?.status], ['switch', 1, 'True']);
  const calls = azure.calls.length;
  const { images } = await standings({
    ...{ world: c.ports.world, images: [], led: true, now: new Date(c.clock), architecture: 'x86_64' },
  });
  assert.equal(azure.calls.length, calls);
  const { platform, target, progress } = images[0]?.status ?? {};
  assert.deepEqual([platform, target, progress], ['azure', wantedUrn, 'not looked at yet']);
});
