import type { ImageFacts } from './image-facts.ts';

/** What went wrong; stable, for callers that branch and for `BootImage.status.reason`. */
export type BootImageErrorCode =
  | 'ArchitectureInvalid'
  | 'CanaryFailed'
  | 'CanaryRefused'
  | 'CanaryUnsettled'
  | 'CanaryUnsupported'
  | 'CatalogueUnusable'
  | 'CloudAnswerInvalid'
  | 'CloudUnavailable'
  | 'ClusterVersionUnreadable'
  | 'ConfigMapUnreadable'
  | 'CredentialsMissing'
  | 'DiskTypeUnknown'
  | 'HotLoop'
  | 'ImageIncompatible'
  | 'ImageNotPublished'
  | 'ImageNotReady'
  | 'ImageTermsNotAccepted'
  | 'ImageWithdrawn'
  | 'InfrastructureUnreadable'
  | 'MachineConfigurationUnreadable'
  | 'NameUnusable'
  | 'NotATemplate'
  | 'NotInCatalogue'
  | 'NotReady'
  | 'PatchFailed'
  | 'PinConflict'
  | 'PinInvalid'
  | 'PinnedImageChanged'
  | 'PinnedImageGone'
  | 'PinnedImageUnproven'
  | 'PolicyConflict'
  | 'PolicyRefused'
  | 'ProviderSpecInvalid'
  | 'ReleaseNotOffered'
  | 'SelectorInvalid'
  | 'StreamInvalid'
  | 'StubInvalid'
  | 'TemplateVersionUnknown'
  | 'Unexpected'
  | 'UserDataUnreadable'
  | 'UserDataWriteFailed'
  | 'WorkspaceIncomplete';

/** Options of {@link BootImageError}. */
export interface BootImageErrorOptions {
  readonly cause?: unknown;
  /** False when the same attempt fails until a person or another controller changes something. Default true. */
  readonly retriable?: boolean;
  /** What a person does next; shown in `BootImage.status.nextStep`, not part of the message that conditions carry. */
  readonly nextStep?: string;
  /** What was found out about the image all the same. */
  readonly facts?: ImageFacts;
}

/**
 * The error of this package. `message` is upstream's text where upstream has one, because conditions are compared by text;
 * the next step therefore stands beside it and not inside it.
 */
export class BootImageError extends Error {
  override readonly name: string = 'BootImageError';
  readonly code: BootImageErrorCode;
  readonly retriable: boolean;
  readonly nextStep: string | undefined;
  readonly facts: ImageFacts | undefined;

  constructor(code: BootImageErrorCode, message: string, options: BootImageErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retriable = options.retriable ?? true;
    this.nextStep = options.nextStep;
    this.facts = options.facts;
  }
}

/** The text of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
