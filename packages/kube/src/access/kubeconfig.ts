import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { shownText } from '@drydock/api/text';
import type { Credentials, Now } from './credentials.ts';
import { fileCredentials } from './file-credentials.ts';
import { type ClusterEntry, kubeconfigError, mergeKubeconfigs, type UserEntry } from './kubeconfig-file.ts';
import { userCredentials } from './user-credentials.ts';

/** Acting as somebody else. Groups, uid and extra need a user. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Everything needed to talk to one API server as one user. */
export interface ClusterConfig {
  /** Base URL; may have a path. */
  readonly server: string;
  /** Name of the chosen context, `in-cluster`, or '' when only flags were given. */
  readonly context: string;
  /** Default namespace of commands. */
  readonly namespace: string;
  /** PEM; replaces the system's authorities. Of a file, its content at the time of loading: `credentials` follow the file. */
  readonly ca?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
  readonly credentials: Credentials;
  readonly impersonate?: Impersonation;
}

/** What flags say (kubectl's names) and what the process is. All optional. */
export interface LoadOptions {
  /** `--kubeconfig`: this file alone, which must exist. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  readonly namespace?: string | undefined;
  readonly server?: string | undefined;
  readonly token?: string | undefined;
  readonly certificateAuthority?: string | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly as?: string | undefined;
  readonly asGroups?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly home?: string;
  /** Folder of the service account's files. */
  readonly serviceAccount?: string;
  /** Milliseconds; decides when files are read again and when a plugin's credential has expired. Default: Date.now. */
  readonly now?: Now;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Finds the cluster as kubectl does: `--kubeconfig`, else the files of KUBECONFIG, else `~/.kube/config`, else the service
 * account of the pod. Throws `ApiError` with code Kubeconfig or Credentials.
 */
export async function loadKubeconfig(options: LoadOptions = {}): Promise<ClusterConfig> {
  const env = options.env ?? process.env;
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  const fallback = [join(options.home ?? homedir(), '.kube', 'config')];
  const paths = options.kubeconfig ? [options.kubeconfig] : listed.length > 0 ? listed : fallback;
  const merged = await mergeKubeconfigs(paths, Boolean(options.kubeconfig));
  const action = `load kubeconfig ${paths.join(delimiter)}`;

  const empty = merged.clusters.size === 0 && merged.contexts.size === 0;
  if (empty && !options.kubeconfig && !options.context && !options.server && env['KUBERNETES_SERVICE_HOST']) {
    return inCluster(env, options);
  }

  const contextName = options.context ?? merged.currentContext;
  const context = merged.contexts.get(contextName);
  if (contextName !== '' && context === undefined)
    throw kubeconfigError(action, `context ${shownText(contextName)} does not exist`);
  const clusterName = options.cluster ?? context?.cluster ?? '';
  const cluster = merged.clusters.get(clusterName);
  if (clusterName !== '' && cluster === undefined)
    throw kubeconfigError(action, `cluster ${shownText(clusterName)} does not exist`);
  const userName = options.user ?? context?.user ?? '';
  const user = merged.users.get(userName);
  if (userName !== '' && user === undefined)
    throw kubeconfigError(action, `user ${shownText(userName)} does not exist`);

  const server = options.server ?? cluster?.server;
  if (!server) {
    if (!empty) throw kubeconfigError(action, 'there is no current context and no --context');
    const absent = paths.length === 1 ? 'the file does not exist' : 'none of the files exists';
    throw kubeconfigError(action, `no cluster is configured${merged.found === 0 ? `: ${absent}` : ''}`);
  }
  checkServer(server, action);
  return {
    server,
    context: contextName,
    namespace: options.namespace || context?.namespace || 'default',
    ...(await trust(cluster ?? {}, options, action)),
    credentials: userCredentials(user ?? {}, cluster ?? {}, {
      action: `use kubeconfig user ${shownText(userName)}`,
      token: options.token,
      caFile: authorityFile(cluster ?? {}, options),
      now: options.now,
      env,
    }),
    ...impersonation(user ?? {}, options, action),
  };
}

function checkServer(server: string, action: string): void {
  const protocol = URL.parse(server)?.protocol;
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw kubeconfigError(action, 'the address of its server is not an http or https URL');
  }
}

