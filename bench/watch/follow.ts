import type { Changes } from './job.ts';

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
export function follow(changes: Changes, requests: Changes): Followed {
  const changed = byMachine(changes);
  const asked = byMachine(requests);
  const latencyMs: number[] = [];
  let lost = 0;
  let used = 0;
  for (const [machine, times] of changed) {
    const answers = asked.get(machine) ?? [];
    let next = 0;
    for (const [index, time] of times.entries()) {
      while ((answers[next] ?? Number.POSITIVE_INFINITY) < time) next += 1;
      const answer = answers[next] ?? Number.POSITIVE_INFINITY;
      if (answer < (times[index + 1] ?? Number.POSITIVE_INFINITY)) {
        latencyMs.push((answer - time) / 1000);
        used += 1;
      } else lost += 1;
    }
  }
  return { latencyMs: latencyMs.toSorted((a, b) => a - b), lost, surplus: requests.at.length - used };
}

/** The value below which a share of the sorted values lies. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function byMachine({ machines, at }: Changes): Map<string, number[]> {
  const all = new Map<string, number[]>();
  for (const [index, machine] of machines.entries()) {
    const times = all.get(machine);
    if (times === undefined) all.set(machine, [at[index] ?? 0]);
    else times.push(at[index] ?? 0);
  }
  return all;
}
