import { debugText, oneLine, wordWithoutSecrets } from '@drydock/api/text';
import { processSignals } from '@drydock/kube/signals';
import type { OvaSource, Placement } from '@drydock/templates';
import { escapeName } from '@drydock/vsphere';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { sayError } from '../terminal.ts';
import { configLayer, defaultConfigFile } from './config-file.ts';
import { judge } from './failure.ts';
import { type CommonFlags, flagLayers } from './flags.ts';
import { environmentLayer } from './govc-environment.ts';
import { type Failure, quoted } from './next-command.ts';
import { createOutput, formatOf, type Output } from './output.ts';
import type { Need } from './placement.ts';
import type { ExitCode } from './problem.ts';
import { openSession, type TemplateSession } from './session.ts';
import { type Layer, markKeySetting, type Settings, settle } from './settings.ts';

/** One run of a verb. */
export interface Run<F extends CommonFlags> {
  readonly flags: F;
  readonly args: readonly string[];
  readonly out: Output;
  /** Ends with SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** The whole command as it was given, ready for a shell. */
  readonly again: string;
  /** Says what the verb is about, for the command after a failure. */
  about(what: { readonly subject?: string; readonly source?: string; readonly replan?: string }): void;
  /** A command of this group with the flags that name vCenter and place. */
  command(verb: string, ...words: readonly string[]): string;
  settings(): Promise<Settings>;
  /** The mark keys that were given, also where no vCenter is named. */
  markKey(): Promise<Settings['markKey']>;
  /** A session that ends with the verb. */
  session(options?: { readonly ovas?: OvaSource }): Promise<TemplateSession>;
  place(session: TemplateSession, need: Need): Promise<Placement>;
}

/** Adds the action of a verb: settings, session, signals, exit code and the last word after a failure are the same for all. */
export function verb<F extends CommonFlags>(
  command: Command,
  body: (run: Run<F>) => Promise<ExitCode>,
  interruption = 'Interrupted: what was half-made was removed as far as it could be reached, and the session was ended.',
): Command {
  return command.action(async (...given: unknown[]) => {
    // A variadic argument comes as an array.
    const args = given
      .slice(0, -2)
      .flat()
      .filter((arg) => typeof arg === 'string');
    process.exitCode = await runVerb(command, args, body, interruption);
  });
}

