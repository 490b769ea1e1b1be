import { isIPv4, isIPv6 } from 'node:net';
import {
  dns1035LabelProblems,
  type JsonObject,
  listOf,
  objectOf,
  type StatusCause,
} from '@drydock/kube/testing/api-server';
import { textOf } from './draft.ts';
import {
  checkNotNegative,
  checkPort,
  checkSupported,
  forbidden,
  invalidValue,
  notSupported,
  required,
} from './field-errors.ts';
import { labelSelector, subdomain, unchanged } from './name-checks.ts';

// What the server refuses in the kinds of networking.k8s.io and policy.

type Check = (object: JsonObject, old: JsonObject | undefined) => readonly StatusCause[];

const PORT_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/** The name of a port. */
function portName(field: string, value: string): readonly StatusCause[] {
  const said: string[] = [];
  if (value.length > 15) said.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(value)) said.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) said.push('must contain at least one letter (a-z)');
  if (value.includes('--')) said.push('must not contain consecutive hyphens');
  if (/^-|-$/.test(value)) said.push('must not begin or end with a hyphen');
  return PORT_NAME.test(value) && said.length === 0 ? [] : said.map((one) => invalidValue(field, value, one));
}

function portOrName(field: string, value: unknown): readonly StatusCause[] {
  return typeof value === 'number' ? checkPort(field, value) : portName(field, String(value));
}

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

function networkRules(field: string, rules: unknown, peers: 'from' | 'to'): readonly StatusCause[] {
  return listOf(rules)
    .map(objectOf)
    .flatMap((rule, at) => [
      ...listOf(rule['ports'])
        .map(objectOf)
        .flatMap((port, index) => networkPort(`${field}[${at}].ports[${index}]`, port)),
      ...listOf(rule[peers])
        .map(objectOf)
        .flatMap((peer, index) => networkPeer(`${field}[${at}].${peers}[${index}]`, peer)),
    ]);
}

function networkPort(field: string, { protocol, port, endPort }: JsonObject): readonly StatusCause[] {
  const end = `${field}.endPort`;
  return [
    ...(protocol === undefined ? [] : checkSupported(`${field}.protocol`, protocol, PROTOCOLS)),
    ...(port === undefined ? [] : portOrName(`${field}.port`, port)),
    ...(endPort !== undefined && port === undefined
      ? [invalidValue(end, endPort, 'may not be specified when `port` is not specified')]
      : []),
    ...(endPort !== undefined && typeof port === 'string'
      ? [invalidValue(end, endPort, 'may not be specified when `port` is non-numeric')]
      : []),
    ...(typeof endPort === 'number' && typeof port === 'number'
      ? [
          ...(endPort < port ? [invalidValue(end, port, 'must be greater than or equal to `port`')] : []),
          ...checkPort(end, endPort),
        ]
      : []),
  ];
}

function networkPeer(field: string, peer: JsonObject): readonly StatusCause[] {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  const count = [podSelector, namespaceSelector, ipBlock].filter((one) => one !== undefined).length;
  return [
    ...labelSelector(`${field}.podSelector`, podSelector),
    ...labelSelector(`${field}.namespaceSelector`, namespaceSelector),
    ...(ipBlock === undefined ? [] : cidr(`${field}.ipBlock.cidr`, textOf(objectOf(ipBlock)['cidr']))),
    ...(count === 0 ? [required(field, 'must specify a peer')] : []),
    ...(count > 1 && ipBlock !== undefined ? [forbidden(field, 'may not specify both ipBlock and another peer')] : []),
  ];
}

