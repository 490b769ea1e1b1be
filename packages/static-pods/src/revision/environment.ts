import { type DurableOptions, during, type ExchangePolicy, type FsOps, nodeOps, tapOps } from '@drydock/durable';
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
  /** What to do where directories cannot be exchanged; default `require`. */
  readonly exchange?: ExchangePolicy;
  readonly clock?: Clock;
  /** Makes an Event; never waits, never fails. */
  readonly notify?: (notice: Notice) => void;
  /** One line for people. */
  readonly log?: (line: string) => void;
}

/** The calls by which a program looks at the disk itself: what fails is a `DurableError` with its path, as it is from the operations that write. */
export function looking({ ops = nodeOps }: Environment): FsOps {
  return tapOps(ops, (call, run) =>
    during({ code: 'READ_FAILED', stage: 'prepare', path: call.path, visible: 'old' }, run),
  );
}

/** The text of whatever was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
