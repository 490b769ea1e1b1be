import { at, canonical, list, nonEmpty, object } from '../observe/json.ts';
import type { ImageLeaf } from './image-leaf.ts';
import type { ClusterApiObject } from './kinds.ts';
import { type Reference, type RotatedSet, referenceOf, TOPOLOGY_NAMES } from './set.ts';

/** Where a variable of a cluster's topology is set for one set. */
export interface VariablePlace {
  /** Pointer to `value` of the entry; undefined where the variable is not set, and an entry is to be added to `list`. */
  readonly value: string | undefined;
  /** Pointer to the entry's name, to be tested beside it. */
  readonly name: string | undefined;
  /** Pointer to the list of variables; undefined where there is none. */
  readonly list: string | undefined;
  readonly current: unknown;
  /** Other sets follow the same entry. */
  readonly shared: boolean;
}

/** What a ClusterClass says of the image of a set. */
export interface ClassFacts {
  readonly name: string;
  /** The class is there. */
  readonly found: boolean;
  /** Variables that are written into the image by the class's own patches. */
  readonly variables: readonly string[];
  /** The class's template for this set. */
  readonly template: Reference | undefined;
}

/** The ClusterClass of a cluster, by name and namespace; undefined where it has none. */
export function classNameOf(
  cluster: ClusterApiObject,
): { readonly namespace: string; readonly name: string } | undefined {
  const topology = at(cluster.spec, ['topology']);
  const name = nonEmpty(at(topology, ['classRef', 'name'])) ?? nonEmpty(object(topology)['class']);
  if (name === undefined) return undefined;
  const namespace = nonEmpty(at(topology, ['classRef', 'namespace'])) ?? nonEmpty(object(topology)['classNamespace']);
  return { namespace: namespace ?? cluster.metadata.namespace ?? '', name };
}

/** What the class says of a set's image. */
export function classFacts(
  set: RotatedSet,
  cluster: ClusterApiObject,
  found: ClusterApiObject | undefined,
  leaf: ImageLeaf | undefined,
): ClassFacts {
  const name = classNameOf(cluster)?.name ?? 'unknown';
  if (found === undefined) return { name, found: false, variables: [], template: undefined };
  const pointer = leaf === undefined ? undefined : `/${leaf.path.join('/')}`;
  const definitions = list(at(found.spec, ['patches'])).flatMap((patch) => list(object(patch)['definitions']));
  const variables = definitions.map(object).flatMap(({ selector, jsonPatches }) => {
    if (object(selector)['kind'] !== set.reference?.kind) return [];
    return list(jsonPatches)
      .filter((one) => object(one)['path'] === pointer)
      .flatMap((one) => nonEmpty(at(one, ['valueFrom', 'variable'])) ?? []);
  });
  return { name, found: true, variables: [...new Set(variables)], template: classTemplate(set, cluster, found) };
}

/** Why a variable cannot carry an image, as a clause; undefined where it can. */
export function variableFault(found: ClusterApiObject | undefined, variable: string): string | undefined {
  const listed = list(at(found?.spec, ['variables'])).map(object);
  const all = list(at(found?.status, ['variables'])).map(object);
  const schemas = [
    ...listed.filter(({ name }) => name === variable).map(({ schema }) => schema),
    ...all
      .filter(({ name }) => name === variable)
      .flatMap(({ definitions }) => list(definitions).map((one) => object(one)['schema'])),
  ];
  if (schemas.length === 0) {
    const names = [...new Set([...listed, ...all].flatMap(({ name }) => nonEmpty(name) ?? []))];
    return `the class has no variable ${variable}; it has ${names.length === 0 ? 'none' : names.join(', ')}`;
  }
  const types = new Set(schemas.map((schema) => nonEmpty(at(schema, ['openAPIV3Schema', 'type'])) ?? 'unknown'));
  return types.size === 1 && types.has('string')
    ? undefined
    : `variable ${variable} is of type ${[...types].join(' and ')}, and an image is a string`;
}

const overridden = new WeakMap<ClusterApiObject, Map<string, ReadonlySet<string>>>();

