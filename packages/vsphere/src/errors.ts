import { oneLine, quotedPhrase, quotedText } from '@drydock/api/text';
import { isPassing, type VimFault } from './soap/faults.ts';

/** Where a call failed. `fault`: the server refused it; `http`: an answer that is not SOAP or REST; `protocol`: an answer that makes no sense. */
export type VimErrorKind = 'fault' | 'http' | 'transport' | 'timeout' | 'aborted' | 'protocol';

/** Stable codes, with what a person does next. */
const NEXT = {
  VIM_FAULT: 'Look for the fault in the vSphere API reference and for the operation ID in the vCenter logs.',
  VIM_LOGIN_REFUSED: 'Check the user name, the password and that the user has a role on this vCenter.',
  VIM_LOGIN_WITHHELD: 'Nothing was sent. Correct the password where it is kept: another one is tried at once.',
  VIM_LOGIN_LIMIT: 'Nothing was sent. Correct the password where it is kept, and wait until then.',
  VIM_NOT_AUTHENTICATED: 'The session ended; the call is tried again with a new one.',
  VIM_NO_PERMISSION: 'Give the user the privilege that the fault names, on the object that it names.',
  VIM_NAME_TAKEN: 'Choose another name, or look at what bears it now.',
  VIM_INVALID_NAME: 'Choose a name of 1 to 80 characters.',
  VIM_GONE: 'Read the inventory again: the object was deleted or belongs to another session.',
  VIM_NOT_FOUND: 'Check the name, and that the user may see the object.',
  VIM_REFUSED: 'This is a mistake of the caller; nothing was sent.',
  VIM_HTTP_STATUS: 'Check that this is a vCenter and that its services are up.',
  VIM_UNREACHABLE: 'Check the address, the network, the proxy and that the vCenter is up.',
  VIM_TLS_UNTRUSTED: "Give the CA bundle or the SHA-256 fingerprint of the server's certificate.",
  VIM_TIMEOUT: 'Try again; where it repeats, look at the load of the vCenter.',
  VIM_ABORTED: 'The caller ended it.',
  VIM_BAD_RESPONSE: 'Try again; where it repeats, look for a proxy in between.',
  VIM_UNKNOWN_OUTCOME: 'Read the object again before deciding.',
  VIM_OVF_REFUSED:
    'Look at what the server says about the descriptor; check the networks and the virtual hardware version.',
  VIM_LEASE_FAILED: 'Look at the host and the datastore of the import, then import again.',
  VIM_UPLOAD_FAILED: 'Check that this machine reaches the ESXi host on port 443, then import again.',
  VIM_DIGEST_MISMATCH: 'Check the source file; the upload was not what the server stored.',
} as const;

/** See {@link VimError.code}. */
export type VimErrorCode = keyof typeof NEXT;

/** What a {@link VimError} is made of. */
export interface VimErrorInit {
  readonly kind: VimErrorKind;
  readonly code: VimErrorCode;
  /** The method: `Rename_Task`, `POST tag-association`. */
  readonly op: string;
  /** What happened, to which object, as a clause without a final full stop; no secret. */
  readonly message: string;
  /** operationID as sent; found in the vCenter logs. */
  readonly opId?: string;
  readonly retriable?: boolean;
  readonly fault?: VimFault;
  /** HTTP status, where there was one. */
  readonly status?: number;
  /** false: surely no byte of the request left. */
  readonly sent?: boolean;
  /** Milliseconds from now before which nothing is tried again. */
  readonly retryAfterMs?: number;
  readonly denied?: Denial;
  readonly cause?: unknown;
}

/** Who was refused what, in the words of people. */
export interface Denial {
  readonly user: string;
  /** `VirtualMachine.Config.Rename`; '' where the server does not say. */
  readonly privilege: string;
  /** Inventory path; the reference of an object that the user may not even see. */
  readonly path: string;
}

