import type { ListedTemplate } from '@drydock/templates';
import type { VCenter } from '@drydock/vsphere';
import { durationText } from './amounts.ts';
import type { CheckLine } from './check-line.ts';
import { textOf } from './failure.ts';
import { roleText } from './list.ts';
import { shell } from './next-command.ts';
import type { Settings } from './settings.ts';

/** Beyond this, ages of imports and of sessions are misjudged. */
const CLOCK_FAIL_MS = 60_000;
const CLOCK_WARN_MS = 5000;
/** Half of what vCenter allows one user by default. */
const SESSIONS_WARN = 250;

/** Whether the user gets in. */
export async function loginLine(vcenter: VCenter, settings: Settings, signal: AbortSignal): Promise<CheckLine> {
  try {
    const { fullName, apiType } = await vcenter.about({ signal });
    await vcenter.currentTime({ signal });
    const esx = apiType === 'HostAgent';
    return {
      name: 'login',
      state: esx ? 'FAIL' : 'ok',
      detail: esx ? `${fullName} is an ESXi host; templates need a vCenter` : `${settings.username} on ${fullName}`,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { name: 'login', state: 'FAIL', detail: textOf(error, settings) };
  }
}

/** How far the clocks are apart. */
export async function clockLine(vcenter: VCenter, signal: AbortSignal): Promise<CheckLine> {
  const before = Date.now();
  const theirs = (await vcenter.currentTime({ signal })).getTime();
  const ours = (before + Date.now()) / 2;
  const apart = Math.abs(theirs - ours);
  const way = theirs > ours ? 'ahead of' : 'behind';
  const state = apart > CLOCK_FAIL_MS ? 'FAIL' : apart > CLOCK_WARN_MS ? 'warn' : 'ok';
  const detail =
    state === 'ok'
      ? `the clocks agree within ${durationText(Math.max(apart, 1000))}`
      : `vCenter is ${durationText(apart)} ${way} this machine`;
  return { name: 'clock', state, detail, ...(state === 'ok' ? {} : { next: 'timedatectl timesync-status' }) };
}

/** How many sessions the user has. */
export async function sessionLine(vcenter: VCenter, signal: AbortSignal): Promise<CheckLine> {
  const { user, count } = await vcenter.sessions({ signal });
  if (count === undefined) {
    const detail = `how many sessions ${user} has cannot be read (Sessions.TerminateSession is not granted)`;
    return { name: 'sessions', state: 'skip', detail };
  }
  const detail = `${user} has ${count} ${count === 1 ? 'session' : 'sessions'}, this one included`;
  if (count < SESSIONS_WARN) return { name: 'sessions', state: 'ok', detail };
  return { name: 'sessions', state: 'warn', detail: `${detail}: something does not log out`, next: 'govc session.ls' };
}

/** Whether the tag can be attached. */
export async function tagLine(vcenter: VCenter, tag: string, signal: AbortSignal): Promise<CheckLine> {
  const named = await vcenter.tags.named(tag, { signal });
  if (named.length === 1) return { name: 'tag', state: 'ok', detail: `${tag} in category ${named[0]?.category ?? ''}` };
  const where = named.map(({ category }) => category).join(', ');
  return {
    name: 'tag',
    state: 'FAIL',
    detail: named.length === 0 ? `there is no tag ${tag}` : `${tag} exists in several categories: ${where}`,
    next: named.length === 0 ? shell`govc tags.create -c CATEGORY ${tag}` : shell`govc tags.ls | grep ${tag}`,
  };
}

/** What the folder holds, in one line. */
export function templatesLine(templates: readonly ListedTemplate[], folder: string): CheckLine {
  const counts = new Map<string, number>();
  for (const template of templates) {
    const role = roleText(template);
    counts.set(role, (counts.get(role) ?? 0) + 1);
  }
  const said = [...counts].map(([role, count]) => `${count} ${role}`).join(', ');
  // Nobody but a person may say what becomes of these.
  const theirs = templates.filter(({ role }) => ['converted', 'tampered', 'unreadable', 'unproven'].includes(role));
  if (theirs.length > 0) {
    const named = theirs.map(({ name, reason }) => `${name}: ${reason ?? 'it is not used'}`).join('; ');
    const detail = `${said} in ${folder}; ${named}`;
    return { name: 'templates', state: 'warn', detail, next: 'drydock template list -o wide' };
  }
  const half = (counts.get('unfinished') ?? 0) + (counts.get('leftover') ?? 0);
  return {
    name: 'templates',
    state: half > 0 ? 'warn' : 'ok',
    detail: templates.length === 0 ? `none in ${folder} yet` : `${said} in ${folder}`,
    ...(half > 0 ? { next: 'drydock template gc --dry-run' } : {}),
  };
}
