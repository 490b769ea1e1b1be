import { styleText } from 'node:util';
import { loggedError, oneLine } from '@drydock/api/text';
import { type Command, InvalidArgumentError } from 'commander';
import { type DestinationStream, type Logger, pino } from 'pino';

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug'] as const;
const FORMATS = ['auto', 'text', 'json'] as const;
type Format = (typeof FORMATS)[number];

/** Flags of what the operator logs. */
export interface LogFlags {
  readonly logLevel: (typeof LEVELS)[number];
  readonly logFormat: Format;
}

/** Adds the flags. */
export function logFlags(command: Command): Command {
  return command
    .option('--log-level <level>', LEVELS.join('|'), oneOf(LEVELS, 'log level'), 'info' as const)
    .option(
      '--log-format <format>',
      `${FORMATS.join('|')}: lines for people, or an object a line; auto is text on a terminal`,
      oneOf(FORMATS, 'log format'),
      'auto' as const,
    );
}

/** The log of the operator, on stderr: an object a line, or what people read. Errors are named with their causes; those that nobody expects with their trace, too, and at level `debug` all. */
export function operatorLog({ logLevel, logFormat }: LogFlags, out: DestinationStream = onStderr()): Logger {
  const text = logFormat === 'text' || (logFormat === 'auto' && process.stderr.isTTY);
  return pino(
    {
      ...{ level: logLevel, base: { app: 'drydock' }, timestamp: pino.stdTimeFunctions.isoTime },
      // Not with all of an error's properties: what it was thrown for may be among them.
      serializers: { err: (error: unknown) => described(error, logLevel === 'debug') },
    },
    text ? { write: (line) => out.write(lineText(JSON.parse(line) as Entry)) } : out,
  );
}

function onStderr(): DestinationStream {
  return pino.destination({ fd: 2, sync: true });
}

function described(error: unknown, whole: boolean): unknown {
  const logged = loggedError(error);
  if (whole || !isExpected(error) || typeof logged !== 'object' || logged === null) return logged;
  return { ...logged, stack: undefined };
}

/** Errors of ours and of the system have a code: what they say is all that there is to know. Those of a mistake in the program have one of Node's, or none. */
function isExpected(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return true;
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'string') return !code.startsWith('ERR_');
  return error.cause instanceof Error && isExpected(error.cause);
}

interface Entry extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
}

/** `2026-01-01 01:00:00Z WARN  a watch failed and is tried again: … kind=MachineSet`, and below it the trace, if there is one. */
function lineText({ err, level, msg = '', time, ...about }: Entry): string {
  const { message, stack } = (typeof err === 'object' && err !== null ? err : { message: err }) as {
    readonly message?: unknown;
    readonly stack?: unknown;
  };
  const when = time.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
  const why =
    message === undefined ? '' : `: ${oneLine(typeof message === 'string' ? message : JSON.stringify(message))}`;
  const named = Object.entries(about)
    .filter(([key]) => key !== 'app')
    .map(([key, value]) => `${key}=${valueText(value)}`);
  const tail = named.length === 0 ? '' : ` ${painted('dim', named.join(' '))}`;
  const trace =
    typeof stack === 'string'
      ? stack
          .split('\n')
          .filter((line) => /^\s+at /.test(line))
          .map((line) => `${painted('dim', `    ${oneLine(line)}`)}\n`)
          .join('')
      : '';
  return `${painted('dim', when)} ${levelText(level)} ${oneLine(msg)}${why}${tail}\n${trace}`;
}

function levelText(level: number): string {
  const name = pino.levels.labels[level] ?? String(level);
  const colour = name === 'error' || name === 'fatal' ? 'red' : name === 'warn' ? 'yellow' : 'green';
  return painted(colour, name.toUpperCase().padEnd(5));
}

function painted(colour: 'dim' | 'green' | 'red' | 'yellow', text: string): string {
  return styleText(colour, text, { stream: process.stderr });
}

function valueText(value: unknown): string {
  const text = oneLine(typeof value === 'string' ? value : JSON.stringify(value));
  return /[\s"=]/.test(text) && typeof value === 'string' ? JSON.stringify(text) : text;
}

function oneOf<const T extends string>(known: readonly T[], what: string): (text: string) => T {
  return (text) => {
    const found = known.find((one) => one === text);
    if (found === undefined) throw new InvalidArgumentError(`unknown ${what} ${text}: use one of ${known.join(', ')}.`);
    return found;
  };
}
