import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { aborted, SandboxError } from './errors.ts';
import { recordProcess, type WorkDirectory } from './workdir.ts';

/** A server of the sandbox that can be killed and started again alone, on the same data and the same address. */
export interface Server {
  readonly name: string;
  /** Undefined while the server is down. */
  readonly pid: number | undefined;
  /** Sends the signal (default SIGKILL) and resolves when the process has ended. A server that is down stays down. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts the server and resolves when it answers; does nothing when it runs. */
  start(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** `kill`, then `start`. */
  restart(options?: { readonly with?: 'SIGKILL' | 'SIGTERM'; readonly signal?: AbortSignal }): Promise<void>;
}

/** How to run one server. */
export interface ServerSpec {
  readonly name: string;
  readonly directory: WorkDirectory;
  /** What is run, asked anew at each start; `env` besides this process's own. */
  readonly command: () => {
    readonly binary: string;
    readonly args: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };
  /** Asked again and again after the start until it gives true; a rejection means "not yet". `line` is stdout's first line, once printed. */
  readonly ready: (line: string | undefined, signal: AbortSignal) => Promise<boolean>;
  /** How long the server may take to answer, in milliseconds; 120,000 by default. */
  readonly timeoutMs?: number;
  /** How often readiness is asked for, in milliseconds; 50 by default. */
  readonly pollMs?: number;
}

/** What the sandbox itself may do to a server, beyond its users. */
export interface OwnedServer extends Server {
  /** SIGKILL without waiting: for the exit of the process. */
  killNow(): void;
}

const POLL_MS = 50;
/** Between SIGTERM and SIGKILL. */
const PATIENCE_MS = 30_000;

// Only strings of the log's end: enough to see why a server gave up, short enough for an error message.
function tail(file: string): string {
  const text = readFileSync(file, 'utf8').trimEnd();
  return text === '' ? 'it printed nothing' : `its last lines:\n${text.split('\n').slice(-6).join('\n').slice(-2000)}`;
}

const ended = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

/** Defines a server; nothing runs before `start`. */
export function defineServer(spec: ServerSpec): OwnedServer {
  const { name, directory } = spec;
  const log = join(directory.path, `${name}.log`);
  let child: ChildProcess | undefined;

  const launch = (): { child: ChildProcess; line: () => string | undefined } => {
    const output = openSync(log, 'a', 0o600);
    const { binary, args, env = {} } = spec.command();
    let stdout = '';
    try {
      // Standard input stays open and silent: its end tells the server that this process died.
      const started = spawn(binary, args, {
        stdio: ['pipe', 'pipe', output],
        cwd: directory.path,
        // It lives for minutes: memory, up to a bound, is cheaper than the collector, which takes a third of a start.
        env: { GOGC: '400', GOMEMLIMIT: '768MiB', ...process.env, ...env, TMPDIR: directory.path },
      });
      started.on('error', () => undefined);
      started.stdin?.on('error', () => undefined);
      started.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        if (stdout.length < 65_536) stdout += chunk;
      });
      return {
        child: started,
        line: () => (stdout.includes('\n') ? stdout.slice(0, stdout.indexOf('\n')) : undefined),
      };
    } finally {
      closeSync(output);
    }
  };

  const kill = async (signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> => {
    const victim = child;
    child = undefined;
    if (victim === undefined || victim.pid === undefined || ended(victim)) return;
    const exit = once(victim, 'exit');
    victim.kill(signal);
    // A server that does not end when it is told to must not hold up for ever whoever waits for it.
    const impatience = setTimeout(() => victim.kill('SIGKILL'), PATIENCE_MS);
    await exit;
    clearTimeout(impatience);
  };

  const waitUntilReady = async (
    launched: ReturnType<typeof launch>,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<void> => {
    for (;;) {
      if (signal?.aborted) throw aborted(`the start of ${name}`, signal);
      if (launched.child.pid === undefined || ended(launched.child)) {
        const how = launched.child.signalCode ?? `code ${launched.child.exitCode ?? 'none'}`;
        throw new SandboxError(
          'ServerExited',
          `${name} (${spec.command().binary}) ended with ${how} before it answered; ${tail(log)}\nStart it again, or run the binary by hand to see why.`,
          { retriable: true },
        );
      }
      // One slow answer must not eat the whole deadline: the connection may have met the server in its first breath.
      const one = AbortSignal.timeout(5000);
      const ready = await spec.ready(launched.line(), one).catch(() => false);
      if (ready) return;
      if (performance.now() > deadline) {
        throw new SandboxError(
          'NotReady',
          `${name} did not answer in time; ${tail(log)}\nThe machine may be overloaded: try again.`,
          { retriable: true },
        );
      }
      await delay(spec.pollMs ?? POLL_MS);
    }
  };

  const start = async (options: { readonly signal?: AbortSignal } = {}): Promise<void> => {
    if (child !== undefined && !ended(child)) return;
    const deadline = performance.now() + (spec.timeoutMs ?? 120_000);
    const launched = launch();
    child = launched.child;
    try {
      if (child.pid !== undefined) recordProcess(directory.path, name, child.pid);
      await waitUntilReady(launched, deadline, options.signal);
    } catch (error) {
      await kill();
      throw error;
    }
  };

  return {
    name,
    get pid() {
      return child === undefined || ended(child) ? undefined : child.pid;
    },
    kill,
    start,
    restart: async (options = {}) => {
      await kill(options.with);
      await start(options);
    },
    killNow: () => {
      child?.kill('SIGKILL');
    },
  };
}
