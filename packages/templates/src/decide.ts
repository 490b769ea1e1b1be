import type { MoRef } from '@drydock/vsphere';
import type { Mark } from './mark.ts';
import type { Attempt } from './names.ts';

/** vCenter's default time-out of an import lease. An upload without keep-alive is over after it. */
export const LEASE_TIMEOUT_MS = 300_000;

/**
 * Who makes an unfinished import: this process, a holder that still leads, one that does not, or one of whom nothing is known
 * (then only its age tells).
 */
export type Uploader = 'here' | 'live' | 'gone' | 'unknown';

/** A machine with our valid mark. */
export interface Candidate {
  readonly ref: MoRef;
  readonly name: string;
  readonly isTemplate: boolean;
  readonly mark: Mark;
  /** Every byte was acknowledged and secure boot is settled. */
  readonly verified: boolean;
  /** Milliseconds since 1970, by vCenter's clock. */
  readonly createdAt?: number;
  /** A task is queued or running on it. */
  readonly busy: boolean;
  readonly uploader: Uploader;
  /** Ids; read only for verified ones. */
  readonly tags: readonly string[];
}

/** The publication folder as a plain value. */
export interface Observed {
  readonly now: number;
  /** Names of all machines and templates in the folder. */
  readonly names: ReadonlySet<string>;
  /** Marked by this cluster for this wish, by {@link Wanted.attempts}. */
  readonly candidates: readonly Candidate[];
}

/** What should be. */
export interface Wanted {
  readonly digest: string;
  readonly attempts: readonly Attempt[];
  readonly tagIds: readonly string[];
}

/** The next step. Each is one change that the outside sees entirely or not at all, or a reason for none. */
export type Step =
  | { readonly kind: 'done'; readonly ref: MoRef; readonly name: string }
  | { readonly kind: 'import'; readonly attempt: Attempt }
  | { readonly kind: 'markAsTemplate'; readonly ref: MoRef; readonly name: string }
  | { readonly kind: 'attachTags'; readonly ref: MoRef; readonly name: string; readonly tagIds: readonly string[] }
  | {
      readonly kind: 'destroy';
      readonly ref: MoRef;
      readonly name: string;
      readonly instanceUuid: string;
      readonly finished: boolean;
      readonly reason: string;
    }
  | { readonly kind: 'wait'; readonly name: string; readonly reason: string }
  | { readonly kind: 'blocked'; readonly reason: string };

/**
 * The next step of a pointer publication.
 *
 * ```
 *  nothing ──import──▶ verified ──markAsTemplate──▶ template ──attachTags──▶ done
 *     ▲                    (adopted by whoever comes next)
 *     └──destroy── unverified, its upload surely dead
 * ```
 * Nothing else is ever touched. Of several verified ones the same wins for every observer.
 */
export function decide(observed: Observed, wanted: Wanted): Step {
  const verified = observed.candidates.filter((candidate) => candidate.verified).toSorted(byPrecedence(wanted));
  const best = verified[0];
  if (best !== undefined) return finish(observed, wanted, best);

  const halves = observed.candidates.filter((candidate) => !candidate.isTemplate);
  for (const half of halves) {
    const dead = surelyDead(half, observed.now);
    if (dead.dead) return destroy(half, dead.reason);
  }
  const alive = halves[0];
  if (alive !== undefined) return { kind: 'wait', name: alive.name, reason: surelyDead(alive, observed.now).reason };

  const attempt = wanted.attempts.find(({ name }) => !observed.names.has(name));
  if (attempt === undefined) {
    return {
      kind: 'blocked',
      reason: `all ${wanted.attempts.length} names from ${wanted.attempts[0]?.name ?? '?'} on are taken`,
    };
  }
  return { kind: 'import', attempt };
}

function finish(observed: Observed, wanted: Wanted, best: Candidate): Step {
  if (!best.isTemplate) return { kind: 'markAsTemplate', ref: best.ref, name: best.name };
  const missing = wanted.tagIds.filter((id) => !best.tags.includes(id));
  if (missing.length > 0) return { kind: 'attachTags', ref: best.ref, name: best.name, tagIds: missing };
  for (const other of observed.candidates) {
    // A second template may be referenced already: only collection, which knows the references, may take it.
    if (other === best || other.isTemplate) continue;
    const dead = surelyDead(other, observed.now);
    if (dead.dead) return destroy(other, `${best.name} is in place`);
  }
  return { kind: 'done', ref: best.ref, name: best.name };
}

/** Templates first (somebody may use them), then the earlier name of the wish, then the older. */
function byPrecedence(wanted: Wanted): (a: Candidate, b: Candidate) => number {
  const round = (candidate: Candidate): number =>
    wanted.attempts.findIndex(({ operation }) => operation === candidate.mark.operation);
  return (a, b) =>
    Number(b.isTemplate) - Number(a.isTemplate) ||
    round(a) - round(b) ||
    (a.createdAt ?? 0) - (b.createdAt ?? 0) ||
    (a.mark.instanceUuid < b.mark.instanceUuid ? -1 : 1);
}

/** Whether nobody can be uploading to it any more; otherwise why it must stay. */
export function surelyDead(candidate: Candidate, now: number): { readonly dead: boolean; readonly reason: string } {
  if (candidate.busy) return { dead: false, reason: `a task runs on ${candidate.name}` };
  switch (candidate.uploader) {
    case 'here':
      return { dead: false, reason: `${candidate.name} is being imported by this process` };
    case 'live':
      return { dead: false, reason: `${candidate.name} is being imported by ${candidate.mark.holder}` };
    case 'gone':
      return { dead: true, reason: `its importer ${candidate.mark.holder} no longer leads` };
    case 'unknown': {
      if (candidate.createdAt === undefined) return { dead: false, reason: `the age of ${candidate.name} is unknown` };
      const old = candidate.createdAt + 2 * LEASE_TIMEOUT_MS < now;
      return old
        ? { dead: true, reason: 'its upload ended: it is older than twice the time-out of an import' }
        : { dead: false, reason: `${candidate.name} may still be being imported by ${candidate.mark.holder}` };
    }
  }
}

function destroy(candidate: Candidate, reason: string): Step {
  const { ref, name, mark, verified } = candidate;
  return { kind: 'destroy', ref, name, instanceUuid: mark.instanceUuid, finished: verified, reason };
}
