import { appendFileSync } from 'node:fs';

/** What a test did of all that it could do. */
export interface Tally {
  /** What was counted, in the plural: "kills". */
  readonly what: string;
  readonly did: number;
  /** Of how many; absent where nobody knows. */
  readonly of?: number;
}

/** Writes a line for the report of a soak with a budget (DRYDOCK_SOAK_TALLY); nothing elsewhere. */
export function tally(counted: Tally): void {
  const file = process.env['DRYDOCK_SOAK_TALLY'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(counted)}\n`);
}

/**
 * When one of several loops of a slice of a soak with a budget (DRYDOCK_SOAK_UNTIL, milliseconds since 1970) is out of time: after a part of what is left
 * now, so that those after it have their turn. Without a budget it never is.
 */
export function timeLimit(): () => boolean {
  const until = process.env['DRYDOCK_SOAK_UNTIL'];
  if (until === undefined) return () => false;
  const now = Date.now();
  const end = now + (Number(until) - now) / 3;
  return () => Date.now() >= end;
}
