/** Which sets an event concerns: all of them, or these. A timer concerns none. */
export type Touched = 'all' | ReadonlySet<string>;

/** Why a pass runs. */
export interface PassCause {
  /** Name of the last event: the `reason` of both conditions. */
  readonly reason: string;
  /** A set that failed and is not touched waits for its own time, so that nobody's event costs somebody else's upload. */
  readonly touched: Touched;
}

/** Events since the last pass. */
export interface Causes {
  readonly note: (event: string, touched: Touched) => void;
  /** What the next pass is for. Where nothing was noted a timer woke it, and the last event stays its reason. */
  readonly take: () => PassCause;
  /** Ends with the first event after the last `take`. */
  readonly news: () => AbortSignal;
  /** The pass failed: its events are not dealt with, but for the sets of `all` that it looked at. */
  readonly putBack: (cause: PassCause, looked: ReadonlySet<string>, all: Iterable<string>) => void;
}

const nothing: ReadonlySet<string> = new Set();

/** No events yet. */
export function createCauses(): Causes {
  let reason = 'Started';
  let touched: Touched = nothing;
  let news = new AbortController();
  const add = (more: Touched): void => {
    touched = touched === 'all' || more === 'all' ? 'all' : new Set([...touched, ...more]);
  };
  return {
    note: (event, more) => {
      reason = event;
      add(more);
      news.abort();
    },
    take: () => {
      const cause = { reason, touched };
      touched = nothing;
      news = new AbortController();
      return cause;
    },
    news: () => news.signal,
    putBack: (cause, looked, all) => {
      const left = cause.touched === 'all' ? [...all] : [...cause.touched];
      add(new Set(left.filter((name) => !looked.has(name))));
    },
  };
}
