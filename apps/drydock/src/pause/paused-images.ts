import { BootImage, type BootImageStatus, Lease } from '@drydock/api';
import { type Client, keyOf, statusWriter } from '@drydock/kube';
import { type Pause, pauseOf } from './pause.ts';

/** What {@link pausedImages} needs. */
export interface PausedImagesOptions {
  readonly client: Pick<Client, 'get' | 'replaceStatus' | 'applyStatus'>;
  /** The Lease of the role. */
  readonly lease: { readonly namespace: string; readonly name: string };
  /** All that are known. */
  readonly images: () => Iterable<BootImage>;
  /** Whether the holder of the Lease may still be at work: then it speaks of the images itself. */
  readonly holderIsLive: (holder: string) => boolean;
  readonly log: { warn(fields: object, message: string): void };
  readonly now: () => Date;
}

/** The condition that says so on a BootImage. Whoever leads again takes it off, because it is none of theirs. */
export const PAUSED_CONDITION = 'Paused';

/**
 * Says on the BootImages that they are paused, while nobody leads: a condition beside what is known of them, of which nothing is lost. Every replica may: each write is guarded by what it was computed from, and by a look at
 * the Lease. To be called with each look at the Lease; one telling at a time.
 */
export function pausedImages(options: PausedImagesOptions): (lease: Lease, pause: Pause) => void {
  const { client, images, holderIsLive, log, now } = options;
  const writer = statusWriter<BootImage>({ client, resource: BootImage });
  let telling = false;

  async function tell(): Promise<void> {
    for (const image of images()) {
      const lease = await client.get(Lease, options.lease);
      const pause = pauseOf(lease, now().getTime());
      const { holderIdentity: holder = '' } = lease.spec ?? {};
      if (pause === undefined || (holder !== '' && holderIsLive(holder))) return;
      await writer.write(keyOf(image), ({ status }) => withPaused(status, pause, now()), { current: image });
    }
  }

  return ({ spec }, pause) => {
    const { holderIdentity: holder = '' } = spec ?? {};
    if (telling || (holder !== '' && holderIsLive(holder))) return;
    if ([...images()].every(({ status }) => withPaused(status, pause, now()) === undefined)) return;
    telling = true;
    tell()
      .catch((error: unknown) =>
        log.warn({ err: error }, 'that boot images are paused could not be written; trying again'),
      )
      .finally(() => {
        telling = false;
      });
  };
}

/** Undefined where it says so already, or where nobody has spoken of the image yet. */
function withPaused(status: BootImageStatus | undefined, pause: Pause, now: Date): BootImageStatus | undefined {
  if (status === undefined) return undefined;
  const others = status.conditions?.filter(({ type }) => type !== PAUSED_CONDITION) ?? [];
  const old = status.conditions?.find(({ type }) => type === PAUSED_CONDITION);
  const { by, reason, until } = pause;
  const who = by === undefined ? '' : ` by ${by}`;
  const message = `boot images are paused${who}${until === undefined ? '' : `, until ${until}`}${reason === undefined ? '' : `: ${reason}`}; drydock resume ends it`;
  if (old?.status === 'True' && old.message === message) return undefined;
  const since = pause.since ?? `${now.toISOString().slice(0, 19)}Z`;
  const condition = { type: PAUSED_CONDITION, status: 'True', reason: 'Paused', message, lastTransitionTime: since };
  return { ...status, conditions: [...others, condition] };
}
