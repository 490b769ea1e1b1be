import { type LedgerStore, type ListedTemplate, unreadableEntries } from '@drydock/templates';
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
  const unread = `how many sessions ${user} has cannot be read (Sessions.TerminateSession is not granted)`;
  if (count === undefined) return { name: 'sessions', state: 'skip', detail: unread };
  const detail = `${user} has ${count} ${count === 1 ? 'session' : 'sessions'}, this one included`;
  if (count < SESSIONS_WARN) return { name: 'sessions', state: 'ok', detail };
  return { name: 'sessions', state: 'warn', detail: `${detail}: something does not log out`, next: 'govc session.ls' };
}

/** Whether the tag can be attached. */
export async function tagLine(vcenter: VCenter, tag: string, signal: AbortSignal): Promise<CheckLine> {
  const named = await vcenter.tags.named(tag, { signal });
  const where = named.map(({ category }) => category).join(', ');
  if (named.length === 1) return { name: 'tag', state: 'ok', detail: `${tag} in category ${where}` };
  return {
    name: 'tag',
    state: 'FAIL',
    detail: named.length === 0 ? `there is no tag ${tag}` : `${tag} exists in several categories: ${where}`,
    next: named.length === 0 ? shell`govc tags.create -c CATEGORY ${tag}` : shell`govc tags.ls | grep ${tag}`,
  };
}

/** Names the entries of the ownership ledger that cannot be read; nothing where all can. `where` and `next`: the store for people, and the command that shows it. */
export async function ledgerEntryLines(
  ledger: Pick<LedgerStore, 'read'>,
  where: string,
  next: string,
): Promise<readonly CheckLine[]> {
  const keys = unreadableEntries(await ledger.read());
  if (keys.length === 0) return [];
  const named = keys.length > 3 ? `${keys.slice(0, 3).join(', ')} and ${keys.length - 3} more` : keys.join(', ');
  const expected = 'JSON with stage, own and mark was expected, and a newer version may have written something else';
  const detail = `${where}: the ${keys.length === 1 ? 'value' : 'values'} of ${named} cannot be read: ${expected}. Their templates are kept and not used`;
  return [{ name: 'ownership ledger', state: 'warn', detail, next }];
}

/** How many templates get a line of their own. */
const MOST_LINES = 10;

/** Nobody but a person may say what becomes of these. */
const KEPT: ReadonlySet<string | undefined> = new Set(['converted', 'tampered', 'unreadable', 'unproven']);
const UNPROVEN: ReadonlySet<string | undefined> = new Set(['none', 'noted']);

/** What the folder holds, then a line for each template that is kept and never pointed at, those in use first. `usedBy`: who refers to a name. */
export function templateLines(
  templates: readonly ListedTemplate[],
  folder: string,
  {
    adopt,
    usedBy = () => undefined,
  }: {
    readonly adopt: (name: string) => string;
    readonly usedBy?: (name: string) => string | undefined;
  },
): readonly CheckLine[] {
  const roles = [...Map.groupBy(templates, roleText)].map(([role, { length }]) => `${length} ${role}`);
  const half = templates.some(({ role }) => role === 'unfinished' || role === 'leftover');
  const all: CheckLine = {
    ...{ name: 'templates', state: half ? 'warn' : 'ok' },
    detail: templates.length === 0 ? `none in ${folder} yet` : `${roles.join(', ')} in ${folder}`,
    ...(half ? { next: 'drydock template gc --dry-run' } : {}),
  };
  const kept = templates
    .filter(({ role, proof, isTemplate }) => KEPT.has(role) || (isTemplate && UNPROVEN.has(proof)))
    .map((template) => ({ template, user: usedBy(template.name) ?? template.pointers?.[0] }))
    .toSorted((a, b) => Number(a.user === undefined) - Number(b.user === undefined));
  const lines = kept.slice(0, MOST_LINES).map(({ template, user }): CheckLine => {
    const { name, role, isTemplate, reason = 'without a key nothing proves that it is owned' } = template;
    const what = `${name} is ${KEPT.has(role) ? roleText(template) : 'unproven'}, kept and never pointed at: ${reason}`;
    const mend = KEPT.has(role) ? 'drydock template list -o wide' : 'drydock template doctor --mark-key FILE';
    return {
      ...{ name: 'template', state: 'warn' },
      detail: user === undefined ? what : `${what}; ${user} refers to it`,
      next: role === 'unproven' && isTemplate ? adopt(name) : mend,
    };
  });
  const more = kept.length - lines.length;
  return [
    all,
    ...lines,
    ...(more > 0
      ? [
          {
            name: 'template',
            state: 'warn',
            detail: `and ${more} more`,
            next: 'drydock template list -o wide',
          } as const,
        ]
      : []),
  ];
}
