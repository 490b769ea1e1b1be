import type { VmSummary } from '@drydock/vsphere';
import { type Candidate, surelyDead } from './decide.ts';

/** A template that was made this recently may be about to be referenced. */
export const GRACE_MS = 600_000;

/** How long a finished import waits to be made a template before it counts as forgotten. */
export const ADOPTION_MS = 86_400_000;

/** What collection knows about one of this cluster's templates. */
export interface Retained {
  readonly candidate: Candidate;
  /** Who uses it; 'unknown' keeps; undefined: nobody. */
  readonly usedBy: string | undefined;
  /** Machines whose disks lie on this one's disks. */
  readonly linked: readonly string[];
}

/** What becomes of one, and why. */
export interface Verdict {
  readonly candidate: Candidate;
  readonly remove: boolean;
  readonly reason: string;
}

/** Limits of collection. */
export interface RetentionPolicy {
  readonly now: number;
  /** How many of the newest templates that nobody uses stay as a way back. */
  readonly keep: number;
  readonly graceMs: number;
}

/**
 * Which of this cluster's templates may go. Everything unknown stays. Pure: planning, collection and tests ask the same function.
 */
export function retain(all: readonly Retained[], policy: RetentionPolicy): readonly Verdict[] {
  const free = all
    .filter(({ candidate, usedBy }) => candidate.isTemplate && candidate.verified && usedBy === undefined)
    .toSorted((a, b) => (b.candidate.createdAt ?? 0) - (a.candidate.createdAt ?? 0))
    .map(({ candidate }) => candidate);
  const wayBack = new Set(free.slice(0, policy.keep));
  return all.map((item) => verdict(item, all, wayBack, policy));
}

function verdict(
  item: Retained,
  all: readonly Retained[],
  wayBack: ReadonlySet<Candidate>,
  policy: RetentionPolicy,
): Verdict {
  const { candidate } = item;
  const stays = (reason: string): Verdict => ({ candidate, remove: false, reason });
  if (item.usedBy === 'unknown') return stays('it is unknown whether something uses it');
  if (item.usedBy !== undefined) return stays(`used by ${item.usedBy}`);
  if (item.linked.length > 0) return stays(`its disks carry those of ${item.linked.join(', ')}`);
  if (!candidate.verified) {
    if (candidate.isTemplate) return stays('it was made a template by somebody else before it was verified');
    const dead = surelyDead(candidate, policy.now);
    return dead.dead ? { candidate, remove: true, reason: `unfinished import: ${dead.reason}` } : stays(dead.reason);
  }
  if (candidate.busy) return stays('a task runs on it');
  if (wayBack.has(candidate)) return stays('kept as a way back');
  if (candidate.createdAt === undefined) return stays('its age is unknown');
  if (candidate.createdAt + policy.graceMs > policy.now) return stays('it is new and may be about to be used');
  if (!candidate.isTemplate) {
    const twin = all.find(
      (other) => other.candidate.isTemplate && other.candidate.mark.digest === candidate.mark.digest,
    );
    if (twin !== undefined) return { candidate, remove: true, reason: `${twin.candidate.name} has the same content` };
    if (candidate.createdAt + ADOPTION_MS > policy.now) return stays('a finished import waits to be adopted');
    return { candidate, remove: true, reason: 'a finished import that nobody adopted' };
  }
  return { candidate, remove: true, reason: 'nothing uses it' };
}

/** Names of machines in the folder whose disks lie on one of `vm`'s disks. */
export function linkedTo(vm: VmSummary, children: readonly VmSummary[]): readonly string[] {
  const files = new Set(vm.disks.map((disk) => disk.file));
  return children
    .filter((other) => other !== vm && other.disks.some((disk) => disk.parents.some((parent) => files.has(parent))))
    .map((other) => other.name);
}
