import { baseOf, retiredName } from '../names.ts';
import { mayDestroy, mayPointAt } from './authority.ts';
import { ADOPTION_MS, estranged, linkedReason, maySweep, whyKept } from './claim.ts';
import type { Candidate, Machine } from './machine.ts';
import { retiredIdentity } from './swap.ts';

/** A template that was first seen as it is this recently (ms) may be about to be referenced, or be the source of a clone that is about to start (VS-T5). */
export const GRACE_MS = 600_000;

/** What collection knows about one of this owner's templates. */
export interface Retained {
  readonly candidate: Candidate;
  /** Who uses it; 'unknown' keeps; undefined: nobody. */
  readonly usedBy: string | undefined;
  /** Who counts on it as a way back, as a clause; undefined where nobody does. */
  readonly needed: string | undefined;
  /** See `Machine`. */
  readonly linked: readonly string[];
  readonly unseen: readonly string[];
}

/** What becomes of one, and why. */
export interface Verdict {
  readonly candidate: Candidate;
  readonly remove: boolean;
  readonly reason: string;
}

/** Limits of collection. */
export interface RetentionPolicy {
  /** How many of the newest templates of each line stay as a way back although nobody uses them. */
  readonly keep: number;
  readonly graceMs: number;
  /** Everything in the folder: a retired template needs its successor in place. */
  readonly machines: readonly Machine[];
}

/**
 * Which of this owner's templates may go. Everything unknown stays. Pure: planning, collection and tests ask the same function.
 */
export function retain(all: readonly Retained[], policy: RetentionPolicy): readonly Verdict[] {
  const wayBack = new Set<Candidate>();
  const kept = new Map<string, number>();
  const free = all.filter(
    ({ candidate, usedBy }) => isSpare(candidate) && usedBy === undefined && candidate.pointers.length === 0,
  );
  // What somebody counts on comes first, so that keeping it costs no place for an image beyond the number.
  const first = (a: Retained, b: Retained): number =>
    Number(b.needed !== undefined) - Number(a.needed !== undefined) || ageOf(b.candidate) - ageOf(a.candidate);
  for (const { candidate } of free.toSorted(first)) {
    const line = lineOf(candidate);
    const before = kept.get(line) ?? 0;
    if (before < policy.keep) wayBack.add(candidate);
    kept.set(line, before + 1);
  }
  return all.map((item) => authorised(verdict(item, all, wayBack, policy)));
}

/** Whatever else speaks against it: what nothing proves stays, and so does a finished import or template that this installation did not record when it made or adopted it. */
function authorised(verdict: Verdict): Verdict {
  const { candidate, remove } = verdict;
  if (!remove) return verdict;
  const permission = mayDestroy(candidate);
  if (!permission.may) return { ...verdict, remove: false, reason: permission.reason };
  if (candidate.own || !(candidate.verified || candidate.isTemplate)) return verdict;
  const reason = `nothing needs it, but it is not in the ledger here: collect where it was published, or run drydock template adopt ${candidate.name}`;
  return { ...verdict, remove: false, reason };
}

/** Whether a name follows from what the template is: any other one was given by an administrator, who means to keep it. */
function isNamedByUs({ name, mark }: Candidate, putAway: boolean): boolean {
  return putAway || name === mark.publishes || baseOf(name, mark.release, mark.digest, mark.operation) !== undefined;
}

/** What a template is a generation of: its stable name, or the base of its pointer publications; '' for one that was renamed. */
export function lineOf({ mark, name }: Candidate): string {
  return mark.publishes ?? baseOf(name, mark.release, mark.digest, mark.operation) ?? '';
}

/** A way back: published by pointer, or put away by a swap. */
function isSpare(candidate: Candidate): boolean {
  const { isTemplate, verified, mark } = candidate;
  if (estranged(candidate) !== undefined) return false;
  return isTemplate && verified && (mark.publishes === undefined || isPutAway(candidate));
}

