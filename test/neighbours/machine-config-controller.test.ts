import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Deployment, MachineConfiguration, MachineSet } from '@drydock/api';
import { upstreamController } from '@drydock/boot-images';
import { type FakeCompute, publish, rhcosCloud, startCompute } from '@drydock/boot-images/testing';
import { statusWriter } from '@drydock/kube';
import { type RunningNeighbour, startNeighbour, withoutRealServers } from '@drydock/sandbox';
import { type CloudVoyage, startCloudVoyage } from '../sandbox/support/cloud-voyage.ts';
import { gcpGolden, gcpImageOf, gcpMachineSet } from '../sandbox/support/gcp-voyage.ts';
import { eventually } from '../sandbox/support/voyage.ts';
import { machineApi } from '../sandbox/support/voyage-cluster.ts';

const wanted = process.env['DRYDOCK_NEIGHBOURS'] === '1' || process.env['DRYDOCK_SOAK'] !== undefined;
const skip = wanted
  ? withoutRealServers('programs of upstream run on kube-apiserver')
  : "needs machine-config-operator's boot image controller, which takes minutes to build: set DRYDOCK_NEIGHBOURS=1";

/** What the controller waits for in the golden ConfigMap: the stamps of its operator. */
const stamps = { MCOVersionHash: 'voyage' };
const flags = ['--release', '4.21.0', '--hash', stamps.MCOVersionHash];
const golden = (release: number): Readonly<Record<string, string>> => ({ ...gcpGolden(release), ...stamps });
const upstream = 'machine-config-controller';

let compute: FakeCompute;
let voyage: CloudVoyage;
let neighbour: RunningNeighbour | undefined;

before(async () => {
  if (skip !== false) return;
  compute = await startCompute();
  for (const release of [1, 2, 3, 4, 5]) publish(compute, gcpImageOf(release));
  voyage = await startCloudVoyage({
    platformSpec: { type: 'GCP' },
    platformStatus: { gcp: { projectID: 'own-project', region: 'us-central1' } },
    ...{ golden: golden(2), cloud: compute, credentials: { 'service_account.json': compute.keyFile } },
  });
  const { client } = voyage;
  const machineManagers = [{ resource: 'machinesets', apiGroup: 'machine.openshift.io', selection: { mode: 'All' } }];
  const spec = { managedBootImages: { machineManagers } };
  await client.mergePatch(MachineConfiguration, { name: 'cluster' }, { spec } as object);
  // Its operator would have written that; without it the server refuses what the controller writes.
  const sshkey = { actions: [{ type: 'None' }] };
  await statusWriter({ client, resource: MachineConfiguration }).write({ name: 'cluster' }, ({ status }) => ({
    ...status,
    nodeDisruptionPolicyStatus: { clusterPolicies: { files: [], units: [], sshkey } },
  }));
});
after(async () => {
  await neighbour?.[Symbol.asyncDispose]();
  await voyage?.[Symbol.asyncDispose]();
  await compute?.[Symbol.asyncDispose]();
});

/** As on a cluster: the Deployment, and what its pod runs. */
async function arrive(): Promise<void> {
  const pod = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { replicas: 1, selector: { matchLabels: { a: 'b' } }, template: pod };
  await voyage.client.create(Deployment, { metadata: upstreamController, spec } as Deployment);
  neighbour = await startNeighbour('machine-config-controller', { kubeconfig: voyage.kubeconfig, flags });
}

async function bootImage(set: string): Promise<unknown> {
  const { disks } = await voyage.spec(set);
  return (disks as readonly { readonly image: unknown }[])[0]?.image;
}

/** Resolves when the boot disk has the image of a release. */
async function imageOf(set: string, release: number): Promise<void> {
  const look = async () => (await bootImage(set)) === rhcosCloud(gcpImageOf(release)) || undefined;
  await eventually(`${set} at release ${release}`, look, () => voyage.log().slice(-2000));
}

