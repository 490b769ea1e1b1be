import { readFile } from 'node:fs/promises';
import { ApiError } from '../errors.ts';
import type { Credential, Credentials, Now } from './credentials.ts';
import { isPair } from './identity.ts';

/** A token file is read again after this time, as client-go does: the kubelet rotates service account tokens. */
export const TOKEN_FILE_TTL = 60_000;

/** Files behind a user entry, each optional, read again each minute. */
export interface CredentialFiles {
  readonly ca?: string;
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

/**
 * Credentials read from files, on top of fixed ones. Read again each minute; a file that has become unreadable keeps
 * its last good content, because a rotation may be under way.
 */
export function fileCredentials(files: CredentialFiles, fixed: Credential = {}, now: Now = Date.now): Credentials {
  let last: { readonly credential: Credential; readonly readAt: number } | undefined;
  let stale = false;

  async function read(): Promise<Credential> {
    const [ca, token, cert, key] = await Promise.all([files.ca, files.token, files.cert, files.key].map(text));
    return {
      ...fixed,
      ...(ca === undefined ? {} : { ca }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    };
  }

  return {
    async get(): Promise<Credential> {
      if (last !== undefined && !stale && now() - last.readAt < TOKEN_FILE_TTL) return last.credential;
      try {
        const credential = await read();
        // Half a rotation: the key of one and the certificate of the other. The last good pair serves until both are there.
        const torn = last !== undefined && changed(last.credential, credential) && !fits(credential);
        last = { credential: torn && last !== undefined ? last.credential : credential, readAt: now() };
        stale = false;
      } catch (error) {
        if (last === undefined) throw error;
      }
      return last.credential;
    },
    reject(rejected: Credential): boolean {
      // Once per content: if the file still holds what was refused, reading it again helps nobody.
      if (last === undefined || last.credential !== rejected) return true;
      const again = !stale && now() - last.readAt > 1000;
      stale = true;
      return again;
    },
  };
}

function changed(a: Credential, b: Credential): boolean {
  return a.cert !== b.cert || a.key !== b.key;
}

function fits({ cert, key }: Credential): boolean {
  return cert === undefined || key === undefined || isPair(cert, key);
}

async function text(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new ApiError({
      code: 'Credentials',
      action: `read ${path}`,
      said: 'the file of the kubeconfig user could not be read',
      cause,
    });
  }
}
