import { shownText } from '@drydock/api/text';
import { ApiError } from '../errors.ts';
import { type Credential, type Credentials, fixedCredentials, isHeaderText, type Now } from './credentials.ts';
import { type ExecConfig, execCredentials } from './exec-credentials.ts';
import { fileCredentials } from './file-credentials.ts';
import type { ClusterEntry, UserEntry } from './kubeconfig-file.ts';

/** What decides beside the user entry: a token flag wins over every other login. `action` begins the errors. */
export interface UserContext {
  readonly action: string;
  readonly token: string | undefined;
  /** File of the cluster's authorities, read again like the credentials. */
  readonly caFile: string | undefined;
  readonly now?: Now | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The credentials of a kubeconfig user. Refuses auth providers, which no client serves since Kubernetes 1.26. */
export function userCredentials(user: UserEntry, cluster: ClusterEntry, from: UserContext): Credentials {
  const refuse = (said: string): never => {
    throw new ApiError({ code: 'Credentials', action: from.action, said });
  };
  const withoutKey = Boolean(user['client-certificate-data'] || user['client-certificate']);
  const withoutCert = Boolean(user['client-key-data'] || user['client-key']);
  if (withoutKey !== withoutCert) refuse('it has a client certificate or a client key without the other');
  const bearer = (token: string): string =>
    isHeaderText(token) ? `Bearer ${token}` : refuse('the token has characters that no header can carry');
  if (from.token) return certified(user, { ...certOf(user, refuse), authorization: bearer(from.token) }, from);
  const provider = user['auth-provider'];
  if (provider !== undefined) {
    refuse(
      `auth provider ${provider.name ?? ''} is no longer supported by any client. Replace it by an exec plugin${plugin(provider.name)}`,
    );
  }
  const fixed: Credential = {
    ...certOf(user, refuse),
    ...(user.token ? { authorization: bearer(user.token) } : {}),
    ...(user.username ? { authorization: `Basic ${basic(user.username, user.password ?? '')}` } : {}),
  };
  if (user.exec) {
    if (user.token || user.tokenFile || user.username) refuse('it has both exec and a token or a name');
    return together(certified(user, fixed, from), execCredentials(execConfig(user.exec, cluster, refuse), from));
  }
  return certified(user, fixed, from, user.tokenFile);
}

/** Adds what lives in files: the authorities, the client certificate, and the token. */
function certified(user: UserEntry, fixed: Credential, from: UserContext, tokenFile?: string): Credentials {
  const files = {
    ...(from.caFile ? { ca: from.caFile } : {}),
    ...(tokenFile ? { token: tokenFile } : {}),
    ...(user['client-certificate'] && !user['client-certificate-data'] ? { cert: user['client-certificate'] } : {}),
    ...(user['client-key'] && !user['client-key-data'] ? { key: user['client-key'] } : {}),
  };
  return Object.keys(files).length > 0 ? fileCredentials(files, fixed, from.now) : fixedCredentials(fixed);
}

function certOf(user: UserEntry, refuse: (said: string) => never): Credential {
  const pem = (field: 'client-certificate-data' | 'client-key-data'): string | undefined => {
    const data = user[field];
    if (!data) return undefined;
    const text = Buffer.from(data, 'base64').toString('utf8');
    return text.includes('-----BEGIN ') ? text : refuse(`${field} is not base64 of PEM`);
  };
  const cert = pem('client-certificate-data');
  const key = pem('client-key-data');
  return { ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
}

function basic(name: string, password: string): string {
  return Buffer.from(`${name}:${password}`, 'utf8').toString('base64');
}

function plugin(provider: string | undefined): string {
  if (provider === 'gcp') return ' (gke-gcloud-auth-plugin)';
  if (provider === 'azure' || provider === 'oidc') return ' (kubelogin)';
  return '';
}

/** What the files give, and on top of it what the plugin gives. */
function together(files: Credentials, exec: Credentials): Credentials {
  const parts = new WeakMap<Credential, readonly [Credential, Credential]>();
  return {
    async get(): Promise<Credential> {
      const [below, above] = [await files.get(), await exec.get()];
      const both = { ...below, ...above };
      parts.set(both, [below, above]);
      return both;
    },
    reject(rejected): boolean {
      const [below, above] = parts.get(rejected) ?? [rejected, rejected];
      const read = files.reject(below);
      return exec.reject(above) || read;
    },
  };
}

function execConfig(
  exec: NonNullable<UserEntry['exec']>,
  cluster: ClusterEntry,
  refuse: (said: string) => never,
): ExecConfig {
  const { apiVersion = '', command = '', interactiveMode } = exec;
  if (command === '') refuse('exec has no command');
  if (apiVersion !== 'client.authentication.k8s.io/v1' && apiVersion !== 'client.authentication.k8s.io/v1beta1') {
    refuse(`exec has apiVersion ${shownText(apiVersion)}; client.authentication.k8s.io/v1 and v1beta1 are served`);
  }
  const mode =
    interactiveMode ?? (apiVersion.endsWith('/v1beta1') ? 'IfAvailable' : refuse('exec of v1 needs interactiveMode'));
  if (mode !== 'Never' && mode !== 'IfAvailable' && mode !== 'Always')
    return refuse(`exec has interactiveMode ${shownText(mode)}`);
  return {
    apiVersion,
    command,
    args: exec.args ?? [],
    env: Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value])),
    interactiveMode: mode,
    ...(exec.installHint ? { installHint: exec.installHint } : {}),
    ...(exec.provideClusterInfo ? { cluster: clusterInfo(cluster) } : {}),
  };
}

function clusterInfo(cluster: ClusterEntry): unknown {
  const { extensions, ...rest } = cluster;
  const config = extensions?.find((extension) => extension.name === 'client.authentication.k8s.io/exec')?.extension;
  return { ...rest, ...(config === undefined ? {} : { config }) };
}
