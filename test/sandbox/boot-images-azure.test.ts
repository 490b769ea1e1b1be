import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { MachineSet } from '@drydock/api';
import {
  type AzureSpecImage,
  aro,
  azureError,
  bought,
  type FakeAzure,
  type MarketplaceUrn,
  paidImage,
  publishAzure,
  startAzure,
  unpaidImage,
  urnOf,
} from '@drydock/boot-images/testing';
import { type CloudVoyage, startCloudVoyage, verifiedIn } from './support/cloud-voyage.ts';
import { createPlane, manageBoth, planeStubText } from './support/control-plane.ts';
import { eventually } from './support/voyage.ts';
import { infrastructureName, machineApi } from './support/voyage-cluster.ts';

const unpaid = (release: number): MarketplaceUrn => aro('419-v2', `419.94.2025010${release}`);
const paid = (release: number): MarketplaceUrn => bought('rh-ocp-worker', 'rh-ocp-worker', `4.19.202501011${release}`);
const uploaded = `/resourceGroups/${infrastructureName}-rg/providers/Microsoft.Compute/galleries/gallery_${infrastructureName.replaceAll('-', '_')}/images/${infrastructureName}-gen2/versions/latest`;
const plan = 'redhat:rh-ocp-worker:rh-ocp-worker';
const custom = '/resourceGroups/hardened/providers/Microsoft.Compute/galleries/company/images/rhcos/versions/1.2.3';

/** The golden ConfigMap of a release. */
function golden(release: number): Readonly<Record<string, string>> {
  const azure = { 'no-purchase-plan': { hyperVGen2: unpaid(release) }, ocp: { hyperVGen2: paid(release) } };
  const architectures = { x86_64: { artifacts: {}, 'rhel-coreos-extensions': { marketplace: { azure } } } };
  return { releaseVersion: '4.21.0', stream: JSON.stringify({ stream: 'rhcos-voyage', architectures }) };
}

/** A machine set as the installer makes it, with a field that nobody knows. */
function machineSet(name: string, image: AzureSpecImage) {
  const labels = { 'machine.openshift.io/cluster-api-machineset': name };
  const value = {
    ...{
      apiVersion: 'machine.openshift.io/v1beta1',
      kind: 'AzureMachineProviderSpec',
      location: 'westeurope',
      zone: '1',
    },
    ...{ resourceGroup: `${infrastructureName}-rg`, vmSize: 'Standard_D4s_v3', foo: { bar: 1 } },
    osDisk: { diskSizeGB: 128, osType: 'Linux', managedDisk: { storageAccountType: 'Premium_LRS' } },
    ...{ image, userDataSecret: { name: 'worker-user-data' } },
  };
  const annotations = { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=amd64' };
  return {
    metadata: { namespace: machineApi, name, annotations },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: { providerSpec: { value } } },
    },
  };
}

let azure: FakeAzure;
let voyage: CloudVoyage;

before(async () => {
  azure = await startAzure();
  for (const release of [1, 2]) for (const urn of [unpaid(release), paid(release)]) publishAzure(azure, urn);
  azure.terms.set(plan, false);
  voyage = await startCloudVoyage({
    platformSpec: { type: 'Azure' },
    platformStatus: { azure: { cloudName: 'AzurePublicCloud', resourceGroupName: `${infrastructureName}-rg` } },
    ...{ golden: golden(2), cloud: azure, credentials: azure.keySecret, rights: ['control-plane'] },
  });
  await voyage.createSet(machineSet('wk-a', { resourceID: uploaded }));
  await voyage.createSet(machineSet('wk-paid', paidImage(paid(1))));
  await voyage.createSet(machineSet('wk-custom', { resourceID: custom }));
});
after(async () => {
  await voyage?.[Symbol.asyncDispose]();
  await azure?.[Symbol.asyncDispose]();
});

const imageOf = async (set: string): Promise<unknown> => (await voyage.spec(set))['image'];

const at =
  (urn: MarketplaceUrn) =>
  ({ phase, current }: { readonly phase?: string; readonly current?: string }) =>
    phase === 'Current' && current === urnOf(urn);

test('BI-V104 the operator moves an installer’s upload to the image of the release, which it has looked at; nothing else in the set changes', async () => {
  const status = await voyage.status('wk-a', 'current', at(unpaid(2)));
  assert.match(verifiedIn(status), /^True Verified: image azureopenshift:aro4:419-v2:419\.94\.20250102 is there/);
  assert.deepEqual([status.platform, status.target], ['azure', urnOf(unpaid(2))]);
  const { value } = machineSet('wk-a', unpaidImage(unpaid(2))).spec.template.spec.providerSpec;
  assert.deepEqual(await voyage.spec('wk-a'), value);
  assert.ok(azure.asked.includes(`westeurope ${urnOf(unpaid(2))}`));
});

test('BI-V109 terms that nobody accepted block what is bought, with the command that accepts them', async () => {
  const status = await voyage.status('wk-paid', 'blocked', ({ phase }) => phase === 'Blocked');
  assert.equal(status.reason, 'ImageTermsNotAccepted');
  assert.match(
    status.nextStep ?? '',
    /az vm image terms accept --publisher redhat --offer rh-ocp-worker --plan rh-ocp-worker --subscription 33333333-/,
  );
  assert.deepEqual(await imageOf('wk-paid'), paidImage(paid(1)));
  await voyage.degraded('True', 'are not accepted in subscription');
  azure.terms.set(plan, true);
});

