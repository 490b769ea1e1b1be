import { readFile } from 'node:fs/promises';
import type { Secret } from '@drydock/api';
import { wordWithoutSecrets } from '@drydock/api/text';
import { credentialsKey } from '@drydock/boot-images';
import { passwordVersion } from '@drydock/vm-watch';
import {
  type ConnectOptions,
  type Credentials,
  connectVCenter,
  type LoginBudget,
  type VCenter,
  type VCenterConnection,
  VimError,
} from '@drydock/vsphere';
import { UsageError } from './exit.ts';
import { countedCalls } from './vcenter-calls.ts';
import type { VCenterFlags } from './vcenter-flags.ts';

/** What is counted about vCenters. */
export interface VCenterMetrics {
  /** `code` is `OK` or the code of the error. */
  readonly vcenterCall: (method: string, code: string) => void;
  readonly vcenterSessions: (server: string, count: number) => void;
}

/** What {@link vcenters} is made of. */
export interface VCentersOptions {
  readonly connect: (server: string, credentials: ConnectOptions['credentials']) => VCenter;
  /** kube-system/vsphere-creds as it is now (`<server>.username`, `<server>.password`). */
  readonly secret: () => Secret | undefined;
  /** The credentials of servers that the Secret does not speak of; undefined for all others. */
  readonly credentials?: (server: string) => Promise<Credentials | undefined>;
  readonly metrics: VCenterMetrics;
}

/** The vCenters of a cluster by the names that Infrastructure gives them. Disposal logs out of all of them. */
export interface VCenters extends AsyncDisposable {
  /** The connection with the credentials of this moment, made at the first use. Fails where the Secret lacks them. */
  readonly of: (server: string) => Promise<VCenter>;
  /** Those in which there is a session by the credentials of this moment, as far as is known here; another password makes another connection. */
  readonly loggedIn: () => readonly { readonly server: string; readonly connection: VCenter }[];
  /** Work that uses a server: a connection that it was given stays open until it ends, also when the credentials change meanwhile. */
  readonly during: <T>(server: string, work: () => Promise<T>) => Promise<T>;
}

interface Connection {
  readonly vcenter: VCenter;
  credentials: Credentials;
  loggedIn: boolean;
}

interface Server {
  current: Connection | undefined;
  /** Those with former credentials, until nothing uses them. */
  retired: Connection[];
  users: number;
}

/**
 * One connection for each vCenter and pair of credentials. A Secret that was rotated takes effect with the next work: it gets a session of its own
 * at once, while an upload that is under way ends in the session in which it began.
 */
export function vcenters(options: VCentersOptions): VCenters {
  const { metrics } = options;
  const servers = new Map<string, Server>();
  const closing = new Set<Promise<void>>();

  function report(name: string, server: Server): void {
    const all = [...server.retired, ...(server.current === undefined ? [] : [server.current])];
    metrics.vcenterSessions(name, all.filter(({ loggedIn }) => loggedIn).length);
  }

  function close(name: string, server: Server): void {
    for (const { vcenter } of server.retired.splice(0)) {
      const closed = Promise.resolve(vcenter[Symbol.asyncDispose]()).finally(() => closing.delete(closed));
      closing.add(closed);
    }
    report(name, server);
  }

  function open(name: string, server: Server, credentials: Credentials): Connection {
    const vcenter = options.connect(name, async () => connection.credentials);
    const called = (method: string, error?: unknown): void => {
      const code = error instanceof VimError ? error.code : error === undefined ? 'OK' : 'Error';
      metrics.vcenterCall(method, code);
      if (error !== undefined || connection.loggedIn) return;
      connection.loggedIn = true;
      report(name, server);
    };
    const connection: Connection = { vcenter: countedCalls(vcenter, called), credentials, loggedIn: false };
    return connection;
  }

  function serverOf(name: string): Server {
    const known = servers.get(name);
    if (known !== undefined) return known;
    const made: Server = { current: undefined, retired: [], users: 0 };
    servers.set(name, made);
    return made;
  }

  return {
    of: async (name) => {
      const server = serverOf(name);
      const credentials = (await options.credentials?.(name)) ?? credentialsOf(options.secret(), name);
      const { current } = server;
      if (current !== undefined && isSame(current.credentials, credentials)) {
        current.credentials = credentials;
        return current.vcenter;
      }
      const made = open(name, server, credentials);
      server.current = made;
      if (current !== undefined) server.retired.push(current);
      if (server.users === 0) close(name, server);
      return made.vcenter;
    },
    loggedIn: () =>
      [...servers].flatMap(([server, { current }]) =>
        current?.loggedIn === true ? [{ server, connection: current.vcenter }] : [],
      ),
    during: async (name, work) => {
      const server = serverOf(name);
      server.users += 1;
      try {
        return await work();
      } finally {
        server.users -= 1;
        if (server.users === 0) close(name, server);
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const [name, server] of servers) {
        if (server.current !== undefined) server.retired.push(server.current);
        server.current = undefined;
        close(name, server);
      }
      await Promise.allSettled(closing);
    },
  };
}

/** How the flags say to connect to a server; all connections have one budget of logins. */
export async function connector(
  flags: VCenterFlags,
  log: NonNullable<ConnectOptions['log']>,
  logins: LoginBudget,
): Promise<(server: string, credentials: ConnectOptions['credentials']) => VCenterConnection> {
  const urls = new Map(
    (flags.vcenterUrl ?? []).map((pair) => {
      const at = pair.indexOf('=');
      const url = URL.parse(pair.slice(at + 1));
      if (at < 1 || !/^https?:$/.test(url?.protocol ?? ''))
        throw new UsageError(
          `--vcenter-url ${wordWithoutSecrets(pair)}: expected <server>=<url>, as vc1=https://10.0.0.1/sdk`,
        );
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    }),
  );
  const digits = flags.vcenterPin?.replaceAll(/[:\s-]/g, '') ?? '0'.repeat(64);
  if (!/^[0-9a-f]{64}$/i.test(digits))
    throw new UsageError('--vcenter-pin is no SHA-256 fingerprint, which has 64 hex digits');
  const ca = flags.vcenterCa === undefined ? undefined : await readAuthority(flags.vcenterCa);
  const tls = {
    ...(ca === undefined ? {} : { ca }),
    ...(flags.vcenterPin === undefined ? {} : { sha256Pin: flags.vcenterPin }),
    ...(flags.vcenterInsecure === true ? { insecure: true } : {}),
  };
  return (server, credentials) =>
    connectVCenter({ url: urls.get(server) ?? `https://${server}/sdk`, credentials, tls, log, logins });
}

async function readAuthority(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new UsageError(
      `--vcenter-ca ${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    );
  });
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new UsageError(`--vcenter-ca ${file} holds no PEM certificate`);
}

function credentialsOf(secret: Secret | undefined, server: string): Credentials {
  const read = (key: string): string => {
    const value = secret?.data?.[key];
    if (value === undefined) {
      const { namespace, name } = credentialsKey;
      throw new Error(`secret ${namespace}/${name} has no key ${key}: add it, the next attempt reads it again`);
    }
    return Buffer.from(value, 'base64').toString('utf8');
  };
  const { namespace, name } = credentialsKey;
  return {
    user: read(`${server}.username`),
    password: read(`${server}.password`),
    ...(secret === undefined ? {} : { version: passwordVersion(secret, `${namespace}/${name}`) }),
  };
}

function isSame(a: Credentials, b: Credentials): boolean {
  return a.user === b.user && a.password === b.password && a.version?.asked === b.version?.asked;
}
