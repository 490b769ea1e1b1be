/** A precondition that is not met. */
export interface Unmet {
  /** What it is accepted by: the name of the precondition, or `Rollback/CLASS:DEFINITION…` for one finding of a way back. */
  readonly name: string;
  readonly reason: string;
  readonly message: string;
  /** A warning does not stop anything. */
  readonly blocking: boolean;
  /** Nothing accepts it, force included. */
  readonly final?: true;
}
