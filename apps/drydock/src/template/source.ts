import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  isTemplateError,
  type ManifestCheck,
  manifestCheck,
  type OpenOva,
  type OvaSource,
  openOva,
  ovaCache,
  requestLocation,
  TemplateError,
  type TemplateImage,
  throughProxies,
} from '@drydock/templates';
import { readOvf } from '@drydock/vsphere';
import type { Dispatcher } from 'undici';
import { decoded } from './address.ts';
import { shell } from './next-command.ts';
import type { Output } from './output.ts';
import type { PlanFile } from './plan-file.ts';
import { TemplateProblem } from './problem.ts';

/** An OVA that is ready to be published. */
export interface Source {
  readonly image: TemplateImage;
  /** Where the store reads images from. */
  readonly ovas: OvaSource;
  /** Bytes of the file; undefined for an address that was not downloaded yet. */
  readonly size?: number;
}

/** What is known of the OVA beforehand. */
export interface SourceOptions {
  /** SHA-256 as hex. */
  readonly sha256?: string;
  readonly release?: string;
  readonly cacheDir: string;
  readonly out: Output;
  readonly signal: AbortSignal;
  /** Default: the environment's proxies. */
  readonly dispatcher?: Dispatcher;
}

/** What the image cache of the command may hold. */
const CACHE_BYTES: number = 8 * 2 ** 30;
const SUM_MS = 30_000;
const SILENT_MS = 1000;
const TELL_MS = 250;
/** A line with a digest and a file name. */
const SUM_BYTES = 64 * 1024;

/**
 * Takes an OVA by path, `file:` address or `http(s)` address. The digest of a file is computed; that of an address is given or stands in
 * `<address>.sha256`, as sha256sum writes it, which counts only if it came over TLS. The release is given, else the product version of the descriptor, else the first digits of the digest.
 */
export async function openSource(argument: string, options: SourceOptions): Promise<Source> {
  const expected = options.sha256 === undefined ? undefined : checkedDigest(options.sha256, '--sha256');
  const cache = ovaCache({
    ...{ dir: options.cacheDir, bytes: CACHE_BYTES },
    ...(options.dispatcher === undefined ? {} : { dispatcher: options.dispatcher }),
  });
  if (!/^https?:\/\//i.test(argument)) return openFile(argument, expected, cache, options);
  const sha256 = expected ?? (await publishedDigest(argument, options));
  const image = { location: argument, sha256, release: options.release ?? '' };
  return { image: image.release === '' ? await withRelease(cache, image, options) : image, ovas: cache };
}

/** Where the image of a plan may be. */
interface ImageSearch {
  /** The plan's own path. */
  readonly path: string;
  /** A person says where it is: a file or an address. */
  readonly image?: string | undefined;
  readonly cacheDir: string;
  readonly out: Output;
  readonly signal: AbortSignal;
  /** The command with its image left to be given. */
  readonly next: string;
}

/**
 * Finds the image that a plan uploads by its digest: where somebody says, beside the plan or here under its name, in the cache, or at its address. Whatever is found
 * is read only if it has that digest. Undefined for a plan that uploads nothing.
 */
export async function plannedImage(
  { source, plan }: PlanFile,
  { path, image, next, ...options }: ImageSearch,
): Promise<Source | undefined> {
  if (plan.kind !== 'publish' || !plan.steps.some(({ step }) => step === 'import')) return undefined;
  const { sha256, release } = plan.wish.image;
  const open = (place: string): Promise<Source> => openSource(place, { ...options, sha256, release });
  if (image !== undefined) return open(image);
  const isAddress = source !== undefined && /^https?:/i.test(source);
  // A name, and no way out of the folder.
  const name = isAddress || source === undefined || /[\\/]/.test(source) ? undefined : source;
  for (const file of name === undefined ? [] : [join(dirname(path), name), name])
    if (await isFile(file)) return open(file);
  const { cacheDir: dir } = options;
  const cached = join(dir, `${sha256}.ova`);
  if (await isFile(cached)) {
    return {
      image: { location: pathToFileURL(cached).href, sha256, release },
      ovas: ovaCache({ dir, bytes: CACHE_BYTES }),
    };
  }
  if (isAddress && !source.includes('***')) return open(source);
  throw new TemplateProblem({
    code: 'IMAGE_NEEDED',
    message: `the plan needs the image with sha256 ${sha256}${source === undefined ? '' : ` (${source})`}, which is neither beside it nor in the cache`,
    next,
  });
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function openFile(
  argument: string,
  expected: string | undefined,
  cache: OvaSource,
  options: SourceOptions,
): Promise<Source> {
  const path = argument.startsWith('file:') ? fileURLToPath(argument) : resolve(argument);
  const size = await sizeOf(path, argument);
  // Before a minute of hashing: whether it is an OVA at all.
  const opened = await openOva(path);
  const check = manifestCheck(opened);
  const version = await versionOf(opened);
  const before = await fingerprint(path);
  const sha256 = await digestOf(path, size, check, options);
  if (expected !== undefined && expected !== sha256) {
    throw new TemplateError({
      code: 'DIGEST_MISMATCH',
      message: `${argument} has sha256 ${sha256}, but ${expected} was expected`,
    });
  }
  // It was read as a whole: what would be seen after an upload is seen now.
  check.verify();
  const location = pathToFileURL(path).href;
  return {
    size,
    image: { location, sha256, release: options.release ?? version ?? sha256.slice(0, 12) },
    // It was read a moment ago; the cache would read it whole once more.
    ovas: {
      open: async (image, how) =>
        image.sha256 === sha256 && (await fingerprint(path)) === before ? openOva(path) : cache.open(image, how),
    },
  };
}

async function sizeOf(path: string, argument: string): Promise<number> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => cause);
  if (!(found instanceof Error) && found.isFile()) return found.size;
  const cause = found instanceof Error ? found : undefined;
  const why = cause?.code === 'ENOENT' ? 'there is no such file' : cause?.message;
  throw new TemplateProblem({
    code: 'OVA_UNREADABLE',
    message: `the OVA ${argument} ${why === undefined ? 'is not a file' : `cannot be read: ${why}`}`,
    next: shell`ls -l ${argument}`,
    cause,
  });
}

