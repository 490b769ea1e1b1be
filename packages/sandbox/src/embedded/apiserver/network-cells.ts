import { type Fields, listAt, numberAt, scalarAt, textAt, textsAt } from './object-fields.ts';
import {
  abbreviated,
  type Cell,
  type CellsByKind,
  labels,
  NONE,
  orNone,
  selector,
  text,
  UNSET,
} from './table-cells.ts';

function balancerAddresses(object: Fields): readonly string[] {
  return listAt(object, 'status.loadBalancer.ingress').map((one) => textAt(one, 'ip') || textAt(one, 'hostname'));
}

const externalIp: Cell = (object) => {
  const type = textAt(object, 'spec.type');
  if (type === 'ExternalName') return textAt(object, 'spec.externalName');
  const isBalanced = type === 'LoadBalancer';
  const addresses = [...(isBalanced ? balancerAddresses(object) : []), ...textsAt(object, 'spec.externalIPs')];
  return addresses.length === 0 ? (isBalanced ? '<pending>' : NONE) : addresses.join(',');
};

const servicePorts: Cell = (object) => {
  const ports = listAt(object, 'spec.ports').map((port) => {
    const node = numberAt(port, 'nodePort');
    return `${numberAt(port, 'port')}${node === 0 ? '' : `:${node}`}/${textAt(port, 'protocol')}`;
  });
  return orNone(ports.join(','));
};

function endpointsOf(subset: Fields): readonly string[] {
  const addresses = listAt(subset, 'addresses').map((one) => textAt(one, 'ip'));
  const ports = listAt(subset, 'ports');
  if (ports.length === 0) return addresses;
  return ports.flatMap((port) => addresses.map((address) => `${address}:${numberAt(port, 'port')}`));
}

const abbreviatedOrUnset = (items: readonly string[]): string => (items.length === 0 ? UNSET : abbreviated(items));

export const NETWORK_CELLS: CellsByKind = {
  '/services': {
    Type: text('spec.type'),
    'Cluster-IP': (object) => textsAt(object, 'spec.clusterIPs')[0] ?? NONE,
    'External-IP': externalIp,
    'Port(s)': servicePorts,
    Selector: labels('spec.selector'),
  },
  '/endpoints': { Endpoints: (object) => abbreviated(listAt(object, 'subsets').flatMap(endpointsOf)) },
  'discovery.k8s.io/endpointslices': {
    AddressType: text('addressType'),
    Ports: (object) => abbreviatedOrUnset(listAt(object, 'ports').map((port) => scalarAt(port, 'port') ?? '*')),
    Endpoints: (object) =>
      abbreviatedOrUnset(listAt(object, 'endpoints').flatMap((endpoint) => textsAt(endpoint, 'addresses'))),
  },
  'networking.k8s.io/ingresses': {
    Class: text('spec.ingressClassName', NONE),
    Hosts: (object) => {
      const hosts = listAt(object, 'spec.rules').map((rule) => textAt(rule, 'host'));
      const named = hosts.filter((host) => host !== '');
      return named.length === 0 ? '*' : abbreviated(named);
    },
    Address: (object) => balancerAddresses(object).join(','),
    Ports: (object) => (listAt(object, 'spec.tls').length === 0 ? '80' : '80, 443'),
  },
  'networking.k8s.io/ingressclasses': {
    Controller: text('spec.controller'),
    Parameters: text('spec.parameters.name', NONE),
  },
  'networking.k8s.io/networkpolicies': { 'Pod-Selector': selector('spec.podSelector') },
  'networking.k8s.io/servicecidrs': { CIDRs: (object) => textsAt(object, 'spec.cidrs').join(',') },
};