/** A block of addresses. */
function cidr(field: string, value: string): readonly StatusCause[] {
  if (value === '') return [required(field)];
  const [address = '', bits = '', more] = value.split('/');
  const most = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  const valid = more === undefined && /^\d+$/.test(bits) && Number(bits) <= most;
  return valid ? [] : [invalidValue(field, value, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')];
}

const networkPolicy: Check = (object) => {
  const spec = objectOf(object['spec']);
  const types = listOf(spec['policyTypes']);
  return [
    ...labelSelector('spec.podSelector', spec['podSelector']),
    ...networkRules('spec.ingress', spec['ingress'], 'from'),
    ...networkRules('spec.egress', spec['egress'], 'to'),
    ...(types.length > 2
      ? [invalidValue('spec.policyTypes', types, 'may not specify more than two policyTypes')]
      : types.flatMap((type, at) => checkSupported(`spec.policyTypes[${at}]`, type, ['Egress', 'Ingress']))),
  ];
};

const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix'];

const ingress: Check = (object) => {
  const spec = objectOf(object['spec']);
  const rules = listOf(spec['rules']).map(objectOf);
  const { defaultBackend, ingressClassName } = spec;
  return [
    ...(rules.length === 0 && defaultBackend === undefined
      ? [invalidValue('spec', spec['rules'] ?? null, 'either `defaultBackend` or `rules` must be specified')]
      : []),
    ...(defaultBackend === undefined ? [] : backend('spec.defaultBackend', objectOf(defaultBackend))),
    ...rules.flatMap((rule, at) => ingressRule(`spec.rules[${at}]`, rule)),
    ...listOf(spec['tls'])
      .map(objectOf)
      .flatMap((tls, at) => ingressTls(`spec.tls[${at}]`, tls)),
    ...(ingressClassName === undefined ? [] : subdomain('spec.ingressClassName', ingressClassName)),
  ];
};

function ingressTls(field: string, tls: JsonObject): readonly StatusCause[] {
  const secret = textOf(tls['secretName']);
  return [
    ...listOf(tls['hosts']).flatMap((host, at) => hostName(`${field}.hosts[${at}]`, textOf(host))),
    ...(secret === '' ? [] : subdomain(`${field}.secretName`, secret)),
  ];
}

const WILDCARD = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const WILDCARD_SAID =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

function hostName(field: string, host: string): readonly StatusCause[] {
  if (!host.includes('*')) return subdomain(field, host);
  return WILDCARD.test(host) ? [] : [invalidValue(field, host, WILDCARD_SAID)];
}

function ingressRule(field: string, rule: JsonObject): readonly StatusCause[] {
  const host = textOf(rule['host']);
  const paths = listOf(objectOf(rule['http'])['paths']).map(objectOf);
  return [
    ...(host === ''
      ? []
      : isIPv4(host) || isIPv6(host)
        ? [invalidValue(`${field}.host`, host, 'must be a DNS name, not an IP address')]
        : hostName(`${field}.host`, host)),
    ...(rule['http'] !== undefined && paths.length === 0 ? [required(`${field}.http.paths`)] : []),
    ...paths.flatMap((path, at) => ingressPath(`${field}.http.paths[${at}]`, path)),
  ];
}

function ingressPath(field: string, { path, pathType, backend: to }: JsonObject): readonly StatusCause[] {
  const text = textOf(path);
  const causes: StatusCause[] = [];
  if (pathType === undefined) return [required(`${field}.pathType`, 'pathType must be specified')];
  if (pathType === 'Exact' || pathType === 'Prefix') {
    if (!text.startsWith('/')) causes.push(invalidValue(`${field}.path`, text, 'must be an absolute path'));
    if (text !== '') {
      for (const part of ['//', '/./', '/../', '%2f', '%2F'])
        if (text.includes(part)) causes.push(invalidValue(`${field}.path`, text, `must not contain '${part}'`));
      for (const part of ['/..', '/.'])
        if (text.endsWith(part)) causes.push(invalidValue(`${field}.path`, text, `cannot end with '${part}'`));
    }
  } else if (pathType === 'ImplementationSpecific') {
    if (text !== '' && !text.startsWith('/'))
      causes.push(invalidValue(`${field}.path`, text, 'must be an absolute path'));
  } else causes.push(notSupported(`${field}.pathType`, pathType, PATH_TYPES));
  return [...causes, ...backend(`${field}.backend`, objectOf(to))];
}

function backend(field: string, { resource, service }: JsonObject): readonly StatusCause[] {
  if (resource !== undefined && service !== undefined)
    return [invalidValue(field, '', 'cannot set both resource and service backends')];
  if (resource !== undefined) return [];
  if (service === undefined) return [invalidValue(field, '', 'resource or service backend is required')];
  const name = textOf(objectOf(service)['name']);
  const port = objectOf(objectOf(service)['port']);
  const [named, number] = [textOf(port['name']), Number(port['number'] ?? 0)];
  const causes: StatusCause[] = [];
  if (name === '') causes.push(required(`${field}.service.name`));
  else causes.push(...dns1035LabelProblems(name).map((one) => invalidValue(`${field}.service.name`, name, one)));
  if (named !== '' && number !== 0) causes.push(invalidValue(field, '', 'cannot set both port name & port number'));
  else if (named !== '') causes.push(...portName(`${field}.service.port.name`, named));
  else if (number !== 0) causes.push(...checkPort(`${field}.service.port.number`, number));
  else causes.push(required(field, 'port name or number is required'));
  return causes;
}

const ingressClass: Check = (object, old) => {
  const controller = textOf(objectOf(object['spec'])['controller']);
  const field = 'spec.controller';
  const [domain = '', ...rest] = controller.split('/');
  const causes: StatusCause[] =
    controller.length > 250
      ? [{ reason: 'FieldValueTooLong', message: 'Too long: may not be more than 250 bytes', field }]
      : [];
  if (controller === '') causes.push(required(field));
  else if (rest.length === 0 || domain === '')
    causes.push(invalidValue(field, controller, 'must be a domain-prefixed path (such as "acme.io/foo")'));
  else causes.push(...subdomain(field, domain));
  return [
    ...(old === undefined ? [] : unchanged(field, controller, textOf(objectOf(old['spec'])['controller']))),
    ...causes,
  ];
};

/** A count, or a share of a hundred. */
function countOrPercent(field: string, value: unknown): readonly StatusCause[] {
  if (typeof value === 'number') return checkNotNegative(field, value);
  if (!/^[0-9]+%$/.test(String(value))) {
    const said =
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
    return [invalidValue(field, value, said)];
  }
  return Number.parseInt(String(value), 10) > 100 ? [invalidValue(field, value, 'must not be greater than 100%')] : [];
}

/** The fields of a budget as the server prints them. */
function asGo(spec: JsonObject): JsonObject {
  const { minAvailable, selector = null, maxUnavailable, unhealthyPodEvictionPolicy = null } = spec;
  return {
    MinAvailable: minAvailable,
    Selector: selector,
    MaxUnavailable: maxUnavailable,
    UnhealthyPodEvictionPolicy: unhealthyPodEvictionPolicy,
  };
}

const disruptionBudget: Check = (object) => {
  const spec = objectOf(object['spec']);
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy: policy } = spec;
  return [
    ...(minAvailable !== undefined && maxUnavailable !== undefined
      ? [invalidValue('spec', asGo(spec), 'minAvailable and maxUnavailable cannot be both set')]
      : []),
    ...(minAvailable === undefined ? [] : countOrPercent('spec.minAvailable', minAvailable)),
    ...(maxUnavailable === undefined ? [] : countOrPercent('spec.maxUnavailable', maxUnavailable)),
    ...labelSelector('spec.selector', spec['selector']),
    ...(policy === undefined
      ? []
      : checkSupported('spec.unhealthyPodEvictionPolicy', policy, ['AlwaysAllow', 'IfHealthyBudget'])),
  ];
};

/** By `group/Kind`. */
export const NETWORK_CHECKS: Readonly<Record<string, Check>> = {
  'networking.k8s.io/NetworkPolicy': networkPolicy,
  'networking.k8s.io/Ingress': ingress,
  'networking.k8s.io/IngressClass': ingressClass,
  'policy/PodDisruptionBudget': disruptionBudget,
};
