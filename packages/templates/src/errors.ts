import { oneLine } from '@drydock/api/text';

/** Stable codes of {@link TemplateError}, each with what a person does next. */
const NEXT = {
  FOLDER_NOT_FOUND: 'Correct the folder of the failure domain, or create it.',
  DATACENTER_NOT_FOUND: 'Correct the datacenter of the failure domain.',
  CLUSTER_NOT_FOUND: 'Correct the compute cluster of the failure domain.',
  POOL_NOT_FOUND: 'Correct the resource pool of the failure domain.',
  NETWORK_NOT_FOUND: 'Correct the first network of the failure domain.',
  DATASTORE_NOT_FOUND: 'Correct the datastore of the failure domain.',
  DATASTORE_UNUSABLE: 'Make the datastore accessible.',
  NO_SPACE: 'Free space on the datastore (collect old templates first), or choose another one.',
  HOSTS_UNAVAILABLE: 'Take a host out of maintenance, reconnect it, or mount the datastore and the network on it.',
  TAG_NOT_FOUND: "Create the tag (the installer's category is openshift-<infrastructure name>), or correct its name.",
  TAG_AMBIGUOUS: 'Rename the tags so that one alone bears this name.',
  TAG_FAILED: 'Look at the cause; the finished import is kept, and only the tag is tried again.',
  TEMPLATE_NOT_FOUND: 'List the templates of the folder, and use one of their names.',
  NAME_TAKEN: 'Rename or remove what bears the names in this folder, or the folders of these names on the datastore.',
  NAME_TOO_LONG: 'Choose a name of 1 to 80 characters.',
  NOT_A_TEMPLATE: 'Choose another name, or make this machine a template and adopt it.',
  POWERED_ON: 'Choose another name; a machine that runs is never put away.',
  FOREIGN_OWNER: 'Choose another name, or let its owner remove it.',
  UNMARKED: 'Adopt it, or allow templates without a mark to be retired.',
  HAS_SNAPSHOTS: 'Remove its snapshots if nobody clones from them, or publish by pointer, which leaves it as it is.',
  TEMPLATE_BUSY: 'Wait until its task has ended, then try again.',
  TEMPLATE_UNREADABLE: 'Make its datastore and host accessible again; until then nothing is put in its place.',
  OBSTRUCTED: 'Reconnect it and its host, or take the host out of maintenance; it is tried again.',
  NOT_LEADING: 'Nothing to do: whoever leads now goes on from what is there.',
  LEASE_LOST: 'Nothing to do: it is imported again at once.',
  UPLOAD_IN_PROGRESS: 'Nothing to do: it is looked at again later.',
  RENAME_FAILED: 'Look at the cause; the next attempt goes on from what is there.',
  SWAP_FAILED: 'Look at both causes, then try again: the next attempt finishes the swap or takes it back.',
  NOTHING_TO_REVERT: 'Look at the history of the name for what is still there.',
  WORLD_MOVED: 'Make a new plan.',
  PRIVILEGE_MISSING: 'Give the user this privilege there, then try again.',
  DOWNLOAD_FAILED: 'Check the address, the proxy settings and that the server is up.',
  DIGEST_MISMATCH: 'Check that the file behind the address is the one that the release or the catalogue names.',
  LIBRARY_ITEM_MISSING:
    "Look at what is there (govc library.ls '*'), let the user see it by a global permission, or correct contentLibraryItem: kubectl edit bootimagepolicy.",
  LIBRARY_ITEM_AMBIGUOUS:
    "Name library and item by their ids (govc library.ls -json '*'), or rename one: kubectl edit bootimagepolicy.",
  LIBRARY_ITEM_UNUSABLE:
    'Put the OVF or the OVA of an image into the library (govc library.import LIBRARY FILE), and name that item: kubectl edit bootimagepolicy.',
  OVA_INVALID: 'Check the file: it must be an OVA with one descriptor, and its disks must follow the manifest.',
  OVA_UNSUPPORTED: 'Use an image with exactly one network adapter and a known disk provisioning.',
  IMPORT_FAILED: 'Look at the cause; what was half-made is removed, and the import is tried again.',
  CACHE_FAILED:
    'Check that the cache directory is writable and has room, and that the image is no larger than the cache.',
  ATTRIBUTE_CUT:
    'Let custom attributes of machines hold 255 characters, or look whether something else writes this one.',
  NOT_OURS: 'Give the key that made its mark, or adopt it, if it is what it should be.',
  NOT_CONVERGED: 'Look at what else changes the folder; the publication is tried again.',
  VCENTER_FAILED: 'Look at the cause, then try again: what was done is not done twice.',
} as const;

/** See {@link TemplateError.code}. */
export type TemplateErrorCode = keyof typeof NEXT;

/** What a {@link TemplateError} is made of. `message` is a clause without a final full stop. */
export interface TemplateErrorInit {
  readonly code: TemplateErrorCode;
  readonly message: string;
  readonly retriable?: boolean;
  readonly cause?: unknown;
}

/** The one error of this package. `text` is the sentence alone, in upstream's words where it has some; `message` adds what to do next. No secret in either. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  readonly code: TemplateErrorCode;
  readonly text: string;
  /** What a person does next. */
  readonly next: string;
  /** Whether the same call may succeed later although nobody here changes anything. */
  readonly retriable: boolean;

  constructor(init: TemplateErrorInit) {
    const next = adviceOf(init);
    super(oneLine(`${init.message}. ${next}`), init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.text = oneLine(init.message);
    this.next = next;
    this.retriable = init.retriable ?? false;
  }
}

/** One error has one piece of advice: that of a cause which knows more, in place of "look at the cause". */
function adviceOf({ code, cause }: Pick<TemplateErrorInit, 'code' | 'cause'>): string {
  const { next } = (cause ?? {}) as { readonly next?: unknown };
  return typeof next === 'string'
    ? NEXT[code].replace(/^Look at the cause/, () => next.replace(/\.$/, ''))
    : NEXT[code];
}

/** Whether `error` is a {@link TemplateError}, optionally of one code. */
export function isTemplateError(error: unknown, code?: TemplateErrorCode): error is TemplateError {
  return error instanceof TemplateError && (code === undefined || error.code === code);
}

/** The text of a cause inside a message, whose own full stop follows. */
export function clauseOf(error: unknown): string {
  return reasonOf(error).replace(/\.$/, '');
}

/** The text of a cause, without the advice that it ends with: whoever wraps it gives advice. */
export function reasonOf(error: unknown): string {
  const { text } = (error ?? {}) as { readonly text?: unknown };
  if (typeof text === 'string') return text;
  return error instanceof Error ? error.message : String(error);
}