test('who takes the image back is named, by the image that it owns then', async () => {
  const path = '/spec/template/spec/providerSpec/value/image';
  const key = { namespace: machineApi, name: 'wk-a' };
  await voyage.as('argocd-controller', (client) =>
    client.patch(MachineSet, key, [{ op: 'replace', path, value: unpaidImage(unpaid(1)) }]),
  );
  await voyage.logged(/"manager":"argocd-controller".*somebody else changed the image/);
  await eventually('back again', async () => {
    const { version } = (await imageOf('wk-a')) as AzureSpecImage;
    return version === unpaid(2).version || undefined;
  });
});

test('BI-V103 [N] a gallery of somebody’s own is skipped with the reason and what to do', async () => {
  const { reason, message, nextStep } = await voyage.status('wk-custom', 'skipped', ({ phase }) => phase === 'Skipped');
  assert.equal(reason, 'CustomImage');
  assert.match(message ?? '', /has image \/resourceGroups\/hardened\/.* not named as an installer names/);
  assert.match(nextStep ?? '', /set image to \{"publisher":"azureopenshift"/);
  assert.deepEqual(await imageOf('wk-custom'), { resourceID: custom });
});

test('a version that is not in the location blocks the set, unpatched; it moves by itself once it is', async () => {
  publishAzure(azure, unpaid(3), { location: 'northeurope' });
  publishAzure(azure, paid(3));
  await voyage.release(golden(3));
  const status = await voyage.status('wk-a', 'blocked', ({ phase }) => phase === 'Blocked');
  assert.match(verifiedIn(status), /^False ImageNotPublished: there is no image .* in location westeurope of Azure/);
  assert.deepEqual(await imageOf('wk-a'), unpaidImage(unpaid(2)));
  publishAzure(azure, unpaid(3));
  await voyage.status('wk-a', 'moved', at(unpaid(3)));
});

test('BI-V68 [N] a cloud that answers 503 degrades, is asked again, and heals without an event', async () => {
  for (const urn of [unpaid(4), paid(4)]) publishAzure(azure, urn);
  azure.fault = ({ host }) => (host.startsWith('management.') ? azureError(503, 'ServerBusy', 'busy') : undefined);
  await voyage.release(golden(4));
  await voyage.degraded('True', 'ask again later');
  assert.deepEqual(await imageOf('wk-a'), unpaidImage(unpaid(3)));
  azure.fault = undefined;
  await voyage.status('wk-a', 'moved', at(unpaid(4)));
});

test('a control plane that an installer uploaded the image of is moved by one patch of it', async () => {
  const { value } = machineSet('x', { resourceID: uploaded }).spec.template.spec.providerSpec;
  const plane = await createPlane(voyage.client, { platform: 'Azure', azure: [{ zone: '1' }] }, value);
  await manageBoth(voyage.client);
  const status = await voyage.status('cpms/cluster', 'moved', at(unpaid(4)));
  assert.match(verifiedIn(status), /^True Verified: image azureopenshift:aro4:419-v2:/);
  assert.deepEqual(await plane.template(), plane.with({ ...value, image: unpaidImage(unpaid(4)) }));
  assert.match(await planeStubText(voyage.client), /"version":"3\.5\.0"/);
  await voyage.degraded('False');
});

test('without the right to look the set is patched, and its BootImage names the right; so is what is bought, whose terms are accepted now', async () => {
  azure.denied.add('Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read');
  await voyage.release(golden(5));
  const status = await voyage.status('wk-a', 'moved', at(unpaid(5)));
  assert.match(
    verifiedIn(status),
    /^Unknown Unverified: .*missing: permission Microsoft\.Compute\/locations\/.*\/versions\/read on subscription 33333333-/,
  );
  await voyage.status('wk-paid', 'moved', at(paid(5)));
  assert.deepEqual(await imageOf('wk-paid'), paidImage(paid(5)));
  await voyage.degraded('False');
});

test('status, explain and doctor speak of the cloud', async () => {
  const status = await voyage.drydock('status');
  assert.match(status.out, new RegExp(`ms/wk-a +${urnOf(unpaid(5))} +Current +\\d+[smh] +unverified\\n`));
  const explained = await voyage.drydock('explain', 'wk-a', 'wk-custom');
  assert.match(explained.out, /x86_64 machines on Azure/);
  assert.match(explained.out, /missing: permission Microsoft\.Compute/);
  assert.match(explained.out, /not named as an installer names what it uploads/);
  assert.equal(explained.code, 0, explained.out);
  const doctor = await voyage.drydock('doctor', '--roles', 'boot-images');
  assert.match(doctor.out, /ok +openshift +4\.21\.0 on Azure/);
  assert.match(doctor.out, /warn +ms\/wk-a +new machines start .*; nobody could look .*missing: permission Microsoft/);
});

test('no credential is in the log', (t) => {
  assert.doesNotMatch(voyage.log(), /secret-of-drydock|eyJ0|subject\.token/);
  const [, kB] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${voyage.pid}/status`, 'utf8')) ?? [];
  t.diagnostic(`${kB} kB resident`);
});
