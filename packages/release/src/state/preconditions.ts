import type { SemVer } from 'semver';
import type { HistoryEntry } from './history.ts';
import type { Release } from './target.ts';
import type { Unmet } from './unmet.ts';
import { isOlder, minorOf, versionIn } from './versions.ts';
import { type WayBack, wayBackRefusal } from './way-back.ts';

/** What is asked before a release is gone to, in this order. Each is accepted by its name. */
export const PRECONDITIONS = ['Rollback', 'GiantHop', 'Upgradeable', 'RecommendedUpdate'] as const;

/** See {@link PRECONDITIONS}. */
export type PreconditionName = (typeof PRECONDITIONS)[number];

/** What preconditions are judged by. */
export interface PreconditionWorld {
  /** The release that is wanted now; undefined where there was none. */
  readonly current: Release | undefined;
  readonly history: readonly HistoryEntry[];
  readonly target: Release;
  /** Why the cluster may not go to another minor; empty where it may. */
  readonly notUpgradeable: readonly { readonly reason: string; readonly message: string }[];
  /** Why the update is not recommended. */
  readonly notRecommended?: { readonly reason: string; readonly message: string };
  /** What decides about a way back: openshift/cluster-version-operator's rule (the release before, of the same minor), or what is known of this very way. */
  readonly wayBack: 'upstream' | WayBack;
}

/** What is not met, in the order of {@link PRECONDITIONS}. Nothing is asked where there was no release before, or the target is the current one. */
export function unmetPreconditions(world: PreconditionWorld): readonly Unmet[] {
  const { current, target } = world;
  if (current === undefined || current.image === target.image) return [];
  return [
    ...rollback(world, current),
    ...giantHop(world, current),
    ...upgradeable(world, current),
    ...recommended(world),
  ];
}

function rollback(world: PreconditionWorld, current: Release): readonly Unmet[] {
  const { target, history, wayBack } = world;
  const older = isOlder(target.version, current.version);
  if (older === undefined)
    return [
      low(
        'UnknownVersion',
        `${current.version === '' ? 'The current release' : current.version} and ${target.version} cannot be compared.`,
      ),
    ];
  if (!older) return [];
  return wayBack === 'upstream'
    ? previousPatch(history, current, target)
    : wayBackRefusal(wayBack, { history, current, target });
}

/** Only the first entry that differs counts, so that going to and fro works. */
function previousPatch(history: readonly HistoryEntry[], current: Release, target: Release): readonly Unmet[] {
  const previous = history.find(({ version, image }) => version !== current.version || image !== current.image);
  if (previous === undefined || versionIn(previous.version) === undefined)
    return [
      low(
        'LowDesiredVersion',
        `${target.version} is older than ${current.version}, and the history has no release before that.`,
      ),
    ];
  if (target.version !== previous.version)
    return [
      low(
        'LowDesiredVersion',
        `${target.version} is older than ${current.version}, and the release before was ${previous.version}.`,
      ),
    ];
  if (minorOf(target.version) === minorOf(current.version)) return [];
  return [low('LowDesiredVersion', `${target.version} is of another minor than ${current.version}.`)];
}

function low(reason: string, message: string): Unmet {
  return { name: 'Rollback', reason, message, blocking: true };
}

function giantHop({ target }: PreconditionWorld, current: Release): readonly Unmet[] {
  const [from, to] = [versionIn(current.version), versionIn(target.version)];
  if (from === undefined || to === undefined || !isHop(from, to)) return [];
  const message = `${target.version} is more than one minor after ${current.version}; what is between must be gone through.`;
  return [{ name: 'GiantHop', reason: 'MinorSkipped', message, blocking: true }];
}

/** From the last 4 the next one is 5.0. */
function isHop(from: SemVer, to: SemVer): boolean {
  if (to.major < from.major) return false;
  if (to.major === from.major) return to.minor > from.minor + 1;
  return !(from.major === 4 && to.major === 5 && to.minor === 0);
}

function upgradeable({ target, notUpgradeable }: PreconditionWorld, current: Release): readonly Unmet[] {
  const [first, ...more] = notUpgradeable;
  const later = isOlder(current.version, target.version) === true;
  if (first === undefined || !later || minorOf(current.version) === minorOf(target.version)) return [];
  const reason = more.length === 0 ? first.reason : 'MultipleReasons';
  const message = notUpgradeable.map((one) => one.message).join(' ');
  return [{ name: 'Upgradeable', reason, message, blocking: true }];
}

function recommended({ notRecommended }: PreconditionWorld): readonly Unmet[] {
  return notRecommended === undefined ? [] : [{ name: 'RecommendedUpdate', ...notRecommended, blocking: false }];
}
