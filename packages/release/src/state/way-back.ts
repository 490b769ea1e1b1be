import type { Final } from './finalisation.ts';
import type { HistoryEntry } from './history.ts';
import type { Release } from './target.ts';
import type { Unmet } from './unmet.ts';
import { minorOf, versionIn } from './versions.ts';

/** What a preflight found about going to a release, by what it is accepted by. */
export interface WayBackFinding {
  /** As `PRUNE:featuregates.config.openshift.io:N12:.status`. */
  readonly id: string;
  readonly class: string;
  readonly blocking: boolean;
  readonly message: string;
}

/** What is known of the way to an older release. */
export interface WayBack {
  /** undefined: nobody has looked, or not at what is stored now. */
  readonly findings: readonly WayBackFinding[] | undefined;
  /** Why nobody has. */
  readonly unjudged?: string;
  /** Why the API server does not allow it; undefined where it does. */
  readonly skew?: string;
  /** A release that would be gone past, and was declared final. */
  readonly finalised?: Final;
}

/** Classes of findings. The server would not take the definition, or no definition takes what both releases write: no consent helps. */
export const FINAL: ReadonlySet<string> = new Set(['CRD_REJECTED', 'UNBRIDGED']);

/**
 * Why an older release is not gone to: it must be in the history with this image, with every minor between; what a preflight finds must be accepted one by one. In place of openshift/cluster-version-operator's
 * rule that only the same minor is gone back to.
 */
export function wayBackRefusal(
  { findings, unjudged, skew, finalised }: WayBack,
  {
    history,
    current,
    target,
  }: { readonly history: readonly HistoryEntry[]; readonly current: Release; readonly target: Release },
): readonly Unmet[] {
  const refused = (reason: string, message: string): Unmet => ({ name: 'Rollback', reason, message, blocking: true });
  const unmet: Unmet[] = [];
  if (!history.some(({ version, image }) => version === target.version && image === target.image))
    unmet.push(
      refused(
        'NotInHistory',
        `${target.version} with this image was never here, so nothing is known of the way to it.`,
      ),
    );
  const gap = missingMinor(history, current, target);
  if (gap !== undefined)
    unmet.push(
      refused(
        'PathNotRecorded',
        `The history has nothing of ${gap}, which lies between ${current.version} and ${target.version}.`,
      ),
    );
  if (skew !== undefined) unmet.push(refused('ServerSkew', skew));
  if (finalised !== undefined) unmet.push(refused('Finalised', finalText(finalised)));
  if (findings === undefined)
    unmet.push(
      refused(
        'NotJudged',
        `What is stored was not judged by the definitions of ${target.version}${unjudged === undefined ? ' yet.' : `: ${unjudged}`}`,
      ),
    );
  return [...unmet, ...(findings ?? []).filter(({ blocking }) => blocking).map(unmetFinding)];
}

/** What it means that a release is final. */
export function finalText({ version, finalisedTime }: Final): string {
  return `${version} is final since ${finalisedTime}: what it wrote is not guarded against going back any more.`;
}

function unmetFinding({ id, class: kind, message }: WayBackFinding): Unmet {
  const found: Unmet = { name: `Rollback/${id}`, reason: 'PreflightFinding', message, blocking: true };
  return FINAL.has(kind) ? { ...found, final: true } : found;
}

/** A minor between the two that the history does not have. How many minors a major had nobody knows: those up to the last recorded one count. */
function missingMinor(history: readonly HistoryEntry[], current: Release, target: Release): string | undefined {
  const [from, to] = [versionIn(current.version), versionIn(target.version)];
  if (from === undefined || to === undefined) return undefined;
  const recorded = new Set(history.map(({ version }) => minorOf(version)));
  for (let major = to.major; major <= from.major; major += 1) {
    const known = [...recorded].flatMap((text) => (text.startsWith(`${major}.`) ? [Number(text.split('.')[1])] : []));
    const first = major === to.major ? to.minor : 0;
    const last = major === from.major ? from.minor : known.reduce((a, b) => Math.max(a, b), first);
    for (let minor = first; minor <= last; minor += 1)
      if (!recorded.has(`${major}.${minor}`)) return `${major}.${minor}`;
  }
  return undefined;
}
