import { createHash } from 'node:crypto';
import { addressText } from '@drydock/api/text';
import type { FileSink } from '@drydock/durable';
import type { Dispatcher } from 'undici';
import { reasonOf, TemplateError } from '../errors.ts';
import { requestLocation, throughProxies } from './location.ts';
import type { Room } from './room.ts';

/** Options of a fetch. */
export interface FetchOptions {
  /** Called with the bytes so far and, where the server says it, the total. */
  readonly onBytes?: (bytes: number, total: number | undefined) => void;
  /** What the download may take; what it throws ends the download. */
  readonly room?: Room;
  /** Whole download; default one hour. */
  readonly deadlineMs?: number;
  /** Without a byte for this long the connection counts as dead; default one minute. */
  readonly idleMs?: number;
  /** Default: the environment's proxies (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). */
  readonly dispatcher?: Dispatcher;
  readonly signal?: AbortSignal | undefined;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Broken connections in a row without a new byte, and altogether: a server may give one byte to each. */
const MAX_STALLS = 3;
const MAX_ATTEMPTS = 50;

/**
 * Streams what is behind `location` into `file` and computes its SHA-256 on the way. A connection that breaks is resumed with `Range`, guarded by the
 * entity tag; a server that ignores it starts again from zero. Fails with `DOWNLOAD_FAILED`.
 */
export async function fetchInto(
  location: string,
  file: FileSink,
  options: FetchOptions = {},
): Promise<{ readonly sha256: string; readonly size: number }> {
  const deadline = AbortSignal.timeout(options.deadlineMs ?? HOUR_MS);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  const state = { hash: createHash('sha256'), size: 0, etag: undefined as string | undefined };
  let stalls = 0;
  let attempts = 0;
  return throughProxies(options.dispatcher, async (dispatcher) => {
    for (;;) {
      const from = state.size;
      try {
        await attempt(location, file, state, dispatcher, signal, options);
        return { sha256: state.hash.digest('hex'), size: state.size };
      } catch (error) {
        options.signal?.throwIfAborted();
        if (error instanceof TemplateError) throw error;
        stalls = state.size > from ? 0 : stalls + 1;
        attempts += 1;
        if (deadline.aborted || stalls >= MAX_STALLS || attempts >= MAX_ATTEMPTS)
          throw failed(location, deadline.aborted ? 'it took too long' : reasonOf(error), error, true);
      }
    }
  });
}

interface Received {
  hash: ReturnType<typeof createHash>;
  size: number;
  etag: string | undefined;
}

async function attempt(
  location: string,
  file: FileSink,
  state: Received,
  dispatcher: Dispatcher,
  signal: AbortSignal,
  options: FetchOptions,
): Promise<void> {
  const idle = options.idleMs ?? MINUTE_MS;
  const headers: Record<string, string> = { 'accept-encoding': 'identity' };
  // Without a strong entity tag nobody knows that the rest belongs to the same file.
  const resumable = state.size > 0 && state.etag !== undefined;
  if (resumable) Object.assign(headers, { range: `bytes=${state.size}-`, 'if-range': state.etag });
  const timeouts = { headersTimeout: idle, bodyTimeout: idle };
  const response = await requestLocation(location, { dispatcher, headers, signal, ...timeouts });
  try {
    const resumed = resumable && response.statusCode === 206;
    if (response.statusCode !== 200 && !resumed) {
      const passing = response.statusCode >= 500 || response.statusCode === 429;
      throw failed(location, `the server answers ${response.statusCode}`, undefined, passing);
    }
    if (!resumed) Object.assign(state, { hash: createHash('sha256'), size: 0 });
    const etag = response.headers['etag'];
    state.etag = typeof etag === 'string' && !etag.startsWith('W/') ? etag : undefined;
    const announced = Number(response.headers['content-length'] ?? Number.NaN);
    const total = Number.isSafeInteger(announced) ? state.size + announced : undefined;
    // Meanwhile the first piece comes: of a connection that breaks now, what nobody has taken is lost.
    const ready = total === undefined || resumed ? undefined : options.room?.announced(total);
    ready?.catch(() => undefined);
    for await (const chunk of response.body) {
      const bytes: Buffer = chunk;
      await ready;
      const looking = options.room?.received(state.size + bytes.length);
      if (looking !== undefined) await looking;
      state.hash.update(bytes);
      await writeAll(file, bytes, state.size, location);
      state.size += bytes.length;
      options.onBytes?.(state.size, total);
    }
    if (total !== undefined && state.size !== total)
      throw new Error(`the connection ended after ${state.size} of ${total} bytes`);
  } finally {
    // Giving up a body that was not read to its end makes it report an error to nobody.
    response.body.on('error', () => undefined);
    response.body.destroy();
  }
}

/** Writes all of `bytes` at `position`: one write may take fewer than it was given. Fails with `CACHE_FAILED`. */
export async function writeAll(file: FileSink, bytes: Buffer, position: number, location: string): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
  } catch (cause) {
    throw new TemplateError({
      code: 'CACHE_FAILED',
      message: `failed to store ${addressText(location)}: ${reasonOf(cause)}`,
      retriable: true,
      cause,
    });
  }
}

function failed(location: string, why: string, cause: unknown, retriable: boolean): TemplateError {
  const message = `failed to download ${addressText(location)}: ${why}`;
  return new TemplateError({ code: 'DOWNLOAD_FAILED', message, retriable, ...(cause === undefined ? {} : { cause }) });
}
