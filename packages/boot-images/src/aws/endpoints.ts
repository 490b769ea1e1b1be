import type { Infrastructure } from '@drydock/api';

/** A region by its form; which ones there are changes by the year. */
const REGION = /^[a-z]{2,5}(?:-[a-z]{2,10}){1,3}-\d{1,2}$/;

/** Domains of partitions besides the commercial one, by the beginnings of their regions (botocore's endpoints.json). */
const DOMAINS: readonly (readonly [prefix: string, domain: string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['us-iso-', 'c2s.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
  ['eusc-', 'amazonaws.eu'],
];

/** Whether a text can be a region: it becomes part of a host name. */
export function isRegion(text: string): boolean {
  return REGION.test(text);
}

/** Where a service of a region is: as Infrastructure says for the cluster (`platformStatus.aws.serviceEndpoints`), else where AWS has it. */
export function endpointOf(
  service: 'ec2' | 'sts',
  region: string,
  infrastructure: Pick<Infrastructure, 'status'>,
): string {
  const own = infrastructure.status?.platformStatus?.aws?.serviceEndpoints?.find(({ name }) => name === service)?.url;
  if (own !== undefined && own !== '') return own.endsWith('/') ? own : `${own}/`;
  const [, domain = 'amazonaws.com'] = DOMAINS.find(([prefix]) => region.startsWith(prefix)) ?? [];
  return `https://${service}.${region}.${domain}/`;
}