async function runVerb<F extends CommonFlags>(
  command: Command,
  args: readonly string[],
  body: (run: Run<F>) => Promise<ExitCode>,
  interruption: string,
): Promise<ExitCode> {
  const flags = command.optsWithGlobals<F>();
  const program = programName(command);
  const context: Failure = {
    program,
    ...(groupOf(command)?.name() === 'template' ? {} : { help: pathOf(command) }),
    flags: placeFlags(command),
    again: [
      program.split(' template')[0],
      ...process.argv.slice(2).map((word) => quoted(wordWithoutSecrets(word))),
    ].join(' '),
    replan: '',
    url: 'https://VCENTER/sdk',
    username: 'USER',
    subject: 'NAME',
    path: 'PATH',
    source: 'OVA',
    cacheDir: '~/.cache/drydock/images',
    tag: flags.tag === undefined ? 'TAG' : quoted(flags.tag),
  };
  let known = context;
  let subject = 'NAME';
  let out = createOutput(formatOf());
  using signals = processSignals();
  const { signal } = signals;
  try {
    out = createOutput(formatOf(flags.output));
    const exit = await closing(async (stack) => {
      const layers = async (): Promise<readonly Layer[]> => [
        ...flagLayers(command),
        environmentLayer(process.env),
        await configLayer(flags.config, defaultConfigFile(process.env)),
      ];
      const settings = async (): Promise<Settings> => {
        const settled = settle(await layers());
        const { tag } = settled;
        known = {
          ...known,
          url: settled.url,
          username: quoted(settled.username),
          cacheDir: quoted(settled.cacheDir),
          ...(tag === undefined ? {} : { tag: quoted(tag) }),
        };
        return settled;
      };
      return body({
        flags,
        args,
        out,
        signal,
        again: context.again,
        about: ({ subject: named, source, replan }) => {
          subject = named ?? subject;
          known = {
            ...known,
            subject: quoted(subject),
            ...(source === undefined ? {} : { source: quoted(wordWithoutSecrets(source)) }),
            ...(replan === undefined ? {} : { replan }),
          };
        },
        command: (name, ...words) => `${program} ${[name, ...words.map(quoted)].join(' ')}${context.flags}`,
        settings,
        markKey: async () => markKeySetting(await layers())?.markKey,
        session: async (options = {}) =>
          stack.use(
            await openSession(await settings(), { out, signal, loginNow: flags.loginNow === true, ...options }),
          ),
        place: async (session, need) => {
          const placement = await session.place(need);
          const path = subject.startsWith('/') ? subject : `${placement.folder}/${escapeName(subject)}`;
          known = { ...known, path: quoted(path) };
          return placement;
        },
      });
    });
    out.settle();
    out.event('done', { exitCode: exit });
    return exit;
  } catch (caught) {
    // A failure on the way out must not hide what went wrong before it.
    const error: unknown = caught instanceof SuppressedError ? caught.suppressed : caught;
    out.settle();
    if (signal.aborted) return interrupted(out, signal, known, interruption);
    const verdict = judge(error, known);
    if (verdict === undefined) {
      out.event('error', { code: 'BUG', message: String(error), next: known.again, exitCode: exitCode.failed });
      throw error;
    }
    out.event('error', { ...verdict, exit: undefined, exitCode: verdict.exit });
    out.note(`drydock: ${verdict.message.replaceAll(/\n(?! )/g, '\n  ')}\nnext: ${oneLine(verdict.next)}`);
    if (process.env['DRYDOCK_DEBUG'] !== undefined) sayError(debugText(error));
    return verdict.exit;
  }
}

/** Ends sessions before anything is said about the outcome. */
async function closing<T>(body: (stack: AsyncDisposableStack) => Promise<T>): Promise<T> {
  await using stack = new AsyncDisposableStack();
  return await body(stack);
}

function interrupted(out: Output, signal: AbortSignal, { again }: Failure, message: string): ExitCode {
  const exit = (signal.reason as Error).message === 'SIGTERM' ? 143 : 130;
  out.event('error', { code: 'INTERRUPTED', message, next: again, exitCode: exit });
  out.note(`drydock: ${message}\nnext: ${again}`);
  return exit;
}

/** `drydock template`, or `kubectl drydock template`: what helps after a failure to reach a vCenter is there, whatever the command was. */
function programName(command: Command): string {
  let root = command;
  while (root.parent !== null) root = root.parent;
  return `${root.name()} template`;
}

/** `drydock watch vms`. */
function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}

const NOT_PLACE = new Set(['output', 'cacheDir']);

/** The flags of the group as they were given: what a next command needs to reach the same place. None of them is a secret. */
function placeFlags(command: Command): string {
  const group = groupOf(command);
  const words: string[] = [];
  for (const option of group?.options ?? []) {
    const key = option.attributeName();
    if (NOT_PLACE.has(key) || group?.getOptionValueSource(key) !== 'cli') continue;
    const value: unknown = group.getOptionValue(key);
    words.push(option.long ?? '', ...(typeof value === 'string' ? [quoted(value)] : []));
  }
  for (let one: Command | null = command; one !== null; one = one.parent)
    for (const { long, key } of CONTEXT_FLAGS)
      if (one.getOptionValueSource(key) === 'cli') words.push(long, quoted(String(one.getOptionValue(key))));
  return words.map((word) => ` ${word}`).join('');
}

const CONTEXT_FLAGS = [
  { long: '--drydock-config', key: 'drydockConfig' },
  { long: '--drydock-context', key: 'drydockContext' },
] as const;

/** `template` or `watch`. */
function groupOf(command: Command): Command | undefined {
  for (let at: Command | null = command; at !== null; at = at.parent) if (at.parent?.parent === null) return at;
  return undefined;
}
