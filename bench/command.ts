import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** What one run of the command took and said. */
export interface CommandRun {
  /** From its start to its end. */
  readonly seconds: number;
  /** High-water mark of the process, in 10^6 bytes, as it was a moment before its end. */
  readonly rssMB: number;
  /** User and system time until then. */
  readonly cpuSeconds: number;
  readonly stdout: string;
}

/** How often (ms) the high-water mark is read. */
const LOOK = 20;

/** Runs `drydock` as a person does. Rejects where it does not end with `code`. */
export async function runCommand(args: readonly string[], code: number, signal: AbortSignal): Promise<CommandRun> {
  const command = new URL('../apps/drydock/bin/drydock.js', import.meta.url).pathname;
  const since = performance.now();
  const child = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'pipe', 'inherit'], signal });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const said = text(child.stdout);
  let rssMB = 0;
  let cpuSeconds = 0;
  const stop = new AbortController();
  const looking = (async () => {
    while (!stop.signal.aborted) {
      rssMB = highWater(child.pid ?? 0) ?? rssMB;
      cpuSeconds = cpuTime(child.pid ?? 0) ?? cpuSeconds;
      await pause(LOOK, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  try {
    const [exit] = await ended;
    const seconds = (performance.now() - since) / 1000;
    if (exit !== code) throw new Error(`bench: drydock ${args.join(' ')} ended with ${exit} instead of ${code}`);
    return { seconds, rssMB, cpuSeconds, stdout: await said };
  } finally {
    stop.abort();
    await looking;
  }
}

function highWater(pid: number): number | undefined {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(processFile(pid, 'status'))?.[1];
  return kibibytes === undefined ? undefined : (Number(kibibytes) * 1024) / 1e6;
}

/** Fields 14 and 15 of `/proc/PID/stat`, in hundredths of a second; the name of the process, which may hold anything, is field 2. */
function cpuTime(pid: number): number | undefined {
  const fields = processFile(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  const [user, system] = [fields[11], fields[12]];
  return user === undefined || system === undefined ? undefined : (Number(user) + Number(system)) / 100;
}

/** '' where the process is gone. */
function processFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
