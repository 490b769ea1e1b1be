/** Stable codes of {@link TemplateError}, each with what a person does next. */
const NEXT = {
  FOLDER_NOT_FOUND: 'Correct the folder of the failure domain, or create it.',
  CLUSTER_NOT_FOUND: 'Correct the compute cluster of the failure domain.',
  POOL_NOT_FOUND: 'Correct the resource pool of the failure domain.',
  NETWORK_NOT_FOUND: 'Correct the first network of the failure domain.',
  DATASTORE_NOT_FOUND: 'Correct the datastore of the failure domain.',
  DATASTORE_UNUSABLE: 'Make the datastore accessible, or free space on it.',
  HOSTS_UNAVAILABLE: 'Take a host out of maintenance, reconnect it, or mount the datastore and the network on it.',
  TAG_NOT_FOUND: "Create the tag (the installer's category is openshift-<infrastructure name>), or correct its name.",
  TAG_AMBIGUOUS: 'Rename the tags so that one alone bears this name.',
  REFERENCE_INVALID: 'Use the name of a template in the folder of the failure domain.',
  NAME_TAKEN: 'Rename or remove what bears the names in this folder.',
  UPLOAD_IN_PROGRESS: 'Nothing to do: it is looked at again later.',
  VERSION_UNKNOWN: 'Set the product version of the template, or point the machine set to another template.',
  DOWNLOAD_FAILED: 'Check the address, the proxy settings and that the server is up.',
  DIGEST_MISMATCH: 'Check that the file behind the address is the one that the release names.',
  OVA_INVALID: 'Check the file: it must be an OVA with one descriptor, and its disks must follow the manifest.',
  OVA_UNSUPPORTED: 'Use an image with exactly one network adapter and a known disk provisioning.',
  IMPORT_FAILED: 'Look at the cause; what was half-made is removed, and the import is tried again.',
  CACHE_FAILED: 'Check that the cache directory is writable and has room.',
  NOT_CONVERGED: 'Look at what else changes the folder; the publication is tried again.',
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

/** The one error of this package. `text` is the sentence alone, in upstream's words; `message` adds what to do next. No secret in either. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  readonly code: TemplateErrorCode;
  readonly text: string;
  /** What a person does next. */
  readonly next: string;
  /** Whether the same call may succeed later although nobody here changes anything. */
  readonly retriable: boolean;

  constructor(init: TemplateErrorInit) {
    super(`${init.message}. ${NEXT[init.code]}`, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.text = init.message;
    this.next = NEXT[init.code];
    this.retriable = init.retriable ?? false;
  }
}

/** Whether `error` is a {@link TemplateError}, optionally of one code. */
export function isTemplateError(error: unknown, code?: TemplateErrorCode): error is TemplateError {
  return error instanceof TemplateError && (code === undefined || error.code === code);
}

/** The text of a cause for a message. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether a cause says that a repetition may help. Unknown causes may pass. */
export function mayPass(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'retriable' in error ? error.retriable === true : true;
}
