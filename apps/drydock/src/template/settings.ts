import { homedir } from 'node:os';
import { join } from 'node:path';
import { defaultStateDir } from '../state-file.ts';
import { readAddress } from './address.ts';
import { shell } from './next-command.ts';
import { TemplateProblem } from './problem.ts';

/** Where a setting came from, as a person calls it. */
export type Origin = 'flags' | 'variables of Drydock' | 'context' | 'environment' | 'config file';

/** How the server is trusted, as one layer says it; files by name. */
export interface TrustSettings {
  /** SHA-256 fingerprint of the server's certificate. */
  readonly thumbprint?: string;
  /** Files in govc's format: `host[:port] fingerprint`, one a line. */
  readonly knownHosts?: readonly string[];
  /** PEM files. */
  readonly ca?: readonly string[];
  readonly insecure?: boolean;
}

/** Names and paths of the place; each may be absolute, relative or a bare name, as govc takes them. */
export interface PlaceSettings {
  readonly datacenter?: string;
  readonly datastore?: string;
  readonly folder?: string;
  readonly resourcePool?: string;
  readonly cluster?: string;
  /** A host: its cluster is meant. */
  readonly host?: string;
  readonly network?: string;
}

/** What one source says. Everything is optional. */
export interface Layer extends PlaceSettings {
  readonly origin: Origin;
  /** With or without `user:password@`. */
  readonly url?: string;
  readonly username?: string;
  readonly password?: string;
  readonly passwordFile?: string;
  readonly trust?: TrustSettings;
  readonly tag?: string;
  readonly owner?: string;
  /** Text of a key file, or its name. */
  readonly markKey?: string;
  readonly markKeyFile?: string;
  readonly cacheDir?: string;
  readonly stateDir?: string;
}

/** What a verb works with. */
export interface Settings extends PlaceSettings {
  /** Without user and password. */
  readonly url: string;
  readonly username: string;
  readonly password: { readonly value: string } | { readonly file: string };
  readonly trust: TrustSettings;
  readonly tag?: string;
  /** Owner in the mark: templates of another owner are never touched. */
  readonly owner: string;
  /** Keys that prove marks; undefined: there are none. */
  readonly markKey?: { readonly value: string } | { readonly file: string };
  readonly cacheDir: string;
  /** Folder of the ownership ledger. */
  readonly stateDir: string;
  /** Who said what; `default` where nobody did. */
  readonly origins: Readonly<Record<'url' | 'username' | 'password' | 'trust' | 'markKey', Origin | 'default'>>;
}

/** The owner where none is given. */
export const DEFAULT_OWNER = 'drydock-template';

const PLACE = ['datacenter', 'datastore', 'folder', 'resourcePool', 'cluster', 'host', 'network'] as const;

/**
 * Merges layers, the strongest first: flags, `DRYDOCK_*` variables, context, environment, config file. User and password inside an address count for the layer that the address came
 * from, and only where that address is the one that is used, so that a password is never sent to another server than the one it was written for. Trust
 * is taken whole from the first layer that says anything about it.
 */
export function settle(layers: readonly Layer[]): Settings {
  const first = layers.find((layer) => filled(layer.url));
  if (first?.url === undefined) {
    throw new TemplateProblem({
      code: 'NO_VCENTER',
      message:
        'no vCenter is named: set GOVC_URL, give --url, or choose a context that has one (drydock config use-context NAME)',
      next: 'drydock template doctor --url https://VCENTER --username USER --password-file FILE',
    });
  }
  const address = readAddress(first.url, first.origin);
  const own = layers.map((layer) => (layer === first ? { ...layer, ...inAddress(layer, address) } : layer));
  const user = own.find((layer) => filled(layer.username));
  const secret = own.find((layer) => filled(layer.password) || filled(layer.passwordFile));
  if (user?.username === undefined || secret === undefined) {
    const missing = user?.username === undefined ? 'user name' : 'password';
    const how =
      missing === 'password' ? 'set GOVC_PASSWORD or give --password-file' : 'set GOVC_USERNAME or give --username';
    throw new TemplateProblem({
      code: 'NO_CREDENTIALS',
      message: `there is no ${missing} for ${address.url}: ${how}`,
      next: shell`drydock template doctor --url ${address.url} --username USER --password-file FILE`,
    });
  }
  const trusting = layers.find((layer) => layer.trust !== undefined && saysAnything(layer.trust));
  const picked = <K extends keyof Layer>(key: K): Layer[K] | undefined =>
    layers.find((layer) => filled(layer[key] as string | undefined))?.[key];
  const place = Object.fromEntries(PLACE.map((key) => [key, picked(key)]).filter(([, value]) => value !== undefined));
  const tag = picked('tag');
  const keyed = markKeySetting(layers);
  return {
    ...(place as PlaceSettings),
    url: address.url,
    username: user.username,
    password: filled(secret.passwordFile) ? { file: secret.passwordFile } : { value: secret.password ?? '' },
    trust: trusting?.trust ?? {},
    ...(tag === undefined ? {} : { tag }),
    ...(keyed === undefined ? {} : { markKey: keyed.markKey }),
    owner: picked('owner') ?? DEFAULT_OWNER,
    cacheDir: picked('cacheDir') ?? join(homedir(), '.cache', 'drydock', 'images'),
    stateDir: picked('stateDir') ?? defaultStateDir(process.env),
    origins: {
      url: first.origin,
      username: user.origin,
      password: secret.origin,
      trust: trusting?.origin ?? 'default',
      markKey: keyed?.origin ?? 'default',
    },
  };
}

/** The keys of the strongest layer that has any, and which one that is. */
export function markKeySetting(
  layers: readonly Layer[],
): { readonly markKey: NonNullable<Settings['markKey']>; readonly origin: Origin } | undefined {
  const keyed = layers.find((layer) => filled(layer.markKey) || filled(layer.markKeyFile));
  if (keyed === undefined) return undefined;
  const markKey = filled(keyed.markKeyFile) ? { file: keyed.markKeyFile } : { value: keyed.markKey ?? '' };
  return { markKey, origin: keyed.origin };
}

/** An explicit name of the same layer wins over the one in the address, as with govc. */
function inAddress(layer: Layer, { username, password }: ReturnType<typeof readAddress>): Partial<Layer> {
  return {
    ...(filled(layer.username) || username === undefined ? {} : { username }),
    ...(filled(layer.password) || filled(layer.passwordFile) || password === undefined ? {} : { password }),
  };
}

function filled(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

function saysAnything(trust: TrustSettings): boolean {
  return (
    filled(trust.thumbprint) ||
    (trust.ca?.length ?? 0) > 0 ||
    (trust.knownHosts?.length ?? 0) > 0 ||
    trust.insecure === true
  );
}
