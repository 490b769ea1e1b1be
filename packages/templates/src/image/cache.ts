import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addressText } from '@drydock/api/text';
import { isStagingName, replaceFileDurable } from '@drydock/durable';
import type { Libraries } from '@drydock/vsphere';
import type { Dispatcher } from 'undici';
import { type Clock, wallClock } from '../clock.ts';
import { reasonOf, TemplateError } from '../errors.ts';
import type { TemplateProgress } from '../store.ts';
import type { TemplateImage } from '../wish.ts';
import { fetchInto } from './fetch.ts';
import { fileRange, openFile } from './file-range.ts';
import { fetchItem } from './library-fetch.ts';
import { isLibraryLocation } from './library-item.ts';
import { openOva } from './ova.ts';
import type { OvaSource } from './ova-source.ts';
import { byteMeter } from './progress.ts';
import { roomIn } from './room.ts';
import { sizeOf } from './size.ts';

/** Options of {@link ovaCache}. */
export interface CacheOptions {
  /** Directory of its own; made when absent. */
  readonly dir: string;
  /** Images beyond this many bytes go, the least recently used first, before the next one comes; one that alone has more is refused. */
  readonly bytes: number;
  /** Bytes that are free on the disk of a directory; default: what the system says. */
  readonly freeBytes?: (dir: string) => Promise<number>;
  readonly clock?: Clock;
  /** Default: the environment's proxies. */
  readonly dispatcher?: Dispatcher;
  /** For how long (ms) a download that nobody waits for any more goes on: whoever gave it up may ask again. Default 0. */
  readonly lingerMs?: number;
}

/** A download, and who waits for it. */
interface Download {
  readonly done: Promise<void>;
  readonly end: AbortController;
  readonly listeners: Map<object, Report>;
  linger: NodeJS.Timeout | undefined;
}

/** Who asks for an image: whom to tell how far it is, and where items of content libraries are read from. */
interface Asking {
  readonly report: Report;
  readonly libraries: Libraries | undefined;
}

type Report = ((progress: TemplateProgress) => void) | undefined;

/** A staging file this old belongs to a process that died. */
const ABANDONED_MS = 6 * 3_600_000;

/**
 * A directory of images by digest (`<sha256>.ova`). What is there is hashed before its first use in this process and whenever the file changed;
 * downloads of one digest are shared, and end soon after the last one who waits for them gave up; a wrong digest leaves no file. `file:` locations are verified and
 * read in place. Disposal ends what is under way.
 */
