import { mayDestroy, mayPointAt } from './authority.ts';
import type { Candidate, Observed, Step, Wanted } from './machine.ts';

/** vCenter's default time-out of an import lease. An upload without keep-alive is over after it. */
const LEASE_TIMEOUT_MS = 300_000;

/** Machines with this owner's mark that are, or may become, what is wanted, as far as that may be believed. */
export function candidatesOf({ machines }: Observed, { owner, content }: Wanted): readonly Candidate[] {
  return machines.filter((machine): machine is Candidate => {
    const { mark } = machine;
    if (mark?.owner !== owner || !mayPointAt(machine).may) return false;
    if (content.kind === 'generation') return machine.instanceUuid === content.instanceUuid;
    return mark.digest === content.digest && content.attempts.some(({ operation }) => operation === mark.operation);
  });
}

/** The finished one that is wanted. */
export function bestOf(observed: Observed, wanted: Wanted): Candidate | undefined {
  return candidatesOf(observed, wanted)
    .filter(({ verified }) => verified)
    .toSorted(byPrecedence(wanted))[0];
}

/** The published one first, then templates (somebody may use them), then the earlier name of the wish, then the older. */
function byPrecedence({ content, swap }: Wanted): (a: Candidate, b: Candidate) => number {
  const round = ({ mark }: Candidate): number =>
    content.kind === 'image' ? content.attempts.findIndex(({ operation }) => operation === mark.operation) : 0;
  return (a, b) =>
    Number(b.name === swap?.name) - Number(a.name === swap?.name) ||
    Number(b.isTemplate) - Number(a.isTemplate) ||
    round(a) - round(b) ||
    (a.createdAt ?? 0) - (b.createdAt ?? 0) ||
    (a.instanceUuid < b.instanceUuid ? -1 : 1);
}

/** Brings the content into the folder under a name that nobody uses. */
export function stage(observed: Observed, wanted: Wanted): Step {
  const { content } = wanted;
  if (content.kind === 'generation') {
    const reason = `the generation ${content.instanceUuid} is not in the folder, or is no template of this owner`;
    return { kind: 'blocked', code: 'NOTHING_TO_REVERT', reason };
  }
  const halves = candidatesOf(observed, wanted).filter(({ isTemplate }) => !isTemplate);
  for (const half of halves) {
    const dead = surelyDead(half, observed.now);
    if (dead.dead && mayDestroy(half).may) return destroy(half, dead.reason);
  }
  // A dead one that nothing proves stays where it is, and the next name serves.
  const alive = halves.find((half) => !surelyDead(half, observed.now).dead);
  if (alive !== undefined) {
    const { reason } = surelyDead(alive, observed.now);
    return { kind: 'wait', name: alive.name, code: 'UPLOAD_IN_PROGRESS', reason };
  }
  const attempt = content.attempts.find(({ name }) => !observed.machines.some((machine) => machine.name === name));
  if (attempt === undefined) {
    const { attempts } = content;
    const reason = `all ${attempts.length} names from ${attempts[0]?.name ?? '?'} on are taken`;
    return { kind: 'blocked', code: 'NAME_TAKEN', reason };
  }
  return { kind: 'import', attempt };
}

/** What is missing to a finished import; undefined: nothing. */
export function complete(best: Candidate, wanted: Wanted): Step | undefined {
  const { ref, name } = best;
  if (!best.isTemplate) return { kind: 'markAsTemplate', ref, name };
  const missing = wanted.tagIds.filter((id) => !best.tags.includes(id));
  return missing.length === 0 ? undefined : { kind: 'attachTags', ref, name, tagIds: missing };
}

/** Removes unfinished imports now that `best` is in place. A template may be referenced already: only collection, which knows the references, may take it. */
export function sweep(observed: Observed, among: readonly Candidate[], best: Candidate): Step | undefined {
  for (const other of among) {
    if (other === best || other.isTemplate) continue;
    if (surelyDead(other, observed.now).dead && mayDestroy(other).may)
      return destroy(other, `${best.name} is in place`);
  }
  return undefined;
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
      return isOld(candidate.createdAt, now)
        ? { dead: true, reason: 'its upload ended: it is older than twice the time-out of an import' }
        : { dead: false, reason: `${candidate.name} may still be being imported by ${candidate.mark.holder}` };
    }
  }
}

/** Older than any import that could still be under way. */
export function isOld(createdAt: number, now: number): boolean {
  return createdAt + 2 * LEASE_TIMEOUT_MS < now;
}

function destroy(candidate: Candidate, reason: string): Step {
  const { ref, name, instanceUuid, verified } = candidate;
  return { kind: 'destroy', ref, name, instanceUuid, marked: true, finished: verified, reason };
}
