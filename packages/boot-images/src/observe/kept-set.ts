import { ControlPlaneMachineSet, MachineSet, type MachineSetShortKind } from '@drydock/api';
import { type KubeObject, keyOf, type Resource } from '@drydock/kube';
import { isObject, type JsonObject } from './json.ts';
import { lightMachineSet } from './light.ts';
import { machineSetSpecPath } from './provider-spec.ts';
import type { World } from './world.ts';

/**
 * A set whose image is kept, in the shape of a MachineSet. Of which kind it is in the cluster {@link kindOf} says; what is read of a set is read
 * from this shape alone, and what is written goes where its kind says.
 */
export type KeptSet = MachineSet;

/** A kind of sets whose image is kept. */
export interface SetKind {
  readonly short: MachineSetShortKind;
  readonly resource: Resource<KubeObject>;
  /** Where `providerSpec.value` stands. */
  readonly specPath: readonly string[];
  /** Its name in `managedBootImages.machineManagers`. */
  readonly manager: 'machinesets' | 'controlplanemachinesets';
  /** Its counter in the conditions, and its names in upstream's texts, by which these are compared. */
  readonly counted: 'MAPI MachineSets' | 'ControlPlaneMachineSets';
  readonly item: string;
  readonly inTexts: string;
}

/** Sets of workers. */
export const machineSets: SetKind = {
  ...{ short: 'ms', resource: MachineSet as Resource<KubeObject>, manager: 'machinesets' },
  specPath: machineSetSpecPath,
  ...{ counted: 'MAPI MachineSets', item: 'MAPI MachineSet', inTexts: 'machineset' },
};

/** The set of the control plane. */
export const controlPlanes: SetKind = {
  ...{ short: 'cpms', resource: ControlPlaneMachineSet as Resource<KubeObject>, manager: 'controlplanemachinesets' },
  specPath: ['spec', 'template', 'machines_v1beta1_machine_openshift_io', 'spec', 'providerSpec', 'value'],
  ...{ counted: 'ControlPlaneMachineSets', item: 'ControlPlaneMachineSet', inTexts: 'ControlPlaneMachineSet' },
};

/** The kinds, in the order of upstream's counters. */
export const setKinds: readonly SetKind[] = [machineSets, controlPlanes];

/** The kind of a set. */
export function kindOf({ kind }: KeptSet): SetKind {
  return kind === controlPlanes.resource.kind ? controlPlanes : machineSets;
}

/** What tells a set from all others: `ms/worker-a`, `cpms/cluster`. */
export function idOf(set: KeptSet): string {
  return `${kindOf(set).short}/${set.metadata.name}`;
}

/** A set for people and for kubectl: `machineset worker-a`. */
export function setText(set: KeptSet): string {
  return `${kindOf(set).resource.kind.toLowerCase()} ${set.metadata.name}`;
}

/** The provider spec of a set; undefined where it has none. */
export function specOf({ spec }: KeptSet): JsonObject | undefined {
  const value: unknown = spec?.template?.spec?.providerSpec?.value;
  return isObject(value) ? value : undefined;
}

const views = new WeakMap<ControlPlaneMachineSet, KeptSet>();

/** A set of the control plane as one whose image is kept. What it lacks, as a template of machines, the view lacks. */
export function controlPlaneView(plane: ControlPlaneMachineSet): KeptSet {
  return views.getOrInsertComputed(plane, viewOf);
}

function viewOf(plane: ControlPlaneMachineSet): KeptSet {
  const { authoritativeAPI } = (plane.spec ?? {}) as { readonly authoritativeAPI?: unknown };
  const template = plane.spec?.template?.machines_v1beta1_machine_openshift_io ?? undefined;
  const { metadata, spec } = template ?? {};
  // Upstream looks for the label of Windows at the machines alone.
  const labels = { ...metadata?.labels, ...spec?.metadata?.labels };
  const { apiVersion } = plane;
  const view = {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...{ kind: controlPlanes.resource.kind, metadata: plane.metadata },
    spec: {
      ...(authoritativeAPI === undefined ? {} : { authoritativeAPI }),
      ...(template === undefined
        ? {}
        : { template: { metadata: { labels }, ...(spec === undefined ? {} : { spec }) } }),
    },
  };
  return lightMachineSet(view);
}

/** All sets whose image may be kept, those of the control plane last. */
export function keptSets(world: Pick<World, 'machineSets' | 'controlPlaneMachineSets'>): readonly KeptSet[] {
  return [...world.machineSets(), ...(world.controlPlaneMachineSets() ?? []).map(controlPlaneView)];
}

/** A set as it is now; undefined where it is gone. */
export function setNow(
  world: Pick<World, 'machineSet' | 'controlPlaneMachineSets'>,
  set: KeptSet,
): KeptSet | undefined {
  if (kindOf(set) === machineSets) return world.machineSet(keyOf(set));
  const { namespace, name } = set.metadata;
  const plane = world
    .controlPlaneMachineSets()
    ?.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  return plane === undefined ? undefined : controlPlaneView(plane);
}
