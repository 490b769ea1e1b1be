import { readJson } from '@drydock/api';
import { isObject, type Json } from '@drydock/crd';
import { ReleaseError } from '../errors.ts';

/** User and password for a registry, or a token in place of both. */
export interface RegistryLogin {
  readonly user: string;
  readonly password: string;
}

/** Logins by the registry, or by a registry and the beginning of a repository. */
export type RegistryLogins = ReadonlyMap<string, RegistryLogin>;

/** Bytes of such a file: a pull secret has some kB. */
const MAX_LOGINS = 1 << 20;

/**
 * Reads a `config.json` of docker, an `auth.json` of containers, or a pull secret: `{"auths": {"quay.io": {"auth": "…"}}}`. What it keeps in a helper of the
 * operating system is not asked for. Throws `ReleaseError` without a word of the text.
 */
export function readLogins(text: string, file: string): RegistryLogins {
  const bad = (): never => {
    throw new ReleaseError('BAD_LOGINS', `${file} is no file of registry logins`);
  };
  if (text.length > MAX_LOGINS) return bad();
  let value: Json;
  try {
    value = readJson(text) as Json;
  } catch {
    return bad();
  }
  const auths = isObject(value) ? (value['auths'] ?? {}) : undefined;
  if (auths === undefined || !isObject(auths)) return bad();
  const logins = new Map<string, RegistryLogin>();
  for (const [where, entry] of Object.entries(auths)) {
    const login = isObject(entry) ? loginIn(entry) : undefined;
    if (login !== undefined) logins.set(placeOf(where), login);
  }
  return logins;
}

/** The login for a repository: that of the longest path that leads to it. */
export function loginFor(logins: RegistryLogins, registry: string, repository: string): RegistryLogin | undefined {
  const parts = repository.split('/');
  for (let length = parts.length; length >= 0; length -= 1) {
    const login = logins.get([registry, ...parts.slice(0, length)].join('/'));
    if (login !== undefined) return login;
  }
  return undefined;
}

/** `https://index.docker.io/v1/` is how docker calls its own registry. */
function placeOf(where: string): string {
  const plain = where.replace(/^https?:\/\//, '').replace(/\/+$/, '');
  return plain === 'index.docker.io/v1' ? 'docker.io' : plain;
}

function loginIn(entry: Readonly<Record<string, Json>>): RegistryLogin | undefined {
  const { auth, username, password, identitytoken } = entry;
  if (typeof identitytoken === 'string' && identitytoken !== '') return { user: '<token>', password: identitytoken };
  if (typeof username === 'string' && typeof password === 'string') return { user: username, password };
  if (typeof auth !== 'string') return undefined;
  const pair = Buffer.from(auth, 'base64').toString();
  const colon = pair.indexOf(':');
  return colon < 1 ? undefined : { user: pair.slice(0, colon), password: pair.slice(colon + 1) };
}
