import { oneLine } from '@drydock/api/text';
import type { HistoryEntry, Pin, PinEntry } from '@drydock/boot-images';
import type { Command } from 'commander';
import { connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { print } from '../output/format.ts';
import { imageOfSet } from '../output/names.ts';
import { type Column, table } from '../table.ts';
import { say, sayError } from '../terminal.ts';
import { type RevertSubject, revertSubject } from './revert-subject.ts';
import { type SetFlags, setVerb } from './set-flags.ts';
import { type RevertTo, type ToldEntry, toldHistory } from './told-history.ts';
import { wayBackCell, wayBackRefusals } from './way-back-text.ts';

/** What `image history` prints as JSON and YAML. */
export interface HistoryOutput {
  readonly set: string;
  readonly pin?: Pin;
  /** The newest first; lifted pins stay. */
  readonly pins: readonly PinEntry[];
  readonly history: readonly ToldEntry[];
}

/** How long (ms) images are looked for: whoever asks what a set had need not wait for a vCenter that does not answer. */
const LOOK_MS = 20_000;

/** Adds `drydock image history`: the images that a set had, and the command that goes back to each. It only reads, and looks for each image as `image revert` does. */
export function addHistory(group: Command): void {
  setVerb(group, 'history', 'show the images that a set had, and how to go back to each').action(
    (name: string, flags: SetFlags) =>
      untilInterrupted((signal) => history(name, flags, signal), 'nothing was changed'),
  );
}

async function history(name: string, flags: SetFlags, signal: AbortSignal): Promise<number> {
  await using client = await connect(flags);
  const { lacksPinWriter, livePin, pinsOf, pinWriters, revertGoal } = await import('@drydock/boot-images');
  const now = new Date();
  const patience = new AbortController();
  const warn = (message: string): void => sayError(`warning: ${message}`);
  const sources = { client, flags, warn, signal: AbortSignal.any([signal, patience.signal]) };
  await using subject = await revertSubject(name, sources);
  const { id, image } = subject;
  const pin = livePin(image, now.getTime());
  const writers =
    image !== undefined && lacksPinWriter(image)
      ? await pinWriters(client, image, { signal }).catch(() => undefined)
      : undefined;
  const pins = image === undefined ? [] : pinsOf(image, now, writers);
  const known = image?.status?.history ?? [];
  const timer = setTimeout(() => patience.abort(), LOOK_MS);
  const entries =
    flags.output.kind === 'name'
      ? known
      : await toldHistory(id, known, revertTo(subject, { signal, patience: patience.signal }));
  clearTimeout(timer);
  const output: HistoryOutput = { set: id, ...(pin === undefined ? {} : { pin }), pins, history: entries };
  if (flags.output.people) await show(output, revertGoal({ history: entries }), flags.output.wide);
  else
    print(
      flags.output,
      output,
      () => '',
      () => [imageOfSet(id)],
    );
  return exitCode.done;
}

/** What could not be found out is told of its image, and the others are shown all the same. */
function revertTo(
  subject: RevertSubject,
  { signal, patience }: { readonly signal: AbortSignal; readonly patience: AbortSignal },
): RevertTo {
  return async (to) => {
    try {
      return await subject.plan({ to, words: {}, allOnName: true });
    } catch (error) {
      signal.throwIfAborted();
      const message = patience.aborted
        ? `nobody answered within ${LOOK_MS / 1000} s`
        : error instanceof Error
          ? error.message
          : String(error);
      return { code: exitCode.undecided, message };
    }
  };
}

const COLUMNS = (gone: string): readonly Column<ToldEntry>[] => [
  { header: 'ID', cell: ({ id }) => id },
  { header: 'RELEASE', cell: ({ release = '' }) => release },
  { header: 'BY', cell: ({ by = '', pinnedBy = by }) => pinnedBy },
  { header: 'SINCE', cell: ({ since = '' }) => since },
  { header: 'UNTIL', cell: ({ until = '' }) => until, wide: true },
  { header: 'OUTCOME', cell: ({ outcome = '' }) => outcome },
  { header: 'BACK', cell: (entry) => wayBackCell(entry, gone) },
  { header: 'IMAGE', cell: ({ image = '' }) => image, wide: true },
];

interface PinDeed {
  readonly when: string;
  readonly who: string;
  readonly what: string;
}

const PIN_COLUMNS: readonly Column<PinDeed>[] = [
  { header: 'WHEN', cell: ({ when }) => when },
  { header: 'WHO', cell: ({ who }) => who },
  { header: 'PINS', cell: ({ what }) => what },
];

/** What happened to pins, the newest first. */
function pinDeeds(pins: readonly PinEntry[]): readonly PinDeed[] {
  return pins.flatMap(({ release, image, by = '', reason, since = '', liftedAt, liftedBy = '', liftedReason }) => {
    const name = release ?? image ?? 'an image';
    const why = (text: string | undefined): string => (text === undefined || text === '' ? '' : `: ${text}`);
    const pinned = { when: since, who: by, what: `pinned to ${name}${why(reason)}` };
    if (liftedAt === undefined) return [pinned];
    return [{ when: liftedAt, who: liftedBy, what: `pin to ${name} lifted${why(liftedReason)}` }, pinned];
  });
}

async function show(
  { set, pin, pins, history: entries }: HistoryOutput,
  goal: HistoryEntry | undefined,
  wide: boolean,
): Promise<void> {
  const { IMAGE_GONE, pinText } = await import('@drydock/boot-images');
  if (pin !== undefined) say(`${oneLine(`${set} is ${pinText(pin)}`)}\n`);
  if (entries.length === 0) {
    sayError(`drydock: nothing is known yet of the images of ${set}: the operator writes the history (drydock status)`);
    return;
  }
  say(table(COLUMNS(IMAGE_GONE), entries, { wide }));
  say(wayBackRefusals(entries, IMAGE_GONE));
  if (pins.length > 0) say(`\n${table(PIN_COLUMNS, pinDeeds(pins))}\n`);
  const first = entries.find(({ id }) => id === goal?.id);
  if (first?.revert !== undefined) say(`To go back: ${oneLine(first.revert)}\n`);
}
