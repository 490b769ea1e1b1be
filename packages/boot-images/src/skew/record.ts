import type { ClusterVersion } from '@drydock/api';
import type { SkewStatus } from './mode.ts';
import { installVersion, releaseOf } from './releases.ts';

/** What a pass over all machine sets found out. */
export interface PassResult {
  readonly errors: number;
  /** Sets that nobody keeps current: what they boot from may be as old as the cluster. */
  readonly skipped: number;
  /** Sets that are to be moved later: they boot from what was recorded before. */
  readonly waiting: number;
  /** RHCOS versions of the images of a marketplace, whose release is not the cluster's. */
  readonly marketplaceVersions: readonly string[];
  /** `releaseVersion` of the golden ConfigMap. */
  readonly releaseVersion: string | undefined;
  readonly clusterVersion: ClusterVersion | undefined;
}

/**
 * The record of the oldest image in use after a pass (boot-images.md §2.8): what the pass brought all sets to, or the installed
 * release where sets were left out. The status as it is where nothing can be said: after an error, while a set
 * waits, without a release, or where a person keeps the record.
 */
export function recorded(status: SkewStatus | undefined, pass: PassResult): SkewStatus | undefined {
  if (status?.mode !== 'Automatic' || pass.errors > 0) return status;
  if (pass.skipped > 0) return withRecord(status, { ocpVersion: installVersion(pass.clusterVersion) });
  if (pass.waiting > 0) return status;
  const lowest = lowestOf(pass.marketplaceVersions);
  if (lowest !== undefined) return withRecord(status, { rhcosVersion: lowest });
  const ocpVersion = releaseOf(pass.releaseVersion);
  return ocpVersion === undefined ? status : withRecord(status, { ocpVersion });
}

function withRecord(status: SkewStatus, automatic: NonNullable<SkewStatus['automatic']>): SkewStatus {
  const { ocpVersion, rhcosVersion } = status.automatic ?? {};
  if (ocpVersion === automatic.ocpVersion && rhcosVersion === automatic.rhcosVersion) return status;
  return { mode: 'Automatic', automatic };
}

/** By major and minor version; the date says nothing here. */
function lowestOf(versions: readonly string[]): string | undefined {
  return versions.toSorted((a, b) => byMinor(a) - byMinor(b))[0];
}

function byMinor(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major * 1_000_000 + minor;
}
