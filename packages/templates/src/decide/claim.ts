import { baseOf } from '../names.ts';
import { mayDestroy } from './authority.ts';
import type { Candidate, Machine } from './machine.ts';

/** How long (ms) an importer of which nothing is known may be seen without a heartbeat before it is dead: it writes one every minute. */
export const SILENCE_MS = 600_000;

/** The same for importers without a heartbeat: other tools. An upload over a slow line lasts for hours. */
export const MUTE_MS = 86_400_000;

/** Why a machine with our mark is not ours to use or to remove, as a clause; undefined: it is. */
export function estranged(machine: Machine): string | undefined {
  const { unreadable, isTemplate, past, tampered } = machine;
  if (unreadable !== undefined) return unreadable;
  if (!isTemplate && past === 'template')
    return 'it was a template and somebody made a machine of it: it is theirs until somebody makes it a template again or removes it';
  if (past === 'unknown')
    return 'its import is finished, and it is not recorded here whether it was a template since: it is kept and not used; make it a template and adopt it, or remove it';
  if (tampered === undefined) return undefined;
  return `${tampered} since it was published: it is kept and not used; remove it, or adopt it as it is`;
}

/** Whether a machine may be removed as what an import left, and why or why not. */
export interface SweepVerdict {
  readonly sweep: boolean;
  readonly reason: string;
}

/**
 * Only what was never finished, or never made a template; has never been one, and was never adopted or retired; bears the name of its own attempt; has no snapshot and carries nobody
 * else's disks; whose importer is surely dead; and which something proves to be ours. `forgotten`: see {@link whyKept}.
 */
export function maySweep(machine: Candidate, forgotten = false): SweepVerdict {
  const dead = surelyDead(machine);
  const proven = mayDestroy(machine);
  const kept = whyKept(machine, forgotten) ?? (dead.dead ? linkedReason(machine) : dead.reason);
  const reason = kept ?? (proven.may ? undefined : proven.reason);
  return reason === undefined ? { sweep: true, reason: dead.reason } : { sweep: false, reason };
}

/** How long (ms) a finished import is seen waiting for a process that goes on with it before it counts as forgotten. */
export const ADOPTION_MS = 86_400_000;

/** Why an import that was uploaded whole waits to be made a template; undefined for one that nobody goes on with any more: for a day nobody wanted it, its importer is surely dead, and it never became one. */
function awaited(machine: Candidate, forgotten: boolean): string | undefined {
  const { past, unchangedMs, uploaded } = machine;
  if (past !== 'marking' && !uploaded) return undefined;
  const waits = 'it is uploaded whole, and about to be made a template';
  if (!forgotten || unchangedMs < ADOPTION_MS) return waits;
  const { dead, reason } = surelyDead(machine);
  return dead ? undefined : `${waits}: ${reason}`;
}

/** What may not be removed whatever its importer does; as a clause. Its links are not asked. `forgotten`: a finished import may have been waiting for so long that it goes, too. */
export function whyKept(machine: Candidate, forgotten = false): string | undefined {
  const { mark, name, ran } = machine;
  const foreign = estranged(machine);
  if (foreign !== undefined) return foreign;
  if (machine.isTemplate) return 'it is a template';
  const waits = awaited(machine, forgotten);
  if (waits !== undefined) return waits;
  if (mark.role === 'adopted' || mark.role === 'retired') return `it was ${mark.role}`;
  if (!machine.poweredOff) return 'it is powered on';
  if (ran) return 'it was powered on: an import never is';
  if (baseOf(name, mark.release, mark.digest, mark.operation) === undefined) return 'somebody gave it another name';
  if (machine.chained) return 'it has snapshots';
  return undefined;
}

/** Why the disks of others stand in the way; undefined: they do not. */
export function linkedReason({ linked, unseen }: Pick<Machine, 'linked' | 'unseen'>): string | undefined {
  if (linked.length > 0) return `its disks carry those of ${linked.join(', ')}`;
  if (unseen.length > 0) return `it is unknown whether its disks carry those of ${some(unseen)}: they cannot be read`;
  return undefined;
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown} and ${names.length - 3} others` : shown;
}

/** Whether nobody can be uploading to it any more; otherwise why it must stay. */
export function surelyDead(candidate: Candidate): { readonly dead: boolean; readonly reason: string } {
  const { name, mark, uploader, unchangedMs, beats } = candidate;
  if (candidate.busy) return { dead: false, reason: `a task runs on ${name}` };
  switch (uploader) {
    case 'here':
      return { dead: false, reason: `${name} is being imported by this process` };
    case 'live':
      return { dead: false, reason: `${name} is being imported by ${mark.holder}` };
    case 'gone':
      return { dead: true, reason: `its importer ${mark.holder} no longer leads` };
    case 'unknown': {
      const limit = beats ? SILENCE_MS : MUTE_MS;
      if (unchangedMs >= limit)
        return { dead: true, reason: `its importer ${mark.holder} was silent for ${spanText(limit)}` };
      const until = `it counts as dead after ${spanText(limit)} without a sign of life`;
      return { dead: false, reason: `${name} may still be being imported by ${mark.holder}: ${until}` };
    }
  }
}

function spanText(ms: number): string {
  return ms >= 3_600_000 ? `${ms / 3_600_000} hours` : `${ms / 60_000} minutes`;
}
