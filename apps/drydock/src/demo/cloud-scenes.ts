import type { BootImagePhase, Infrastructure, MachineSet } from '@drydock/api';
import {
  awsImage,
  awsInfrastructure,
  awsSet,
  awsStream,
  azureInfrastructure,
  azureSet,
  azureStream,
  bought,
  type CloudServer,
  gcpImage,
  gcpInfrastructure,
  gcpSet,
  gcpStream,
  installerUpload,
  oldAwsImage,
  oldGcpImage,
  oldPaidVersion,
  paidImage,
  publish,
  publishAmi,
  publishReleases,
  rhcosCloud,
  startAzure,
  startCompute,
  startEc2,
  staticKeys,
} from '@drydock/boot-images/testing';

/** A machine set, and what becomes of it. */
export interface SceneSet {
  readonly set: MachineSet;
  readonly phase: BootImagePhase;
}

/** One cloud: what Infrastructure says there, its machine sets, and a small server in its place. */
export interface CloudScene {
  readonly title: string;
  readonly server: CloudServer;
  /** Hosts of the cloud. */
  readonly hosts: RegExp;
  readonly infrastructure: Infrastructure;
  /** What the release's stream has for it. */
  readonly stream: string;
  /** Data of the Secret with credentials. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly sets: readonly SceneSet[];
}

/** The clouds of the chapter, in their order. */
export const scenes: readonly (() => Promise<CloudScene>)[] = [onAws, onGoogleCloud, onAzure];

async function onAws(): Promise<CloudScene> {
  const ec2 = await startEc2();
  for (const id of [oldAwsImage, awsImage]) publishAmi(ec2, { id });
  publishAmi(ec2, { id: HARDENED, owner: '111122223333', name: 'hardened' });
  // Red Hat's of this release is on its way to the other region.
  publishAmi(ec2, { id: oldAwsImage }, 'us-west-2');
  const placement = { availabilityZone: 'us-west-2a', region: 'us-west-2' };
  return {
    ...{ title: 'AWS', server: ec2, hosts: /\.amazonaws\.com$/, infrastructure: awsInfrastructure, stream: awsStream },
    credentials: staticKeys(ec2),
    sets: [
      { set: awsSet('aws-worker'), phase: 'Current' },
      { set: awsSet('aws-hardened', { id: HARDENED }), phase: 'Skipped' },
      { set: awsSet('aws-west', undefined, { placement }), phase: 'Blocked' },
    ],
  };
}

const HARDENED = 'ami-0a1b2c3d4e5f60718';

async function onGoogleCloud(): Promise<CloudScene> {
  const compute = await startCompute();
  publish(compute, oldGcpImage);
  publish(compute, gcpImage, { features: ['UEFI_COMPATIBLE'] });
  publish(compute, 'hardened', { project: 'our-own' });
  const old = [rhcosCloud(oldGcpImage)];
  return {
    ...{ title: 'Google Cloud', server: compute, hosts: /\.googleapis\.com$/ },
    ...{ infrastructure: gcpInfrastructure, stream: gcpStream },
    credentials: { 'service_account.json': compute.keyFile },
    sets: [
      { set: gcpSet('gcp-worker', old), phase: 'Current' },
      { set: gcpSet('gcp-hardened', ['projects/our-own/global/images/hardened']), phase: 'Skipped' },
      { set: gcpSet('gcp-confidential', old, { confidentialCompute: 'Enabled' }), phase: 'Blocked' },
    ],
  };
}

async function onAzure(): Promise<CloudScene> {
  const azure = await startAzure();
  publishReleases(azure);
  azure.terms.set('redhat:rh-ocp-worker:rh-ocp-worker', false);
  const paid = paidImage(bought('rh-ocp-worker', 'rh-ocp-worker', oldPaidVersion));
  const gallery = '/resourceGroups/our-own/providers/Microsoft.Compute/galleries/hardened/images/rhcos/versions/1.2.3';
  azure.uploads.set(`/subscriptions/${azure.subscription}${gallery}`, {
    properties: { provisioningState: 'Succeeded', publishingProfile: { targetRegions: [{ name: 'West Europe' }] } },
  });
  return {
    ...{ title: 'Azure', server: azure, hosts: /^(?:login\.microsoftonline|management\.azure)\.com$/ },
    ...{ infrastructure: azureInfrastructure(), stream: azureStream, credentials: azure.keySecret },
    sets: [
      { set: azureSet('azure-worker', { resourceID: installerUpload(true) }), phase: 'Current' },
      { set: azureSet('azure-hardened', { resourceID: gallery }), phase: 'Skipped' },
      { set: azureSet('azure-licensed', paid), phase: 'Blocked' },
    ],
  };
}
