import type { CloudReply } from './cloud-server.ts';
import type { Ec2State, FakeAmi, FakeInstanceType } from './ec2-state.ts';
import { ec2Error, xml } from './ec2-xml.ts';

const NAMESPACE = 'http://ec2.amazonaws.com/doc/2016-11-15/';
const requestId = '59dbff89-35bd-4eac-99ed-be587EXAMPLE';
/** Owners that have a name besides their number. */
const ALIASES: Readonly<Record<string, string>> = { '679593333241': 'aws-marketplace', '137112412989': 'amazon' };

/** docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeImages.html */
export function answerImages(
  form: URLSearchParams,
  images: ReadonlyMap<string, FakeAmi>,
  { account, how: { pageSize } }: Pick<Ec2State, 'account' | 'how'>,
): CloudReply {
  const ids = listed(form, 'ImageId');
  const malformed = ids.filter((id) => !/^ami-(?:[0-9a-f]{8}|[0-9a-f]{17})$/.test(id));
  // A call fails as a whole.
  if (malformed.length > 0)
    return ec2Error(400, 'InvalidAMIID.Malformed', `Invalid id: "${malformed[0]}" (expecting "ami-...")`);
  const mine = (image: FakeAmi): boolean => image.owner === account;
  const visible = (image: FakeAmi): boolean =>
    mine(image) || image.sharedWith === undefined || image.sharedWith.includes(account);
  const missing = ids.filter((id) => {
    const image = images.get(id);
    return image === undefined || (!visible(image) && image.hidden !== 'left out');
  });
  if (missing.length > 0) {
    const [noun, verb] = missing.length === 1 ? ['id', 'does'] : ['ids', 'do'];
    return ec2Error(400, 'InvalidAMIID.NotFound', `The image ${noun} '[${missing.join(', ')}]' ${verb} not exist`);
  }
  const owners = listed(form, 'Owner');
  const filters = filtersOf(form);
  const wanted = [...images.values()].filter(
    (image) =>
      visible(image) &&
      (ids.length === 0 || ids.includes(image.id)) &&
      (owners.length === 0 || owners.some((owner) => ownedBy(image, owner, account))) &&
      // The owner sees its deprecated and disabled images always.
      (mine(image) || form.get('IncludeDeprecated') === 'true' || !isPast(image.deprecated)) &&
      (mine(image) || form.get('IncludeDisabled') === 'true' || image.state !== 'disabled') &&
      filters.every(([name, values]) => values.some((value) => matches(fieldOf(image, name), value))),
  );
  const from = Number(form.get('NextToken') ?? 0);
  const size = ids.length > 0 ? wanted.length : Math.min(pageSize, Number(form.get('MaxResults') ?? pageSize));
  const nextToken = from + size < wanted.length ? String(from + size) : undefined;
  const imagesSet = wanted.slice(from, from + size).map(itemOf);
  return xml('DescribeImagesResponse', NAMESPACE, { requestId, imagesSet, nextToken });
}

/** …/API_DescribeInstanceTypes.html */
export function answerTypes(form: URLSearchParams, types: ReadonlyMap<string, FakeInstanceType>): CloudReply {
  const names = listed(form, 'InstanceType');
  const missing = names.filter((name) => !types.has(name));
  if (missing.length > 0) {
    const message = `The following supplied instance types do not exist: [${missing.join(', ')}]`;
    return ec2Error(400, 'InvalidInstanceType', message);
  }
  const instanceTypeSet = names.map((name) => ({
    instanceType: name,
    supportedBootModes: types.get(name)?.bootModes ?? [],
  }));
  return xml('DescribeInstanceTypesResponse', NAMESPACE, { requestId, instanceTypeSet });
}

function listed(form: URLSearchParams, name: string): readonly string[] {
  return [...form].filter(([key]) => key.startsWith(`${name}.`)).map(([, value]) => value);
}

function filtersOf(form: URLSearchParams): readonly (readonly [name: string, values: readonly string[]])[] {
  return [...form].flatMap(([key, name]) => {
    const [, at] = /^Filter\.(\d+)\.Name$/.exec(key) ?? [];
    return at === undefined ? [] : [[name, listed(form, `Filter.${at}.Value`)] as const];
  });
}

function fieldOf(image: FakeAmi, filter: string): string {
  const fields: Readonly<Record<string, string | undefined>> = {
    ...{ name: image.name, architecture: image.architecture, state: image.state, 'owner-id': image.owner },
    'product-code': image.productCodes?.[0],
  };
  return fields[filter] ?? '';
}

/** `*` and `?` as in EC2's filters. */
function matches(value: string, pattern: string): boolean {
  const escaped = pattern
    .replaceAll(/[.+^$()|[\]\\{}]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${escaped}$`).test(value);
}

function ownedBy(image: FakeAmi, owner: string, account: string): boolean {
  return owner === 'self' ? image.owner === account : [image.owner, ALIASES[image.owner]].includes(owner);
}

function isPast(time: string | undefined): boolean {
  return time !== undefined && Date.parse(time) <= Date.now();
}

function itemOf(image: FakeAmi) {
  const { id, name, owner, state, architecture, description = '', created, productCodes, deprecated } = image;
  return {
    ...{ imageId: id, imageLocation: `${owner}/${name}`, imageState: state, imageOwnerId: owner },
    ...{ creationDate: created, isPublic: image.sharedWith === undefined },
    ...(productCodes === undefined
      ? {}
      : { productCodes: productCodes.map((productCode) => ({ productCode, type: 'marketplace' })) }),
    ...{ architecture, imageType: 'machine', imageOwnerAlias: ALIASES[owner], name, description },
    ...{ rootDeviceType: 'ebs', rootDeviceName: '/dev/xvda' },
    blockDeviceMapping: [
      { deviceName: '/dev/xvda', ebs: { snapshotId: 'snap-0a1b2c3d4e5f60718', volumeSize: 16, volumeType: 'gp3' } },
    ],
    ...{ virtualizationType: 'hvm', hypervisor: 'xen', enaSupport: true, bootMode: image.bootMode },
    ...{ stateReason: image.stateReason, deprecationTime: deprecated, platformDetails: 'Linux/UNIX' },
  };
}
