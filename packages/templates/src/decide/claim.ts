import { baseOf } from '../names.ts';
import { mayDestroy } from './authority.ts';
import type { Candidate, Machine } from './machine.ts';

/** How long an importer of whom nothing is known may say nothing before it is dead: it says something every minute. */
export const SILENCE_MS = 600_000;

/** The same for importers that never say anything: other tools, and Drydock as it was. An upload over a slow line lasts for hours. */
export const MUTE_MS = 86_400_000;

/** Why a machine with our mark is not ours to use or to remove, as a clause; undefined: it is. */
export function estranged(machine: Machine): string | undefined {
  const { unreadable, isTemplate, past, tampered } = machine;
  if (unreadable !== undefined) return unreadable;
  if (!isTemplate && past === 'template')
    return 'it was a template and somebody made a machine of it: it is theirs until somebody makes it a template again or removes it';
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
 * else's disks; whose importer is surely dead; and which something proves to be ours.
 */
export function maySweep(machine: Candidate, now: number): SweepVerdict {
  const dead = surelyDead(machine, now);
  const proven = mayDestroy(machine);
  const kept = whyKept(machine) ?? (dead.dead ? linkedReason(machine) : dead.reason);
  const reason = kept ?? (proven.may ? undefined : proven.reason);
  return reason === undefined ? { sweep: true, reason: dead.reason } : { sweep: false, reason };
}

/** How long a finished import waits for whoever goes on with it before it counts as forgotten. */
export const ADOPTION_MS = 86_400_000;

/**
 * Why an import that is about to be made a template waits for that; undefined for one that nobody is about to make one any more: its importer is surely dead, for a day nobody wanted it, and it never became one.
 */
function awaited(machine: Candidate, now: number | undefined): string | undefined {
  const { past, markingSince } = machine;
  if (past !== 'marking') return undefined;
  const waits = 'it is finished, and about to be made a template';
  if (now === undefined) return waits;
  if (markingSince === undefined) return `${waits}, or was one: nothing tells, so it is kept until somebody removes it`;
  const { dead, reason } = surelyDead(machine, now);
  if (!dead) return `${waits}: ${reason}`;
  return markingSince + ADOPTION_MS > now ? waits : undefined;
}

/** What may not be removed whatever its importer does; as a clause. Its links are not asked. `now`: of one that nobody makes a template any more something is known; without it, such a one stays. */
export function whyKept(machine: Candidate, now?: number): string | undefined {
  const { mark, name, ran } = machine;
  const foreign = estranged(machine);
  if (foreign !== undefined) return foreign;
  if (machine.isTemplate) return 'it is a template';
  const waits = awaited(machine, now);
  if (waits !== undefined) return waits;
  if (mark.role !== undefined) return `it was ${mark.role}`;
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
export function surelyDead(candidate: Candidate, now: number): { readonly dead: boolean; readonly reason: string } {
  const { name, mark, uploader, createdAt, lastBeat, beats } = candidate;
  if (candidate.busy) return { dead: false, reason: `a task runs on ${name}` };
  switch (uploader) {
    case 'here':
      return { dead: false, reason: `${name} is being imported by this process` };
    case 'live':
      return { dead: false, reason: `${name} is being imported by ${mark.holder}` };
    case 'gone':
      return { dead: true, reason: `its importer ${mark.holder} no longer leads` };
    case 'unknown': {
      if (createdAt === undefined) return { dead: false, reason: `the age of ${name} is unknown` };
      const limit = beats ? SILENCE_MS : MUTE_MS;
      return Math.max(createdAt, lastBeat ?? 0) + limit < now
        ? { dead: true, reason: `its importer ${mark.holder} has said nothing for more than ${spanText(limit)}` }
        : { dead: false, reason: `${name} may still be being imported by ${mark.holder}` };
    }
  }
}

function spanText(ms: number): string {
  return ms >= 3_600_000 ? `${ms / 3_600_000} hours` : `${ms / 60_000} minutes`;
}
