import { spawn } from 'node:child_process';
import { ApiError } from '../errors.ts';
import { type Credential, type Credentials, isHeaderText, type Now } from './credentials.ts';

/** The `exec` part of a kubeconfig user: a program that prints an ExecCredential. */
export interface ExecConfig {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string;
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always';
  /** `spec.cluster` for plugins with `provideClusterInfo`. */
  readonly cluster?: unknown;
}

/** A plugin that does not ask a person must answer within this time (ms). */
export const EXEC_DEADLINE = 60_000;

/** A credential is renewed this long (ms) before it expires, so that it does not expire on the way. */
const EARLY = 10_000;

/** How long (ms) the output is read after the plugin's end: what it left running may hold it open for ever. */
const AFTER_EXIT = 1_000;

const MAX_OUTPUT = 1 << 20;

/** Switches for tests. */
export interface ExecOptions {
  readonly now?: Now | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly interactive?: boolean;
  readonly deadline?: number;
}

/** Credentials from an exec plugin (client.authentication.k8s.io/v1, v1beta1), cached until they expire; one run at a time. */
export function execCredentials(config: ExecConfig, options: ExecOptions = {}): Credentials {
  const now = options.now ?? Date.now;
  let cached: { readonly credential: Credential; readonly until: number } | undefined;
  let running: Promise<Credential> | undefined;

  async function renew(): Promise<Credential> {
    cached = decode(await run(config, options), config);
    return cached.credential;
  }

  return {
    get(): Promise<Credential> {
      if (cached !== undefined && now() < cached.until - EARLY) return Promise.resolve(cached.credential);
      running ??= renew().finally(() => {
        running = undefined;
      });
      return running;
    },
    reject(rejected: Credential): boolean {
      if (cached?.credential === rejected) cached = undefined;
      return true;
    },
  };
}

function failed(config: ExecConfig, said: string, cause?: unknown): ApiError {
  const hint = config.installHint === undefined ? '' : ` ${config.installHint.trim()}`;
  return new ApiError({
    code: 'Credentials',
    action: `run credential plugin ${config.command}`,
    said: `${said}.${hint}`,
    cause,
  });
}

function run(config: ExecConfig, options: ExecOptions): Promise<string> {
  const terminal = options.interactive ?? process.stdin.isTTY;
  if (config.interactiveMode === 'Always' && !terminal) {
    throw failed(config, 'it needs a terminal (interactiveMode Always) and there is none');
  }
  const interactive = config.interactiveMode !== 'Never' && terminal;
  const spec = { interactive, ...(config.cluster === undefined ? {} : { cluster: config.cluster }) };
  const info = { kind: 'ExecCredential', apiVersion: config.apiVersion, spec };
  return new Promise((resolve, reject) => {
    const child = spawn(config.command, config.args, {
      env: { ...(options.env ?? process.env), ...config.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    });
    let why: string | undefined;
    const end = (said: string): void => {
      why ??= said;
      child.kill('SIGKILL');
      child.stdout?.destroy();
    };
    const { deadline = EXEC_DEADLINE } = options;
    // Logging in may take a person minutes; a program has no such excuse.
    const late = interactive ? undefined : setTimeout(() => end(`it gave no answer within ${deadline} ms`), deadline);
    let rest: NodeJS.Timeout | undefined;
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_OUTPUT) end(`it printed more than ${MAX_OUTPUT} bytes`);
      else chunks.push(chunk);
    });
    child.on('error', (cause) => reject(failed(config, 'it could not be started', cause)));
    child.on('exit', () => {
      rest = setTimeout(() => child.stdout?.destroy(), AFTER_EXIT);
    });
    child.on('close', (code, signal) => {
      clearTimeout(late);
      clearTimeout(rest);
      if (why === undefined && code === 0) resolve(Buffer.concat(chunks).toString('utf8'));
      else {
        why ??= signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
        reject(failed(config, why));
      }
    });
  });
}

interface ExecCredential {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function decode(output: string, config: ExecConfig): { readonly credential: Credential; readonly until: number } {
  let parsed: ExecCredential | null;
  try {
    parsed = JSON.parse(output) as ExecCredential | null;
  } catch {
    // The parser's message would quote the output, which holds the secret.
    throw failed(config, 'its output is not JSON');
  }
  if (parsed?.kind !== 'ExecCredential' || parsed.apiVersion !== config.apiVersion) {
    throw failed(config, `its output is not an ExecCredential of ${config.apiVersion}`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = parsed.status ?? {};
  if ((cert === undefined) !== (key === undefined))
    throw failed(config, 'it gave a certificate or a key without the other');
  if (token === undefined && cert === undefined) throw failed(config, 'it gave neither a token nor a certificate');
  if (token !== undefined && !isHeaderText(token))
    throw failed(config, 'its token has characters that no header can carry');
  const until = expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp);
  if (Number.isNaN(until)) throw failed(config, 'its expirationTimestamp is not a time');
  return {
    credential: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
    },
    until,
  };
}
