import { dirname } from 'node:path';
import { DurableError } from '@drydock/durable';
import { isTemplateError, SILENCE_MS, TemplateError, type TemplateErrorCode } from '@drydock/templates';
import { isVimError, VimError, type VimErrorCode } from '@drydock/vsphere';
import { exitCode, UsageError } from '../exit.ts';
import { type Failure, NEXT_COMMANDS, shell } from './next-command.ts';
import { type ExitCode, TemplateProblem } from './problem.ts';

/** What is said of a failure, and how the process ends. */
export interface Verdict {
  readonly code: string;
  /** Whole sentences. No secret. */
  readonly message: string;
  /** Command to run next. */
  readonly next: string;
  readonly exit: ExitCode;
}

/** How the process ends; 1 for any other code. 2: wrong input. 3: a finding that stops the verb before it does harm; a repetition alone does not help. */
const EXITS: Readonly<Partial<Record<TemplateErrorCode | VimErrorCode, ExitCode>>> = {
  WORLD_MOVED: exitCode.moved,
  NAME_TOO_LONG: exitCode.usage,
  VIM_INVALID_NAME: exitCode.usage,
  VIM_REFUSED: exitCode.usage,
  FOLDER_NOT_FOUND: exitCode.blocked,
  DATACENTER_NOT_FOUND: exitCode.blocked,
  CLUSTER_NOT_FOUND: exitCode.blocked,
  POOL_NOT_FOUND: exitCode.blocked,
  NETWORK_NOT_FOUND: exitCode.blocked,
  DATASTORE_NOT_FOUND: exitCode.blocked,
  DATASTORE_UNUSABLE: exitCode.blocked,
  NO_SPACE: exitCode.blocked,
  HOSTS_UNAVAILABLE: exitCode.blocked,
  PRIVILEGE_MISSING: exitCode.blocked,
  TAG_NOT_FOUND: exitCode.blocked,
  TAG_AMBIGUOUS: exitCode.blocked,
  TEMPLATE_NOT_FOUND: exitCode.blocked,
  NAME_TAKEN: exitCode.blocked,
  NOT_A_TEMPLATE: exitCode.blocked,
  POWERED_ON: exitCode.blocked,
  HAS_SNAPSHOTS: exitCode.blocked,
  FOREIGN_OWNER: exitCode.blocked,
  UNMARKED: exitCode.blocked,
  TEMPLATE_BUSY: exitCode.blocked,
  UPLOAD_IN_PROGRESS: exitCode.blocked,
  NOTHING_TO_REVERT: exitCode.blocked,
  DIGEST_MISMATCH: exitCode.blocked,
  OVA_INVALID: exitCode.blocked,
  OVA_UNSUPPORTED: exitCode.blocked,
  VIM_LOGIN_WITHHELD: exitCode.blocked,
  VIM_LOGIN_LIMIT: exitCode.blocked,
  VIM_NO_PERMISSION: exitCode.blocked,
  VIM_OVF_REFUSED: exitCode.blocked,
};

/** Their advice speaks of a cluster's failure domain, which there is none of here; the command to run next says it better. */
const PLACE: ReadonlySet<TemplateErrorCode> = new Set<TemplateErrorCode>([
  'FOLDER_NOT_FOUND',
  'DATACENTER_NOT_FOUND',
  'CLUSTER_NOT_FOUND',
  'POOL_NOT_FOUND',
  'NETWORK_NOT_FOUND',
  'DATASTORE_NOT_FOUND',
  'TAG_NOT_FOUND',
  'DIGEST_MISMATCH',
]);

/** Codes that say less than a client error behind them. */
const VAGUE: ReadonlySet<TemplateErrorCode | VimErrorCode> = new Set<TemplateErrorCode | VimErrorCode>([
  'IMPORT_FAILED',
  'RENAME_FAILED',
  'TAG_FAILED',
  'VCENTER_FAILED',
]);
/** Client errors that say more than those. */
const TELLING: ReadonlySet<VimErrorCode> = new Set<VimErrorCode>([
  'VIM_HTTP_STATUS',
  'VIM_LOGIN_REFUSED',
  'VIM_LOGIN_WITHHELD',
  'VIM_LOGIN_LIMIT',
  'VIM_NO_PERMISSION',
  'VIM_OVF_REFUSED',
  'VIM_TLS_UNTRUSTED',
  'VIM_UNREACHABLE',
]);

/** What to say of anything that a verb threw; undefined for what is a fault of the program itself. */
export function judge(error: unknown, context: Failure): Verdict | undefined {
  if (error instanceof TemplateProblem) {
    const { code, message, exit, next = `${context.help ?? context.program} --help` } = error;
    return { code, message: sentence(message), next: typeof next === 'function' ? next(context) : next, exit };
  }
  if (error instanceof UsageError)
    return judge(new TemplateProblem({ code: 'USAGE', message: error.message }), context);
  if (error instanceof DurableError) {
    const { code, message, path } = error;
    return { code, message, next: shell`df -h ${dirname(path)}`, exit: exitCode.failed };
  }
  if (!(error instanceof TemplateError || error instanceof VimError)) return undefined;
  const { code } = error;
  const telling = VAGUE.has(code) ? causesOf(error).find((one) => isVimError(one) && TELLING.has(one.code)) : undefined;
  const deciding = isVimError(telling) ? telling.code : code;
  const exit = EXITS[deciding] ?? exitCode.failed;
  return { code, message: textOf(error, context), next: NEXT_COMMANDS[deciding](context), exit };
}

/** In the words of a person at a command line, where the packages below speak to a log or of a cluster. */
export function textOf(error: unknown, { url, username }: Pick<Failure, 'url' | 'username'>): string {
  if (error instanceof TemplateError && PLACE.has(error.code)) return sentence(error.text);
  // An operator looks again; of a command a person has to know when.
  if (isTemplateError(error, 'UPLOAD_IN_PROGRESS'))
    return `${error.text}; run again in ${SILENCE_MS / 60_000} minutes, or --wait.`;
  if (!(error instanceof VimError)) return error instanceof Error ? error.message : String(error);
  const { host } = new URL(url);
  switch (error.code) {
    case 'VIM_LOGIN_REFUSED':
      return `${host} does not let ${username} in: the name or the password is wrong, or the user has no role there.`;
    case 'VIM_LOGIN_WITHHELD':
      return `${error.clause}. Nothing was sent. A new password is tried at once, and this one with --login-now.`;
    case 'VIM_LOGIN_LIMIT':
      return `${error.clause}. Nothing was sent.`;
    case 'VIM_TLS_UNTRUSTED':
      // Node adds advice for programmers behind a semicolon.
      return `The certificate of ${host} is not trusted (${rootCause(error).replace(/;.*/s, '').trim()}), and nothing was sent to it.`;
    case 'VIM_UNREACHABLE':
      return `${host} cannot be reached (${rootCause(error)}): check the address, the network, the proxy, and that the vCenter is up.`;
    default:
      return error.message;
  }
}

/** An error and what is behind it. */
function causesOf(error: unknown, depth = 8): readonly Error[] {
  return error instanceof Error && depth >= 0 ? [error, ...causesOf(error.cause, depth - 1)] : [];
}

function rootCause(error: Error): string {
  return causesOf(error).at(-1)?.message ?? '';
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
