import type {
  BootImage,
  BootImagePolicy,
  ClusterVersion,
  ConfigMap,
  ControlPlaneMachineSet,
  Deployment,
  Infrastructure,
  Machine,
  MachineConfiguration,
  MachineSet,
  Secret,
} from '@drydock/api';
import type { Key } from '@drydock/kube';
import { orUndefined } from '../errors.ts';

/** The cluster as it is known this moment; objects are never edited. An absent list is not known (not synced). */
export interface World {
  readonly machineConfiguration: () => MachineConfiguration | undefined;
  readonly clusterVersion: () => ClusterVersion | undefined;
  readonly infrastructure: () => Infrastructure | undefined;
  readonly golden: () => ConfigMap | undefined;
  readonly installConfig: () => ConfigMap | undefined;
  /** The upstream controller beside which nothing may be changed. */
  readonly upstream: () => Deployment | undefined;
  /** In the order of their names: the same array for as long as none of them is another. */
  readonly machineSets: () => readonly MachineSet[];
  readonly machineSet: (key: Key) => MachineSet | undefined;
  readonly machines: () => readonly Machine[] | undefined;
  /** Feature gate ManagedBootImagesCPMS is off: sets of the control plane are not to be managed. */
  readonly controlPlanesGated: () => boolean;
  readonly controlPlaneMachineSets: () => readonly ControlPlaneMachineSet[] | undefined;
  readonly bootImage: (key: Key) => BootImage | undefined;
  readonly bootImages: () => readonly BootImage[];
  /** Those that have a pin: the same array for as long as no pin of any is another. */
  readonly pinnedImages: () => readonly BootImage[];
  /** Which right is missing to make the canaries of a policy, as a clause; undefined where none is, or where nobody asked. */
  readonly canaryMissing?: (policy: BootImagePolicy) => string | undefined;
  /** None where the cluster does not serve the kind. */
  readonly bootImagePolicies: () => readonly BootImagePolicy[];
  /** Of the cloud, see `cloudConfigKey`. */
  readonly cloudConfig: () => ConfigMap | undefined;
  readonly secret: (namespace: string, name: string) => Secret | undefined;
}

/** `Infrastructure.status.platformStatus.type`, as far as it is known: what cannot be read is told where it is decided upon. */
export function platformOf({ infrastructure }: Pick<World, 'infrastructure'>): string | undefined {
  return orUndefined(() => infrastructure()?.status?.platformStatus?.type);
}
