import { Readable } from 'node:stream';
import { readJson } from '@drydock/api';
import { shownText } from '@drydock/api/text';
import { isObject, type Json } from '@drydock/crd';
import { ProxyDispatcher } from '@drydock/http';
import { type Dispatcher, request } from 'undici';
import { ReleaseError } from '../errors.ts';
import type { BlobSource, Descriptor, SourceCall } from './blobs.ts';
import { MANIFEST_TYPES, MAX_MANIFEST } from './image-manifest.ts';
import { type ImageReference, referenceText } from './reference.ts';
import { loginFor, type RegistryLogin, type RegistryLogins } from './registry-login.ts';

/** How registries are spoken to. */
export interface RegistryOptions {
  readonly logins?: RegistryLogins;
  /** Authorities in PEM that are trusted besides those of the system. */
  readonly ca?: string;
  /** What begins with `from` is read at `to`, the first that fits; where it is not there, at the place itself. */
  readonly mirrors?: readonly { readonly from: string; readonly to: string }[];
  /** Hosts that are spoken to without TLS. */
  readonly plain?: ReadonlySet<string>;
}

/** ms without an answer, and without a byte of one. */
const STALLED = 60_000;
/** Bytes of what a token server says. */
const MAX_TOKEN = 256 << 10;
/** A blob may lie somewhere else. */
const MAX_REDIRECTIONS = 5;
/** So often something is asked for that a registry is too busy for, or whose connection broke. */
const ATTEMPTS = 4;

interface Place {
  readonly registry: string;
  readonly repository: string;
}

