import type { DurableOptions } from '@drydock/durable';
import type { Clock } from '@drydock/kube';

/** Something to tell the cluster as an Event. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

/** What every part of this package acts through. */
export interface Environment extends DurableOptions {
  readonly clock?: Clock;
  /** Makes an Event; never waits, never fails. */
  readonly notify?: (notice: Notice) => void;
  /** One line for people. */
  readonly log?: (line: string) => void;
}

/** The text of whatever was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
