import { oneLine } from '@drydock/api/text';
import { exitCode } from '../exit.ts';
import { type CheckLine, checkText } from '../template/check-line.ts';

/** What one look found. */
export interface Finding extends CheckLine {
  /** What it is about: `cluster`, `rights`, `vcenter NAME`. */
  readonly area: string;
  /** It could not be looked at: nobody knows. A check that is skipped because it means nothing here is not undecided. */
  readonly undecided?: true;
}

/** What a look says of itself; its area is where it is made. */
export type Line = Omit<Finding, 'area'>;

/** What all findings come to. */
export interface Diagnosis {
  readonly verdict: 'ok' | 'blocked' | 'undecided';
  readonly failed: number;
  readonly warned: number;
  readonly undecided: number;
  readonly checks: readonly Finding[];
}

/** Counts; a failure weighs more than what is not known. */
export function diagnosisOf(checks: readonly Finding[]): Diagnosis {
  const failed = checks.filter(({ state }) => state === 'FAIL').length;
  const warned = checks.filter(({ state }) => state === 'warn').length;
  const undecided = checks.filter((check) => check.undecided === true).length;
  return { verdict: failed > 0 ? 'blocked' : undecided > 0 ? 'undecided' : 'ok', failed, warned, undecided, checks };
}

/** The exit code of a diagnosis. */
export function codeOf({ verdict }: Diagnosis): number {
  return { ok: exitCode.done, blocked: exitCode.blocked, undecided: exitCode.undecided }[verdict];
}

/** Findings for people, by area, and what they come to. */
export function diagnosisText(diagnosis: Diagnosis): string {
  const areas = Map.groupBy(diagnosis.checks, ({ area }) => area);
  const blocks = [...areas].map(([area, lines]) => `${oneLine(area)}\n${checkText(lines)}`);
  return `${blocks.join('\n')}\n${lastWord(diagnosis)}\n`;
}

function lastWord({ failed, undecided, warned }: Diagnosis): string {
  const said = [
    ...(failed > 0 ? [`${count(failed, 'check')} failed`] : []),
    ...(undecided > 0 ? [`${undecided} could not be made`] : []),
    ...(warned > 0 ? [`${count(warned, 'warning')}`] : []),
  ];
  return said.length === 0 ? 'Everything is as it should be.' : `${said.join(', ')}.`;
}

function count(of: number, noun: string): string {
  return `${of} ${noun}${of === 1 ? '' : 's'}`;
}

/** Makes a look. One that throws is a finding too, and not the end of the others. */
export async function lookedAt(
  area: string,
  name: string,
  signal: AbortSignal,
  look: () => Promise<Line | readonly Line[]>,
): Promise<readonly Finding[]> {
  try {
    return [await look()].flat().map((line) => ({ area, ...line }));
  } catch (error) {
    signal.throwIfAborted();
    const detail = error instanceof Error ? error.message : String(error);
    return [{ area, name, state: 'skip', undecided: true, detail: `could not be looked at: ${detail}` }];
  }
}
