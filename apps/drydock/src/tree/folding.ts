import type { ClusterTree, TreeRegion, TreeRelease, TreeSet } from '@drydock/boot-images';

/** A line of the tree before it is drawn. */
export interface Twig {
  /** What it is, in words. */
  readonly title: string;
  /** What is so of all sets below, where they are folded into this line. */
  readonly folded?: Folded;
  readonly below: readonly Twig[];
}

/** Sets of which the same is said. */
export interface Folded {
  readonly sets: readonly TreeSet[];
}

/** Options of {@link foldedTree}. */
export interface FoldOptions {
  /** Fold nothing. */
  readonly all: boolean;
}

/** The tree with each set that is not fine on a line of its own, and what is equal in one: a branch of which all sets are fine, one that is left alone for one reason, and sets of one image. */
export function foldedTree(tree: ClusterTree, options: FoldOptions): readonly Twig[] {
  return tree.clusters.map((cluster) => {
    const kind = cluster.kind === 'OpenShift' ? 'OpenShift' : 'Cluster API';
    return {
      title: cluster.name === undefined ? `a cluster without a name (${kind})` : `${cluster.name} (${kind})`,
      below: cluster.releases.map((release) => releaseTwig(release, options)),
    };
  });
}

function releaseTwig({ release, regions }: TreeRelease, options: FoldOptions): Twig {
  const title = release === undefined ? 'no release is asked for' : `release ${release}`;
  return twig(
    title,
    regions.map((one) => regionTwig(one, options)),
    options,
  );
}

function regionTwig({ kind = 'region', region, failureDomains }: TreeRegion, options: FoldOptions): Twig {
  const domains = failureDomains.map(({ failureDomain, images }) => {
    const below = images.map((image) => twig(imageTitle(image), equals(image.sets, options).map(leaf), options));
    return twig(failureDomain ?? 'no single failure domain', below, options);
  });
  return twig(region === undefined ? 'place unknown' : `${kind} ${region}`, domains, options);
}

function imageTitle({ image, release }: { readonly image?: string; readonly release?: string }): string {
  if (image === undefined) return 'image unknown';
  return release === undefined ? image : `${image} (${release})`;
}

function leaf(sets: readonly TreeSet[]): Twig {
  return { title: '', folded: { sets }, below: [] };
}

function twig(title: string, below: readonly Twig[], { all }: FoldOptions): Twig {
  const sets = below.flatMap(setsOf);
  const [first] = sets;
  const skipped = below.length > 1 && sets.every(({ status }) => status.phase === 'Skipped');
  const fine = sets.every((set) => set.fine);
  if (all || first === undefined || !(fine || skipped) || new Set(sets.map(said)).size > 1) return { title, below };
  return { title, folded: { sets }, below: [] };
}

function setsOf({ folded, below }: Twig): readonly TreeSet[] {
  return folded?.sets ?? below.flatMap(setsOf);
}

/** Sets of which the same is said together, those that are fine first. */
function equals(sets: readonly TreeSet[], { all }: FoldOptions): readonly (readonly TreeSet[])[] {
  if (all) return sets.map((set) => [set]);
  const groups = Map.groupBy(sets, said).values().toArray();
  return groups.toSorted(([a], [b]) => Number(b?.fine) - Number(a?.fine));
}

/** What is said of a set, without its name and since when; of one that is fine nothing. */
function said({ set, status, fine, policy, pin, canary }: TreeSet): string {
  if (fine) return '';
  const { since: _, revertTo: _back, ...words } = status;
  const name = set.slice(set.indexOf('/') + 1).replaceAll(/[^\w-]/g, '\\$&');
  return JSON.stringify({ ...words, policy, pin, canary }).replaceAll(
    new RegExp(`(?<![\\w.-])${name}(?![\\w-])`, 'g'),
    '…',
  );
}