/** An image in a registry (OCI distribution specification, with the token dance of docker). Passwords go to the registry and to the token server that it names over TLS, and nowhere else. */
export function registryImage(reference: ImageReference, options: RegistryOptions = {}): BlobSource {
  const { ca, logins = new Map<string, RegistryLogin>(), plain = new Set<string>() } = options;
  const dispatcher = new ProxyDispatcher({ stalledMs: STALLED, ...(ca === undefined ? {} : { ca }) });
  const tokens = new Map<string, string>();
  const places = placesOf(reference, options.mirrors ?? []);
  /** The place that had the manifest has the layers, too. */
  let found: Place | undefined;

  const send = async (
    url: URL,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = await request(url, { headers, dispatcher, signal });
        if (attempt === ATTEMPTS || (response.statusCode !== 429 && response.statusCode < 500)) return response;
        await response.body.dump();
      } catch (error) {
        signal.throwIfAborted();
        if (attempt === ATTEMPTS) throw unreachable(url.host, error);
      }
      await pause(attempt * 500, signal);
    }
  };

  const get = async (
    place: Place,
    path: string,
    accept: readonly string[],
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> => {
    const { registry, repository } = place;
    const scheme = plain.has(registry) ? 'http' : 'https';
    let url = new URL(`${scheme}://${registry}/v2/${repository}/${path}`);
    const home = url.host;
    let asked = false;
    for (let redirections = 0; ; ) {
      const token = url.host === home ? tokens.get(`${registry}/${repository}`) : undefined;
      const headers = { accept: accept.join(', '), ...(token === undefined ? {} : { authorization: token }) };
      const response = await send(url, headers, signal);
      const { statusCode } = response;
      if (statusCode === 401 && url.host === home && !asked) {
        asked = true;
        await response.body.dump();
        const challenge = response.headers['www-authenticate'];
        tokens.set(`${registry}/${repository}`, await authorize(place, String(challenge ?? ''), signal));
        continue;
      }
      const location = response.headers['location'];
      if (statusCode < 300 || statusCode >= 400 || typeof location !== 'string') return response;
      await response.body.dump();
      redirections += 1;
      const next = URL.parse(location, url);
      if (redirections > MAX_REDIRECTIONS || next === null || (url.protocol === 'https:' && next.protocol !== 'https:'))
        throw new ReleaseError('REGISTRY', `${home} sends from one place to another, or away from TLS`);
      url = next;
    }
  };

  /** What goes into the header: the password itself where the registry asks for it, else a token for this repository. */
  const authorize = async (
    { registry, repository }: Place,
    challenge: string,
    signal: AbortSignal,
  ): Promise<string> => {
    const login = loginFor(logins, registry, repository);
    const basic =
      login === undefined ? undefined : `Basic ${Buffer.from(`${login.user}:${login.password}`).toString('base64')}`;
    const [, scheme = '', rest = ''] = /^(\w+)\s+(.*)$/s.exec(challenge) ?? [];
    if (scheme.toLowerCase() === 'basic' && basic !== undefined) return basic;
    const fields = new Map(
      [...rest.slice(0, 4_000).matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
    );
    const realm = URL.parse(fields.get('realm') ?? '');
    if (scheme.toLowerCase() !== 'bearer' || realm === null) throw refused(registry, login);
    // A password goes to no server that the registry names over plain HTTP, unless it is spoken to so itself.
    if (realm.protocol !== 'https:' && !plain.has(realm.host)) throw refused(registry, login);
    realm.searchParams.set('service', fields.get('service') ?? '');
    realm.searchParams.set('scope', `repository:${repository}:pull`);
    const response = await send(realm, basic === undefined ? {} : { authorization: basic }, signal);
    const text = (await bounded(response.body, MAX_TOKEN, realm.host)).toString();
    if (response.statusCode !== 200) throw refused(registry, login);
    const token = tokenIn(text);
    if (token === undefined)
      throw new ReleaseError('REGISTRY', `${realm.host} gives no token for ${registry}/${repository}`);
    return `Bearer ${token}`;
  };

  const manifestAt = async (
    place: Place,
    which: string,
    signal: AbortSignal,
  ): Promise<{ bytes: Buffer; mediaType: string } | undefined> => {
    const response = await get(place, `manifests/${which}`, MANIFEST_TYPES, signal);
    if (response.statusCode === 200)
      return {
        bytes: await bounded(response.body, MAX_MANIFEST, place.registry),
        mediaType: String(response.headers['content-type'] ?? ''),
      };
    await response.body.dump();
    if (response.statusCode === 404) return undefined;
    throw statusError(place, response.statusCode, logins);
  };

  return {
    name: referenceText(reference),
    root: async ({ signal }) => {
      const which = reference.digest ?? reference.tag ?? 'latest';
      const failures: string[] = [];
      for (const place of places) {
        try {
          const manifest = await manifestAt(place, which, signal);
          if (manifest === undefined) {
            failures.push(`${place.registry}/${place.repository} does not have it`);
            continue;
          }
          found = place;
          return { ...manifest, ...(reference.digest === undefined ? {} : { digest: reference.digest }) };
        } catch (error) {
          if (!(error instanceof ReleaseError) || places.length === 1) throw error;
          failures.push(error.message);
        }
      }
      throw new ReleaseError('REGISTRY', `${referenceText(reference)} is not there: ${failures.join('; ')}`);
    },
    manifest: async ({ digest }, { signal }) => {
      const place = found ?? placeFor(reference);
      const manifest = await manifestAt(place, digest, signal);
      if (manifest === undefined)
        throw new ReleaseError('REGISTRY', `${place.registry}/${place.repository} has no ${digest}`);
      return manifest.bytes;
    },
    blob: async ({ digest }: Descriptor, { signal }: SourceCall) => {
      const place = found ?? placeFor(reference);
      const response = await get(place, `blobs/${digest}`, ['*/*'], signal);
      if (response.statusCode === 200) return Readable.from(response.body as AsyncIterable<Buffer>);
      await response.body.dump();
      throw statusError(place, response.statusCode, logins);
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}

function placeFor({ registry, repository }: ImageReference): Place {
  return { registry, repository };
}

/** Mirrors first. One that keeps the rest of the path has it behind its own. */
function placesOf(reference: ImageReference, mirrors: NonNullable<RegistryOptions['mirrors']>): readonly Place[] {
  const own = placeFor(reference);
  const path = `${own.registry}/${own.repository}`;
  const mirrored = mirrors.flatMap(({ from, to }): readonly Place[] => {
    if (path !== from && !path.startsWith(`${from}/`)) return [];
    const [registry = '', ...repository] = `${to}${path.slice(from.length)}`.split('/');
    return [{ registry, repository: repository.join('/') }];
  });
  return [...mirrored, own];
}

function tokenIn(text: string): string | undefined {
  try {
    const value = readJson(text) as Json;
    const { token, access_token: other } = isObject(value) ? value : {};
    const found = token ?? other;
    return typeof found === 'string' && /^[\x21-\x7e]+$/.test(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

async function bounded(body: AsyncIterable<Buffer>, most: number, host: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > most) throw new ReleaseError('TOO_LARGE', `${host} answers with more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function refused(registry: string, login: RegistryLogin | undefined): ReleaseError {
  const whose =
    login === undefined ? 'there is no login for it' : `the login of user ${shownText(login.user)} is not taken`;
  return new ReleaseError('REGISTRY_LOGIN', `${registry} asks who it is, and ${whose}`);
}

function statusError({ registry, repository }: Place, status: number, logins: RegistryLogins): ReleaseError {
  if (status === 401 || status === 403) return refused(registry, loginFor(logins, registry, repository));
  return new ReleaseError('REGISTRY', `${registry}/${repository}: the registry answers ${status}`);
}

function unreachable(host: string, error: unknown): ReleaseError {
  const { code = '', message = '' } = (error ?? {}) as { readonly code?: string; readonly message?: string };
  return new ReleaseError('REGISTRY', `${host} cannot be reached: ${message === '' ? code : message}`, error);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { setTimeout: sleep } = await import('node:timers/promises');
  await sleep(ms, undefined, { signal });
}
