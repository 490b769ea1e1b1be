import { oneLine, wordWithoutSecrets } from '@drydock/api/text';
import { Argument, type Command } from 'commander';
import { exitCode, UsageError } from '../exit.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { table } from '../table.ts';
import { say, sayError } from '../terminal.ts';
import { yamlText } from '../yaml.ts';
import { type ConfigFlags, configOfLine, foundFor, settableFlags } from './apply.ts';
import type { Config, Context } from './config-file.ts';
import { verbExceptionOf } from './exceptions.ts';
import { flagOf, keyOf, variableOf, verbOf } from './settings.ts';
import { useContext } from './use-context.ts';

interface Flags extends ConfigFlags {
  readonly output: OutputFormat;
  readonly sources?: readonly string[];
}

/** What `config get-contexts` prints as JSON and YAML. */
export interface ContextsOutput {
  readonly file: string;
  readonly contexts: readonly (Readonly<Record<string, unknown>> & {
    readonly name: string;
    readonly current: boolean;
  })[];
}

/** What `config view --sources` prints as JSON and YAML. */
export interface SourcesOutput {
  readonly verb: string;
  readonly flags: readonly {
    readonly flag: string;
    readonly variable: string;
    /** Of a context. */
    readonly key: string;
    readonly value?: string;
    readonly from: 'variable' | 'context' | 'default';
    /** Who said it, where somebody did. */
    readonly source?: string;
  }[];
}

/** Adds `drydock config`: contexts, named alike kubectl's. */
export function addConfig(program: Command): void {
  const group = program
    .command('config')
    .description('show the contexts of the config file, and choose one of them')
    .addHelpText('after', ABOUT);
  group
    .command('view')
    .description('show the config file; with --sources, where each flag of a verb has its value from')
    .option('--sources <verb...>', 'a verb, as: status, or: image plan')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  drydock config view --sources image plan')
    .action((flags: Flags, command: Command) => view(flags, command));
  group
    .command('get-contexts')
    .description('show all contexts, or one')
    .addArgument(new Argument('[context]', 'its name'))
    .addOption(outputOption({ names: true }))
    .addHelpText('after', '\nExample:\n  drydock config get-contexts')
    .action(getContexts);
  group
    .command('current-context')
    .description('print the name of the context that is used')
    .addHelpText('after', '\nExample:\n  drydock config current-context')
    .action(currentContext);
  group
    .command('use-context')
    .description('use another context from now on')
    .argument('<context>', 'its name')
    .addHelpText('after', '\nExample:\n  drydock config use-context lab')
    .action(chooseContext);
}

const ABOUT = `
The file is ~/.config/drydock/config.yaml (in XDG_CONFIG_HOME, where that is set), or what DRYDOCK_CONFIG or --drydock-config names:

  current-context: lab
  contexts:
  - name: lab
    kubeconfig: ~/.kube/lab.yaml
    kubeContext: admin
    vcenter: https://vc1.lab.example
    vcenterUsername: drydock@vsphere.local
    vcenterPasswordFile: lab.password

A key is the name of a variable in other letters, and each flag has one: DRYDOCK_LEASE_NAMESPACE, leaseNamespace. The line wins over variables, they win
over the context, and that wins over the default. No password, token or key is in this file: it names files that have them, relative to its own folder.
DRYDOCK_CONTEXT or --drydock-context takes another context for one line (--context is that of the kubeconfig).`;

async function here(flags: ConfigFlags): Promise<Config> {
  const { config } = await configOfLine(flags, process.env);
  if (config !== undefined) return config;
  const { configPath } = await import('./config-path.ts');
  return { path: configPath(flags.drydockConfig, process.env).path, current: undefined, contexts: [] };
}

/** The name of the context that is used, by whoever says it. */
async function usedName(flags: ConfigFlags): Promise<string | undefined> {
  return (await configOfLine(flags, process.env)).context?.name;
}

async function view(flags: Flags, command: Command): Promise<void> {
  const { output, sources } = flags;
  if (sources !== undefined) return viewSources(sources.join(' '), flags, command);
  const { path, current, contexts } = await here(flags);
  const value = {
    ...(current === undefined ? {} : { 'current-context': current }),
    contexts: contexts.map(({ said }) => said),
  };
  if (output.people) sayError(`${path}${contexts.length === 0 ? ' has no contexts, or is not there' : ''}`);
  print(output, value, () => (contexts.length === 0 ? '' : yamlText(value)));
  process.exitCode = exitCode.done;
}