async function digestOf(
  path: string,
  total: number,
  check: ManifestCheck,
  { out, signal }: SourceOptions,
): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  const started = performance.now();
  let told = started;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, signal })) {
    hash.update(chunk as Buffer);
    check.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    const now = performance.now();
    // Only a file that takes its time is worth a word.
    if (now - started < SILENT_MS || now - told < TELL_MS) continue;
    told = now;
    out.progress({ step: 'Verifying', bytes, total, rate: Math.round((bytes * 1000) / (now - started)) });
  }
  if (bytes === total) return hash.digest('hex');
  throw new TemplateError({ code: 'OVA_INVALID', message: `${path} changed while it was read` });
}

async function fingerprint(path: string): Promise<string> {
  const { ino, size, mtimeMs, ctimeMs } = await stat(path);
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

async function withRelease(cache: OvaSource, image: TemplateImage, options: SourceOptions): Promise<TemplateImage> {
  const { out, signal } = options;
  const ova = await cache.open(image, { onProgress: (progress) => out.progress(progress), signal });
  return { ...image, release: (await versionOf(ova)) ?? image.sha256.slice(0, 12) };
}

/** Product version of the descriptor; closes the OVA. A descriptor that cannot be read is told when it is published. */
async function versionOf(ova: OpenOva): Promise<string | undefined> {
  await using open = ova;
  try {
    return readOvf(open.descriptor).product?.version || undefined;
  } catch {
    return undefined;
  }
}

async function publishedDigest(
  address: string,
  { signal, dispatcher }: Pick<SourceOptions, 'signal' | 'dispatcher'>,
): Promise<string> {
  const url = URL.parse(address);
  if (url === null)
    throw new TemplateProblem({
      code: 'ADDRESS_INVALID',
      message:
        'the address of the OVA cannot be read; in a user and password "/", "?", "#" and "@" must be percent-encoded',
    });
  const { pathname } = url;
  url.pathname += '.sha256';
  url.hash = '';
  const shown = `${url.protocol}//${url.host}${url.pathname}`;
  const missing = (why: string, cause?: unknown): TemplateProblem =>
    new TemplateProblem({
      code: 'DIGEST_UNKNOWN',
      message: `the digest of ${url.host}${pathname} is not known: ${shown} ${why}; give --sha256 HEX`,
      next: shell`curl -fsSL ${shown}`,
      cause,
    });
  return throughProxies(dispatcher, async (proxies) => {
    try {
      const response = await requestLocation(url, {
        dispatcher: proxies,
        trusted: true,
        signal: AbortSignal.any([signal, AbortSignal.timeout(SUM_MS)]),
      });
      if (response.statusCode !== 200) {
        await response.body.dump();
        throw missing(`answers ${response.statusCode}`);
      }
      let text = '';
      for await (const chunk of response.body.setEncoding('utf8')) {
        text += chunk as string;
        if (text.length > SUM_BYTES) throw missing('is too long');
      }
      const digest = digestIn(text, decoded(pathname.split('/').at(-1) ?? ''));
      if (digest === undefined) throw missing('has no SHA-256');
      return digest;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TemplateProblem) throw error;
      if (isTemplateError(error)) throw missing(`does not tell it: ${error.text}`, error);
      throw missing(`cannot be read (${error instanceof Error ? error.message : String(error)})`, error);
    }
  });
}

/** The digest in the text of a `.sha256` file: of the line that names the file, else of the only line. BSD's form (`SHA256 (f) = …`) is read as well. */
export function digestIn(text: string, file: string): string | undefined {
  const lines = text.split('\n').filter((line) => DIGEST.test(line));
  const named = lines.find((line) => line.replaceAll(/[()*]/g, ' ').split(/\s+/).includes(file));
  return DIGEST.exec(named ?? (lines.length === 1 ? lines.join('') : ''))?.[0].toLowerCase();
}

const DIGEST = /\b[0-9a-f]{64}\b/i;

function checkedDigest(text: string, what: string): string {
  const digest = text.toLowerCase().replace(/^sha256:/, '');
  if (/^[0-9a-f]{64}$/.test(digest)) return digest;
  throw new TemplateProblem({ code: 'DIGEST_INVALID', message: `${what} ${text} is no SHA-256 (64 hex digits)` });
}
