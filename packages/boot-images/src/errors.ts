import { oneLine } from '@drydock/api/text';
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
  | 'OldStubNotKept'
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
  | 'ServerCertificateInvalid'
  | 'StreamInvalid'
  | 'StubAuthorityExpired'
  | 'StubAuthorityOutdated'
  | 'StubInvalid'
  | 'StubNotConvertible'
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
    super(oneLine(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retriable = options.retriable ?? true;
    this.nextStep = options.nextStep;
    this.facts = options.facts;
  }
}

/** The error with what was found out about the image; one that has such facts, and any other error, as it is. */
export function withFacts(error: unknown, facts: ImageFacts): unknown {
  if (!(error instanceof BootImageError) || error.facts !== undefined) return error;
  const { code, message, retriable, nextStep, cause } = error;
  return new BootImageError(code, message, {
    ...{ cause, retriable, facts },
    ...(nextStep === undefined ? {} : { nextStep }),
  });
}

/** What `read` returns, or the {@link BootImageError} that it throws. Throws every other error. */
export function orBootImageError<T>(read: () => T): T | BootImageError {
  try {
    return read();
  } catch (error) {
    if (error instanceof BootImageError) return error;
    throw error;
  }
}

/** What `read` returns; undefined where it throws. For what is reported elsewhere, when it is decided upon. */
export function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The text of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What is read of something that was thrown: codes of other packages pass through, because they are what a person looks up. */
export interface Thrown {
  readonly code: string;
  readonly retriable: boolean;
  readonly nextStep: string | undefined;
  /** Without the advice that a message of another package may end with. */
  readonly text: string;
}

/** Reads it. */
export function thrownFacts(thrown: unknown): Thrown {
  const known = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    readonly [key in keyof Thrown | 'next']?: unknown;
  };
  return {
    code: typeof known.code === 'string' ? camelCase(known.code) : 'Unexpected',
    retriable: known.retriable !== false,
    nextStep: [known.nextStep, known.next].find((step) => typeof step === 'string'),
    text: typeof known.text === 'string' ? known.text : errorText(thrown),
  };
}

/** `TAG_NOT_FOUND` as `TagNotFound`: reasons are CamelCase words. */
function camelCase(code: string): string {
  if (!/^[A-Z0-9]+(_[A-Z0-9]+)*$/.test(code)) return code;
  return code
    .split('_')
    .map((word) => word.slice(0, 1) + word.slice(1).toLowerCase())
    .join('');
}
