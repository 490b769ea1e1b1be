import { type Infrastructure, type MachineSet, Secret } from '@drydock/api';
import { marketplaceOwner, redHatOwner } from '../aws/marketplace.ts';
import type { FakeAmi } from './clouds/ec2.ts';
import type { Ec2State } from './clouds/ec2-state.ts';
import type { FakeClient } from './fake-client.ts';
import { machineSet } from './fake-cluster.ts';

/** Ids of the images of the fake stream and of a release before it, in us-east-1. */
export const awsImage = 'ami-0fbc8be8796dc1df5';
/** See {@link awsImage}. */
export const oldAwsImage = 'ami-0123456789abcdef0';
/** Of the fake stream, for aarch64. */
export const armImage = 'ami-01fdfbdd638f16b5f';
/** In us-west-2. */
export const westImage = 'ami-0fedcba9876543210';

/** A golden stream with images for AWS. */
export const awsStream: string = JSON.stringify({
  stream: 'rhcos-4.22',
  architectures: {
    x86_64: {
      artifacts: { aws: { release: '9.8.20260802-0' } },
      images: {
        aws: {
          regions: {
            'us-east-1': { release: '9.8.20260802-0', image: awsImage },
            'us-west-2': { release: '9.8.20260802-0', image: westImage },
          },
        },
      },
    },
    aarch64: {
      artifacts: { aws: { release: '9.8.20260802-0' } },
      images: { aws: { regions: { 'us-east-1': { release: '9.8.20260802-0', image: armImage } } } },
    },
  },
});

/** Infrastructure of a cluster on AWS. */
export const awsInfrastructure: Infrastructure = {
  metadata: { name: 'cluster' },
  spec: { platformSpec: { type: 'AWS' } },
  status: { infrastructureName: 'c1-abcde', platformStatus: { type: 'AWS', aws: { region: 'us-east-1' } } },
};

/** A machine set on AWS, as the installer makes it, with a field that nobody knows. */
export function awsSet(
  name: string,
  ami: unknown = { id: oldAwsImage },
  value: Readonly<Record<string, unknown>> = {},
  metadata: Partial<MachineSet['metadata']> = {},
): MachineSet {
  const set = machineSet(name, {}, metadata);
  const spec = {
    ...{ kind: 'AWSMachineProviderConfig', apiVersion: 'machine.openshift.io/v1beta1', ami },
    ...{ instanceType: 'm6i.xlarge', placement: { availabilityZone: 'us-east-1a', region: 'us-east-1' } },
    ...{ blockDevices: [{ ebs: { volumeSize: 120, volumeType: 'gp3' } }], foo: { bar: 1 } },
    ...{ userDataSecret: { name: 'worker-user-data' }, ...value },
  };
  return { ...set, spec: { template: { spec: { providerSpec: { value: spec } } } } };
}

/** The Secret of our own with credentials, in one of its forms. */
export function awsSecret(data: Readonly<Record<string, string>>, resourceVersion: string = '1'): Secret {
  return {
    metadata: { namespace: 'drydock', name: 'drydock-cloud-credentials', uid: 'secret-uid', resourceVersion },
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}

/** As the cloud credential operator writes static keys. */
export function staticKeys({ keys: { id, secret } }: Pick<Ec2State, 'keys'>): Readonly<Record<string, string>> {
  const [first, second] = [`aws_access_key_id = ${id}`, `aws_secret_access_key = ${secret}`];
  return {
    ...{ aws_access_key_id: id, aws_secret_access_key: secret },
    credentials: `[default]\n${first}\n${second}\n`,
  };
}

/** Lays out credentials, and the images of both releases as they are published. */
export function furnishAws(client: Pick<FakeClient, 'put'>, ec2: Ec2State): void {
  client.put(Secret, awsSecret(staticKeys(ec2)));
  for (const id of [oldAwsImage, awsImage]) publishAmi(ec2, { id });
  publishAmi(ec2, { id: armImage, architecture: 'arm64' });
  publishAmi(ec2, { id: westImage }, 'us-west-2');
}

/** Publishes an image of a release as Red Hat does. */
export function publishAmi(
  { regions }: Pick<Ec2State, 'regions'>,
  more: Partial<FakeAmi> & Pick<FakeAmi, 'id'>,
  region: string = 'us-east-1',
): FakeAmi {
  const image: FakeAmi = {
    ...{ owner: redHatOwner, name: `rhcos-${more.id}-x86_64`, architecture: 'x86_64', state: 'available' },
    ...{ description: 'OpenShift 4 9.8.20260802-0 x86_64', bootMode: 'uefi-preferred' },
    ...{ created: '2026-08-02T10:11:12.000Z', deprecated: '2099-08-02T10:11:12.000Z', ...more },
  };
  const images = regions.get(region) ?? new Map<string, FakeAmi>();
  images.set(image.id, image);
  regions.set(region, images);
  return image;
}

/** Id of the product OCP. */
export const ocp = '59ead7de-2540-4653-a8b0-fa7926d5c845';
/** Id of the product ROSA. */
export const rosa = '34850061-abaf-402d-92df-94325c9e947f';

/** Publishes an image of a product as the marketplace does. */
export function publishProduct(
  ec2: Pick<Ec2State, 'regions'>,
  id: string,
  version: string,
  more: Partial<FakeAmi> & { readonly product?: string } = {},
  region: string = 'us-east-1',
): FakeAmi {
  const { product = ocp, ...rest } = more;
  const { architecture = 'x86_64' } = rest;
  const image = {
    ...{ id, owner: marketplaceOwner, name: `rhcos-${architecture}-${version.replaceAll('.', '-')}-${product}` },
    ...{ description: `RHEL CoreOS ${version} ${architecture}`, productCodes: ['59ead7de25404653a8b0fa79'] },
    ...rest,
  };
  return publishAmi(ec2, image, region);
}