function isPutAway(candidate: Candidate): boolean {
  const { name, mark } = candidate;
  return mark.publishes !== undefined && name === retiredName(mark.publishes, retiredIdentity(candidate));
}

/** When it came to be what it is: retirement counts anew. */
function ageOf({ createdAt, mark }: Candidate): number {
  return Math.max(createdAt ?? 0, retiredAt(mark.at));
}

function retiredAt(at: string | undefined): number {
  const time = at === undefined ? Number.NaN : Date.parse(at);
  return Number.isNaN(time) ? 0 : time;
}

function verdict(
  item: Retained,
  all: readonly Retained[],
  wayBack: ReadonlySet<Candidate>,
  policy: RetentionPolicy,
): Verdict {
  const { candidate } = item;
  const stays = (reason: string): Verdict => ({ candidate, remove: false, reason });
  const { mark } = candidate;
  if (item.usedBy === 'unknown') return stays('it is unknown whether something uses it');
  if (item.usedBy !== undefined) return stays(`used by ${item.usedBy}`);
  if (candidate.pointers.length > 0) return stays(`${candidate.pointers.join(', ')} points at it`);
  const foreign = estranged(candidate);
  if (foreign !== undefined) return stays(foreign);
  if (mark.role === 'adopted') return stays('it was made by hand');
  if (candidate.isTemplate && mark.publishes === candidate.name) return stays('it is published under its stable name');
  const links = linkedReason(item);
  if (links !== undefined) return stays(links);
  if (!candidate.verified) {
    if (candidate.isTemplate) return stays('it was made a template by somebody else before it was verified');
    const { sweep, reason } = maySweep({ ...candidate, linked: item.linked, unseen: item.unseen }, true);
    return sweep ? { candidate, remove: true, reason: `unfinished import: ${reason}` } : stays(reason);
  }
  if (!isNamedByUs(candidate, isPutAway(candidate))) return stays('an administrator gave it another name');
  if (candidate.busy) return stays('a task runs on it');
  if (candidate.chained) return stays('it has snapshots');
  if (!hasSuccessor(candidate, policy)) return stays(`no template of ours bears the name ${mark.publishes} now`);
  if (item.needed !== undefined && candidate.isTemplate) return stays(item.needed);
  if (wayBack.has(candidate)) return stays('kept as a way back');
  if (candidate.unchangedMs < policy.graceMs) return stays('it is new and may be about to be used');
  if (candidate.isTemplate && mark.publishes !== undefined && !isPutAway(candidate)) return unpublished(candidate);
  if (!candidate.isTemplate) {
    const kept = whyKept(candidate, true);
    if (kept !== undefined) return stays(kept);
    const twin = all.find((other) => isTwin(other.candidate, candidate));
    if (twin !== undefined) return { candidate, remove: true, reason: `${twin.candidate.name} has the same content` };
    if (candidate.unchangedMs < ADOPTION_MS) return stays('a finished import waits to be adopted');
    return { candidate, remove: true, reason: 'a finished import that nobody adopted' };
  }
  return { candidate, remove: true, reason: 'nothing uses it' };
}

/** A template with the same content that may be used. */
function isTwin(twin: Candidate, { mark }: Candidate): boolean {
  const same = twin.isTemplate && twin.mark.digest === mark.digest;
  return same && mayPointAt(twin).may && estranged(twin) === undefined;
}

/** A template that was to be swapped in and never was. */
function unpublished(candidate: Candidate): Verdict {
  if (candidate.unchangedMs < ADOPTION_MS)
    return { candidate, remove: false, reason: 'a finished import waits to be published' };
  return { candidate, remove: true, reason: 'a finished import that was never published' };
}

/** Nothing that stood under a stable name goes before its successor was seen there. */
function hasSuccessor({ mark }: Candidate, { machines }: RetentionPolicy): boolean {
  if (mark.publishes === undefined) return true;
  return machines.some((other) => {
    const ours = other.mark?.owner === mark.owner && other.verified && estranged(other) === undefined;
    return other.name === mark.publishes && other.isTemplate && ours;
  });
}
