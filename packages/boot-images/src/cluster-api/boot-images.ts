import { BootImage, bootImageName } from '@drydock/api';
import { apiVersionOf, keyOf } from '@drydock/kube';
import { bootImageStatus } from '../status/boot-image.ts';
import { type BootImageWriterOptions, bootImageWriter } from '../status/boot-image-writer.ts';
import type { SetFacts, SetOutcome } from '../status/subject.ts';
import { ROTATED_KINDS, type RotatedSet } from './set.ts';
import { isSilentTurn, turnReason } from './turn.ts';

/** What {@link rotationReports} needs. */
export interface ReportOptions extends BootImageWriterOptions {
  readonly platform: (set: RotatedSet) => string;
  readonly facts: (set: RotatedSet) => SetFacts;
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
  const writer = bootImageWriter(options);
  return {
    report: (set, outcome) =>
      writer.write(bootImageOfRotated(set), (live) =>
        outcome.kind === 'waiting' && outcome.reason === turnReason && isSilentTurn(live)
          ? undefined
          : bootImageStatus(live.status, outcome, {
              ...{ set: set.id, platform: options.platform(set), generation: live.metadata.generation },
              ...{ now: options.now(), facts: options.facts(set) },
            }),
      ),
    latest: (set) => writer.latest(keyOf(bootImageOfRotated(set))),
  };
}