/** Whether a set gets a variable from the entry for its whole cluster. What the cluster says of others is read once, however many sets are asked about. */
export function isShared(set: RotatedSet, cluster: ClusterApiObject, variable: string): boolean {
  const known = overridden.getOrInsertComputed(cluster, () => new Map());
  const own = known.getOrInsertComputed(variable, () => overridesOf(cluster, variable));
  return !own.has(`${set.kind} ${set.kind === 'KubeadmControlPlane' ? '' : (topologyName(set) ?? '')}`);
}

function overridesOf(cluster: ClusterApiObject, variable: string): ReadonlySet<string> {
  const topology = at(cluster.spec, ['topology']);
  const entries = [
    ['KubeadmControlPlane', '', at(topology, ['controlPlane'])] as const,
    ...(['MachineDeployment', 'MachinePool'] as const).flatMap((kind) =>
      list(at(topology, ['workers', kind === 'MachinePool' ? 'machinePools' : 'machineDeployments'])).map(
        (one) => [kind, nonEmpty(object(one)['name']) ?? '', one] as const,
      ),
    ),
  ];
  return new Set(
    entries.flatMap(([kind, name, one]) => {
      const overrides = list(at(one, ['variables', 'overrides'])).map(object);
      return overrides.some((entry) => entry['name'] === variable) ? [`${kind} ${name}`] : [];
    }),
  );
}

/** Where a variable is set for a set: in its own overrides where it is there, else for the whole cluster. */
export function variablePlace(set: RotatedSet, cluster: ClusterApiObject, variable: string): VariablePlace {
  const topology = ['spec', 'topology'];
  const own = ownPath(set, cluster);
  const overrides = own === undefined ? undefined : entry(cluster, [...own, 'variables', 'overrides'], variable, false);
  return overrides?.value === undefined ? entry(cluster, [...topology, 'variables'], variable, true) : overrides;
}

function ownPath(set: RotatedSet, cluster: ClusterApiObject): readonly string[] | undefined {
  const topology = ['spec', 'topology'];
  if (set.kind === 'KubeadmControlPlane') return [...topology, 'controlPlane'];
  const lists = set.kind === 'MachinePool' ? 'machinePools' : 'machineDeployments';
  const index = list(at(cluster, [...topology, 'workers', lists])).findIndex(
    (one) => object(one)['name'] === topologyName(set),
  );
  return index < 0 ? undefined : [...topology, 'workers', lists, String(index)];
}

function entry(cluster: ClusterApiObject, path: readonly string[], variable: string, shared: boolean): VariablePlace {
  const there = within(cluster, path);
  const index = list(there).findIndex((one) => object(one)['name'] === variable);
  const pointer = `/${path.join('/')}`;
  if (index < 0)
    return {
      value: undefined,
      name: undefined,
      list: Array.isArray(there) ? pointer : undefined,
      current: undefined,
      shared,
    };
  return {
    value: `${pointer}/${index}/value`,
    name: `${pointer}/${index}/name`,
    list: pointer,
    current: object(list(there)[index])['value'],
    shared,
  };
}

/** As `at`, also through lists. */
function within(value: unknown, path: readonly string[]): unknown {
  return path.reduce((inner: unknown, key) => (Array.isArray(inner) ? inner[Number(key)] : object(inner)[key]), value);
}

function topologyName({ object: { metadata } }: RotatedSet): string | undefined {
  return TOPOLOGY_NAMES.map((label) => metadata.labels?.[label]).find((name) => name !== undefined);
}

function classTemplate(set: RotatedSet, cluster: ClusterApiObject, found: ClusterApiObject): Reference | undefined {
  const infrastructure = (holder: unknown): Reference | undefined => {
    const { templateRef, ref } = object(holder);
    return referenceOf(templateRef ?? ref);
  };
  if (set.kind === 'KubeadmControlPlane')
    return infrastructure(at(found.spec, ['controlPlane', 'machineInfrastructure']));
  const lists = set.kind === 'MachinePool' ? 'machinePools' : 'machineDeployments';
  const name = topologyName(set);
  const mine = list(at(cluster.spec, ['topology', 'workers', lists]))
    .map(object)
    .find((one) => one['name'] === name);
  const classes = list(at(found.spec, ['workers', lists])).map(object);
  const own = classes.find((one) => one['class'] === mine?.['class']);
  return infrastructure(own?.['infrastructure'] ?? at(own, ['template', 'infrastructure']));
}

/** Whether two values of a variable are the same. */
export function sameValue(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}
