import {
  invalid,
  type JsonObject,
  jsonEqual,
  metadataOf,
  objectOf,
  type StatusCause,
} from '@drydock/kube/testing/api-server';
import { copyOf, type Draft, each, fieldValues, fill, part, textOf, within } from './draft.ts';
import {
  checkDnsLabel,
  checkPort,
  checkRequired,
  checkSupported,
  duplicate,
  invalidValue,
  required,
} from './field-errors.ts';
import type { RulesByKind, RulesHost } from './rules-host.ts';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
/** The range of the sandbox's real API server, whose first addresses are taken by `kubernetes` and DNS. */
const CLUSTER_IPS = { prefix: '10.0.0.', first: 2, last: 254 };
const NODE_PORTS = { first: 30_000, last: 32_767 };

/** Allocates cluster IPs and node ports. */
function withAllocations(object: JsonObject, old: JsonObject | undefined, host: RulesHost): JsonObject {
  const service = copyOf(object);
  const spec = within(service, 'spec');
  if (spec['type'] === 'ExternalName') {
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) delete spec[field];
    return service;
  }
  const before = objectOf(old?.['spec']) as Draft;
  const others = host.list('', 'services').map((one) => objectOf(one['spec']) as Draft);
  if (before['clusterIP'] !== undefined && spec['clusterIP'] === undefined && spec['clusterIPs'] === undefined) {
    fill(spec, { clusterIP: before['clusterIP'], clusterIPs: before['clusterIPs'] });
  }
  if (spec['clusterIP'] === 'None') {
    const withoutSelector = Object.keys(part(spec, 'selector') ?? {}).length === 0;
    fill(spec, {
      clusterIPs: ['None'],
      ipFamilies: withoutSelector ? ['IPv4', 'IPv6'] : ['IPv4'],
      ipFamilyPolicy: withoutSelector ? 'RequireDualStack' : 'SingleStack',
    });
  } else {
    const taken = new Set(others.map(({ clusterIP }) => clusterIP));
    const isNew = old === undefined;
    if (isNew && taken.has(spec['clusterIP']) && (spec['clusterIP'] ?? '') !== '') {
      throw alreadyAllocated(textOf(metadataOf(object)['name']), spec['clusterIP']);
    }
    fill(spec, { clusterIP: freeClusterIp(taken) });
    if (isNew || before['clusterIP'] === spec['clusterIP'] || jsonEqual(spec['clusterIPs'], before['clusterIPs'])) {
      spec['clusterIPs'] = [spec['clusterIP']];
    }
    fill(spec, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
  }
  allocateNodePorts(spec, before, others);
  return service;
}

/** The last free address; undefined if all are taken. */
function freeClusterIp(taken: ReadonlySet<unknown>): string | undefined {
  for (let last = CLUSTER_IPS.last; last >= CLUSTER_IPS.first; last -= 1) {
    const ip = CLUSTER_IPS.prefix + String(last);
    if (!taken.has(ip)) return ip;
  }
  return undefined;
}

function alreadyAllocated(name: string, ip: unknown): Error {
  const problem = `failed to allocate IP ${String(ip)}: provided IP is already allocated`;
  const causes = [invalidValue('spec.clusterIPs', [ip], problem)];
  return invalid({ group: '', kind: 'Service', plural: 'services' }, name, causes);
}

function allocateNodePorts(spec: Draft, before: Draft, others: readonly Draft[]): void {
  const ports = each(spec, 'ports');
  const { type } = spec;
  if (type === 'ClusterIP') for (const port of ports) delete port['nodePort'];
  const isBalanced = type === 'LoadBalancer' && spec['allocateLoadBalancerNodePorts'] !== false;
  if (type !== 'NodePort' && !isBalanced) return;
  const used = new Set(others.flatMap((other) => each(other, 'ports').map(({ nodePort }) => nodePort)));
  for (const port of ports) {
    if (typeof port['nodePort'] === 'number' && port['nodePort'] !== 0) continue;
    const same = each(before, 'ports').find(
      (was) => was['port'] === port['port'] && was['protocol'] === port['protocol'],
    );
    if (same !== undefined) {
      port['nodePort'] = same['nodePort'];
      continue;
    }
    let next = NODE_PORTS.first;
    while (used.has(next) && next < NODE_PORTS.last) next += 1;
    port['nodePort'] = next;
    used.add(next);
  }
}

function violations(object: JsonObject, old: JsonObject | undefined): StatusCause[] {
  const spec = objectOf(object['spec']) as Draft;
  const { type } = spec;
  const causes = portViolations(spec);
  causes.push(...checkSupported('spec.type', type, TYPES));
  if (type === 'ExternalName') causes.push(...checkRequired('spec.externalName', spec['externalName']));
  const before = objectOf(old?.['spec']);
  const [ips, was] = [spec['clusterIPs'], before['clusterIPs']];
  if (was !== undefined && type !== 'ExternalName' && before['type'] !== 'ExternalName' && !jsonEqual(ips, was)) {
    causes.push(invalidValue('spec.clusterIPs[0]', ips, 'may not change once set'));
  }
  return causes;
}

function portViolations(spec: Draft): StatusCause[] {
  const causes: StatusCause[] = [];
  const ports = each(spec, 'ports');
  if (ports.length === 0 && spec['clusterIP'] !== 'None' && spec['type'] !== 'ExternalName') {
    causes.push(required('spec.ports'));
  }
  const names = new Set<unknown>();
  const seen = new Set<string>();
  for (const [at, servicePort] of ports.entries()) {
    const field = `spec.ports[${at}]`;
    const { port, protocol, targetPort } = servicePort;
    const name = servicePort['name'] ?? '';
    if (name === '' && ports.length > 1) causes.push(required(`${field}.name`));
    if (name !== '') {
      causes.push(...checkDnsLabel(`${field}.name`, name));
      if (names.has(name)) causes.push(duplicate(`${field}.name`, name));
      names.add(name);
    }
    causes.push(...checkPort(`${field}.port`, port));
    if (typeof targetPort === 'number') causes.push(...checkPort(`${field}.targetPort`, targetPort));
    causes.push(...checkSupported(`${field}.protocol`, protocol, PROTOCOLS));
    const key = `${String(port)}/${String(protocol)}`;
    if (seen.has(key)) causes.push(duplicate(field, { protocol, port }));
    seen.add(key);
  }
  return causes;
}

export const SERVICE_RULES: RulesByKind = {
  Service: (host) => ({
    returnsDeleted: true,
    names: 'dns1035',
    create: (object) => withAllocations(object, undefined, host),
    update: (object, old, { subresource }) => (subresource === 'status' ? object : withAllocations(object, old, host)),
    violations,
    fields: (object) => fieldValues(object, 'spec.clusterIP', 'spec.type'),
  }),
};
