import { open, realpath } from 'node:fs/promises';
import { isAbsolute, sep } from 'node:path';
import type { Secret } from '@drydock/api';
import { keyText } from '@drydock/kube';
import { credentialSecrets, ownCredentials } from '../observe/credential-secrets.ts';
import type { PlatformInput } from '../platform.ts';
import type { Unverified } from './availability.ts';

/** A Secret that may hold credentials for a cloud. */
export interface CredentialSource {
  /** `namespace/name`, for people. */
  readonly where: string;
  /** Whether it was made for Drydock: any form counts. Of machine-api's only what never expires does, because the token of another ServiceAccount is not ours to use. */
  readonly own: boolean;
  /** Another one after each change. */
  readonly version: string;
  /** The text behind a key; undefined where there is none. */
  readonly text: (key: string) => string | undefined;
}

/** The Secrets that are there for a platform, ours first. One after the first that counts is not asked for, because it need not be readable. */
export function* credentialSources(
  { secret }: Pick<PlatformInput, 'secret'>,
  platform: string,
): Generator<CredentialSource, void> {
  for (const key of credentialSecrets(platform)) {
    const found = secret(key.namespace, key.name);
    if (found !== undefined) yield sourceOf(found, keyText(key), key === ownCredentials);
  }
}

/** The first Secret with credentials that may be used, or what stands in their way. `cloud`: its name for people; `read`: what a Secret holds, or why that is of no use, as a sentence. */
export function firstCredentials<C extends object>(
  input: Pick<PlatformInput, 'secret'>,
  { platform, cloud }: { readonly platform: string; readonly cloud: string },
  read: (source: CredentialSource) => C | string,
): C | Unverified {
  let first: Unverified | undefined;
  for (const source of credentialSources(input, platform)) {
    const credentials = read(source);
    if (typeof credentials !== 'string') return credentials;
    first ??= { kind: 'unverified', missing: `usable credentials in Secret ${source.where}`, message: credentials };
  }
  const message = `there are no credentials of ${cloud} to look with`;
  const wanted = credentialSecrets(platform).map(keyText).join(' or ');
  return first ?? { kind: 'unverified', missing: `Secret ${wanted}`, message };
}

/** A Secret holds at most 1 MiB; no credential is a tenth of that. */
const LARGEST = 64 << 10;

function sourceOf({ metadata, data }: Secret, where: string, own: boolean): CredentialSource {
  return {
    where,
    own,
    version: `${metadata.uid ?? where}@${metadata.resourceVersion ?? ''}`,
    text: (key) => {
      const value = data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined;
      if (typeof value !== 'string' || value === '' || value.length > LARGEST * 2) return undefined;
      const text = Buffer.from(value, 'base64').toString('utf8').trim();
      return text === '' ? undefined : text;
    },
  };
}

/** Where the kubelet puts what it projects into a pod: a token that is elsewhere is no token of this pod. */
export const projectedRoots: readonly string[] = ['/var/run/secrets', '/run/secrets'];

/** The token that was projected into a file, which is read at each use because it is renewed there. Rejects, without the file's content, for any other file. */
export async function projectedToken(file: string, roots: readonly string[] = projectedRoots): Promise<string> {
  const below = (path: string): boolean => roots.some((root) => path.startsWith(`${root}${sep}`));
  if (!isAbsolute(file) || !below(file))
    throw new Error(`${file} is not below ${roots[0]}, where tokens are projected`);
  // Also behind the links of a projected volume.
  const real = await realpath(file).catch(() => undefined);
  if (real === undefined) throw new Error(`no token is projected at ${file}`);
  const allowed = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
  if (!allowed.some((root) => real.startsWith(`${root}${sep}`)))
    throw new Error(`${file} leads out of ${roots[0]}, where tokens are projected`);
  const handle = await open(real, 'r').catch(() => undefined);
  if (handle === undefined) throw new Error(`the token at ${file} cannot be read`);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(LARGEST), 0, LARGEST, 0);
    const token = buffer.toString('utf8', 0, bytesRead).trim();
    if (token === '' || bytesRead === LARGEST) throw new Error(`the file ${file} holds no token`);
    return token;
  } finally {
    await handle.close();
  }
}
