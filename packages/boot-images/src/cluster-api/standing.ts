import type { BootImage, BootImagePolicy, BootImageStatus } from '@drydock/api';
import { keyOf, keyText } from '@drydock/kube';
import { type NotBegun, notBegun } from '../not-begun.ts';
import { isPaced } from '../policy/turns.ts';
import { bootImageStatus } from '../status/boot-image.ts';
import { bootImageOfRotated } from './boot-images.ts';
import { imageLeafOf } from './image-leaf.ts';
import { createLines } from './lines.ts';
import type { SetName } from './observe.ts';
import type { ReleaseImages } from './openshift.ts';
import { isRevision, type RotatedSet, setText } from './set.ts';
import { isSilentTurn, turnReason } from './turn.ts';
import { policyOfRotated, wishFor } from './wish.ts';

/** What {@link rotatedStandings} is made from. */
export interface RotatedStandingsInput extends NotBegun {
  /** What the operator said of all sets, last: in all namespaces, as a policy orders them all. */
  readonly images: readonly BootImage[];
  readonly sets: readonly RotatedSet[];
  readonly policies: readonly BootImagePolicy[];
  /** See `WishSources.release`. */
  readonly release?: ReleaseImages | undefined;
  readonly now: Date;
}

/**
 * What is said of sets of Cluster API, with the turn of each: a set that was up to date by what was wanted before is not written to only because it waits for another one, so whoever reads works it
 * out, by the lines that the operator works by. `of`: those that are asked about.
 */
export function rotatedStandings(
  input: RotatedStandingsInput,
  of: readonly BootImage[] = input.images,
): readonly BootImage[] {
  if (!input.policies.some(isPaced)) return of;
  const turns = turnsIn(input);
  return of.map((image) => {
    const status = turns.get(keyText(keyOf(image)));
    return status === undefined ? image : { ...image, status };
  });
}

/** By the namespace and name of the BootImage; what is not among them is as the operator said it. */
function turnsIn(input: RotatedStandingsInput): ReadonlyMap<string, BootImageStatus> {
  const { policies, now, release } = input;
  const found = new Map<string, BootImageStatus>();
  const images = new Map(input.images.map((image) => [keyText(keyOf(image)), image]));
  const sets = new Map(input.sets.filter((set) => !isRevision(set)).map((set) => [nameText(set), set]));
  const imageOf = (set: RotatedSet): BootImage | undefined => images.get(keyText(keyOf(bootImageOfRotated(set))));
  const lines = createLines({
    ...{ policies: () => policies, image: imageOf, now: () => now, release },
    set: (name) => sets.get(nameText(name)),
    names: () => sets.values(),
  });
  for (const set of sets.values()) {
    const image = imageOf(set);
    if (image?.status === undefined || !(isSilentTurn(image) || image.status.reason === turnReason)) continue;
    const { policy } = policyOfRotated(set, policies);
    if (policy === undefined || !isPaced(policy)) continue;
    const wish = wishFor(set, { policies, image, now, release, turn: lines.waits });
    const leaf = set.reference === undefined ? undefined : imageLeafOf(set.reference, wish.imagePaths);
    const wanted = wish.leftAlone === undefined && typeof leaf === 'object' ? wish.image(leaf) : undefined;
    if (wanted === undefined || wanted.kind === 'none') continue;
    if (wanted.release === image.status.target && image.status.reason !== turnReason) continue;
    const waits = wish.waits ?? notBegun(`${setText(set)} is to move to ${wanted.release}`, input);
    found.set(keyText(keyOf(image)), standing(image.status, set, { ...waits, target: wanted.release }, now));
  }
  return found;
}

function standing(
  said: BootImageStatus,
  set: RotatedSet,
  waits: NonNullable<ReturnType<typeof wishFor>['waits']> & { readonly target: string },
  now: Date,
): BootImageStatus {
  const { current, platform = 'unknown', observedGeneration: generation } = said;
  const facts = { reference: said.template?.name, target: waits.target };
  const outcome = {
    kind: 'waiting',
    phase: 'Pending',
    ...waits,
    ...(current === undefined ? {} : { current }),
  } as const;
  const status = bootImageStatus(said, outcome, { set: set.id, platform, generation, now, facts });
  if (status.phase === said.phase) return status;
  // When it came to be so nobody saw.
  const { since: _, conditions: _conditions, ...rest } = status;
  return rest;
}

function nameText({ kind, namespace, name }: SetName): string {
  return `${kind} ${namespace}/${name}`;
}
