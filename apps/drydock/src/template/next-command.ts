import type { TemplateErrorCode } from '@drydock/templates';
import type { VimErrorCode } from '@drydock/vsphere';

/** What the command line knows when something failed. Every text is ready for a shell. */
export interface Failure {
  /** `drydock template` or `kubectl drydock template`. */
  readonly program: string;
  /** Where the help is: the command without `--help`; that of the group of templates unless said. */
  readonly help?: string;
  /** The flags that name vCenter and place, with a space in front; '' where they come from elsewhere. */
  readonly flags: string;
  /** The whole command as it was given. */
  readonly again: string;
  /** The command that makes the plan which failed. */
  readonly replan: string;
  /** The vCenter's address. */
  readonly url: string;
  readonly username: string;
  /** Stable name, base or reference that the verb was given. */
  readonly subject: string;
  /** Inventory path of the subject. */
  readonly path: string;
  /** The OVA as it was given. */
  readonly source: string;
  readonly cacheDir: string;
  readonly tag: string;
}

type Next = (failure: Failure) => string;

const doctor: Next = ({ program, flags }) => `${program} doctor${flags}`;
const list: Next = ({ program, flags }) => `${program} list -o wide${flags}`;
const verify: Next = ({ program, flags, subject }) => `${program} verify ${subject}${flags}`;
const gc: Next = ({ program, flags }) => `${program} gc --dry-run${flags}`;
const again: Next = (failure) => failure.again;
const probe: Next = ({ url }) => `curl -kSs ${url}/vimServiceVersions.xml`;
const descriptor: Next = ({ source }) => `tar -xOf ${source} --wildcards '*.ovf'`;
const digest: Next = ({ source }) => (isWeb(source) ? `curl -fsSL ${source} | sha256sum` : `sha256sum ${source}`);
const machine: Next = ({ path }) => `govc vm.info ${path}`;
const library: Next = () => "govc library.ls -json '*'";
const tags: Next = ({ tag }) => `govc tags.ls | grep ${tag}`;

/** The command to run next for every code of the templates and vsphere packages; the type makes the table complete. */
export const NEXT_COMMANDS: Readonly<Record<TemplateErrorCode | VimErrorCode, Next>> = {
  FOLDER_NOT_FOUND: doctor,
  DATACENTER_NOT_FOUND: doctor,
  CLUSTER_NOT_FOUND: doctor,
  POOL_NOT_FOUND: doctor,
  NETWORK_NOT_FOUND: doctor,
  DATASTORE_NOT_FOUND: doctor,
  DATASTORE_UNUSABLE: doctor,
  HOSTS_UNAVAILABLE: doctor,
  PRIVILEGE_MISSING: doctor,
  NO_SPACE: gc,
  TAG_NOT_FOUND: tags,
  TAG_AMBIGUOUS: tags,
  TAG_FAILED: again,
  TEMPLATE_NOT_FOUND: list,
  NAME_TAKEN: list,
  // The subject is a word for a shell already.
  NAME_TOO_LONG: ({ again: command, subject }) =>
    withFlag(command, '--name', subject.replaceAll("'", '').slice(0, 40) || 'NAME'),
  NOT_A_TEMPLATE: machine,
  POWERED_ON: machine,
  HAS_SNAPSHOTS: ({ path }) => `govc snapshot.tree -vm ${path}`,
  FOREIGN_OWNER: list,
  UNMARKED: ({ program, flags, subject }) => `${program} adopt ${subject}${flags}`,
  TEMPLATE_BUSY: again,
  TEMPLATE_UNREADABLE: machine,
  OBSTRUCTED: machine,
  NOT_LEADING: again,
  LEASE_LOST: again,
  UPLOAD_IN_PROGRESS: again,
  RENAME_FAILED: verify,
  SWAP_FAILED: verify,
  NOTHING_TO_REVERT: ({ program, flags, subject }) => `${program} history ${subject}${flags}`,
  WORLD_MOVED: ({ replan }) => replan,
  DOWNLOAD_FAILED: ({ source }) => (isWeb(source) ? `curl -fsSLI ${source}` : `ls -l ${source}`),
  DIGEST_MISMATCH: digest,
  LIBRARY_ITEM_MISSING: library,
  LIBRARY_ITEM_AMBIGUOUS: library,
  LIBRARY_ITEM_UNUSABLE: library,
  OVA_INVALID: ({ source }) => `tar -tvf ${source}`,
  OVA_UNSUPPORTED: descriptor,
  IMPORT_FAILED: doctor,
  CACHE_FAILED: ({ cacheDir }) => `df -h ${cacheDir}`,
  ATTRIBUTE_CUT: doctor,
  NOT_OURS: list,
  NOT_CONVERGED: list,
  VCENTER_FAILED: again,

  VIM_FAULT: doctor,
  VIM_LOGIN_REFUSED: ({ program, flags }) => `${program} doctor${flags} --username USER --password-file FILE`,
  VIM_LOGIN_LIMIT: again,
  VIM_LOGIN_WITHHELD: (failure) => `${failure.again} --login-now`,
  VIM_NOT_AUTHENTICATED: again,
  VIM_NO_PERMISSION: doctor,
  VIM_NAME_TAKEN: list,
  VIM_INVALID_NAME: list,
  VIM_GONE: list,
  VIM_NOT_FOUND: doctor,
  VIM_REFUSED: doctor,
  VIM_HTTP_STATUS: probe,
  VIM_UNREACHABLE: probe,
  VIM_TLS_UNTRUSTED: doctor,
  VIM_TIMEOUT: again,
  VIM_ABORTED: again,
  VIM_BAD_RESPONSE: probe,
  VIM_UNKNOWN_OUTCOME: list,
  VIM_OVF_REFUSED: descriptor,
  VIM_LEASE_FAILED: doctor,
  VIM_UPLOAD_FAILED: doctor,
  VIM_DIGEST_MISMATCH: digest,
};

/** Whether a source is an address rather than a file. Quotes of the shell may stand around it. */
function isWeb(source: string): boolean {
  return /^'?https?:/i.test(source);
}

/** A command with a flag that takes the place of the same flag, where it has it. */
export function withFlag(command: string, flag: string, value: string): string {
  return `${command.replace(new RegExp(` ${flag}[= ](?:'[^']*'|\\S+)`), '')} ${flag} ${quoted(value)}`;
}

/** A command for a shell, of which each value that is put in is one word, whatever it says. */
export function shell(parts: TemplateStringsArray, ...words: readonly string[]): string {
  return parts.map((part, at) => (at === 0 ? part : `${quoted(words[at - 1] ?? '')}${part}`)).join('');
}

/** A word for a shell: as it is where that is safe, else in single quotes. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
