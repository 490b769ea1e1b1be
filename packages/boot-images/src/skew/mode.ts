import type { ClusterVersion, Infrastructure, MachineConfiguration, MachineManager } from '@drydock/api';
import { platformSupported } from '../decide/reflect.ts';
import { machineApiGroup } from '../decide/selection.ts';
import { installVersion } from './releases.ts';

/** `MachineConfiguration.status.bootImageSkewEnforcementStatus`. */
export type SkewStatus = NonNullable<NonNullable<MachineConfiguration['status']>['bootImageSkewEnforcementStatus']>;

/** What the mode is computed from. */
export interface SkewFacts {
  readonly spec: NonNullable<MachineConfiguration['spec']>['bootImageSkewEnforcement'];
  readonly status: SkewStatus | undefined;
  /** The managers as status says them, or will say them with the same write. */
  readonly managers: readonly MachineManager[] | undefined;
  readonly infrastructure: Infrastructure;
  readonly clusterVersion: ClusterVersion | undefined;
  /** `spec.provisioningOSDownloadURL` of the Provisioning of a bare-metal cluster; undefined where it has none, 'unread' where that could not be told. */
  readonly provisioningUrl: string | undefined;
}

/** Stands for a Provisioning that could not be read: it counts as one of the old kind, which asks for more. */
export const unreadProvisioning = 'unread';

/** Who says how old the images in use are: a person, nobody, or the record of our own passes. The first rule that applies decides (boot-images.md §7.4). */
export function skewStatus(facts: SkewFacts): SkewStatus {
  const { spec, status, infrastructure } = facts;
  if (spec?.mode === 'Manual') return { mode: 'Manual', ...(spec.manual === undefined ? {} : { manual: spec.manual }) };
  if (spec?.mode === 'None') return { mode: 'None' };
  const { platformStatus, controlPlaneTopology } = infrastructure.status ?? {};
  if (platformStatus?.type === 'BareMetal' && (facts.provisioningUrl ?? '') === '') return { mode: 'None' };
  if (controlPlaneTopology === 'SingleReplica') return { mode: 'None' };
  const version = installVersion(facts.clusterVersion);
  if (platformSupported(platformStatus?.type, platformStatus?.azure?.cloudName) && managesAll(facts.managers)) {
    // A record of passes that went before is worth more than the version of the installation.
    const known = status?.mode === 'Automatic' ? status.automatic : undefined;
    return { mode: 'Automatic', automatic: known ?? { ocpVersion: version } };
  }
  return { mode: 'Manual', manual: { mode: 'OCPVersion', ocpVersion: version } };
}

/** A person turned the enforcement off: it is off, and not because of what the cluster is (boot-images.md §7.6). */
export function unenforced(mc: MachineConfiguration | undefined, infrastructure: Infrastructure | undefined): boolean {
  const { platformStatus, controlPlaneTopology } = infrastructure?.status ?? {};
  return (
    mc?.status?.bootImageSkewEnforcementStatus?.mode === 'None' &&
    platformStatus?.type !== undefined &&
    platformStatus.type !== 'BareMetal' &&
    controlPlaneTopology !== 'SingleReplica'
  );
}

function managesAll(managers: readonly MachineManager[] | undefined): boolean {
  return (
    managers?.find(({ apiGroup, resource }) => apiGroup === machineApiGroup && resource === 'machinesets')?.selection
      .mode === 'All'
  );
}
