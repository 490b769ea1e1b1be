import type { ClusterVersion } from '@drydock/api';

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
