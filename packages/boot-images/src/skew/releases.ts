import type { ClusterVersion, MachineConfiguration } from '@drydock/api';

/** What stands for a version that nobody knows. */
export const unknownVersion = '0.0.0';

/**
 * The release that the cluster was installed with, as `M.m.p`: the oldest that was completed, or the oldest at all where none
 * was (boot-images.md §7.4). `0.0.0` where the history says nothing that can be read.
 */
export function installVersion(version: ClusterVersion | undefined): string {
  const history = version?.status?.history ?? [];
  const oldest = history.findLast(({ state }) => state === 'Completed') ?? history.at(-1);
  return releaseOf(oldest?.version) ?? unknownVersion;
}

/** `4.18.0` of `4.18.0-0.ci-2024-01-01-000000`; undefined where it is no version. */
export function releaseOf(version: string | undefined): string | undefined {
  return /^v?(\d{1,9}\.\d{1,9}\.\d{1,9})(?:[-+].*)?$/.exec(version?.trim() ?? '')?.[1];
}

/**
 * How many minor releases the oldest boot image in use is behind the cluster, by the record of MachineConfiguration. Undefined where nobody keeps one, and where it names
 * no release of OpenShift: images are numbered by RHEL's since 4.19, and several releases share a number.
 */
export function skewReleases(
  mc: MachineConfiguration | undefined,
  clusterVersion: ClusterVersion | undefined,
): number | undefined {
  const record = mc?.status?.bootImageSkewEnforcementStatus;
  const { ocpVersion, rhcosVersion } = record?.automatic ?? record?.manual ?? {};
  const image = minorOf(ocpVersion) ?? legacyMinor(rhcosVersion);
  const cluster = minorOf(clusterVersion?.status?.history?.[0]?.version);
  return image === undefined || cluster === undefined ? undefined : Math.max(0, cluster - image);
}

/** Of a release of OpenShift 4. */
function minorOf(version: string | undefined): number | undefined {
  const release = releaseOf(version);
  const [major, minor] = release === undefined || release === unknownVersion ? [] : release.split('.').map(Number);
  return major === 4 ? minor : undefined;
}

/** `18` of `418.94.202511191518-0`. */
function legacyMinor(version: string | undefined): number | undefined {
  const [, minor] = /^4(\d{2})\.\d+\.\d{12}-\d+$/.exec(version ?? '') ?? [];
  return minor === undefined ? undefined : Number(minor);
}