/** The one error of this package. The text never contains a password, a cookie, a request body or the ticket of a transfer URL. */
export class VimError extends Error {
  override readonly name = 'VimError';
  readonly kind: VimErrorKind;
  readonly code: VimErrorCode;
  readonly op: string;
  readonly opId: string;
  /** What happened, without the call and without what to do next. */
  readonly clause: string;
  /** The call and what happened, without what to do next: for an error that wraps this one, and has advice of its own. */
  readonly text: string;
  /** What a person does next. */
  readonly next: string;
  /** Whether the same call may succeed later without anybody changing anything. Says nothing about whether it took effect already. */
  readonly retriable: boolean;
  readonly fault?: VimFault;
  readonly status?: number;
  /** false where surely no byte of the request reached the server. */
  readonly sent: boolean;
  /** Milliseconds, from when it was made, before which nothing is tried again; absent where nobody says so. */
  readonly retryAfterMs?: number;
  /** With VIM_NO_PERMISSION, where it could be found out. */
  readonly denied?: Denial;

  constructor(init: VimErrorInit) {
    const where = init.opId === undefined || init.opId === '' ? init.op : `${init.op} (${init.opId})`;
    super(
      oneLine(`${where}: ${init.message}. ${NEXT[init.code]}`),
      init.cause === undefined ? undefined : { cause: init.cause },
    );
    this.kind = init.kind;
    this.code = init.code;
    this.op = init.op;
    this.clause = init.message;
    this.text = `${where}: ${init.message}`;
    this.next = NEXT[init.code];
    this.opId = init.opId ?? '';
    this.retriable = init.retriable ?? (init.fault === undefined ? false : isPassing(init.fault));
    this.sent = init.sent ?? true;
    if (init.fault !== undefined) this.fault = init.fault;
    if (init.status !== undefined) this.status = init.status;
    if (init.retryAfterMs !== undefined) this.retryAfterMs = init.retryAfterMs;
    if (init.denied !== undefined) this.denied = init.denied;
  }
}

/** Whether `error` is a {@link VimError}, optionally of one code. */
export function isVimError(error: unknown, code?: VimErrorCode): error is VimError {
  return error instanceof VimError && (code === undefined || error.code === code);
}

/** Whether the server may have acted although we have no answer: the call must be followed by a look, not by a repetition. */
export function outcomeUnknown(error: unknown): boolean {
  if (!(error instanceof VimError)) return false;
  if (error.code === 'VIM_UNKNOWN_OUTCOME') return true;
  if (!error.sent || error.code === 'VIM_REFUSED') return false;
  return error.kind === 'transport' || error.kind === 'timeout' || error.kind === 'http' || error.kind === 'protocol';
}

const CODE_OF_FAULT: ReadonlyMap<string, VimErrorCode> = new Map<string, VimErrorCode>([
  ['InvalidLogin', 'VIM_LOGIN_REFUSED'],
  ['NotAuthenticated', 'VIM_NOT_AUTHENTICATED'],
  ['NoPermission', 'VIM_NO_PERMISSION'],
  ['DuplicateName', 'VIM_NAME_TAKEN'],
  ['InvalidName', 'VIM_INVALID_NAME'],
  ['ManagedObjectNotFound', 'VIM_GONE'],
]);

/** A fault as an error. `object` names what the call was made on. */
export function faultError(op: string, object: string, fault: VimFault, opId?: string): VimError {
  const detail = faultDetail(fault);
  const said = fault.message === '' ? '' : ` (${quotedText(fault.message)})`;
  const cause = fault.cause === undefined ? '' : `, caused by ${quotedPhrase(fault.cause.name)}`;
  return new VimError({
    kind: 'fault',
    code: CODE_OF_FAULT.get(fault.name) ?? 'VIM_FAULT',
    op,
    message: `${object}: the server answers ${quotedPhrase(fault.name)}${detail}${said}${cause}`,
    fault,
    ...(opId === undefined ? {} : { opId }),
  });
}

const TELLING_FIELDS: readonly string[] = [
  'invalidProperty',
  'name',
  'privilegeId',
  'file',
  'existingState',
  'datastore',
];

function faultDetail(fault: VimFault): string {
  const parts: string[] = [];
  for (const field of TELLING_FIELDS) {
    const value = fault.field(field);
    if (value !== undefined && value !== '') parts.push(`${field} ${quotedPhrase(value)}`);
  }
  return parts.length === 0 ? '' : `{${parts.join(', ')}}`;
}
