import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { json, text } from 'node:stream/consumers';
import { WriteStream } from 'node:tty';
import { main } from '../main.ts';

/** A line of the command line. */
export interface Line {
  readonly args: readonly string[];
  /** Columns of the terminal that it is printed to; absent: it is no terminal. */
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a line left. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** By these Node decides how many colours a terminal has: a line has only those that it asks for, wherever the test runs. */
const OF_COLOURS = [
  'CI',
  'COLORTERM',
  'FORCE_COLOR',
  'NODE_DISABLE_COLORS',
  'NO_COLOR',
  'TEAMCITY_VERSION',
  'TF_BUILD',
  'TMUX',
];

/** Runs lines one behind the other, in one process: what all of them load takes longer than they do. */
export async function runVerbs(lines: readonly Line[], env: NodeJS.ProcessEnv = process.env): Promise<readonly Ran[]> {
  const child = spawn(process.execPath, [import.meta.filename], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(lines));
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number]>]);
  if (code !== 0) throw new Error(`the process that ran ${lines.length} lines ended with ${code}: ${said}`);
  return JSON.parse(said) as readonly Ran[];
}

async function runHere({ args, columns, env = {} }: Line): Promise<Ran> {
  const { stdout, stderr } = process;
  const said = { out: '', errors: '' };
  for (const [stream, into] of [
    [stdout, 'out'],
    [stderr, 'errors'],
  ] as const)
    Object.defineProperty(stream, 'write', {
      configurable: true,
      value: (chunk: string | Uint8Array): boolean => {
        said[into] += String(chunk);
        return true;
      },
    });
  const getColorDepth = (...of: Parameters<WriteStream['getColorDepth']>): number =>
    WriteStream.prototype.getColorDepth.apply(stdout, of);
  Object.assign(stdout, { isTTY: columns !== undefined, columns, getColorDepth });
  const outside = { ...process.env };
  for (const name of OF_COLOURS) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = 0;
  await main(['node', 'drydock', ...args]);
  process.env = outside;
  // What stands below, the class's own, is seen again.
  for (const stream of [stdout, stderr]) Reflect.deleteProperty(stream, 'write');
  return { code: Number(process.exitCode), ...said };
}

if (import.meta.main) {
  // Each line listens to the ends of both.
  for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0);
  const ran: Ran[] = [];
  for (const line of (await json(process.stdin)) as readonly Line[]) ran.push(await runHere(line));
  process.exitCode = 0;
  process.stdout.write(JSON.stringify(ran));
}
