import { wordWithoutSecrets } from '@drydock/api/text';
import type { Config, Context } from './config-file.ts';
import type { Environment } from './config-path.ts';
import { formerNames, isList, keyOf, type Setting, variableOf, wordsFor } from './settings.ts';

/** Who said something: a variable, or a context of the config file. */
export interface Origin {
  readonly from: 'variable' | 'context';
  /** As a person looks for it: `DRYDOCK_AS`, or `kubeconfig of context lab in FILE`. */
  readonly text: string;
  /** Where that is a name of an earlier version: what to write instead. */
  readonly instead?: string;
}

/** The value of a setting as words of a line, and who said it. */
export interface Found extends Origin {
  readonly setting: Setting;
  /** Of the verb, without the dashes. */
  readonly flag: string;
  readonly words: readonly string[];
}

/** A setting that a verb takes, and its flag there. */
export interface Wanted {
  readonly setting: Setting;
  readonly flag: string;
}

const OF_USER = ['kube-cluster', 'kube-user', 'server', 'certificate-authority', 'namespace', 'as', 'as-group'];
const OF_VCENTER = ['vcenter-username', 'vcenter-password-file', 'vcenter-ca', 'vcenter-pin', 'datacenter', 'folder'];

/** What says which cluster or vCenter is meant, and what is about that one alone. */
const PLACES: readonly (readonly [by: readonly string[], about: readonly string[]])[] = [
  [
    ['kubeconfig', 'server'],
    ['kubeconfig', 'kube-context', ...OF_USER],
  ],
  [['kube-context', 'kube-cluster'], OF_USER],
  [['vcenter'], [...OF_VCENTER, 'compute-cluster', 'resource-pool', 'datastore', 'network']],
];

/**
 * What variables and the context say of settings that the line does not, the variables first. A source that names another cluster or vCenter takes nothing about it from a weaker one: neither a user nor a
 * password is ever shown to a server that they were not written for.
 */
export function foundSettings(
  wanted: readonly Wanted[],
  {
    line,
    env,
    config,
    context,
  }: {
    /** The ids of what the line says. */
    readonly line: ReadonlySet<string>;
    readonly env: Environment;
    readonly config?: Config | undefined;
    readonly context?: Context | undefined;
  },
): ReadonlyMap<string, Found> {
  const found = new Map<string, Found>();
  const said = new Set(line);
  const closed = new Set<string>();
  const close = (): void => {
    for (const [by, about] of PLACES) if (by.some((id) => said.has(id))) for (const id of about) closed.add(id);
  };
  const add = ({ setting, flag }: Wanted, words: readonly string[] | undefined, origin: Origin): void => {
    if (words === undefined || said.has(setting.id) || closed.has(setting.id)) return;
    found.set(setting.id, { setting, flag, words, ...origin });
  };
  close();
  for (const one of wanted) {
    const variable = variableOf(one.setting);
    add(one, wordsIn(one.setting, env[variable]), { from: 'variable', text: variable });
    const former = formerNames(one.setting)?.variable;
    if (former === undefined || found.has(one.setting.id)) continue;
    const words = wordsIn(one.setting, env[former], (all) => all);
    add(one, words, {
      from: 'variable',
      text: former,
      instead: `${variable}=${words?.map(wordWithoutSecrets).join(',')}`,
    });
  }
  for (const id of found.keys()) said.add(id);
  close();
  if (context !== undefined)
    for (const one of wanted) add(one, context.values.get(one.setting.id), originIn(context, one.setting, config));
  return found;
}

function originIn(context: Context, setting: Setting, config: Config | undefined): Origin {
  const former = context.former.has(setting.id) ? formerNames(setting)?.key : undefined;
  const words = (context.values.get(setting.id) ?? []).map(wordWithoutSecrets);
  const instead = `${keyOf(setting)}: ${words.length === 1 ? words[0] : `[${words.join(', ')}]`}`;
  const key = former ?? keyOf(setting);
  return {
    ...{ from: 'context', text: `${key} of context ${context.name} in ${config?.path ?? 'the config file'}` },
    ...(former === undefined ? {} : { instead }),
  };
}

/** A Service that is named drydock gives its pods `DRYDOCK_PORT=tcp://…`, which nobody meant to be a port of ours. */
const SERVICE_LINK = /^(?:tcp|udp|sctp):\/\//;

/** The words of a variable; several are apart by commas. One that is empty is none. */
function wordsIn(
  setting: Setting,
  value: string | undefined,
  own: (words: readonly string[]) => readonly string[] = (words) => wordsFor(setting, words),
): readonly string[] | undefined {
  if (value === undefined || value === '') return undefined;
  if (/(?:^|-)port$/.test(setting.id) && SERVICE_LINK.test(value)) return undefined;
  if (!isList(setting)) return [value];
  const words = own(value.split(',').map((word) => word.trim())).filter((word) => word !== '');
  return words.length === 0 ? undefined : words;
}

/** Who said what a message speaks of, flags and values, a line each: nobody sees it on the line. */
export function originsOf(message: string, found: ReadonlyMap<string, Found>): readonly string[] {
  const named = ({ flag, words }: Found): boolean =>
    `${message} `.includes(`--${flag} `) || words.some((word) => word.length > 3 && message.includes(word));
  return [...found.values()].filter(named).map(({ flag, text }) => `--${flag} is what ${text} says`);
}
