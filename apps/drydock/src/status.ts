import type { BootImage } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { Answer, Read, ScaleAnswer, VCenterHealth } from '@drydock/page';
import type { ClusterStandings } from './cluster-standings.ts';
import { exitCode } from './exit.ts';
import { elsewhereOf, type Leadership, leadershipText, pausedOf } from './leadership.ts';
import { formatted, type OutputFormat } from './output/format.ts';
import { RESUME } from './pause/pause.ts';
import type { StatusNotes } from './status-notes.ts';
import { statusTable } from './status-table.ts';
import { age } from './table.ts';
import { healthText } from './vcenter-health.ts';
import type { UpgradeVerdicts } from './verdict.ts';

/** The text of `drydock status` in one of its formats. JSON and YAML are a List, also for one object. */
export function printStatus(
  images: readonly BootImage[],
  format: OutputFormat,
  options: {
    readonly headers: boolean;
    readonly now: number;
    readonly notes?: StatusNotes | undefined;
    readonly leader?: Leadership;
    readonly verdicts?: UpgradeVerdicts;
    readonly vcenters?: Read<readonly VCenterHealth[]>;
    readonly namespaces?: boolean;
    readonly steady?: boolean;
  },
): string {
  const text = (): string => statusTable(images, { ...options, wide: format.wide });
  const names = (): readonly string[] => images.map(({ metadata }) => `bootimage.drydock.dev/${metadata.name}`);
  return formatted(format, listOf(images, options), text, names);
}

function listOf(
  images: readonly BootImage[],
  {
    notes,
    leader,
    verdicts,
    vcenters,
  }: {
    readonly notes?: StatusNotes | undefined;
    readonly leader?: Leadership;
    readonly verdicts?: UpgradeVerdicts;
    readonly vcenters?: Read<readonly VCenterHealth[]>;
  },
): unknown {
  return {
    apiVersion: 'v1',
    kind: 'List',
    ...(leader === undefined ? {} : { leader }),
    ...(verdicts?.kind === 'read' ? { upgradeVerdicts: verdicts.verdicts } : {}),
    ...(notes === undefined ? {} : { statusWrites: notes }),
    ...(vcenters?.kind === 'read' && vcenters.value.length > 0 ? { vcenters: vcenters.value } : {}),
    items: images.map((image) => ({ ...image, apiVersion: 'drydock.dev/v1alpha1', kind: 'BootImage' })),
  };
}

/** What the operator cannot write into statuses, a line each: what is shown may be old, or not everything. `times`: times in UTC instead of ages. */
export function notesText(
  { noted, more, asOf }: StatusNotes,
  now: number,
  { times = false }: { readonly times?: boolean } = {},
): string {
  const from = times ? undefined : now;
  const lines = noted.map(({ definition, object, state, since, why }) => {
    const what = state === 'blocked' ? 'is not written' : 'is not written whole';
    return `${oneLine(`The status of ${definition} ${object} ${what} since ${age(since, from)}: ${why}`)}\n`;
  });
  if (more > 0) lines.push(`And ${more} more.\n`);
  // Its holder renews a Lease every two seconds.
  const silent = now - Date.parse(asOf);
  if (silent > 60_000)
    lines.push(`The operator said so ${times ? `at ${age(asOf)}` : `${age(asOf, now)} ago`}, and nothing since.\n`);
  return lines.join('');
}

/** Where sets are stuck: what says why. */
export function stuckText(images: readonly BootImage[]): string {
  const stuck = images.filter(({ status }) => status?.phase === 'Failed' || status?.phase === 'Blocked');
  const [first] = stuck;
  if (first === undefined) return '';
  const set = first.spec?.machineSet?.name ?? '';
  const [number, verb] = stuck.length === 1 ? ['One set', 'is'] : [`${stuck.length} sets`, 'are'];
  return `${number} ${verb} stuck. Why: drydock status -o wide, or drydock explain${set === '' ? '' : ` ${set}`}\n`;
}

/** Who keeps these images current, and since when; and what to do where nobody does. */
export function leaderWords(leader: Leadership, now?: number): { readonly text: string; readonly nextStep?: string } {
  const said = oneLine(leadershipText(leader, 'boot images', now));
  // Not the name of a holder.
  const text = said.replace(/^(?:nobody|who) /, (word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
  if (pausedOf(leader) !== undefined) return { text, nextStep: RESUME };
  const elsewhere = elsewhereOf(leader);
  if (elsewhere !== undefined) return { text };
  const vacant = leader.state === 'vacant' || leader.state === 'never';
  return vacant ? { text, nextStep: 'drydock operator' } : { text };
}

/** The first line: {@link leaderWords}. */
export function leaderText(leader: Leadership, now: number): string {
  const { text, nextStep } = leaderWords(leader, now);
  const what = nextStep === RESUME ? 'To go on' : 'Start one';
  return `${text}${nextStep === undefined ? '' : `. ${what}: ${nextStep}`}\n`;
}

/** What stands as the operator said it last, because nobody could look. */
export function unreadText(unread: readonly string[]): string {
  return unread.map((what) => `What could not be read is as the operator said it last: ${oneLine(what)}\n`).join('');
}

const CHECK: Readonly<Record<Answer, number>> = {
  yes: exitCode.done,
  unmanaged: exitCode.done,
  no: exitCode.blocked,
  wait: exitCode.undecided,
  unknown: exitCode.undecided,
};
/** So many reasons of `--check` are printed. */
const MOST_REASONS = 5;

/** The exit code of `--check`. */
export function checkCode({ answer }: Pick<ScaleAnswer, 'answer'>): number {
  return CHECK[answer];
}

/** What `--check` answers, in the words of the page, and why it is not a plain yes. */
export function checkText({ text, rows }: Pick<ScaleAnswer, 'text' | 'rows'>): string {
  const reasons = rows
    .flatMap(({ because }) => because)
    .filter(({ answer }) => answer !== 'yes' && answer !== 'unmanaged');
  const lines = reasons.map(({ answer, text: why, nextStep, sets, more }) => {
    const about = sets.length === 0 ? '' : ` (${sets.join(', ')}${more === 0 ? '' : ` and ${more} more`})`;
    return `${oneLine(`${answer}: ${why}${about}`)}\n${nextStep === undefined ? '' : `  next: ${oneLine(nextStep)}\n`}`;
  });
  const all = [...new Set(lines)];
  const rest = all.length > MOST_REASONS ? `And ${all.length - MOST_REASONS} more reasons: drydock explain\n` : '';
  return `Can I scale now? ${text}\n${all.slice(0, MOST_REASONS).join('')}${rest}`;
}

/** All that one look found. */
export interface StatusNow extends ClusterStandings {
  readonly notes: StatusNotes | undefined;
  readonly logins: string;
  readonly vcenters: Read<readonly VCenterHealth[]>;
  readonly verdicts: UpgradeVerdicts;
  /** Only with `--check`. */
  readonly scale?: ScaleAnswer;
}

/** How it is shown. */
export interface Shown {
  readonly format: OutputFormat;
  readonly headers: boolean;
  /** With a column for namespaces. */
  readonly namespaces: boolean;
}

/** What could not be read or written, or is refused. */
export function troublesText({ logins, notes, now, unread, vcenters }: StatusNow): string {
  const time = now.getTime();
  const written = notes === undefined ? '' : notesText(notes, time);
  return [unreadText(unread), logins, healthText(vcenters, time), written].join('');
}

/** Said where there is nothing to show. */
export const NO_SETS = 'There are no machine sets, and no boot images.';
