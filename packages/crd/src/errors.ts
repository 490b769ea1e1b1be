import { oneLine } from '@drydock/api/text';

/** Stable codes of {@link CrdError}, each with what a person does next. */
const NEXT = {
  NOT_A_CRD: 'Give a CustomResourceDefinition of apiextensions.k8s.io/v1.',
  UNREADABLE: 'Check the file: it must be YAML or JSON without duplicate keys.',
  TOO_LARGE: 'Check where the document comes from; no real CRD is that large or that deep.',
  NOT_STRUCTURAL: 'An API server of today refuses this schema; correct it before it is compared.',
} as const;

/** See {@link CrdError.code}. */
export type CrdErrorCode = keyof typeof NEXT;

/** The one error of this package: the input cannot be judged. What a schema says about an object is never an error, but a finding. */
export class CrdError extends Error {
  override readonly name = 'CrdError';
  readonly code: CrdErrorCode;

  constructor(code: CrdErrorCode, message: string, cause?: unknown) {
    super(oneLine(`${message}. ${NEXT[code]}`), cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
