import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../command.ts';

/** What one run of a part's tests did. */
export interface SliceResult {
  /** `late`: it was stopped because it did not end in time, which is no finding. */
  readonly outcome: 'green' | 'red' | 'late';
  readonly seconds: number;
  readonly tallies: readonly Tally[];
  readonly tests: Tests;
  /** What the tests printed. */
  readonly output: string;
}

/** Tests that came to their end, and those that cannot be played on this machine. */
export interface Tests {
  readonly passed: number;
  readonly skipped: number;
}

/** As `@drydock/model` writes it. */
export interface Tally {
  readonly what: string;
  readonly did: number;
  readonly of?: number;
}

/** One run: how large, from which seed, and when it should be over. */
export interface Slice {
  /** Of node. */
  readonly args: readonly string[];
  /** Times the usual rounds. */
  readonly scale: number;
  readonly firstSeed: number;
  readonly seconds: number;
  /** How long it may be late. */
  readonly graceSeconds: number;
  readonly id: string;
}

/** Runs a slice in a process group of its own, which goes as a whole when the time is over or the signal ends. */
export async function runSlice(slice: Slice, signal: AbortSignal): Promise<SliceResult> {
  const file = join(tmpdir(), `drydock-soak-${process.pid}-${slice.id}.jsonl`);
  const started = performance.now();
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, slice.args, {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...env,
      DRYDOCK_SOAK: '1',
      DRYDOCK_SOAK_SCALE: String(slice.scale),
      DRYDOCK_SOAK_UNTIL: String(Date.now() + slice.seconds * 1000),
      DRYDOCK_SOAK_TALLY: file,
      DRYDOCK_SEED_FROM: String(slice.firstSeed),
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-200_000);
    });
  let late = false;
  const stop = (how: NodeJS.Signals): void => {
    late = true;
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, how);
  };
  // First asked, so that servers and mounts are taken down.
  const grace = slice.graceSeconds * 1000;
  const clocks = [
    setTimeout(stop, slice.seconds * 1000 + grace, 'SIGTERM'),
    setTimeout(stop, slice.seconds * 1000 + grace + 20_000, 'SIGKILL'),
  ];
  const abort = (): void => stop('SIGTERM');
  signal.addEventListener('abort', abort, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    const seconds = (performance.now() - started) / 1000;
    const outcome = code === 0 ? 'green' : late ? 'late' : 'red';
    return { outcome, seconds, tallies: read(file), tests: testsIn(output), output };
  } finally {
    for (const clock of clocks) clearTimeout(clock);
    signal.removeEventListener('abort', abort);
    rmSync(file, { force: true });
  }
}

/** By the lines of node:test's `spec` reporter, which a slice that is stopped has printed, too. */
export function testsIn(output: string): Tests {
  const lines = output.split('\n');
  const said = (sign: RegExp): number => lines.filter((line) => sign.test(line)).length;
  return { passed: said(/^\s*✔ /), skipped: said(/^\s*﹣ /) };
}

function read(file: string): readonly Tally[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Tally);
  } catch {
    return [];
  }
}
