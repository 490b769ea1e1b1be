import type { NormalAnswer } from './answer-normal.ts';
import type { PlannedRequest } from './planned-request.ts';

/** What is compared. */
export const DIFFERENCE_CLASSES = ['code', 'reason', 'body', 'watch'] as const;

/** What two servers did not have in common. */
export type DifferenceClass = (typeof DIFFERENCE_CLASSES)[number];

/** One place where two values differ; `undefined` where one has nothing. */
export interface Discrepancy {
  readonly path: string;
  readonly reference: unknown;
  readonly tested: unknown;
}

/** Where two servers differ. */
export interface Difference {
  readonly class: DifferenceClass;
  /** In its history. */
  readonly at: number;
  readonly request: PlannedRequest;
  readonly reference: NormalAnswer | undefined;
  readonly tested: NormalAnswer | undefined;
  readonly places: readonly Discrepancy[];
}

/** How two answers differ; undefined where they do not. */
export function compareAnswers(
  request: PlannedRequest,
  at: number,
  reference: NormalAnswer,
  tested: NormalAnswer,
): Difference | undefined {
  const places = discrepancies(
    { body: reference.body, warnings: reference.warnings },
    { body: tested.body, warnings: tested.warnings },
  );
  const named = { at, request, reference, tested, places };
  if (reference.code !== tested.code) return { class: 'code', ...named };
  if (reference.reason !== tested.reason) return { class: 'reason', ...named };
  return places.length === 0 ? undefined : { class: 'body', ...named };
}

/** All places where two JSON values differ. */
export function discrepancies(reference: unknown, tested: unknown, path = ''): readonly Discrepancy[] {
  if (Object.is(reference, tested)) return [];
  if (isBranch(reference) && isBranch(tested) && Array.isArray(reference) === Array.isArray(tested)) {
    const keys = [...new Set([...Object.keys(reference), ...Object.keys(tested)])];
    return keys.flatMap((key) =>
      discrepancies(own(reference, key), own(tested, key), path === '' ? key : `${path}.${key}`),
    );
  }
  return [{ path, reference, tested }];
}

function isBranch(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** A difference as a reader wants it: the request, and each place that differs. */
export function differenceText({ class: what, at, request, reference, tested, places }: Difference): string {
  const { method, path, body, edits, type, accept, user } = request;
  const sent = { body, edits, type, accept, user };
  const lines = places
    .slice(0, 12)
    .map((place) => `  ${place.path}\n    - ${short(place.reference)}\n    + ${short(place.tested)}`);
  return [
    `${what} differs: request ${at} ${method} ${path} ${short(sent, 1500)}`,
    ...(reference === undefined ? [] : [`  ${reference.code} ${reference.reason} / ${tested?.code} ${tested?.reason}`]),
    ...lines,
    ...(places.length > 12 ? [`  and ${places.length - 12} more`] : []),
  ].join('\n');
}

function short(value: unknown, letters = 400): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > letters ? `${text.slice(0, letters)}…` : text;
}