async function inCluster(
  env: Readonly<Record<string, string | undefined>>,
  options: LoadOptions,
): Promise<ClusterConfig> {
  const folder = options.serviceAccount ?? SERVICE_ACCOUNT;
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = env['KUBERNETES_SERVICE_PORT'] || '443';
  const read = (name: string): Promise<string> =>
    readFile(join(folder, name), 'utf8').catch((cause: unknown) => {
      throw kubeconfigError(`load in-cluster configuration`, `${join(folder, name)} could not be read`, cause);
    });
  const [ca, namespace] = await Promise.all([read('ca.crt'), read('namespace').catch(() => 'default')]);
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    context: 'in-cluster',
    namespace: options.namespace || namespace.trim(),
    ca,
    credentials: fileCredentials(
      { ca: join(folder, 'ca.crt'), ...(options.token ? {} : { token: join(folder, 'token') }) },
      options.token ? { authorization: `Bearer ${options.token}` } : {},
      options.now,
    ),
    ...impersonation({}, options, 'load in-cluster configuration'),
  };
}

const PROXIES: ReadonlySet<string> = new Set(['http:', 'https:', 'socks5:']);

type Trust = Pick<ClusterConfig, 'ca' | 'insecureSkipTlsVerify' | 'tlsServerName' | 'proxyUrl'>;

/** The file that the authorities come from; undefined when they are given as data, or nothing is verified. */
function authorityFile(cluster: ClusterEntry, options: LoadOptions): string | undefined {
  if (options.certificateAuthority) return options.certificateAuthority;
  const insecure = options.insecureSkipTlsVerify ?? cluster['insecure-skip-tls-verify'] ?? false;
  return insecure || cluster['certificate-authority-data'] ? undefined : cluster['certificate-authority'];
}

async function trust(cluster: ClusterEntry, options: LoadOptions, action: string): Promise<Trust> {
  const insecure = options.insecureSkipTlsVerify ?? cluster['insecure-skip-tls-verify'] ?? false;
  const file = options.certificateAuthority ?? cluster['certificate-authority'];
  const data = options.certificateAuthority ? undefined : cluster['certificate-authority-data'];
  if (insecure && (options.certificateAuthority || (options.insecureSkipTlsVerify === undefined && (file || data)))) {
    throw kubeconfigError(action, 'a certificate authority and insecure-skip-tls-verify exclude each other');
  }
  const ca = insecure ? undefined : await pem(data, file, action);
  const tlsServerName = cluster['tls-server-name'];
  const proxyUrl = cluster['proxy-url'];
  // Not quoted: it may hold a password.
  if (proxyUrl && !PROXIES.has(URL.parse(proxyUrl)?.protocol ?? '')) {
    throw kubeconfigError(action, 'proxy-url is not an http, https or socks5 URL');
  }
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(insecure ? { insecureSkipTlsVerify: true } : {}),
    ...(tlsServerName ? { tlsServerName } : {}),
    ...(proxyUrl ? { proxyUrl } : {}),
  };
}

async function pem(data: string | undefined, file: string | undefined, action: string): Promise<string | undefined> {
  if (data) return certificate(Buffer.from(data, 'base64').toString('utf8'), 'certificate-authority-data', action);
  if (!file) return undefined;
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (cause) {
    throw kubeconfigError(action, `certificate authority ${shownText(file)} could not be read`, cause);
  }
  return certificate(content, `certificate authority ${shownText(file)}`, action);
}

/** Node passes over a bundle without any certificate, and then trusts nobody: better to say so here. */
function certificate(text: string, what: string, action: string): string {
  if (text.includes('-----BEGIN CERTIFICATE-----') || text.includes('-----BEGIN TRUSTED CERTIFICATE-----')) return text;
  throw kubeconfigError(action, `${what} holds no PEM certificate`);
}

function impersonation(user: UserEntry, options: LoadOptions, action: string): Pick<ClusterConfig, 'impersonate'> {
  const name = options.as ?? user.as;
  const groups = options.asGroups ?? user['as-groups'];
  const uid = user['as-uid'];
  const extra = user['as-user-extra'];
  if (!name) {
    if (groups?.length || uid || extra)
      throw kubeconfigError(action, 'groups, uid or extra are impersonated without a user');
    return {};
  }
  return {
    impersonate: {
      user: name,
      ...(groups === undefined ? {} : { groups }),
      ...(uid ? { uid } : {}),
      ...(extra === undefined ? {} : { extra }),
    },
  };
}
