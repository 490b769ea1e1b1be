import type { Attempt } from '../names.ts';
import { mayPointAt } from './authority.ts';
import { estranged, linkedReason, maySweep, surelyDead, whyKept } from './claim.ts';
import type { Candidate, Machine, Observed, Step, Wanted } from './machine.ts';

/** Machines with this owner's mark that are, or may become, what is wanted, as far as that may be believed. */
export function candidatesOf({ machines }: Observed, { owner, content }: Wanted): readonly Candidate[] {
  return machines.filter((machine): machine is Candidate => {
    const { mark } = machine;
    if (mark?.owner !== owner) return false;
    // A person named it, and was told what nothing proves.
    if (content.kind === 'generation') return machine.instanceUuid === content.instanceUuid;
    if (!mayPointAt(machine).may) return false;
    return mark.digest === content.digest && content.attempts.some(({ operation }) => operation === mark.operation);
  });
}

/** The finished one that is wanted. What somebody made a machine of, or another machine, is none. */
export function bestOf(observed: Observed, wanted: Wanted): Candidate | undefined {
  return candidatesOf(observed, wanted)
    .filter((candidate) => candidate.verified && estranged(candidate) === undefined)
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
  const halves = candidatesOf(observed, wanted).filter(({ isTemplate, verified }) => !isTemplate && !verified);
  for (const half of halves) {
    const { ref, name } = half;
    if (half.uploaded && !half.busy && estranged(half) === undefined)
      return { kind: 'finish', ref, name };
    if (half.uploaded) continue;
    const { sweep, reason } = maySweep(half);
    if (sweep) return destroy(half, reason);
  }
  // What nobody may remove only takes up its name.
  const alive = halves.find(
    (half) =>
      (half.uploaded && estranged(half) === undefined) ||
      (whyKept(half) === undefined && linkedReason(half) === undefined && !surelyDead(half).dead),
  );
  if (alive !== undefined) {
    const { reason } = surelyDead(alive);
    return { kind: 'wait', name: alive.name, code: 'UPLOAD_IN_PROGRESS', reason };
  }
  const hidden = observed.machines.find(
    ({ name, unreadable }) => unreadable !== undefined && content.attempts.some((attempt) => attempt.name === name),
  );
  if (hidden !== undefined) return hiddenStep(hidden);
  const isTaken = ({ name }: Attempt): boolean =>
    wanted.refused?.has(name) === true || observed.machines.some((machine) => machine.name === name);
  const attempt = content.attempts.find((one) => !isTaken(one));
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
  if (best.renew) return { kind: 'record', ref, name };
  const missing = wanted.tagIds.filter((id) => !best.tags.includes(id));
  return missing.length === 0 ? undefined : { kind: 'attachTags', ref, name, tagIds: missing };
}

/** Removes unfinished imports now that `best` is in place. What is finished or a template may be used already: only collection, which knows the references, may take it. */
export function sweep(among: readonly Candidate[], best: Candidate): Step | undefined {
  for (const other of among) {
    if (other === best || other.verified) continue;
    if (maySweep(other).sweep) return destroy(other, `${best.name} is in place`);
  }
  return undefined;
}

/** What stands there may be what is wanted: nothing is imported in its place. */
export function hiddenStep({ name, ref, unreadable: why = '' }: Machine): Step {
  const reason = `${name} (${ref.value}) may be what is wanted, but ${why}`;
  return { kind: 'blocked', code: 'TEMPLATE_UNREADABLE', reason, retriable: true };
}

function destroy(candidate: Candidate, reason: string): Step {
  const { ref, name, instanceUuid, verified } = candidate;
  return { kind: 'destroy', ref, name, instanceUuid, marked: true, finished: verified, reason };
}
