import { ClusterVersion, type Condition, Payload } from '@drydock/api';
import { type Client, isForbidden, isNotFound } from '@drydock/kube';
import { UsageError } from '../exit.ts';

/** A release that the cluster has, whoever manages it. */
export interface ManagedRelease {
  /** `Payload tools`, `ClusterVersion version`. */
  readonly name: string;
  readonly version?: string;
  readonly image?: string;
  /** Done of all, as `12/30`, or {@link NOT_SEEN}. */
  readonly progress?: string;
  readonly conditions: readonly Condition[];
  readonly waiting: readonly { readonly object: string; readonly why?: string; readonly since?: string }[];
  readonly history: readonly ReleaseEntry[];
}

/** The progress of a release whose spec has changed since its status was written. */
export const NOT_SEEN = 'not seen yet';

/** One release of a history. */
export interface ReleaseEntry {
  readonly state?: string;
  readonly version?: string;
  readonly image?: string;
  readonly startedTime?: string;
  readonly completionTime?: string;
  readonly verified?: boolean;
  readonly acceptedRisks?: string;
}

/** All releases of a cluster by name. A kind that is not served, or that may not be read, has none: `unread` says why. Rejects with `ApiError`. */
export async function managedReleases(
  client: Pick<Client, 'list'>,
  signal: AbortSignal,
): Promise<{ readonly releases: readonly ManagedRelease[]; readonly unread: readonly string[] }> {
  const unread: string[] = [];
  const read = async <T>(kind: string, list: () => AsyncIterable<T>): Promise<readonly T[]> => {
    try {
      return await Array.fromAsync(list());
    } catch (error) {
      if (isNotFound(error)) return [];
      if (!isForbidden(error)) throw error;
      unread.push(`${kind}: ${(error as Error).message}`);
      return [];
    }
  };
  const payloads = await read('Payload', () => client.list(Payload, {}, { signal }));
  const versions = await read('ClusterVersion', () => client.list(ClusterVersion, {}, { signal }));
  return { releases: [...versions.map(ofVersion), ...payloads.map(ofPayload)], unread };
}

/** The release with a name: `tools`, `Payload tools`, or the only one. Throws `UsageError`. */
export function releaseNamed(releases: readonly ManagedRelease[], name: string | undefined): ManagedRelease {
  const fit =
    name === undefined ? releases : releases.filter((one) => one.name === name || one.name.endsWith(` ${name}`));
  const [only, ...others] = fit;
  if (only !== undefined && others.length === 0) return only;
  const there = releases.map((one) => `"${one.name}"`).join(', ');
  throw new UsageError(
    `${name === undefined ? 'which release is meant' : `no release, or more than one, is called ${name}`}: there ${releases.length === 1 ? 'is' : 'are'} ${there === '' ? 'none' : there}`,
  );
}

function ofPayload({ metadata, status = {} }: Payload): ManagedRelease {
  const { desired, observedGeneration, conditions = [], waiting = [], history = [] } = status;
  const progress = isSeen(metadata, observedGeneration) ? status.progress : NOT_SEEN;
  return {
    name: `Payload ${metadata.name}`,
    ...desired,
    ...(progress === undefined ? {} : { progress }),
    conditions: conditions.map((one) => ({ ...one, status: one.status ?? 'Unknown' })),
    waiting,
    history: history.map(({ id: _id, ...entry }) => entry),
  };
}

function isSeen({ generation = 0 }: { readonly generation?: number }, observed: number | undefined): boolean {
  return (observed ?? 0) >= generation;
}

function ofVersion({ metadata, status = {} }: ClusterVersion): ManagedRelease {
  const { desired = {}, observedGeneration, conditions = [], history = [] } = status;
  return {
    name: `ClusterVersion ${metadata.name}`,
    ...(desired.version === undefined ? {} : { version: desired.version }),
    ...(desired.image === undefined ? {} : { image: desired.image }),
    ...(isSeen(metadata, observedGeneration) ? {} : { progress: NOT_SEEN }),
    ...{ conditions, waiting: [] },
    history: history.map(({ completionTime, state, version, image, startedTime, verified, acceptedRisks }) => ({
      ...(state === undefined ? {} : { state }),
      ...(version === undefined ? {} : { version }),
      ...(image === undefined ? {} : { image }),
      ...(startedTime === undefined ? {} : { startedTime }),
      ...(completionTime === undefined || completionTime === null ? {} : { completionTime }),
      ...(verified === undefined ? {} : { verified }),
      ...(acceptedRisks === undefined ? {} : { acceptedRisks }),
    })),
  };
}
