import type { Path } from '../schema/path.ts';

/** Reasons of the causes of a 422 (metav1.CauseType). */
export type CauseReason =
  | 'FieldValueNotSupported'
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueDuplicate'
  | 'FieldValueTypeInvalid'
  | 'FieldValueForbidden';

/** Why a value is refused. */
export interface Cause {
  readonly reason: CauseReason;
  /** What the cause names. */
  readonly path: Path;
  /** The node whose change or removal cures it: the parent of what is required, the list that is too long. */
  readonly owner: Path;
  /** The keyword of the schema that refuses it: `enum`, `maxItems`, `required`, `x-kubernetes-validations`, … */
  readonly keyword: string;
  readonly message: string;
  /** Text of the rule that refuses it. */
  readonly rule?: string;
}

/** Something that cannot be decided here, because only the server knows. It is never taken for a yes. */
export interface Doubt {
  readonly path: Path;
  readonly keyword: string;
  /** Why it cannot be decided, as a clause. */
  readonly why: string;
  /** Text of the rule that it is about. */
  readonly rule?: string;
}

/** Everything that a check says. */
export interface Verdict {
  readonly causes: readonly Cause[];
  readonly doubts: readonly Doubt[];
}
