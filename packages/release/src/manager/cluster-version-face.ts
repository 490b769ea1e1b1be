import { ClusterVersion } from '@drydock/api';
import { DEFAULT_PROFILE } from '../payload/payload.ts';
import type { Release } from '../state/target.ts';
import type { Account, Face, ReleaseWish } from './face.ts';

type Status = NonNullable<ClusterVersion['status']>;

/** With whose rights ClusterVersion's releases are applied, and who must have signed the first one; each later one by the key rings of the one before. */
export interface ClusterVersionTrust {
  readonly account: Account;
  readonly rings: ReleaseWish['verify']['rings'];
  readonly stores: readonly string[];
}

/**
 * ClusterVersion of config.openshift.io, for clusters where nobody else manages it. What only
 * cluster-version-operator knows (updates on offer) stays as it is.
 */
export function clusterVersionFace({ account, rings, stores }: ClusterVersionTrust): Face<ClusterVersion> {
  return {
    resource: ClusterVersion,
    waitsForRollouts: false,
    wishOf: ({ spec = {}, status }): ReleaseWish => {
      const { desiredUpdate = {}, capabilities = {}, overrides = [] } = spec;
      const { image, version, force = false } = desiredUpdate;
      const { baselineCapabilitySet: baseline, additionalEnabledCapabilities: additional } = capabilities;
      return {
        target: { ...(image === undefined ? {} : { image }), ...(version === undefined ? {} : { version }) },
        ...{ force, acceptedRisks: [], account, soak: undefined },
        verify: { rings, stores, unsigned: false, byRelease: true },
        ...{ profile: DEFAULT_PROFILE, featureSet: 'Default' },
        capabilities: {
          ...(baseline === undefined ? {} : { baseline }),
          ...(additional === undefined ? {} : { additional }),
        },
        overrides: overrides.map(({ group = '', kind = '', namespace = '', name = '', unmanaged = false }) => ({
          group,
          kind,
          namespace,
          name,
          unmanaged,
        })),
        updates: (status?.availableUpdates ?? []).flatMap(({ version: of, image: at }): readonly Release[] =>
          of === undefined || at === undefined ? [] : [{ version: of, image: at }],
        ),
      };
    },
    recordOf: ({ status }) => ({
      history: (status?.history ?? []).map(
        ({
          state = '',
          version = '',
          image = '',
          startedTime = '',
          completionTime,
          verified = false,
          acceptedRisks,
        }) => ({
          ...{ state, version, image, startedTime, verified },
          ...(completionTime === undefined || completionTime === null ? {} : { completionTime }),
          ...(acceptedRisks === undefined ? {} : { acceptedRisks }),
        }),
      ),
      conditions: status?.conditions ?? [],
      enabled: status?.capabilities?.enabledCapabilities ?? [],
    }),
    statusOf: (
      { observedGeneration, desired, about, versionHash, history, conditions, capabilities },
      { status },
    ): Status => ({
      ...status,
      observedGeneration,
      desired: {
        ...(desired?.image === status?.desired?.image ? status?.desired : {}),
        version: desired?.version ?? '',
        image: desired?.image ?? '',
        ...(about?.url === undefined ? {} : { url: about.url }),
        ...(about === undefined || about.channels.length === 0 ? {} : { channels: about.channels.toSorted() }),
      },
      versionHash: versionHash ?? status?.versionHash ?? '',
      availableUpdates: status?.availableUpdates ?? null,
      history: history.map(({ completionTime = null, ...entry }) => ({ ...entry, completionTime })),
      conditions: [...conditions],
      ...(capabilities === undefined
        ? {}
        : { capabilities: { knownCapabilities: capabilities.known, enabledCapabilities: capabilities.enabled } }),
    }),
    // What is required there cannot be said before a release was read.
    waitingOf: ({ conditions }, { status }) =>
      status === undefined ? undefined : { ...status, conditions: [...conditions] },
  };
}
