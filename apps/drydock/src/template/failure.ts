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

/** Wrong input: nobody but the caller can change it. */
const USAGE: ReadonlySet<TemplateErrorCode | VimErrorCode> = new Set<TemplateErrorCode | VimErrorCode>([
  'NAME_TOO_LONG',
  'VIM_INVALID_NAME',
  'VIM_REFUSED',
]);

/** A finding that stops the verb before it does harm; a repetition alone does not help. */
const BLOCKED: ReadonlySet<TemplateErrorCode | VimErrorCode> = new Set<TemplateErrorCode | VimErrorCode>([
  'FOLDER_NOT_FOUND',
  'DATACENTER_NOT_FOUND',
  'CLUSTER_NOT_FOUND',
  'POOL_NOT_FOUND',
  'NETWORK_NOT_FOUND',
  'DATASTORE_NOT_FOUND',
  'DATASTORE_UNUSABLE',
  'NO_SPACE',
  'HOSTS_UNAVAILABLE',
  'PRIVILEGE_MISSING',
  'TAG_NOT_FOUND',
  'TAG_AMBIGUOUS',
  'TEMPLATE_NOT_FOUND',
  'NAME_TAKEN',
  'NOT_A_TEMPLATE',
  'POWERED_ON',
  'HAS_SNAPSHOTS',
  'FOREIGN_OWNER',
  'UNMARKED',
  'TEMPLATE_BUSY',
  'UPLOAD_IN_PROGRESS',
  'NOTHING_TO_REVERT',
  'DIGEST_MISMATCH',
  'OVA_INVALID',
  'OVA_UNSUPPORTED',
  'VIM_LOGIN_WITHHELD',
  'VIM_NO_PERMISSION',
  'VIM_OVF_REFUSED',
]);

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
  return { code, message: textOf(error, context), next: NEXT_COMMANDS[deciding](context), exit: exitOf(deciding) };
}

/** In the words of a person at a command line, where the packages below speak to a log or of a cluster. */
function plainText(error: unknown, { url, username }: Pick<Failure, 'url' | 'username'>): string | undefined {
  if (error instanceof TemplateError && PLACE.has(error.code)) return sentence(error.text);
  // An operator looks again; of a command a person has to know when.
  if (isTemplateError(error, 'UPLOAD_IN_PROGRESS'))
    return `${error.text}; run again in ${SILENCE_MS / 60_000} minutes, or --wait.`;
  if (!(error instanceof VimError)) return undefined;
  const { host } = new URL(url);
  switch (error.code) {
    case 'VIM_LOGIN_REFUSED':
      return `${host} does not let ${username} in: the name or the password is wrong, or the user has no role there.`;
    case 'VIM_LOGIN_WITHHELD':
      return `${error.clause}. Nothing was sent: another password is tried at once, and this one with --login-now.`;
    case 'VIM_TLS_UNTRUSTED':
      // Node adds advice for programmers behind a semicolon.
      return `The certificate of ${host} is not trusted (${rootCause(error).replace(/;.*/s, '').trim()}), and nothing was sent to it.`;
    case 'VIM_UNREACHABLE':
      return `${host} cannot be reached (${rootCause(error)}): check the address, the network, the proxy, and that the vCenter is up.`;
    default:
      return undefined;
  }
}

/** See {@link judge}; for a check that goes on with the next one. */
export function textOf(error: unknown, context: Pick<Failure, 'url' | 'username'>): string {
  return plainText(error, context) ?? (error instanceof Error ? error.message : String(error));
}

/** An error and what is behind it. */
function causesOf(error: unknown, depth = 8): readonly Error[] {
  return error instanceof Error && depth >= 0 ? [error, ...causesOf(error.cause, depth - 1)] : [];
}

function rootCause(error: Error): string {
  return causesOf(error).at(-1)?.message ?? '';
}

function exitOf(code: TemplateErrorCode | VimErrorCode): ExitCode {
  if (code === 'WORLD_MOVED') return exitCode.moved;
  if (USAGE.has(code)) return exitCode.usage;
  return BLOCKED.has(code) ? exitCode.blocked : exitCode.failed;
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
