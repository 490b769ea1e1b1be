import { oneLine } from '@drydock/api/text';
import { pinnedName, pinText } from '@drydock/boot-images';
import { type Leadership, leadershipText } from '../leadership.ts';
import type { AffectedMachines } from './affected-machines.ts';
import type { ToldRevert } from './revert-plan.ts';

/** So many machines are named. */
const NAMED = 10;

/** What a revert will do, for a person who is asked. */
export function revertText(plan: ToldRevert, leader: Leadership, now: number): string {
  const { set, from, pin, sets, how, stub, machines, replaces } = plan;
  const others = sets.slice(1).map(({ id }) => id);
  const rows: readonly (readonly [string, string])[] = [
    ['how', how],
    ['upload', 'none'],
    ...(stub === undefined ? [] : [['stub', stub] as const]),
    ['machines', machinesText(machines, pinnedName(pin))],
    ['held', pinText(pin)],
    ...(replaces === undefined ? [] : [['instead', `of what it is now: ${pinText(replaces)}`] as const]),
    ...(others.length === 0 ? [] : [['also', `${others.join(', ')}, under the same template name`] as const]),
    ['led', leadershipText(leader, 'boot images', now)],
  ];
  const title = `${set}: ${from ?? 'no image that is known'} → ${pinnedName(pin)}`;
  return `${oneLine(title)}\n${rows.map(([name, text]) => `  ${name.padEnd(8)}  ${oneLine(text)}\n`).join('')}`;
}

function machinesText(machines: AffectedMachines, to: string): string {
  const { unread } = machines;
  if (unread.length === 0) return countText(machines, to);
  const known = machines.all === 0 ? `new ones start from ${to}` : countText(machines, to);
  return `there may be more than could be read (${unread.join('; ')}); ${known}`;
}

function countText({ all, since, made }: Omit<AffectedMachines, 'unread'>, to: string): string {
  const stay = `they stay as they are, new ones start from ${to}`;
  if (all === 0) return `the set has none; new ones start from ${to}`;
  if (since === undefined) return `the set has ${all}; ${stay}`;
  if (made.length === 0) return `none of ${all} was made since ${since}, when the image came; ${stay}`;
  const names = made.slice(0, NAMED).join(', ');
  const more = made.length > NAMED ? ` and ${made.length - NAMED} more` : '';
  return `${made.length} of ${all} were made since ${since}, when the image came: ${names}${more}; ${stay}`;
}
