import { type Infrastructure, type MachineSet, Secret } from '@drydock/api';
import type { FakeCompute, FakeComputeImage } from './clouds/compute.ts';
import type { FakeClient } from './fake-client.ts';
import { machineSet } from './fake-cluster.ts';

/** The image of the fake stream, and one of a release before it. */
export const gcpImage = 'rhcos-9-8-20260802-0-gcp-x86-64';
/** See {@link gcpImage}. */
export const oldGcpImage = 'rhcos-9-6-20260512-0-gcp-x86-64';

/** How machine-api refers to an image of a release. */
export const rhcosCloud = (name: string): string => `projects/rhcos-cloud/global/images/${name}`;

/** A golden stream with an image for Google Cloud. */
export const gcpStream: string = JSON.stringify({
  stream: 'rhcos-4.22',
  architectures: {
    x86_64: {
      artifacts: {},
      images: { gcp: { release: '9.8.20260802-0', project: 'rhcos-cloud', name: gcpImage, family: 'rhcos' } },
    },
    aarch64: { artifacts: {}, images: {} },
  },
});

/** Infrastructure of a cluster on Google Cloud. */
export const gcpInfrastructure: Infrastructure = {
  metadata: { name: 'cluster' },
  spec: { platformSpec: { type: 'GCP' } },
  status: { infrastructureName: 'c1-abcde', platformStatus: { type: 'GCP' } },
};

/** A boot disk and a data disk, as the installer makes the first. */
export function gcpDisks(...bootImages: readonly string[]): readonly object[] {
  const disk = { autoDelete: true, labels: null, sizeGb: 128, type: 'pd-ssd' };
  return [
    ...bootImages.map((image) => ({ ...disk, boot: true, image })),
    { ...disk, boot: false, image: rhcosCloud('data-of-somebody') },
  ];
}

/** A machine set on Google Cloud. */
export function gcpSet(
  name: string,
  images: readonly string[] = [rhcosCloud(oldGcpImage)],
  value: Readonly<Record<string, unknown>> = {},
): MachineSet {
  const set = machineSet(name);
  const spec = {
    ...{ kind: 'GCPMachineProviderSpec', apiVersion: 'machine.openshift.io/v1beta1', projectID: 'own-project' },
    ...{ region: 'us-central1', zone: 'us-central1-a', machineType: 'n2-standard-4', foo: { bar: 1 } },
    ...{ userDataSecret: { name: 'worker-user-data' }, disks: gcpDisks(...images), ...value },
  };
  return { ...set, spec: { template: { spec: { providerSpec: { value: spec } } } } };
}

/** The Secret of our own with credentials, in one of its forms. */
export function cloudSecret(file: string, resourceVersion: string = '1'): Secret {
  return {
    metadata: { namespace: 'drydock', name: 'drydock-cloud-credentials', uid: 'secret-uid', resourceVersion },
    data: { 'service_account.json': Buffer.from(file).toString('base64') },
  };
}

/** Lays out credentials, and the images of both releases as they are published. */
export function furnish(client: Pick<FakeClient, 'put'>, compute: FakeCompute): void {
  client.put(Secret, cloudSecret(compute.keyFile));
  for (const name of [oldGcpImage, gcpImage]) publish(compute, name);
}

/** Publishes an image of a release as Red Hat does. */
export function publish(compute: FakeCompute, name: string, more: Partial<FakeComputeImage> = {}): FakeComputeImage {
  const image = {
    ...{ project: 'rhcos-cloud', name, status: 'READY', architecture: 'X86_64' },
    features: ['UEFI_COMPATIBLE', 'VIRTIO_SCSI_MULTIQUEUE', 'GVNIC', 'SEV_CAPABLE'],
    ...more,
  };
  compute.images.set(`${image.project}/${name}`, image);
  return image;
}
