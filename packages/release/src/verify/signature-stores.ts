import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { addressText } from '@drydock/api/text';
import { ProxyDispatcher } from '@drydock/http';
import { request } from 'undici';
import { ReleaseError } from '../errors.ts';
import { MAX_SIGNATURE } from './key-rings.ts';

/** Where signatures of images lie. What it gives is not believed before a key ring says so. */
export interface SignatureStore extends AsyncDisposable {
  /** As people know it. */
  readonly name: string;
  /** Signatures about a digest (`sha256:…`), each at most as long as one may be, and few. Rejects where the store does not answer as one. */
  readonly signatures: (digest: string, signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

/** How stores are spoken to. */
export interface StoreOptions {
  /** Authorities in PEM that are trusted besides those of the system. */
  readonly ca?: string;
  /** Hosts that are spoken to without TLS. */
  readonly plain?: ReadonlySet<string>;
}

/** So many are looked at in one store, as upstream does. */
export const MAX_SIGNATURES = 10;
/** ms without an answer, and without a byte of one. */
const STALLED = 10_000;
/** ms for all signatures of one digest. */
const DEADLINE = 30_000;
const MAX_REDIRECTIONS = 3;
const DIGEST = /^sha256:([0-9a-f]{64})$/;

/** A store behind an address: `ADDRESS/sha256=HEX/signature-1` and so on, until one is not there. Throws `ReleaseError` for an address that is none. */
export function httpStore(address: string, options: StoreOptions = {}): SignatureStore {
  const { ca, plain = new Set<string>() } = options;
  const base = URL.parse(address.endsWith('/') ? address : `${address}/`);
  const name = addressText(address);
  const isPlain = (url: URL): boolean => url.protocol === 'http:' && plain.has(url.host);
  const bad = (why: string): ReleaseError =>
    new ReleaseError('BAD_STORE', `The signature store ${name} cannot be used: ${why}`);
  if (base === null) throw bad('it is no address');
  if (base.protocol !== 'https:' && !isPlain(base)) throw bad('it is not spoken to with TLS');
  if (base.username !== '' || base.password !== '' || base.search !== '' || base.hash !== '')
    throw bad('its address has more than a host and a path');
  const dispatcher = new ProxyDispatcher({ stalledMs: STALLED, ...(ca === undefined ? {} : { ca }) });
  const failed = (why: string, cause?: unknown): ReleaseError =>
    new ReleaseError('STORE', `The signature store ${name} ${why}`, cause);

  const get = async (path: string, signal: AbortSignal): Promise<Uint8Array | undefined> => {
    let url = new URL(path, base);
    for (let redirections = 0; ; redirections += 1) {
      const { statusCode, headers, body } = await request(url, { dispatcher, signal }).catch((error: unknown) => {
        signal.throwIfAborted();
        throw failed('cannot be reached', error);
      });
      if (statusCode === 200) return await bounded(body, signal);
      // Nobody reads it, so nobody is told that it was given up.
      body.on('error', () => undefined).destroy();
      if (statusCode === 404) return undefined;
      const location = headers['location'];
      if (statusCode < 300 || statusCode >= 400 || typeof location !== 'string') throw failed(`answers ${statusCode}`);
      const next = URL.parse(location, url);
      if (redirections === MAX_REDIRECTIONS || next === null || (next.protocol !== 'https:' && !isPlain(next)))
        throw failed('sends from one place to another, or away from TLS');
      url = next;
    }
  };
  const bounded = async (
    body: AsyncIterable<Buffer> & { destroy(): void },
    signal: AbortSignal,
  ): Promise<Uint8Array> => {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of body) {
        size += chunk.length;
        if (size > MAX_SIGNATURE) throw failed(`has a signature of more than ${MAX_SIGNATURE} bytes`);
        chunks.push(chunk);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ReleaseError ? error : failed('breaks off', error);
    }
    return Buffer.concat(chunks);
  };
  return {
    name,
    async *signatures(digest, signal) {
      const within = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE)]);
      for (let at = 1; at <= MAX_SIGNATURES; at += 1) {
        try {
          const found = await get(`sha256=${hexOf(digest)}/signature-${at}`, within);
          if (found === undefined) return;
          yield found;
        } catch (error) {
          signal.throwIfAborted();
          throw within.aborted ? failed(`takes longer than ${DEADLINE / 1000} s`, error) : error;
        }
      }
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}

/** The same in a folder. */
export function folderStore(folder: string): SignatureStore {
  return {
    name: folder,
    async *signatures(digest, signal) {
      for (let at = 1; at <= MAX_SIGNATURES; at += 1) {
        signal.throwIfAborted();
        const found = await fileAt(join(folder, `sha256=${hexOf(digest)}`, `signature-${at}`));
        if (found === undefined) return;
        yield found;
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function fileAt(path: string): Promise<Uint8Array | undefined> {
  try {
    await using handle = await open(path, 'r');
    const { size } = await handle.stat();
    if (size > MAX_SIGNATURE) throw new ReleaseError('STORE', `${path} has more than ${MAX_SIGNATURE} bytes`);
    return await handle.readFile();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error instanceof ReleaseError ? error : new ReleaseError('STORE', `${path} cannot be read: ${code}`, error);
  }
}

/** The hexadecimal digits of a digest; anything else would be a path. */
export function hexOf(digest: string): string {
  const [, hex] = DIGEST.exec(digest) ?? [];
  if (hex === undefined)
    throw new ReleaseError('BAD_REFERENCE', 'An image is verified by its digest, sha256: with 64 hexadecimal digits');
  return hex;
}
