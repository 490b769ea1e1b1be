import type { BootImage, BootImagePolicy } from '@drydock/api';
import { isPaced } from '../policy/turns.ts';
import type { SetName } from './observe.ts';
import type { ReleaseImages } from './openshift.ts';
import type { RotationWish } from './rotation.ts';
import type { RotatedSet } from './set.ts';
import { isDone, Line, type TurnOf, waitsForTurn } from './turn.ts';
import { policyOfRotated, wishFor } from './wish.ts';

/** What {@link createLines} reads. */
export interface LinesOptions {
  readonly policies: () => readonly BootImagePolicy[];
  /** As it was seen last; undefined where it is gone, or no set of its own. */
  readonly set: (name: SetName) => RotatedSet | undefined;
  readonly names: () => Iterable<SetName>;
  readonly image: (set: RotatedSet) => BootImage | undefined;
  readonly now: () => Date;
  /** See `WishSources.release`. */
  readonly release?: ReleaseImages | undefined;
}

/** In which order the sets of each policy that has a pace are begun. */
export interface Lines {
  /** A set, or its BootImage, is another one than before. */
  readonly changed: (name: SetName) => void;
  /** Policies are other ones than before. */
  readonly policiesChanged: () => void;
  /** Why a set is not begun yet; undefined where it is its turn. */
  readonly waits: (set: RotatedSet, policy: BootImagePolicy) => RotationWish['waits'];
  /** Tells of each set whose turn has come because another one is done. */
  readonly onTurn: (tell: (set: TurnOf) => void) => Disposable;
}

/** Keeps them as sets change, one at a time: what is asked about one set does not cost more with every other one. */
export function createLines(options: LinesOptions): Lines {
  const { policies, names, now, release } = options;
  const lines = new Map<string, Line>();
  const standing = new Map<string, { readonly line: Line; readonly set: TurnOf; readonly until: number }>();
  const listeners = new Set<(set: TurnOf) => void>();
  let lapsing = new Set<string>();
  let stale = true;

  function put(name: SetName): void {
    const id = textOf(name);
    const old = standing.get(id);
    const set = options.set(name);
    const found = set === undefined ? undefined : placeOf(set);
    if (found !== undefined) {
      const stays = old?.line === found.line && String(old.set.failureDomains) === String(found.set.failureDomains);
      if (old !== undefined && !stays) leave(id, old);
      found.line.add(found.set);
      standing.set(id, found);
      if (Number.isFinite(found.until)) lapsing.add(id);
    } else if (old !== undefined) leave(id, old);
  }

  function leave(id: string, { line, set }: { readonly line: Line; readonly set: TurnOf }): void {
    standing.delete(id);
    for (const next of line.remove(set)) for (const tell of listeners) tell(next);
  }

  /** Undefined where it is done, or has no pace. */
  function placeOf(set: RotatedSet): { readonly line: Line; readonly set: TurnOf; readonly until: number } | undefined {
    const all = policies();
    const { policy } = policyOfRotated(set, all);
    if (policy === undefined || !isPaced(policy)) return undefined;
    const image = options.image(set);
    if (isDone(set, wishFor(set, { policies: all, image, now: now(), release }), image)) return undefined;
    const { kind, namespace, name, id, failureDomains } = set;
    const until = image?.spec?.pin?.until;
    return {
      line: lineOf(policy),
      set: { kind, namespace, name, id, failureDomains },
      // With its pin a set wants something else.
      until: until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until),
    };
  }

  function lineOf({ metadata: { name }, spec }: BootImagePolicy): Line {
    return lines.getOrInsertComputed(name, () => new Line(spec?.pace ?? {}));
  }

  function refresh(): void {
    if (stale) {
      stale = false;
      lines.clear();
      standing.clear();
      lapsing = new Set();
      for (const name of names()) put(name);
    }
    const time = now().getTime();
    for (const id of lapsing) {
      const found = standing.get(id);
      if (found !== undefined && found.until > time) continue;
      lapsing.delete(id);
      if (found !== undefined) put(found.set);
    }
  }

  return {
    changed: (name) => {
      if (!stale) put(name);
    },
    policiesChanged: () => {
      stale = true;
    },
    waits: (set, policy) => {
      refresh();
      const before = lines.get(policy.metadata.name)?.before(set);
      return before === undefined ? undefined : waitsForTurn(set, before, `bootimagepolicy ${policy.metadata.name}`);
    },
    onTurn: (tell) => {
      listeners.add(tell);
      return { [Symbol.dispose]: () => void listeners.delete(tell) };
    },
  };
}

function textOf({ kind, namespace, name }: SetName): string {
  return `${kind} ${namespace}/${name}`;
}
