import { createHash } from 'node:crypto';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { VimError } from '../errors.ts';
import { connectionError } from '../session/transport.ts';
import type { LeaseFile, UploadSource } from '../vcenter.ts';

/** Where one file of a lease goes. The path holds the ticket: it is the only credential of the transfer, and is never logged. */
export interface NfcTarget {
  /** The port always given. */
  readonly hostPort: string;
  /** As the server wrote it, percent-encoding included. */
  readonly path: string;
  /** SHA-1, for exactly this host and port. */
  readonly sslThumbprint?: string;
}

/** One upload. */
export interface NfcUpload {
  readonly agent: Agent;
  readonly target: NfcTarget;
  readonly file: LeaseFile;
  readonly source: UploadSource;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of this file handed to the connection so far. */
  readonly onProgress?: (bytes: number) => void;
}

/** What was sent. */
export interface Uploaded {
  readonly sha1: string;
  readonly sha256: string;
  readonly size: number;
}

/** Measured: 16 KiB give a fifth of the rate, 1 MiB gives no more. */
const CHUNK = 256 << 10;
/** Bytes of an answer that says nothing we use. */
const MAX_ANSWER = 64 << 10;
/** A host that takes nothing for this long is gone. */
const STALLED_MS = 120_000;

/** Reads a device URL. Host `*` means the address that we use for the vCenter itself (VS-W81); anything but https is refused. */
export function nfcTarget(url: string, baseUrl: URL, sslThumbprint?: string): NfcTarget {
  const parts = /^https:\/\/([^/?#]+)(\/[^\s#]*)$/.exec(url);
  const [, authority, path] = parts ?? [];
  if (authority === undefined || path === undefined) {
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_LEASE_FAILED',
      op: 'ImportVApp',
      message: `the lease gives an address that is no https URL`,
    });
  }
  const host = authority === '*' || authority.startsWith('*:') ? baseUrl.host : authority;
  return {
    hostPort: /:\d+$/.test(host) ? host : `${host}:443`,
    path,
    ...(sslThumbprint === undefined || sslThumbprint.trim() === '' ? {} : { sslThumbprint: sslThumbprint.trim() }),
  };
}

/**
 * Sends exactly `source.size` bytes: the length is announced, since hosts take no chunked encoding. Disks are posted as a VMDK stream, files that the server is to create are put.
 * The digests are computed on the way. Not resumable. Failures are `VIM_UPLOAD_FAILED`, `VIM_UNREACHABLE`, `VIM_TLS_UNTRUSTED` or `VIM_ABORTED`.
 */
