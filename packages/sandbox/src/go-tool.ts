import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { aborted, SandboxError } from './errors.ts';

/** The oldest Go that the sandbox is built with. */
export const MINIMUM_GO = '1.24.13';

const INSTALL = `Install Go ${MINIMUM_GO} or newer (https://go.dev/dl), or point KUBEBUILDER_ASSETS at ready-made etcd and kube-apiserver binaries.`;

/** A finished command. */
interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<Finished> {
  const child = spawn('go', args, {
    cwd,
    env: { ...process.env, GOWORK: 'off', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = (): void => {
    child.kill('SIGTERM');
  };
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-20_000);
  });
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  try {
    await once(child, 'close');
  } catch (cause) {
    throw new SandboxError('GoMissing', `The command "go" cannot be run. ${INSTALL}`, { cause });
  } finally {
    signal?.removeEventListener('abort', stop);
  }
  if (signal?.aborted) throw aborted(`go ${args[0] ?? ''}`, signal);
  return { code: child.exitCode, stdout, stderr };
}

/** Compares dotted versions by number; a suffix as in `1.26rc1` is ignored. Negative when `a` is older. */
export function compareGoVersions(a: string, b: string): number {
  const parts = (text: string): number[] => text.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const [left, right] = [parts(a), parts(b)];
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Fails in words when Go is absent or too old; returns its version, as `1.26.8`. */
export async function checkGo(cwd: string, signal?: AbortSignal): Promise<string> {
  // The local toolchain only: an old Go would otherwise start to download a newer one, or fail to, cryptically.
  const { code, stdout, stderr } = await run(['env', 'GOVERSION'], cwd, { GOTOOLCHAIN: 'local' }, signal);
  const version = stdout.trim().split(/\s/)[0]?.replace(/^go/, '') ?? '';
  // An old Go refuses the module's go directive before it tells its version.
  if (code !== 0 || version === '' || compareGoVersions(version, MINIMUM_GO) < 0) {
    const found = version === '' ? stderr.trim() || 'no version' : `Go ${version}`;
    throw new SandboxError(
      'GoTooOld',
      `The sandbox needs Go ${MINIMUM_GO} or newer; "go" answers: ${found}. ${INSTALL}`,
    );
  }
  return version;
}

/** Builds a main package into the file `output`: that of the module in `cwd`, or `program`, which it requires. */
export async function goBuild(
  cwd: string,
  output: string,
  { ldflags, program = '.' }: { readonly ldflags: string; readonly program?: string },
  signal?: AbortSignal,
): Promise<void> {
  const args = [
    'build',
    '-mod=readonly',
    '-buildvcs=false',
    '-trimpath',
    `-ldflags=-s -w ${ldflags}`,
    '-o',
    output,
    program,
  ];
  const { code, stderr } = await run(args, cwd, { CGO_ENABLED: '0' }, signal);
  if (code !== 0) {
    throw new SandboxError(
      'BuildFailed',
      `go build in ${cwd} ended with code ${code}:\n${stderr.trim().slice(-3000)}\nIf that names the network, the module proxy must be reachable once: try again; proxies are set with GOPROXY and HTTPS_PROXY.`,
      { retriable: true },
    );
  }
}

/** The folder of a downloaded module and the checksum that Go computed (`h1:…`). */
export interface GoModule {
  readonly directory: string;
  readonly sum: string;
}

/** Downloads a module, or finds it in Go's module cache without the network. */
export async function goModDownload(cwd: string, module: string, signal?: AbortSignal): Promise<GoModule> {
  const { code, stdout, stderr } = await run(['mod', 'download', '-json', module], cwd, {}, signal);
  const answer: unknown = stdout === '' ? undefined : JSON.parse(stdout);
  const field = (name: string): string | undefined => {
    const value = typeof answer === 'object' && answer !== null ? Reflect.get(answer, name) : undefined;
    return typeof value === 'string' ? value : undefined;
  };
  const [directory, sum] = [field('Dir'), field('Sum')];
  if (code !== 0 || directory === undefined || sum === undefined) {
    const why = field('Error') ?? stderr.trim();
    throw new SandboxError(
      'BuildFailed',
      `${module} cannot be downloaded: ${why}. The module proxy must be reachable once: try again; proxies are set with GOPROXY and HTTPS_PROXY.`,
      { retriable: true },
    );
  }
  return { directory, sum };
}
