import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { recordProcess } from '@drydock/sandbox';
import { SHORT_LEASES } from '../../../apps/drydock/src/process/operator-process.ts';

/** A program as a process of its own. Disposal ends it with SIGTERM and waits. */
export interface Process extends AsyncDisposable {
  readonly pid: number;
  /** Rejects with the end of its log when it ends by itself; never resolves. */
  readonly died: Promise<never>;
  /** SIGKILL: no clean-up of any kind. Resolves when it is gone. */
  crash(): Promise<void>;
  /** Resolves when it has ended, by itself or not, with its exit code or the signal. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** Where a process leaves things. */
export interface ProcessFiles {
  /** Folder of a sandbox: should this process be killed, the next start ends what is recorded there. */
  readonly sandbox: string;
  /** What it prints goes to the end of this file. */
  readonly log: string;
  /** Besides the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a module; the operator has short Leases. */
export function startProcess(module: string, args: readonly string[], files: ProcessFiles): Process {
  const log = openSync(files.log, 'a');
  const env = { ...process.env, ...files.env };
  const child = spawn(process.execPath, [module, ...args, ...(args[0] === 'operator' ? SHORT_LEASES : [])], {
    stdio: ['ignore', log, log],
    env,
  });
  closeSync(log);
  if (child.pid !== undefined) recordProcess(files.sandbox, 'process-under-test', child.pid);
  const exited = once(child, 'exit').then(() => child.signalCode ?? child.exitCode ?? 0);
  const { promise: died, reject } = Promise.withResolvers<never>();
  died.catch(() => undefined);
  let stopped = false;
  void exited.then(() => {
    if (stopped) return;
    const tail = readFileSync(files.log, 'utf8').trimEnd().split('\n').slice(-10).join('\n');
    reject(new Error(`the process ended by itself (${child.signalCode ?? child.exitCode}): ${tail}`));
  });
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    stopped = true;
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  return {
    pid: child.pid ?? 0,
    died,
    crash: () => stop('SIGKILL'),
    ended: exited,
    [Symbol.asyncDispose]: () => stop('SIGTERM'),
  };
}
