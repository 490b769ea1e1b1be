import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { oneLine, wordWithoutSecrets } from '@drydock/api/text';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../exit.ts';
import { lineage } from '../template/flags.ts';
import { sayError } from '../terminal.ts';
import type { Config, Context } from './config-file.ts';
import { type ConfigPath, configPath, type Environment } from './config-path.ts';
import { verbExceptionOf } from './exceptions.ts';
import { type Found, foundSettings } from './found.ts';
import { flagOf, type Setting, settingOf, variableOf, verbOf } from './settings.ts';

/** The flags that say which config file, and which of its contexts. */
export interface ConfigFlags {
  readonly drydockConfig?: string;
  readonly drydockContext?: string;
}

const GROUP = 'Config file:';

/** Adds them to a command: `--context` is kubectl's, and `--config` that of `drydock template`. */
export function configFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--drydock-config <file>', 'file with contexts (default: ~/.config/drydock/config.yaml)').helpGroup(
        GROUP,
      ),
    )
    .addOption(
      new Option('--drydock-context <name>', 'the context to use, as "drydock config get-contexts" names it').helpGroup(
        GROUP,
      ),
    );
}

/** Adds them to each verb that takes something from a config file, and names in the help of each the variable of a flag. */
export function addConfigFlags(program: Command): void {
  configFlags(program);
  const walk = (command: Command): void => {
    const verb = verbOf(command);
    // What a group set before, such as that its verbs show its flags, stays.
    command.configureHelp({
      ...command.configureHelp(),
      optionDescription: (option) => flagText(option, verb),
      // Those of the program are of every verb already.
      visibleGlobalOptions: (one) =>
        lineage(one)
          .slice(1, -1)
          .flatMap(({ options }) => options),
    });
    if (verbExceptionOf(verb) !== undefined && !/^config\b/.test(verb)) return;
    if (command.commands.length === 0) configFlags(command);
    for (const inner of command.commands) walk(inner);
  };
  for (const command of program.commands) walk(command);
}

/** What the help says of a flag: with its default and its variable. */
export function flagText(option: Option, verb: string): string {
  const setting = settingOf(verb, option);
  const { defaultValue, defaultValueDescription } = option;
  const shown = typeof defaultValue === 'boolean' && !defaultValue ? undefined : defaultValue;
  const initial = defaultValueDescription ?? (shown === undefined || option.negate ? undefined : JSON.stringify(shown));
  const more = [
    ...(initial === undefined ? [] : [`default: ${initial}`]),
    ...(setting === undefined ? [] : [variableOf(setting)]),
  ];
  return more.length === 0 ? option.description : `${option.description} (${more.join(', ')})`;
}

/** The config file that a line means, and its context; both undefined where nobody has one. Throws `UsageError`. */
export async function configOfLine(
  flags: ConfigFlags,
  env: Environment,
): Promise<{ readonly config?: Config; readonly context?: Context }> {
  const where: ConfigPath = configPath(flags.drydockConfig, env);
  const [name, by] = contextName(flags, env);
  if (name === undefined && !where.named && !existsSync(where.path)) return {};
  const { readConfig } = await import('./config-file.ts');
  const config = await readConfig(where);
  const wanted = name ?? config.current;
  if (wanted === undefined) return { config };
  const context = config.contexts.find((one) => one.name === wanted);
  if (context !== undefined) return { config, context };
  const there = config.contexts.map((one) => one.name).join(', ');
  throw new UsageError(
    `there is no context ${wanted}, which ${by ?? 'current-context'} names, in ${config.path}; there ${there === '' ? 'are none' : `are ${there}`}`,
  );
}

function contextName(flags: ConfigFlags, env: Environment): readonly [name: string | undefined, by?: string] {
  if (flags.drydockContext !== undefined) return [flags.drydockContext, '--drydock-context'];
  const variable = env['DRYDOCK_CONTEXT'];
  return variable === undefined || variable === '' ? [undefined] : [variable, 'DRYDOCK_CONTEXT'];
}

/** A flag of a command, or of the group that it is in, that a variable or a context may give. */
export interface SettableFlag {
  readonly owner: Command;
  readonly option: Option;
  readonly setting: Setting;
}