/** Who owns the disks of a set, by the account that the server keeps. */
async function ownerOfDisks(set: string): Promise<unknown> {
  const path = `/apis/machine.openshift.io/v1beta1/namespaces/${machineApi}/machinesets/${set}`;
  const { metadata } = (await voyage.client.raw({ path })) as {
    readonly metadata: { readonly managedFields: readonly { readonly manager: string; readonly fieldsV1: object }[] };
  };
  return metadata.managedFields.filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes('"f:disks"'))[0]?.manager;
}

const left = (set: string) => voyage.status(set, 'left', ({ reason }) => reason === 'LeftToUpstream');

test('negative control: while nobody else is there, Drydock moves the set itself', { skip }, async () => {
  await voyage.createSet(gcpMachineSet('wk-a', rhcosCloud(gcpImageOf(1))));
  await voyage.status('wk-a', 'moved', ({ phase, current }) => phase === 'Current' && current === gcpImageOf(2));
  assert.equal(await ownerOfDisks('wk-a'), 'drydock');
});

test('the controller of upstream appears while a set is looked at: that one moves it, and Drydock neither patches it nor writes a condition', {
  skip,
}, async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<undefined>();
  compute.fault = ({ path }) => {
    if (!path.endsWith(gcpImageOf(3))) return undefined;
    asked.resolve();
    return answer.promise;
  };
  await voyage.release(golden(3));
  await asked.promise;
  await arrive();
  await imageOf('wk-a', 3);
  assert.equal(await ownerOfDisks('wk-a'), upstream);
  const { resourceVersion } = (await voyage.client.get(MachineSet, { namespace: machineApi, name: 'wk-a' })).metadata;
  answer.resolve(undefined);
  const status = await left('wk-a');
  assert.match(
    status.message ?? '',
    /openshift-machine-config-operator\/machine-config-controller manages boot images/,
  );
  const now = await voyage.client.get(MachineSet, { namespace: machineApi, name: 'wk-a' });
  assert.equal(now.metadata.resourceVersion, resourceVersion, 'nobody wrote to it since');
  compute.fault = undefined;
});

test('with it running a release is carried out by it alone, and whoever takes the image back meets it alone: Drydock says who acts, and writes BootImages', {
  skip,
}, async () => {
  await voyage.createSet(gcpMachineSet('wk-b', rhcosCloud(gcpImageOf(1))));
  await imageOf('wk-b', 3);
  await voyage.release(golden(4));
  for (const set of ['wk-a', 'wk-b']) {
    await imageOf(set, 4);
    assert.equal(await ownerOfDisks(set), upstream);
    const status = await voyage.status(set, 'told', ({ current }) => current === gcpImageOf(4));
    assert.equal(status.reason, 'LeftToUpstream');
  }
  const path = '/spec/template/spec/providerSpec/value/disks/0/image';
  const key = { namespace: machineApi, name: 'wk-b' };
  await voyage.as('argocd-controller', (client) =>
    client.patch(MachineSet, key, [{ op: 'replace', path, value: rhcosCloud(gcpImageOf(1)) }]),
  );
  await imageOf('wk-b', 4);
  assert.equal(await ownerOfDisks('wk-b'), upstream);
  let told: string | undefined;
  const itsOwn = async () => {
    const { conditions } = (await voyage.client.get(MachineConfiguration, { name: 'cluster' })).status ?? {};
    told = conditions?.find(({ type }) => type === 'BootImageUpdateProgressing')?.message;
    // That release of upstream has no part for control planes, which Drydock's text has.
    return told?.startsWith('Reconciled 2 of 2 MAPI MachineSets | Reconciled 0 of 0 CAPI MachineSets') || undefined;
  };
  await eventually('the condition in its words', itsOwn, () => told);
  const explained = await voyage.drydock('explain', 'wk-b');
  assert.match(explained.out, /machine-config-controller manages boot images in this cluster/);
});

test('once it is gone Drydock acts again', { skip }, async () => {
  await neighbour?.kill('SIGTERM');
  await voyage.client.delete(Deployment, upstreamController);
  await voyage.release(golden(5));
  await voyage.status('wk-b', 'moved', ({ phase, current }) => phase === 'Current' && current === gcpImageOf(5));
  assert.equal(await ownerOfDisks('wk-b'), 'drydock');
});
