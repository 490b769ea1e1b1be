/** Changes that count, or requests, in order: whose machine, and when, in microseconds since 1970. */
export interface Moments {
  readonly machines: readonly string[];
  readonly at: readonly number[];
}

/** How changes were followed by requests. */
export interface Followed {
  /** Milliseconds from each change to the first request for its machine, ascending. */
  readonly latencyMs: readonly number[];
  /** Changes of which nobody was told before the same machine changed again, if at all. */
  readonly lost: number;
  /** Requests for machines that had not changed since the one before. */
  readonly surplus: number;
}

/** Sets requests against changes, machine by machine. */
export function follow(changes: Moments, requests: Moments): Followed {
  const changed = byMachine(changes);
  const asked = byMachine(requests);
  const latencyMs: number[] = [];
  let lost = 0;
  for (const [machine, times] of changed) {
    const answers = asked.get(machine) ?? [];
    let next = 0;
    for (const [index, time] of times.entries()) {
      while ((answers[next] ?? Number.POSITIVE_INFINITY) < time) next += 1;
      const answer = answers[next] ?? Number.POSITIVE_INFINITY;
      if (answer < (times[index + 1] ?? Number.POSITIVE_INFINITY)) latencyMs.push((answer - time) / 1000);
      else lost += 1;
    }
  }
  const surplus = requests.at.length - latencyMs.length;
  return { latencyMs: latencyMs.toSorted((a, b) => a - b), lost, surplus };
}

/** The value below which a share of the sorted values lies. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Microseconds since 1970, the same clock in every thread and process of this machine. */
export function nowMicros(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}

function byMachine({ machines, at }: Moments): Map<string, number[]> {
  const all = new Map<string, number[]>();
  for (const [index, machine] of machines.entries()) {
    const times = all.get(machine);
    if (times === undefined) all.set(machine, [at[index] ?? 0]);
    else times.push(at[index] ?? 0);
  }
  return all;
}
