import { durationMs } from '@drydock/api/duration';
import type { DurableOptions, ExchangePolicy } from '@drydock/durable';
import { type Command, InvalidArgumentError, Option } from 'commander';

/** Milliseconds of a duration as Go writes it, such as `120s`, `1m30s` or `.5s`. */
export function duration(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new InvalidArgumentError('expected a duration such as 120s or 1m30s.');
  return ms;
}

/** Collects a list whose flag may be repeated and may hold commas. */
export function list(text: string, before: readonly string[] = []): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  return [...before, ...names.filter((name) => name !== '')];
}

/** The same for whole numbers. */
export function numbers(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, ...list(text).map(integer)];
}

/** What {@link addDisk} adds. */
export interface DiskFlags {
  readonly exchange?: ExchangePolicy;
  readonly stallDuration: number;
}

const STALL_MS = 30_000;

/** Adds what says how the disk is dealt with: with `exchange` where directories are replaced. */
export function addDisk(command: Command, replaces: 'directories' | 'files'): Command {
  if (replaces === 'directories')
    command.addOption(
      new Option(
        '--exchange <policy>',
        'where the file system cannot exchange directories: "require" fails, "auto" renames twice',
      )
        .choices(['require', 'auto'])
        .default('require'),
    );
  return command.option('--stall-duration <duration>', 'how long the disk may take for one call', positive, STALL_MS);
}

/** The options of the disk's operations, by the flags. */
export function diskOf({
  exchange,
  stallDuration,
}: DiskFlags): DurableOptions & { readonly exchange?: ExchangePolicy } {
  // Heard of at a third of the time, as by default.
  const stall = { failMs: stallDuration, warnMs: stallDuration / 3 };
  return { stall, ...(exchange !== undefined && { exchange }) };
}

/** {@link duration}, of some time and not more than a timer can count. */
export function positive(text: string): number {
  const ms = duration(text);
  if (!(ms > 0 && ms < 2 ** 31)) throw new InvalidArgumentError('expected a duration between 1ms and 500h.');
  return ms;
}

/** Adds the flags of klog that operators put on the command lines of library-go's commands; what is logged does not depend on them. */
export function addLogFlags(command: Command): void {
  const told = (flags: string): Command => command.addOption(new Option(flags, 'as klog has it').hideHelp());
  told('-v, --v <level>');
  for (const flag of [
    'logtostderr',
    'alsologtostderr',
    'add-dir-header',
    'one-output',
    'skip-headers',
    'skip-log-headers',
  ])
    for (const name of new Set([flag, flag.replaceAll('-', '_')])) told(`--${name} [bool]`);
  for (const flag of ['vmodule', 'stderrthreshold', 'log-dir', 'log-file', 'log-file-max-size', 'log-backtrace-at'])
    for (const name of new Set([flag, flag.replaceAll('-', '_')])) told(`--${name} <value>`);
  told('--log-flush-frequency <duration>');
}

/** A whole number. */
export function integer(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError('expected a whole number.');
  return Number(text);
}

/** An option's text for the help, with its default in words where it has one. */
export function optionText({ description, defaultValue, flags }: Option): string {
  const value: unknown = defaultValue;
  // Empty lists and numbers that must be given show nothing.
  if ((typeof value !== 'string' && typeof value !== 'number') || value === '' || value === 0) return description;
  return `${description} (default: ${flags.includes('<duration>') ? `${Number(value) / 1_000}s` : value})`;
}
