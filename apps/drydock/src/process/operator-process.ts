import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `drydock operator` as a process of its own. Disposal stops it and waits. */
export interface OperatorProcess extends AsyncDisposable {
  readonly pid: number;
  readonly logFile: string;
  /** Where it serves /metrics; undefined until it does. */
  url(): string | undefined;
  /** Throws with the end of its log when it has ended by itself. */
  alive(): void;
  /** SIGKILL: no clean-up of any kind. Resolves when it is gone. */
  crash(): Promise<void>;
}

/** The command line itself. */
export const program: string = join(import.meta.dirname, '..', '..', 'bin', 'drydock.js');

/** Flags for the Leases of plain Kubernetes: the next operator leads 15 s after a crash, also where OpenShift's API is served. */
export const SHORT_LEASES: readonly string[] = ['--lease-duration=15', '--renew-deadline=10', '--retry-period=2'];

/** Starts the operator; its log goes to a file. `env` is added to this process's environment. */
export function startOperator(
  args: readonly string[],
  logFile: string,
  env: Readonly<Record<string, string>> = {},
): OperatorProcess {
  const log = openSync(logFile, 'a');
  const child: ChildProcess = spawn(process.execPath, [program, 'operator', ...SHORT_LEASES, ...args], {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  const exited = once(child, 'exit');
  const gone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (!gone()) child.kill(signal);
    await exited;
  };
  return {
    pid: child.pid ?? -1,
    logFile,
    url: () => {
      const port = /"port":(\d+)/.exec(readFileSync(logFile, 'utf8'))?.[1];
      return port === undefined ? undefined : `http://127.0.0.1:${port}`;
    },
    alive: () => {
      if (!gone()) return;
      const tail = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
      throw new Error(
        `the operator ended by itself (${child.signalCode ?? child.exitCode}). The end of its log:\n${tail}`,
      );
    },
    crash: () => stop('SIGKILL'),
    [Symbol.asyncDispose]: () => stop('SIGTERM'),
  };
}
