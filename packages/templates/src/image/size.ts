import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Libraries, readOvf } from '@drydock/vsphere';
import type { Dispatcher } from 'undici';
import { sizeOfItem } from './library-fetch.ts';
import { findItem, isLibraryLocation } from './library-item.ts';
import { requestLocation, throughProxies } from './location.ts';
import { openOva } from './ova.ts';
import type { ImageSize } from './ova-source.ts';

/** A server that does not say in this time (ms) how much it has is not waited for: it is asked for a plan, and nothing follows from it. */
const PATIENCE_MS = 10_000;

/** How much there is behind a location, without reading it: a file's size, or what a server announces. Undefined where that cannot be told. */
export async function announcedBytes(
  location: string,
  options: { readonly dispatcher?: Dispatcher; readonly signal?: AbortSignal | undefined } = {},
): Promise<number | undefined> {
  const { signal } = options;
  try {
    if (location.startsWith('file:')) return (await stat(fileURLToPath(location))).size;
    return await askServer(location, options);
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

/** The size of an image that may be in a cache. */
export async function sizeOf(
  cached: string,
  location: string,
  options: {
    readonly dispatcher?: Dispatcher;
    readonly libraries?: Libraries;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<ImageSize> {
  const kept = await stat(cached).catch(() => undefined);
  // Told rather than left open: an item that is not there would be missed after everything else was planned.
  if (kept === undefined && isLibraryLocation(location)) {
    return { here: false, bytes: sizeOfItem(await findItem(options.libraries, location, options)) };
  }
  const here = kept !== undefined || location.startsWith('file:');
  const bytes = kept?.size ?? (await announcedBytes(location, options));
  const contents = here ? await contentsOf(kept === undefined ? location : cached) : undefined;
  return { here, ...(bytes === undefined ? {} : { bytes }), ...(contents === undefined ? {} : { contents }) };
}

/** Undefined where the file is no OVA that can be read: the import says why. */
async function contentsOf(file: string): Promise<ImageSize['contents']> {
  try {
    await using ova = await openOva(file.startsWith('file:') ? fileURLToPath(file) : file);
    const descriptor = readOvf(ova.descriptor);
    const sizes = new Map(descriptor.files.map(({ href }) => [href, ova.source(href)?.size]));
    return { descriptor, sizeOf: (href) => sizes.get(href) ?? 0 };
  } catch {
    return undefined;
  }
}

async function askServer(
  location: string,
  options: { readonly dispatcher?: Dispatcher; readonly signal?: AbortSignal | undefined },
): Promise<number | undefined> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const signal = options.signal === undefined ? patience : AbortSignal.any([options.signal, patience]);
  const headers = { 'accept-encoding': 'identity' };
  return throughProxies(options.dispatcher, async (dispatcher) => {
    const response = await requestLocation(location, { dispatcher, headers, signal, method: 'HEAD' });
    await response.body.dump();
    const bytes = Number(response.headers['content-length'] ?? Number.NaN);
    return response.statusCode === 200 && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined;
  });
}
