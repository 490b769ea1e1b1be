import { oneLine } from '@drydock/api/text';
import type { HistoryEntry } from '@drydock/boot-images';

/** Whether a set can go back to an image of its history, as a table cell. `gone`: what the operator says of an image that is not there. */
export function wayBackCell({ until, revertable, why }: HistoryEntry, gone: string): string {
  if (until === undefined) return 'in use';
  if (revertable === undefined) return 'not looked at';
  if (revertable) return 'yes';
  return why === undefined || why === gone ? `no, ${gone}` : 'no, see below';
}

/** A line for each image that is there and cannot be gone back to: why, and the command that says what a person can give. */
export function wayBackRefusals(set: string, history: readonly HistoryEntry[], gone: string): readonly string[] {
  return history.flatMap(({ id, release = id, why, until }) =>
    until === undefined || why === undefined || why === gone
      ? []
      : oneLine(`No way back to ${release}: ${why}. What it takes: drydock image revert ${set} --to ${id}`),
  );
}