async function getContexts(name: string | undefined, flags: Flags): Promise<void> {
  const { path, contexts } = await here(flags);
  const used = await usedName(flags);
  if (name !== undefined && !contexts.some((one) => one.name === name)) throw noContext(name, path, contexts);
  const shown = contexts.filter((one) => name === undefined || one.name === name);
  const value: ContextsOutput = {
    file: path,
    contexts: shown.map((one) => ({ ...one.said, name: one.name, current: one.name === used })),
  };
  const text = (): string =>
    table<Context>(
      [
        { header: 'CURRENT', cell: (one) => (one.name === used ? '*' : ' ') },
        { header: 'NAME', cell: (one) => one.name },
        { header: 'CLUSTER', cell: (one) => first(one, 'kube-context', 'server', 'kubeconfig') },
        { header: 'VCENTER', cell: (one) => first(one, 'vcenter', 'vcenter-url') },
        { header: 'NAMESPACE', cell: (one) => first(one, 'namespace') },
        { header: 'OTHERS', cell: othersOf, wide: true },
      ],
      shown,
      { wide: flags.output.wide },
    );
  if (flags.output.people && shown.length === 0)
    sayError(`There are no contexts in ${path}; drydock config --help shows one.`);
  else print(flags.output, value, text, () => shown.map((one) => one.name));
  process.exitCode = exitCode.done;
}

const SHOWN = ['kube-context', 'server', 'kubeconfig', 'vcenter', 'vcenter-url', 'namespace'];

function first({ values }: Context, ...ids: readonly string[]): string {
  return ids.flatMap((id) => values.get(id) ?? [])[0] ?? '';
}

function othersOf({ values }: Context): string {
  return [...values.keys()]
    .filter((id) => !SHOWN.includes(id))
    .map((id) => keyOf({ id }))
    .join(', ');
}

async function currentContext(flags: ConfigFlags): Promise<void> {
  const name = await usedName(flags);
  if (name === undefined) {
    const { path } = await here(flags);
    sayError(
      `drydock: no context is used: ${path} has no current-context. Choose one: drydock config use-context NAME`,
    );
    process.exitCode = exitCode.failed;
    return;
  }
  say(`${name}\n`);
  process.exitCode = exitCode.done;
}

async function chooseContext(name: string, flags: ConfigFlags): Promise<void> {
  // What is chosen now may be what mends a current-context that is gone.
  const { configPath } = await import('./config-path.ts');
  const { readConfig } = await import('./config-file.ts');
  const { path, contexts } = await readConfig(configPath(flags.drydockConfig, process.env));
  if (!contexts.some((one) => one.name === name)) throw noContext(name, path, contexts);
  await useContext(path, name);
  say(`context ${oneLine(name)} is used from now on\n`);
  const over = process.env['DRYDOCK_CONTEXT'];
  if (over !== undefined && over !== '' && over !== name)
    sayError(`In this shell DRYDOCK_CONTEXT=${oneLine(over)} wins over it.`);
  process.exitCode = exitCode.done;
}

function noContext(name: string, path: string, contexts: readonly Context[]): UsageError {
  const there = contexts.map((one) => one.name).join(', ');
  return new UsageError(`there is no context ${name} in ${path}; there ${there === '' ? 'are none' : `are ${there}`}`);
}

async function viewSources(verb: string, flags: Flags, command: Command): Promise<void> {
  const target = verbNamed(verb, command);
  const { drydockConfig, drydockContext } = flags;
  if (drydockConfig !== undefined) target.setOptionValue('drydockConfig', drydockConfig);
  if (drydockContext !== undefined) target.setOptionValue('drydockContext', drydockContext);
  const found = await foundFor(target, process.env);
  const value: SourcesOutput = {
    verb,
    flags: settableFlags(target).map(({ owner, option, setting }) => {
      const one = found.get(setting.id);
      const initial: unknown = option.defaultValueDescription ?? owner.getOptionValue(option.attributeName());
      const shown = one?.words.map(wordWithoutSecrets).join(',') ?? (option.negate ? undefined : defaultText(initial));
      return {
        ...{ flag: `--${flagOf(option)}`, variable: variableOf(setting), key: keyOf(setting) },
        ...(shown === undefined ? {} : { value: shown }),
        from: one?.from ?? 'default',
        ...(one === undefined ? {} : { source: one.text }),
      };
    }),
  };
  print(flags.output, value, () =>
    table<SourcesOutput['flags'][number]>(
      [
        { header: 'FLAG', cell: (one) => one.flag },
        { header: 'VALUE', cell: (one) => one.value ?? '' },
        { header: 'FROM', cell: (one) => one.source ?? one.from },
        { header: 'VARIABLE', cell: (one) => one.variable, wide: true },
        { header: 'KEY', cell: (one) => one.key, wide: true },
      ],
      value.flags,
      { wide: flags.output.wide },
    ),
  );
  process.exitCode = exitCode.done;
}

function defaultText(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.join(',');
  return ['string', 'number', 'boolean'].includes(typeof value) ? `${value as string | number | boolean}` : undefined;
}

function verbNamed(verb: string, command: Command): Command {
  let at = command;
  while (at.parent !== null) at = at.parent;
  for (const word of verb.trim().split(/\s+/)) {
    const inner = at.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (inner === undefined) throw new UsageError(`there is no verb ${verb}: name one as drydock --help does`);
    at = inner;
  }
  const inner = at.commands.map((one) => `"${verb} ${one.name()}"`);
  if (inner.length > 0) throw new UsageError(`${verb} is a group: name one of its verbs, ${inner.join(', ')}`);
  const why = verbExceptionOf(verbOf(at));
  if (why !== undefined) throw new UsageError(`${verb} takes nothing from variables and contexts: ${why}`);
  return at;
}
