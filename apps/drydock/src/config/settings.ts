import type { Command, Option } from 'commander';
import { exceptionOf } from './exceptions.ts';

/** What the value of a setting is. Files are named relative to whatever names them. */
export type Kind = 'text' | 'switch' | 'list' | 'file';

/** A flag that a variable or a context may give, too. */
export interface Setting {
  /** Its name without dashes before it; the flag has another one where two flags of one name mean different things. */
  readonly id: string;
  readonly kind: Kind;
  /** The file has a secret, so nobody else may read it. */
  readonly secret?: true;
  /** Id of the setting whose variable and key it is read from: one thing that verbs take by different flags. */
  readonly readFrom?: string;
}

const of = (kind: Kind, ...ids: readonly string[]): readonly (readonly [string, Setting])[] =>
  ids.map((id) => [id, { id, kind }]);
const secretFiles = (...ids: readonly string[]): readonly (readonly [string, Setting])[] =>
  ids.map((id) => [id, { id, kind: 'file', secret: true }]);

/** All settings, by their id. */
export const SETTINGS: ReadonlyMap<string, Setting> = new Map([
  // Which cluster.
  ...of('file', 'kubeconfig', 'certificate-authority'),
  ...of('text', 'kube-context', 'kube-cluster', 'kube-user', 'namespace', 'server', 'as', 'lease-namespace'),
  ...of('list', 'as-group'),
  // Which vCenter, and which place in it.
  ...of('text', 'vcenter', 'vcenter-username', 'vcenter-pin'),
  ...secretFiles('vcenter-password-file'),
  ...of('file', 'vcenter-ca'),
  ['vcenter-url', { id: 'vcenter-url', kind: 'list', readFrom: 'vcenter' }],
  ...of('list', 'container'),
  ...of('text', 'datacenter', 'folder', 'compute-cluster', 'resource-pool', 'datastore', 'network'),
  ...of('text', 'tag', 'owner', 'consumer', 'disk', 'reserve', 'mark-key-secret'),
  ...secretFiles('mark-key-file'),
  ...of('switch', 'swap'),
  // Images.
  ...of('text', 'keep', 'downgrade', 'templates', 'stub-secret', 'vsphere-provider-namespace'),
  ...of('file', 'cache-dir', 'state-dir'),
  ...secretFiles('image-mirrors-file'),
  // Releases and definitions.
  ...of('text', 'architecture', 'capabilities', 'feature-set', 'profile', 'mode', 'writer-patience'),
  ...of('text', 'direction', 'era-now', 'era-target'),
  ...of('list', 'gate', 'registry-mirror'),
  ...of('file', 'registry-ca'),
  ...secretFiles('registry-config'),
  ...of('switch', 'strict', 'again'),
  // What is shown, and how long is waited.
  ...of('text', 'output', 'roles', 'since', 'timeout', 'reason', 'hold', 'operator', 'service', 'bind-address', 'port'),
  ...of('switch', 'all', 'old', 'check', 'all-namespaces', 'no-headers', 'no-events', 'no-doctor'),
]);

/** Flags whose name alone does not say what they mean: the ids of their settings, in some verbs or in all. */
const RENAMED: readonly {
  readonly verbs: RegExp;
  /** As people call these verbs. */
  readonly of: string;
  readonly flags: Readonly<Record<string, string>>;
}[] = [
  {
    verbs: /^(?:template|watch vms)\b/,
    of: '`template` and `watch vms`',
    flags: {
      url: 'vcenter',
      username: 'vcenter-username',
      'password-file': 'vcenter-password-file',
      ca: 'vcenter-ca',
      thumbprint: 'vcenter-pin',
      cluster: 'compute-cluster',
    },
  },
  {
    verbs: /./,
    of: '',
    flags: { context: 'kube-context', cluster: 'kube-cluster', user: 'kube-user', 'mark-key': 'mark-key-file' },
  },
];

/** The setting of a flag of a verb, such as `image plan`; undefined: it is an exception. */
export function settingOf(verb: string, option: Option): Setting | undefined {
  const flag = flagOf(option);
  if (exceptionOf(verb, flag) !== undefined) return undefined;
  const renamed = RENAMED.find(({ verbs, flags }) => verbs.test(verb) && flag in flags);
  return SETTINGS.get(renamed?.flags[flag] ?? flag);
}

/** The flags of a setting, and of which verbs where these call it otherwise than the others. */
export function flagsOfSetting({ id }: Pick<Setting, 'id'>): readonly { readonly flag: string; readonly of: string }[] {
  const renamed = RENAMED.flatMap(({ of, flags }) =>
    Object.entries(flags).flatMap(([flag, to]) => (to === id ? [{ flag, of }] : [])),
  );
  const own = renamed.some(({ of }) => of === '') || OTHERS_ALONE.has(id) ? [] : [{ flag: id, of: '' }];
  return [...own, ...renamed];
}

/** Settings of verbs that have another flag for them, which no verb has under the name of the setting. */
const OTHERS_ALONE: ReadonlySet<string> = new Set([
  'vcenter',
  'vcenter-username',
  'vcenter-password-file',
  'compute-cluster',
]);

/** The name of a flag, without the dashes. */
export function flagOf({ long, short }: Option): string {
  return (long ?? short ?? '').replace(/^-+/, '');
}

/** The variable of a setting. */
export function variableOf({ id, readFrom = id }: Pick<Setting, 'id' | 'readFrom'>): string {
  return `DRYDOCK_${readFrom.replaceAll('-', '_').toUpperCase()}`;
}

/** Its key in a context. */
export function keyOf({ id, readFrom = id }: Pick<Setting, 'id' | 'readFrom'>): string {
  return readFrom.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The variable and the key that a setting had before it shared those of another one; both are still read. Undefined where it always had its own. */
export function formerNames({
  id,
  readFrom,
}: Setting): { readonly variable: string; readonly key: string } | undefined {
  return readFrom === undefined ? undefined : { variable: variableOf({ id }), key: keyOf({ id }) };
}

/** Whether a variable or a key has several words: that is so if one of the settings that it gives is a list. */
export function isList(setting: Setting): boolean {
  return [...SETTINGS.values()].some(({ kind, ...one }) => kind === 'list' && keyOf(one) === keyOf(setting));
}

/** How the key `vcenter` names a vCenter whose address is not its name in the cluster. */
const NAMED = /^[^=/@]+=/;

/** What a setting takes of the words of its variable or key. */
export function wordsFor({ id }: Pick<Setting, 'id'>, words: readonly string[]): readonly string[] {
  if (id === 'vcenter') return words.map((word) => word.replace(NAMED, ''));
  return id === 'vcenter-url' ? words.filter((word) => NAMED.test(word)) : words;
}

/** A command as words, without the name of the program; of a group that has the flags of its verbs, its own. */
export function verbOf(command: Command): string {
  const { parent } = command;
  return parent === null ? '' : `${verbOf(parent)} ${command.name()}`.trim();
}
