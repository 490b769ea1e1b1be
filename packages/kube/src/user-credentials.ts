import { type Credential, type Credentials, fileCredentials, fixedCredentials } from './credentials.ts';
import { ApiError } from './errors.ts';
import { type ExecConfig, execCredentials } from './exec-credentials.ts';
import type { ClusterEntry, UserEntry } from './kubeconfig-file.ts';

/** What decides beside the user entry: a token flag wins over every other login. `action` begins the errors. */
export interface UserContext {
  readonly action: string;
  readonly token: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The credentials of a kubeconfig user. Refuses auth providers, which no client serves since Kubernetes 1.26. */
export function userCredentials(user: UserEntry, cluster: ClusterEntry, from: UserContext): Credentials {
  const refuse = (said: string): never => {
    throw new ApiError({ code: 'Credentials', action: from.action, said });
  };
  if (from.token) return certified(user, { ...certOf(user), authorization: `Bearer ${from.token}` });
  const provider = user['auth-provider'];
  if (provider !== undefined) {
    refuse(
      `auth provider ${provider.name ?? ''} is no longer supported by any client. Replace it by an exec plugin${plugin(provider.name)}`,
    );
  }
  const fixed: Credential = {
    ...certOf(user),
    ...(user.token ? { authorization: `Bearer ${user.token}` } : {}),
    ...(user.username ? { authorization: `Basic ${basic(user.username, user.password ?? '')}` } : {}),
  };
  if (user.exec) {
    if (user.token || user.tokenFile || user.username) refuse('it has both exec and a token or a name');
    return withFixed(execCredentials(execConfig(user.exec, cluster, refuse), { env: from.env }), fixed);
  }
  return certified(user, fixed, user.tokenFile);
}

/** Adds what lives in files: the client certificate, and the token. */
function certified(user: UserEntry, fixed: Credential, tokenFile?: string): Credentials {
  const files = {
    ...(tokenFile ? { token: tokenFile } : {}),
    ...(user['client-certificate'] && !user['client-certificate-data'] ? { cert: user['client-certificate'] } : {}),
    ...(user['client-key'] && !user['client-key-data'] ? { key: user['client-key'] } : {}),
  };
  return Object.keys(files).length > 0 ? fileCredentials(files, fixed) : fixedCredentials(fixed);
}

function certOf(user: UserEntry): Credential {
  const cert = user['client-certificate-data'];
  const key = user['client-key-data'];
  return { ...(cert ? { cert: decodeBase64(cert) } : {}), ...(key ? { key: decodeBase64(key) } : {}) };
}

function basic(name: string, password: string): string {
  return Buffer.from(`${name}:${password}`, 'utf8').toString('base64');
}

function plugin(provider: string | undefined): string {
  if (provider === 'gcp') return ' (gke-gcloud-auth-plugin)';
  if (provider === 'azure' || provider === 'oidc') return ' (kubelogin)';
  return '';
}

function withFixed(exec: Credentials, fixed: Credential): Credentials {
  if (fixed.cert === undefined) return exec;
  const seen = new WeakMap<Credential, Credential>();
  return {
    async get(): Promise<Credential> {
      const got = await exec.get();
      const both = { ...fixed, ...got };
      seen.set(both, got);
      return both;
    },
    reject: (rejected) => exec.reject(seen.get(rejected) ?? rejected),
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
    refuse(`exec has apiVersion ${apiVersion}; client.authentication.k8s.io/v1 and v1beta1 are served`);
  }
  const mode =
    interactiveMode ?? (apiVersion.endsWith('/v1beta1') ? 'IfAvailable' : refuse('exec of v1 needs interactiveMode'));
  if (mode !== 'Never' && mode !== 'IfAvailable' && mode !== 'Always')
    return refuse(`exec has interactiveMode ${mode}`);
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

function decodeBase64(data: string): string {
  return Buffer.from(data, 'base64').toString('utf8');
}
