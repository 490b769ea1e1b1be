import { Payload, type PayloadStatus } from '@drydock/api';
import { durationMs } from '@drydock/api/duration';
import type { HistoryEntry } from '../state/history.ts';
import type { Face, ReleaseWish } from './face.ts';

/** A namespace or a ServiceAccount: with anything else in it, its user would be another one. */
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const WAITING = 20;

/** Payload of drydock.dev. The schema is not believed to have been asked: it may be an older one. */
export const payloadFace: Face<Payload> = {
  resource: Payload,
  waitsForRollouts: true,
  wishOf: ({ spec }) => {
    // Whoever can change the definition can leave a spec out.
    const {
      image,
      version,
      verify = {},
      serviceAccount,
      profile,
      featureSet = 'Default',
      overrides = [],
      acceptedRisks = [],
      soak,
    } = (spec as Partial<Payload['spec']> | undefined) ?? {};
    const { namespace = '', name = '' } =
      (serviceAccount as Partial<Payload['spec']['serviceAccount']> | undefined) ?? {};
    if (!LABEL.test(namespace) || !SUBDOMAIN.test(name))
      return 'spec.serviceAccount must name a ServiceAccount by namespace and name: in its name everything is applied.';
    const { keyRings = [], stores = [], unsigned = false } = verify;
    const wish: ReleaseWish = {
      target: { ...(image === undefined ? {} : { image }), ...(version === undefined ? {} : { version }) },
      force: false,
      acceptedRisks,
      // What cannot be read says nothing, so that nothing is final by mistake.
      soak: soak === undefined ? undefined : durationMs(soak),
      verify: {
        rings: keyRings.map((ring) => ({ name: ring.name, armoured: ring.keys })),
        stores,
        unsigned: unsigned === true && keyRings.length === 0,
        byRelease: false,
      },
      account: { namespace, name },
      ...{ profile, featureSet, capabilities: undefined, updates: [] },
      overrides: overrides.map((one) => ({ ...one, unmanaged: one.unmanaged === true })),
    };
    return wish;
  },
  recordOf: ({ status }) => ({
    history: (status?.history ?? []).map(entryOf),
    conditions: (status?.conditions ?? []).map((one) => ({ ...one, status: one.status ?? 'Unknown' })),
    enabled: [],
  }),
  statusOf: (
    { observedGeneration, desired, versionHash, history, conditions, progress, waiting },
    { status },
  ): PayloadStatus => ({
    observedGeneration,
    ...(desired === undefined ? {} : { desired }),
    ...(versionHash === undefined ? {} : { versionHash }),
    ...(progress === undefined ? {} : { progress: `${progress.done}/${progress.total}` }),
    ...(waiting.length === 0
      ? {}
      : { waiting: [...new Map(waiting.map((one) => [one.object, one])).values()].slice(0, WAITING) }),
    history: numbered(history, status?.history ?? []),
    conditions,
  }),
  waitingOf: ({ waiting, conditions }, { status }): PayloadStatus => ({ ...status, waiting, conditions }),
};

type Stored = NonNullable<PayloadStatus['history']>[number];

function entryOf({
  state = '',
  version = '',
  image = '',
  startedTime = '',
  completionTime,
  verified = false,
  acceptedRisks,
  finalisedTime,
}: Stored): HistoryEntry {
  return {
    ...{ state, version, image, startedTime, verified },
    ...(completionTime === undefined ? {} : { completionTime }),
    ...(acceptedRisks === undefined ? {} : { acceptedRisks }),
    ...(finalisedTime === undefined ? {} : { finalisedTime }),
  };
}

/** Entries keep the number that they have: the same release that was begun at the same time. New ones count on. */
function numbered(history: readonly HistoryEntry[], stored: readonly Stored[]): readonly Stored[] {
  const taken = new Map<string, string>();
  for (const { id, image = '', startedTime = '' } of stored)
    if (!taken.has(`${image} ${startedTime}`)) taken.set(`${image} ${startedTime}`, id);
  let last = stored.reduce((most, { id }) => Math.max(most, /^\d{1,15}$/.test(id) ? Number(id) : 0), 0);
  const used = new Set<string>();
  return history
    .toReversed()
    .map((entry) => {
      const known = taken.get(`${entry.image} ${entry.startedTime}`);
      const id = known !== undefined && !used.has(known) ? known : `${++last}`;
      used.add(id);
      return { id, ...entry };
    })
    .toReversed();
}
