import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A process that does one job at a time: one JSON line in, one JSON line out. */
export interface Worker<Job, Result> extends AsyncDisposable {
  /** Fails where the worker answers `{"error"}`, ends, or the signal ends the wait; the worker is of no use then. */
  run(job: Job, signal: AbortSignal): Promise<Result>;
}

/** Starts a worker; its stderr is passed through. Disposal closes its stdin and waits for its end, or kills it after five seconds. */
export function startWorker<Job, Result>(
  command: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Worker<Job, Result> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  const ended = once(child, 'close').then(
    () => undefined,
    (error: unknown) => error,
  );
  child.stdin.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run(job, signal) {
      signal.throwIfAborted();
      const stop = (): void => {
        child.kill('SIGKILL');
      };
      signal.addEventListener('abort', stop, { once: true });
      try {
        child.stdin.write(`${JSON.stringify(job)}\n`);
        const { done, value } = await lines.next();
        signal.throwIfAborted();
        if (done === true) throw new Error(`bench: ${command} ended without an answer`, { cause: await ended });
        const answer = JSON.parse(value) as Result | { readonly error: string };
        if (typeof answer === 'object' && answer !== null && 'error' in answer)
          throw new Error(`bench: ${command}: ${answer.error}`);
        return answer as Result;
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      const late = setTimeout(() => child.kill('SIGKILL'), 5000);
      await ended;
      clearTimeout(late);
    },
  };
}

/**
 * Starts a worker of ours from its TypeScript source. The code that strips the types takes 35 MB that a built package never needs: a first
 * start leaves its result in Node's compile cache, from which the second runs.
 */
export async function startOurWorker<Job, Result>(
  source: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Worker<Job, Result>> {
  const start = (): Worker<Job, Result> =>
    startWorker(process.execPath, [source, ...args], {
      ...env,
      NODE_COMPILE_CACHE: join(import.meta.dirname, '.cache', 'compiled'),
    });
  await start()[Symbol.asyncDispose]();
  return start();
}
