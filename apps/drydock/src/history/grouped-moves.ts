import type { Happening } from './happenings.ts';

/** Events that are one step of a move, in their order. */
const STEPS: ReadonlySet<string> = new Set([
  ...['Planned', 'DownloadVerified', 'UploadStarted', 'Imported', 'Switched', 'Retained'],
]);
/** These come with the move itself (ms). */
const WITH_MOVE: ReadonlySet<string> = new Set(['Switched', 'Retained']);
const WITHIN_MS = 60_000;
/** A status has whole seconds. */
const SECOND_MS = 1000;

interface Step {
  readonly row: Happening;
  readonly words: readonly string[];
}

/** The newest first, with one row for each move: the Events that led to it are left out. Of steps that have led to no move yet, the newest stays. Pure. */
export function groupedMoves(rows: readonly Happening[]): readonly Happening[] {
  const bySubject = Map.groupBy(rows, ({ namespace = '', subject }) => `${namespace} ${subject}`);
  const hidden = new Set([...bySubject.values()].flatMap(hiddenSteps));
  return rows.filter((row) => !hidden.has(row));
}

function hiddenSteps(rows: readonly Happening[]): readonly Happening[] {
  const moves = rows.filter(({ from, who }) => from === 'history' && who !== 'found');
  const steps = rows.filter(isStep).map((row) => ({ row, words: row.what.split(/[\s():;,]+/) }));
  const led = new Set(moves.flatMap((move) => stepsOf(move, steps)));
  const open = rows.filter((row) => !led.has(row));
  const superseded = open.filter((row, at) => {
    const newer = open[at - 1];
    return isStep(row) && newer !== undefined && isStep(newer);
  });
  return [...led, ...superseded];
}

function isStep({ from, reason = '' }: Happening): boolean {
  return from === 'event' && STEPS.has(reason);
}

function stepsOf(move: Happening, steps: readonly Step[]): readonly Happening[] {
  const time = Date.parse(move.when);
  const before = steps.filter(({ row }) => Date.parse(row.when) < time + 2 * SECOND_MS);
  const named = before.filter(
    ({ row, words }) => isNamed(move.image, words) || isTarget(move.imageVersion, row, words),
  );
  const operations = named.flatMap(({ words }) => words.filter((_, at) => words[at - 1] === 'operation'));
  const imported = before.filter(({ words }) => operations.some((operation) => words.includes(operation)));
  const beside = steps.filter(
    ({ row }) => WITH_MOVE.has(row.reason ?? '') && Math.abs(Date.parse(row.when) - time) < WITHIN_MS,
  );
  return [...named, ...imported, ...beside].map(({ row }) => row);
}

function isNamed(image: string | undefined, words: readonly string[]): boolean {
  return image !== undefined && words.includes(image);
}

/** A plan names two image versions, and the second is the one that is wanted. */
function isTarget(version: string | undefined, { reason }: Happening, words: readonly string[]): boolean {
  if (version === undefined) return false;
  return reason === 'Planned' ? words[words.indexOf('→') + 1] === version : words.includes(version);
}
