import { BootImage, bootImageName } from '@drydock/api';
import type { Projector } from '@drydock/crd';
import {
  apiVersionOf,
  type Client,
  isAlreadyExists,
  isNotFound,
  type Key,
  keyOf,
  keyText,
  statusWriter,
} from '@drydock/kube';
import { bootImageStatus } from '../status/boot-image.ts';
import { hooksOf } from '../status/definitions.ts';
import type { SetFacts, SetOutcome } from '../status/subject.ts';
import { ROTATED_KINDS, type RotatedSet } from './set.ts';
import { isSilentTurn, turnReason } from './turn.ts';

/** What {@link rotationReports} needs. */
export interface ReportOptions {
  readonly client: Client;
  readonly cached: (key: Key) => BootImage | undefined;
  readonly now: () => Date;
  readonly platform: (set: RotatedSet) => string;
  readonly facts: (set: RotatedSet) => SetFacts;
  /** Cuts a status to the live schema. */
  readonly projector?: Projector;
}

/** The BootImage of a set, as it is created: the set owns it, so that it goes with it. */
export function bootImageOfRotated({ kind, group, name, namespace, object }: RotatedSet): BootImage {
  const short = ROTATED_KINDS.find((one) => one.kind === kind)?.short ?? 'capi-ms';
  const { uid } = object.metadata;
  const { apiVersion = `${group}/v1beta1` } = object;
  const owner = { apiVersion, kind, name, controller: true, blockOwnerDeletion: false };
  return {
    apiVersion: apiVersionOf(BootImage),
    kind: BootImage.kind,
    metadata: {
      ...{ name: bootImageName(short, name), namespace, labels: { 'app.kubernetes.io/managed-by': 'drydock' } },
      ...(uid === undefined ? {} : { ownerReferences: [{ ...owner, uid }] }),
    },
    spec: { machineSet: { apiGroup: group, kind, name } },
  };
}

/** The writer of BootImages of sets. */
export interface RotationReports {
  readonly report: (set: RotatedSet, outcome: SetOutcome) => Promise<void>;
  /** What was written last, or has come since. */
  readonly latest: (set: RotatedSet) => BootImage | undefined;
}

/** Writes the BootImage of each set through the one status writer; nothing is sent where nothing changed, nor where all that there is to say is {@link isSilentTurn}. */
export function rotationReports(options: ReportOptions): RotationReports {
  const { client, cached } = options;
  const writer = statusWriter<BootImage>({ client, resource: BootImage, ...hooksOf(options.projector) });
  const seen = new Map<string, BootImage>();

  async function ensure(wanted: BootImage): Promise<BootImage> {
    try {
      return await client.create(BootImage, wanted);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return client.get(BootImage, keyOf(wanted));
    }
  }

  async function report(set: RotatedSet, outcome: SetOutcome, again: boolean): Promise<void> {
    const wanted = bootImageOfRotated(set);
    const key = keyOf(wanted);
    const id = keyText(key);
    const current = latest(key) ?? (await ensure(wanted));
    if (outcome.kind === 'waiting' && outcome.reason === turnReason && isSilentTurn(current)) return;
    try {
      const { object } = await writer.write(
        key,
        (live) =>
          bootImageStatus(live.status, outcome, {
            ...{ set: set.id, platform: options.platform(set), generation: live.metadata.generation },
            ...{ now: options.now(), facts: options.facts(set) },
          }),
        { current },
      );
      seen.set(id, object);
    } catch (error) {
      seen.delete(id);
      // Somebody deleted it, or it went with an earlier set of the same name: it is made again.
      if (!isNotFound(error) || !again) throw error;
      seen.set(id, await ensure(wanted));
      await report(set, outcome, false);
    }
  }
  const latest = (key: Key): BootImage | undefined => newer(seen.get(keyText(key)), cached(key));
  return {
    report: (set, outcome) => report(set, outcome, true),
    latest: (set) => latest(keyOf(bootImageOfRotated(set))),
  };
}

/** Our own last write or the cached object, whichever is newer. */
function newer(own: BootImage | undefined, known: BootImage | undefined): BootImage | undefined {
  if (own === undefined || known === undefined || own.metadata.uid !== known.metadata.uid) return known ?? own;
  return Number(known.metadata.resourceVersion) > Number(own.metadata.resourceVersion) ? known : own;
}
