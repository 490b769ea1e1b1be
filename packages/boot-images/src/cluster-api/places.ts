import type { Placement } from '@drydock/templates';
import { at, canonical, list, nonEmpty, object } from '../observe/json.ts';
import type { ClusterApiObject } from './kinds.ts';
import type { RotatedSet } from './set.ts';

/** What tells where machines of a set are made. */
export interface PlaceSources {
  readonly set: RotatedSet;
  readonly template: ClusterApiObject;
  /** The Cluster. */
  readonly cluster: ClusterApiObject | undefined;
  /** The VSphereCluster. */
  readonly provider: ClusterApiObject | undefined;
  /** VSphereDeploymentZone and VSphereFailureDomain, by name. */
  readonly zone: (name: string) => ClusterApiObject | undefined;
  readonly domain: (name: string) => ClusterApiObject | undefined;
}

/** Why a place cannot be told: a sentence, and what to do. */
export interface PlaceFault {
  readonly message: string;
  readonly nextStep: string;
}

/** Places of the machines of one set, each once, in the order of their names; or why they cannot be told. */
export function placesOf(sources: PlaceSources): readonly Placement[] | PlaceFault {
  const names = domainsOf(sources);
  const places: Placement[] = [];
  for (const name of names.length === 0 ? [undefined] : names) {
    const place = placeOf(sources.template, nonEmpty(object(sources.provider?.spec)['server']), sources, name);
    if ('message' in place) return place;
    places.push(place);
  }
  return distinct(places);
}

/** The place that a zone stands for by itself; undefined where it leaves something to the templates. */
export function placeOfZone(zone: ClusterApiObject, domain: PlaceSources['domain']): Placement | PlaceFault {
  const { name } = zone.metadata;
  const none: ClusterApiObject = { metadata: { name: '' } };
  return placeOf(none, undefined, { zone: () => zone, domain }, name);
}

/** Each place once, in the order of their names. */
export function distinct(places: readonly Placement[]): readonly Placement[] {
  const byText = new Map(places.map((place) => [canonical(place), place]));
  return [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
}

/** Failure domains into which machines of the set may come. Those of a control plane are its cluster's. */
function domainsOf({ set, cluster }: PlaceSources): readonly string[] {
  if (set.failureDomains.length > 0) return set.failureDomains;
  if (set.kind !== 'KubeadmControlPlane') return [];
  const domains = at(cluster?.status, ['failureDomains']);
  const named: readonly (readonly [string, unknown])[] = Array.isArray(domains)
    ? domains.map((one: unknown) => [nonEmpty(object(one)['name']) ?? '', one] as const)
    : Object.entries(object(domains));
  return named.filter(([name, one]) => name !== '' && object(one)['controlPlane'] === true).map(([name]) => name);
}

function placeOf(
  template: ClusterApiObject,
  clusterServer: string | undefined,
  { zone, domain }: Pick<PlaceSources, 'zone' | 'domain'>,
  name: string | undefined,
): Placement | PlaceFault {
  const machine = object(at(template.spec, ['template', 'spec']));
  const found = name === undefined ? undefined : zone(name);
  if (name !== undefined && found === undefined)
    return {
      message: `there is no vspheredeploymentzone ${name}`,
      nextStep: `apply it, or correct the failureDomain of the set`,
    };
  const domainName = nonEmpty(object(found?.spec)['failureDomain']);
  const topology = domainName === undefined ? {} : object(object(domain(domainName)?.spec)['topology']);
  if (domainName !== undefined && domain(domainName) === undefined)
    return {
      message: `vspheredeploymentzone ${name} names vspherefailuredomain ${domainName}, which is not there`,
      nextStep: `apply it`,
    };
  const constraint = object(object(found?.spec)['placementConstraint']);
  const resourcePool = nonEmpty(constraint['resourcePool']) ?? nonEmpty(machine['resourcePool']) ?? '';
  const datacenter = nonEmpty(topology['datacenter']) ?? nonEmpty(machine['datacenter']);
  const wanted = {
    server: nonEmpty(object(found?.spec)['server']) ?? nonEmpty(machine['server']) ?? clusterServer,
    datacenter,
    datastore: nonEmpty(topology['datastore']) ?? nonEmpty(machine['datastore']),
    computeCluster: nonEmpty(topology['computeCluster']) ?? clusterOfPool(resourcePool),
    networks: networksOf(topology, machine),
  };
  const missing = Object.entries(wanted).flatMap(([key, value]) => (value === undefined ? [key] : []));
  const { server, datastore, computeCluster, networks } = wanted;
  if (!server || !datacenter || !datastore || !computeCluster || !networks) {
    const who =
      name === undefined ? `vspheremachinetemplate ${template.metadata.name}` : `vspheredeploymentzone ${name}`;
    return {
      message: `${who} does not say where an image is imported: ${missing.join(', ')} missing`,
      nextStep:
        name === undefined
          ? `name ${missing.join(', ')} in it (a resourcePool with its full path names the compute cluster), or a failureDomain in the set`
          : `complete it, or vspherefailuredomain ${domainName ?? name}`,
    };
  }
  return {
    server,
    datacenter,
    failureDomain: name ?? datacenter.slice(datacenter.lastIndexOf('/') + 1),
    folder: nonEmpty(constraint['folder']) ?? nonEmpty(machine['folder']) ?? '',
    datastore,
    resourcePool,
    computeCluster,
    networks,
  };
}

/** `/dc/host/cluster/Resources/pool` and `cluster/Resources` name their compute cluster. */
function clusterOfPool(pool: string): string | undefined {
  const [, cluster] = /^(.+)\/Resources(?:\/|$)/.exec(pool) ?? [];
  return cluster;
}

function networksOf(topology: unknown, machine: unknown): readonly string[] | undefined {
  const named = [
    ...list(object(topology)['networks']).flatMap((name) => nonEmpty(name) ?? []),
    ...list(object(topology)['networkConfigurations']).flatMap((one) => nonEmpty(object(one)['networkName']) ?? []),
  ];
  const devices = list(at(machine, ['network', 'devices'])).flatMap(
    (one) => nonEmpty(object(one)['networkName']) ?? [],
  );
  const networks = named.length > 0 ? named : devices;
  return networks.length === 0 ? undefined : networks;
}
