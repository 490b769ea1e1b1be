import { debugText, oneLine, wordWithoutSecrets } from '@drydock/api/text';
import { processSignals } from '@drydock/kube/signals';
import type { OvaSource, Placement, TemplateStore } from '@drydock/templates';
import { escapeName } from '@drydock/vsphere';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { tell } from '../terminal.ts';
import { configLayer, defaultConfigFile } from './config-file.ts';
import { judge, type Verdict } from './failure.ts';
import { type CommonFlags, commandPath, flagLayers, lineage } from './flags.ts';
import { environmentLayer } from './govc-environment.ts';
import { type Failure, quoted } from './next-command.ts';
import { createOutput, formatOf, type Output } from './output.ts';
import { type Need, resolvePlacement } from './placement.ts';
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
  readonly about: (what: { readonly subject?: string; readonly source?: string; readonly replan?: string }) => void;
  /** The first argument, where it names what the verb is about. */
  readonly subject: () => string;
  /** A command of this group with the flags that name vCenter and place. */
  readonly command: (verb: string, ...words: readonly string[]) => string;
  readonly settings: () => Promise<Settings>;
  /** The mark keys that were given, also where no vCenter is named. */
  readonly markKey: () => Promise<Settings['markKey']>;
  /** A session that ends with the verb. */
  readonly session: (options?: { readonly ovas?: OvaSource }) => Promise<TemplateSession>;
  readonly place: (session: TemplateSession, need: Need) => Promise<Placement>;
  /** A session and its place in one. */
  readonly open: (need: Need, options?: { readonly ovas?: OvaSource }) => Promise<Opened>;
}

/** See {@link Run.open}. */
export interface Opened {
  readonly session: TemplateSession;
  readonly store: TemplateStore;
  readonly placement: Placement;
  readonly owner: string;
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
  const [root, group] = lineage(command).map((one) => one.name());
  // What helps after a failure to reach a vCenter is in the group of templates, whatever the command was.
  const program = `${root} template`;
  const again = [root, ...process.argv.slice(2).map((word) => quoted(wordWithoutSecrets(word)))].join(' ');
  const place = placeFlags(command);
  let known: Failure = {
    program,
    ...(group === 'template' ? {} : { help: commandPath(command) }),
    flags: place,
    again,
    replan: '',
    url: 'https://VCENTER/sdk',
    username: 'USER',
    subject: 'NAME',
    path: 'PATH',
    source: 'OVA',
    cacheDir: '~/.cache/drydock/images',
    tag: flags.tag === undefined ? 'TAG' : quoted(flags.tag),
  };
  let subject = 'NAME';
  const learn = (more: Partial<Failure>): void => {
    known = { ...known, ...more };
  };
  const about: Run<F>['about'] = ({ subject: named, source, replan }) => {
    subject = named ?? subject;
    learn({
      subject: quoted(subject),
      ...(source === undefined ? {} : { source: quoted(wordWithoutSecrets(source)) }),
      ...(replan === undefined ? {} : { replan }),
    });
  };
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
        const { url, username, cacheDir, tag } = settled;
        learn({
          ...{ url, username: quoted(username), cacheDir: quoted(cacheDir) },
          ...(tag === undefined ? {} : { tag: quoted(tag) }),
        });
        return settled;
      };
      const session: Run<F>['session'] = async (options = {}) =>
        stack.use(await openSession(await settings(), { out, loginNow: flags.loginNow === true, ...options }));
      const placed: Run<F>['place'] = async ({ vcenter, settings: settled }, need) => {
        const placement = await resolvePlacement(vcenter, settled, need, { signal });
        learn({ path: quoted(subject.startsWith('/') ? subject : `${placement.folder}/${escapeName(subject)}`) });
        return placement;
      };
      return body({
        ...{ flags, args, out, signal, again, about, settings, session, place: placed },
        subject: () => {
          about({ subject: args[0] ?? '' });
          return args[0] ?? '';
        },
        command: (name, ...words) => `${program} ${[name, ...words.map(quoted)].join(' ')}${place}`,
        markKey: async () => markKeySetting(await layers())?.markKey,
        open: async (need, options) => {
          const opened = await session(options);
          const {
            store,
            settings: { owner },
          } = opened;
          return { session: opened, store, owner, placement: await placed(opened, need) };
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
    const exitOfSignal = (signal.reason as Error | undefined)?.message === 'SIGTERM' ? 143 : 130;
    const verdict: Verdict | undefined = signal.aborted
      ? { code: 'INTERRUPTED', message: interruption, next: again, exit: exitOfSignal }
      : judge(error, known);
    if (verdict === undefined) {
      out.event('error', { code: 'BUG', message: String(error), next: again, exitCode: exitCode.failed });
      throw error;
    }
    const { code, message, next, exit } = verdict;
    out.event('error', { code, message, next, exitCode: exit });
    out.note(`drydock: ${oneLine(message)}\nnext: ${oneLine(next)}`);
    if (process.env['DRYDOCK_DEBUG'] !== undefined) tell(`${debugText(error)}\n`);
    return exit;
  }
}

/** Ends sessions before anything is said about the outcome. */
async function closing<T>(body: (stack: AsyncDisposableStack) => Promise<T>): Promise<T> {
  await using stack = new AsyncDisposableStack();
  return await body(stack);
}

const NOT_PLACE = new Set(['output', 'cacheDir']);
const CONTEXT_FLAGS = new Set(['drydockConfig', 'drydockContext']);

/** The flags of the group as they were given, and those that name a context: what a next command needs to reach the same place. None of them is a secret. */
function placeFlags(command: Command): string {
  const commands = lineage(command).toReversed();
  const given = commands.flatMap((one) =>
    one.options
      .map((option) => ({ option, key: option.attributeName() }))
      .filter(({ key }) => one.getOptionValueSource(key) === 'cli')
      .filter(({ key }) => CONTEXT_FLAGS.has(key) || (one === commands.at(-2) && !NOT_PLACE.has(key)))
      .flatMap(({ option, key }) => {
        const value: unknown = one.getOptionValue(key);
        return [option.long ?? '', ...(typeof value === 'string' ? [quoted(value)] : [])];
      }),
  );
  return given.map((word) => ` ${word}`).join('');
}