/** All of a verb. */
export function settableFlags(command: Command): readonly SettableFlag[] {
  const verb = verbOf(command);
  const found: SettableFlag[] = [];
  for (let owner: Command | null = command; owner?.parent != null; owner = owner.parent)
    for (const option of owner.options) {
      const setting = settingOf(verb, option);
      if (setting !== undefined) found.push({ owner, option, setting });
    }
  return found;
}

/** What is taken from variables and the context for a line that was read. Throws `UsageError`. */
export async function foundFor(command: Command, env: Environment): Promise<ReadonlyMap<string, Found>> {
  if (verbExceptionOf(verbOf(command)) !== undefined) return new Map();
  const { config, context } = await configOfLine(command.optsWithGlobals<ConfigFlags>(), env);
  const flags = settableFlags(command);
  const line = new Set(
    flags
      .filter(({ owner, option }) => owner.getOptionValueSource(option.attributeName()) === 'cli')
      .map(({ setting }) => setting.id),
  );
  return foundSettings(
    flags.map(({ option, setting }) => ({ setting, flag: flagOf(option) })),
    { line, env, config, context },
  );
}

/** Gives a line what it does not say itself: from variables, then from the context. Throws `UsageError`, which names who said what cannot be. */
export async function applySettings(
  command: Command,
  env: Environment = process.env,
): Promise<ReadonlyMap<string, Found>> {
  const found = await foundFor(command, env);
  for (const { owner, option, setting } of settableFlags(command)) {
    const one = found.get(setting.id);
    if (one === undefined) continue;
    await assertOwn(one);
    const value = parsedValue(option, one);
    if (value === undefined) continue;
    if (one.instead !== undefined) sayError(`warning: ${oneLine(`${one.text} has another name now: ${one.instead}`)}`);
    owner.setOptionValueWithSource(option.attributeName(), value, one.from === 'variable' ? 'env' : 'config');
  }
  tellUnread(found, env);
  return found;
}

/** A file with a secret that others can read is refused where a context names it. */
async function assertOwn({ setting, words, from, text }: Found): Promise<void> {
  if (setting.secret !== true || from !== 'context') return;
  for (const path of words) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile() === true && (found.mode & 0o077) !== 0)
      throw new UsageError(`${path}, which is ${text}, can be read by others of this machine: chmod 600 ${path}`);
  }
}

function parsedValue(option: Option, { setting, words, text }: Found): unknown {
  if (setting.kind !== 'list' && words.length > 1)
    throw new UsageError(
      `${text} names ${words.length} vCenters, and this verb speaks to one: add --${flagOf(option)} ${wordWithoutSecrets(words[0] ?? '')}`,
    );
  if (option.isBoolean() || option.negate) {
    const [word = ''] = words;
    const on = /^(?:1|true|yes|on)$/i.test(word);
    if (!on && !/^(?:0|false|no|off)$/i.test(word)) throw new UsageError(`${text}: 1 or 0 is expected`);
    return on ? !option.negate : undefined;
  }
  // Flags that are collected begin with what they have at first.
  let value: unknown = Array.isArray(option.defaultValue) ? option.defaultValue : undefined;
  for (const word of words)
    try {
      if (option.parseArg !== undefined) value = option.parseArg(word, value as never);
      else value = option.variadic ? [...((value as readonly string[] | undefined) ?? []), word] : word;
    } catch (error) {
      if (error instanceof InvalidArgumentError || error instanceof UsageError)
        throw new UsageError(`${text}, for --${flagOf(option)}: ${error.message}`);
      throw error;
    }
  return value;
}

/** A person whose shell says one cluster while the context says another is told. */
function tellUnread(found: ReadonlyMap<string, Found>, env: Environment): void {
  if (!process.stderr.isTTY) return;
  for (const [id, variable] of [
    ['kubeconfig', 'KUBECONFIG'],
    ['vcenter', 'GOVC_URL'],
  ] as const) {
    const one = found.get(id);
    if (one !== undefined && env[variable] !== undefined && env[variable] !== one.words[0])
      sayError(`${variable} is not read: ${one.text} says another`);
  }
}
