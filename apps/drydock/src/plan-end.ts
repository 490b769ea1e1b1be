import { oneLine } from '@drydock/api/text';
import { exitCode } from './exit.ts';
import { type Leadership, leadershipText } from './leadership.ts';
import { type OutputFormat, print } from './output/format.ts';
import { LEASE_NAMESPACE } from './status-notes.ts';
import { shell } from './template/next-command.ts';
import { say, sayError } from './terminal.ts';

/** What a verb that carries a plan out prints as JSON and YAML. */
export interface ApplyOutput {
  /** Done: all of the plan is. Moved: something else would be done by now. Stopped: a step failed, or something stands in its way. Refused: nothing was changed. */
  readonly result: 'done' | 'moved' | 'stopped' | 'refused';
  /** A part of the plan was done by this command; what is left is still the plan, or another one where it moved. */
  readonly begun: boolean;
  readonly message: string;
  readonly next?: string;
  readonly leader: Leadership;
}

/** How a plan ended, and with which exit code. */
export interface PlanEnd extends Omit<ApplyOutput, 'leader'> {
  readonly code: number;
}

/** Why nothing was tried. */
export function refused(code: number, why: string, next?: string): PlanEnd {
  return { code, result: 'refused', begun: false, message: why, ...(next === undefined ? {} : { next }) };
}

/** The plan is not what would be done by now; `next` makes another one. */
export function moved(why: string, begun: boolean, next: string): PlanEnd {
  const message = begun
    ? `the world moved while the plan was carried out, and nothing more is done: ${why}`
    : `the plan is not what would be done by now, and nothing was changed: ${why}`;
  return { code: exitCode.moved, result: 'moved', begun, message, next };
}

/** Whose Lease it is about, and what people call what it leads. */
export interface PlannedRole {
  readonly role: string;
  readonly what: string;
  readonly namespace: string;
}

/** Somebody leads, who does what is to be done. */
export function ledByOther(
  leader: Extract<Leadership, { readonly state: 'led' }>,
  { role, what, namespace }: PlannedRole,
): PlanEnd {
  const why = `${leadershipText(leader, what, Date.now())}, and does what is to be done itself: nothing was changed`;
  // Another apply ends by itself, and so does who was told to pause.
  const next =
    leader.holder.startsWith('apply/') || leader.paused !== undefined
      ? 'wait until it has ended'
      : `drydock pause --role ${role}${namespace === LEASE_NAMESPACE ? '' : shell` --lease-namespace ${namespace}`}, this again, and then drydock resume`;
  return refused(exitCode.blocked, why, next);
}

/** Nobody leads in this namespace, and somebody in another one: both would act on one cluster. */
export function ledInOther(leader: Leadership, { what }: PlannedRole, next: string): PlanEnd {
  const why = `${leadershipText(leader, what, Date.now())}, and both would act on one cluster: nothing was changed`;
  return refused(exitCode.blocked, why, next);
}

/** The Lease could not be had. */
export function untaken(leader: Leadership, { role, what }: PlannedRole): PlanEnd {
  return refused(
    exitCode.failed,
    `the Lease drydock-${role} could not be taken, and nothing was changed: ${leadershipText(leader, what, Date.now())}`,
    'drydock doctor',
  );
}

/** Tells how a plan ended: data on stdout, what a person should know on stderr. Returns the exit code. */
export function tellEnd(format: OutputFormat, { code, ...end }: PlanEnd, leader: Leadership): number {
  if (!format.people) print(format, { ...end, leader } satisfies ApplyOutput, () => '');
  const { message, next } = end;
  if (code !== exitCode.done) sayError(oneLine(`drydock: ${message}${next === undefined ? '' : `. Next: ${next}`}`));
  else if (format.people) say(`${oneLine(message)}\n`);
  return code;
}