export async function uploadFile(upload: NfcUpload): Promise<Uploaded> {
  const { file, source, signal, target } = upload;
  const op = file.create ? 'PUT nfc' : 'POST nfc';
  const where = `at ${target.hostPort}`;
  if (signal?.aborted === true) throw abortedUpload(op, file, signal);
  const colon = target.hostPort.lastIndexOf(':');
  const request = httpsRequest({
    agent: upload.agent,
    host: target.hostPort.slice(0, colon).replaceAll(/[[\]]/g, ''),
    port: Number(target.hostPort.slice(colon + 1)),
    method: file.create ? 'PUT' : 'POST',
    path: target.path,
    headers: {
      host: target.hostPort,
      'content-length': String(source.size),
      'content-type': file.create ? 'application/octet-stream' : 'application/x-vnd.vmware-streamVmdk',
      ...(file.create ? { overwrite: 't' } : {}),
    },
  });
  const ended = new AbortController();
  let connected = false;
  request.on('socket', () => {
    connected = true;
  });
  request.setTimeout(STALLED_MS, () => {
    ended.abort(uploadFailed(op, file, `${target.hostPort} took nothing for ${STALLED_MS / 1000} s`));
  });
  request.on('error', (cause) => ended.abort(connectionError(op, '', where, connected, cause)));
  const onAbort = (): void => {
    if (signal !== undefined) ended.abort(abortedUpload(op, file, signal));
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  const answered = statusOf(request, ended.signal).then((status) => {
    if (status === 200 || status === 201) return;
    // Also in the middle of the transfer: the rest is not worth sending.
    const error = uploadFailed(op, file, `${target.hostPort} answers HTTP status ${status}`, status);
    ended.abort(error);
    throw error;
  });
  // Awaited below unless the transfer itself fails first.
  answered.catch(() => undefined);
  try {
    const sent = await send(request, upload, op, ended.signal);
    request.end();
    await answered;
    return sent;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    if (!request.writableFinished || ended.signal.aborted) request.destroy();
  }
}

async function send(
  request: ClientRequest,
  { file, source, onProgress }: NfcUpload,
  op: string,
  ended: AbortSignal,
): Promise<Uploaded> {
  const sha1 = createHash('sha1');
  const sha256 = createHash('sha256');
  let size = 0;
  const stream = source.open();
  const onEnded = (): void => {
    stream.destroy();
  };
  ended.addEventListener('abort', onEnded, { once: true });
  try {
    for await (const chunk of gathered(stream)) {
      ended.throwIfAborted();
      size += chunk.length;
      if (size > source.size) break;
      const written = writing(request, chunk, ended);
      // While the connection takes it.
      sha1.update(chunk);
      sha256.update(chunk);
      await written;
      onProgress?.(size);
    }
  } catch (cause) {
    ended.throwIfAborted();
    throw uploadFailed(op, file, 'its source could not be read', undefined, cause);
  } finally {
    ended.removeEventListener('abort', onEnded);
    stream.destroy();
  }
  ended.throwIfAborted();
  if (size !== source.size) {
    const more = size > source.size ? 'more' : `only ${size}`;
    throw uploadFailed(op, file, `its source gives ${more} bytes where ${source.size} were announced`);
  }
  return { sha1: sha1.digest('hex'), sha256: sha256.digest('hex'), size };
}

/** Resolves when the connection has taken the chunk, and its memory may be used again. */
function writing(request: ClientRequest, chunk: Buffer, ended: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onEnded = (): void => reject(ended.reason);
  ended.addEventListener('abort', onEnded, { once: true });
  // What goes wrong here ends the request too, which says more.
  request.write(chunk, () => {
    ended.removeEventListener('abort', onEnded);
    resolve();
  });
  return promise;
}

/**
 * Pieces of at most 256 KiB, each valid until the next is asked for; small ones are joined, since each costs a TLS record and a system call.
 */
async function* gathered(source: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  let joined: Buffer | undefined;
  let length = 0;
  for await (const piece of source) {
    const bytes = Buffer.isBuffer(piece) ? piece : Buffer.from(piece as Uint8Array);
    if (joined !== undefined && length > 0 && length + bytes.length > CHUNK) {
      yield joined.subarray(0, length);
      length = 0;
    }
    if (bytes.length >= CHUNK) {
      for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
    } else {
      // Copied: the source may use its memory again.
      joined ??= Buffer.allocUnsafeSlow(CHUNK);
      length += bytes.copy(joined, length);
    }
  }
  if (joined !== undefined && length > 0) yield joined.subarray(0, length);
}

/** The status of the answer, whose body says nothing that we use. */
function statusOf(request: ClientRequest, ended: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const onEnded = (): void => {
      request.destroy();
      reject(ended.reason);
    };
    ended.addEventListener('abort', onEnded, { once: true });
    request.once('response', (response: IncomingMessage) => {
      ended.removeEventListener('abort', onEnded);
      response.on('error', () => undefined);
      // Read so that the connection can be used again; an answer that does not end is not worth that.
      let left = MAX_ANSWER;
      response.on('data', (bytes: Buffer) => {
        left -= bytes.length;
        if (left < 0) response.destroy();
      });
      resolve(response.statusCode ?? 0);
    });
  });
}

function abortedUpload(op: string, file: LeaseFile, signal: AbortSignal): VimError {
  return new VimError({
    kind: 'aborted',
    code: 'VIM_ABORTED',
    op,
    message: `${file.path}: the upload was given up`,
    cause: signal.reason,
  });
}

function uploadFailed(op: string, file: LeaseFile, why: string, status?: number, cause?: unknown): VimError {
  return new VimError({
    kind: status === undefined ? 'transport' : 'http',
    code: 'VIM_UPLOAD_FAILED',
    op,
    message: `${file.path}: ${why}`,
    retriable: true,
    ...(status === undefined ? {} : { status }),
    ...(cause === undefined ? {} : { cause }),
  });
}
