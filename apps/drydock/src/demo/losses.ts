/** A change that was made to a machine: which property, and when it was begun. A machine changes each property once. */
export interface Made {
  readonly machine: string;
  readonly path: string;
  readonly at: number;
}

/** A request to look at a machine again, with what the watch says has changed. Same clock as {@link Made}. */
export interface Asked {
  readonly machine: string;
  readonly paths: ReadonlySet<string>;
  readonly at: number;
}

/** What became of a burst of changes. */
export interface Reckoning {
  /** Machines that changed. */
  readonly changed: ReadonlySet<string>;
  /** Machines for which a request came that covers their last change. */
  readonly reconciled: ReadonlySet<string>;
  /** Changes that no request covers. */
  readonly lost: readonly Made[];
}

/** Sets requests against changes: a request covers a change that was begun before it, if it names the property. */
export function reckon(made: readonly Made[], asked: readonly Asked[]): Reckoning {
  const byMachine = Map.groupBy(asked, ({ machine }) => machine);
  const covered = ({ machine, path, at }: Made): boolean =>
    byMachine.get(machine)?.some((request) => request.at >= at && request.paths.has(path)) === true;
  const last = new Map(made.map((change) => [change.machine, change]));
  return {
    changed: new Set(last.keys()),
    reconciled: new Set([...last.values()].filter(covered).map(({ machine }) => machine)),
    lost: made.filter((change) => !covered(change)),
  };
}