export function ovaCache(options: CacheOptions): OvaSource & AsyncDisposable {
  const clock = options.clock ?? wallClock;
  const downloads = new Map<string, Download>();
  const closing = new AbortController();
  const inUse = new Map<string, number>();
  /** Path → what stat said when the digest was right. */
  const verified = new Map<string, string>();

  const isGood = async (path: string, sha256: string, report: Report, signal?: AbortSignal): Promise<boolean> => {
    const before = await fingerprint(path);
    if (before === undefined) return false;
    if (verified.get(path) === `${before} ${sha256}`) return true;
    report?.({ step: 'Verifying' });
    if ((await digestOf(path, signal)) !== sha256) return false;
    verified.set(path, `${before} ${sha256}`);
    return true;
  };

  /** Eviction goes by the modification time; setting it must not look like a change of the file. */
  const touch = async (path: string, sha256: string): Promise<void> => {
    await utimes(path, new Date(), new Date()).catch(() => undefined);
    verified.set(path, `${await fingerprint(path)} ${sha256}`);
  };

  const used = (name: string): boolean => inUse.has(join(options.dir, name));

  const download = async (
    image: TemplateImage,
    path: string,
    { report, libraries }: Asking,
    signal: AbortSignal,
  ): Promise<void> => {
    await mkdir(options.dir, { recursive: true });
    await sweep(options.dir, clock.now());
    let meter: ((bytes: number) => void) | undefined;
    const room = roomIn({
      dir: options.dir,
      limit: options.bytes,
      evict: (limit) => evict(options.dir, limit, used),
      ...(options.freeBytes === undefined ? {} : { freeBytes: options.freeBytes }),
    });
    try {
      await replaceFileDurable(path, async (file) => {
        const how = {
          onBytes: (bytes: number, total: number | undefined) => {
            meter ??= byteMeter('Downloading', total, clock, report);
            meter(bytes);
          },
          ...{ room, signal },
        };
        const { sha256 } = isLibraryLocation(image.location)
          ? await fetchItem(libraries, image.location, file, how)
          : await fetchInto(image.location, file, {
              ...how,
              ...(options.dispatcher === undefined ? {} : { dispatcher: options.dispatcher }),
            });
        if (sha256 !== image.sha256) throw mismatch(image, sha256);
      });
    } catch (error) {
      if (error instanceof TemplateError || signal.aborted) throw error;
      const message = `failed to store ${addressText(image.location)} in the cache: ${reasonOf(error)}`;
      throw new TemplateError({ code: 'CACHE_FAILED', message, retriable: true, cause: error });
    }
    verified.set(path, `${await fingerprint(path)} ${image.sha256}`);
    await evict(options.dir, options.bytes, used);
  };

  const begin = (image: TemplateImage, path: string, libraries: Libraries | undefined): Download => {
    const listeners: Download['listeners'] = new Map();
    const tell: Report = (progress) => {
      for (const listener of listeners.values()) listener?.(progress);
    };
    const end = new AbortController();
    const signal = AbortSignal.any([end.signal, closing.signal]);
    const done = download(image, path, { report: tell, libraries }, signal).finally(() => {
      clearTimeout(begun.linger);
      if (downloads.get(path) === begun) downloads.delete(path);
    });
    done.catch(() => undefined);
    const begun: Download = { done, end, listeners, linger: undefined };
    downloads.set(path, begun);
    return begun;
  };

  /** Nobody waits for it. */
  const giveUp = async (path: string, running: Download): Promise<void> => {
    const stop = (): void => {
      if (downloads.get(path) === running) downloads.delete(path);
      running.end.abort();
    };
    if (options.lingerMs !== undefined && options.lingerMs > 0 && !closing.signal.aborted) {
      running.linger = setTimeout(stop, options.lingerMs).unref();
      return;
    }
    stop();
    await running.done.catch(() => undefined);
  };

  const shared = async (
    image: TemplateImage,
    path: string,
    { report, libraries }: Asking,
    signal?: AbortSignal,
  ): Promise<void> => {
    signal?.throwIfAborted();
    const running = downloads.get(path) ?? begin(image, path, libraries);
    clearTimeout(running.linger);
    const place = {};
    running.listeners.set(place, report);
    try {
      await untilAborted(running.done, signal);
    } finally {
      running.listeners.delete(place);
      if (running.listeners.size === 0 && downloads.get(path) === running) await giveUp(path, running);
    }
  };

  const provide = async (image: TemplateImage, asking: Asking, signal?: AbortSignal): Promise<string> => {
    const { report } = asking;
    if (image.location.startsWith('file:')) {
      const path = pathOf(image);
      if (await isGood(path, image.sha256, report, signal)) return path;
      if ((await fingerprint(path)) === undefined) throw unread(image, 'there is no such file');
      throw mismatch(image, await digestOf(path, signal));
    }
    const path = join(options.dir, `${image.sha256}.ova`);
    if (await isGood(path, image.sha256, report, signal)) await touch(path, image.sha256);
    else await shared(image, path, asking, signal);
    return path;
  };

  return {
    open: async (image, { onProgress, libraries, signal }) => {
      const path = join(options.dir, `${image.sha256}.ova`);
      inUse.set(path, (inUse.get(path) ?? 0) + 1);
      const release = (): void => {
        const left = (inUse.get(path) ?? 1) - 1;
        if (left === 0) inUse.delete(path);
        else inUse.set(path, left);
      };
      try {
        const given = await provide(image, { report: onProgress, libraries }, signal);
        const ova = await openOva(given);
        return {
          ...ova,
          [Symbol.asyncDispose]: async () => {
            release();
            await ova[Symbol.asyncDispose]();
          },
        };
      } catch (error) {
        release();
        throw error;
      }
    },
    size: ({ location, sha256 }, { libraries, signal }) =>
      sizeOf(join(options.dir, `${sha256}.ova`), location, {
        ...(options.dispatcher === undefined ? {} : { dispatcher: options.dispatcher }),
        ...(libraries === undefined ? {} : { libraries }),
        ...(signal === undefined ? {} : { signal }),
      }),
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await Promise.allSettled([...downloads.values()].map(({ done }) => done));
    },
  };
}

/** The signal ends the waiting, not the work. */
async function untilAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work;
  const given = Promise.withResolvers<never>();
  const stop = (): void => given.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([work, given.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function pathOf(image: TemplateImage): string {
  try {
    return fileURLToPath(image.location);
  } catch (error) {
    throw unread(image, reasonOf(error));
  }
}

function unread(image: TemplateImage, why: string): TemplateError {
  return new TemplateError({
    code: 'DOWNLOAD_FAILED',
    message: `failed to download ${addressText(image.location)}: ${why}`,
  });
}

function mismatch(image: TemplateImage, actual: string): TemplateError {
  const message = `${addressText(image.location)} has sha256 ${actual}, but ${image.sha256} was expected`;
  return new TemplateError({ code: 'DIGEST_MISMATCH', message });
}

/** Changes whenever the file does; undefined where there is none. */
async function fingerprint(path: string): Promise<string | undefined> {
  try {
    const { ino, size, ctimeMs } = await stat(path);
    return `${ino} ${size} ${ctimeMs}`;
  } catch {
    return undefined;
  }
}

async function digestOf(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    for await (const chunk of fileRange(file, 0, size)) {
      signal?.throwIfAborted();
      hash.update(chunk as Buffer);
    }
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

/** Removes what dead processes left. */
async function sweep(dir: string, now: number): Promise<void> {
  for (const name of await readdir(dir)) {
    if (!isStagingName(name)) continue;
    const path = join(dir, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
    if (mtimeMs + ABANDONED_MS < now) await rm(path, { force: true });
  }
}

async function evict(dir: string, limit: number, used: (name: string) => boolean): Promise<void> {
  const entries: { readonly name: string; readonly size: number; readonly mtimeMs: number }[] = [];
  for (const name of (await readdir(dir)).filter((entry) => entry.endsWith('.ova'))) {
    const found = await stat(join(dir, name)).catch(() => undefined);
    if (found !== undefined) entries.push({ name, size: found.size, mtimeMs: found.mtimeMs });
  }
  let total = entries.reduce((sum, { size }) => sum + size, 0);
  for (const { name, size } of entries.toSorted((a, b) => a.mtimeMs - b.mtimeMs)) {
    if (total <= limit) return;
    if (used(name)) continue;
    await rm(join(dir, name), { force: true });
    total -= size;
  }
}
