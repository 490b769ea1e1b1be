import { BootImage, type BootImageStatus } from '@drydock/api';
import type { Projector } from '@drydock/crd';
import {
  type Client,
  isAlreadyExists,
  isNotFound,
  type Key,
  type KubeClient,
  keyOf,
  keyText,
  statusWriter,
} from '@drydock/kube';
import { movers } from '../way-back/history.ts';
import { hooksOf } from './definitions.ts';
import { type PinEntry, pinsOf } from './pin-history.ts';
import { lacksPinWriter, type PinWriters, pinWriters } from './pin-writers.ts';

/** Writes statuses of BootImages through the one status writer, and creates a BootImage that is not there. */
export interface BootImageWriter {
  /** `compute` gets the live object; undefined: there is nothing to write. */
  readonly write: (wanted: BootImage, compute: (live: BootImage) => BootImageStatus | undefined) => Promise<void>;
  /** The BootImage as it was seen last, by a write or by the watch. */
  readonly latest: (key: Key) => BootImage | undefined;
  /** What was written last says nothing any more. */
  readonly forget: (key: Key) => void;
}

/** What {@link bootImageWriter} needs. */
export interface BootImageWriterOptions {
  readonly client: Client;
  /** Reads who wrote or lifted a pin, where the spec does not say; without it, nobody is known. */
  readonly reader?: Pick<KubeClient, 'raw'>;
  /** The cached object, if any. */
  readonly cached: (key: Key) => BootImage | undefined;
  /** Cuts a status to the live schema. */
  readonly projector?: Projector;
  readonly now: () => Date;
}

/** See {@link BootImageWriter}. */
export function bootImageWriter(options: BootImageWriterOptions): BootImageWriter {
  const { client, reader, cached, projector, now } = options;
  const writer = statusWriter<BootImage>({ client, resource: BootImage, ...hooksOf(projector) });
  const seen = new Map<string, BootImage>();
  const latest = (key: Key): BootImage | undefined => newer(seen.get(keyText(key)), cached(key));

  async function ensure(wanted: BootImage): Promise<BootImage> {
    try {
      return await client.create(BootImage, wanted);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return client.get(BootImage, keyOf(wanted));
    }
  }

  /** A read that fails must not stop a status: then nobody is known. */
  async function readWriters(image: BootImage): Promise<PinWriters> {
    return reader === undefined ? {} : await pinWriters(reader, image).catch(() => ({}));
  }

  async function write(
    wanted: BootImage,
    compute: (live: BootImage) => BootImageStatus | undefined,
    again: boolean,
  ): Promise<void> {
    const key = keyOf(wanted);
    const id = keyText(key);
    const current = latest(key) ?? (await ensure(wanted));
    const writers = lacksPinWriter(current) ? await readWriters(current) : undefined;
    let unread = false;
    const status = (live: BootImage): BootImageStatus | undefined => {
      // Another client wrote meanwhile: who it was is read before anything is said of the pin.
      unread = writers === undefined && lacksPinWriter(live);
      return unread ? undefined : withPins(compute(live), live, now(), writers);
    };
    try {
      const { object } = await writer.write(key, status, { current });
      seen.set(id, object);
      if (unread) await write(wanted, compute, again);
    } catch (error) {
      seen.delete(id);
      // Somebody deleted it, or it went with an earlier set of the same name: it is made again.
      if (!isNotFound(error) || !again) throw error;
      seen.set(id, await ensure(wanted));
      await write(wanted, compute, false);
    }
  }

  return {
    write: (wanted, compute) => write(wanted, compute, true),
    latest,
    forget: (key) => void seen.delete(keyText(key)),
  };
}

/** Pins stay in the status when they are lifted: the spec knows them no more. */
function withPins(
  status: BootImageStatus | undefined,
  live: BootImage,
  now: Date,
  writers: PinWriters | undefined,
): BootImageStatus | undefined {
  const pins = pinsOf(live, now, writers);
  const [newest] = pins;
  if (status === undefined || newest === undefined) return status;
  return { ...status, pins, ...withPinner(status, newest) };
}

/** The image that a pin brought has its author, also where only the field managers name one. */
function withPinner({ history = [] }: BootImageStatus, { by, liftedAt }: PinEntry): Pick<BootImageStatus, 'history'> {
  const [newest, ...others] = history;
  if (newest?.by !== movers.revert || newest.until !== undefined || newest.pinnedBy !== undefined) return {};
  return by === undefined || liftedAt !== undefined ? {} : { history: [{ ...newest, pinnedBy: by }, ...others] };
}

/** Our own last write or the cached object, whichever is newer; they are versions of one object, in order where both are numbers. */
function newer(own: BootImage | undefined, cached: BootImage | undefined): BootImage | undefined {
  if (own === undefined || cached === undefined || own.metadata.uid !== cached.metadata.uid) return cached ?? own;
  return Number(cached.metadata.resourceVersion) > Number(own.metadata.resourceVersion) ? cached : own;
}
