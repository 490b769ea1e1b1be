import type { Manifest } from '../payload/manifest.ts';

/** Manifests that are applied one after the other, as one unit of work. */
export interface Node {
  readonly manifests: readonly Manifest[];
  /** Indexes of the nodes that must be done before. */
  readonly after: readonly number[];
}

/** What is applied in which order. Nodes that do not wait for each other may run at the same time. */
export type Graph = readonly Node[];

/** Runlevels one after the other, the components of one runlevel beside each other, the files of a component in their order: an update. */
export function updateGraph(manifests: readonly Manifest[]): Graph {
  return layered(barriersOf(manifests), byRunlevel);
}

/** All components of all runlevels beside each other: the first installation. Only what stands alone is waited for. */
export function initialGraph(manifests: readonly Manifest[]): Graph {
  return layered(barriersOf(manifests), (run) => [groupsOf(run)]);
}

/**
 * As the first installation, in an order that changes with each attempt, so that one node that is stuck does not starve always the same others: a permutation
 * for each eight attempts, turned by an eighth with each.
 */
export function reconcileGraph(manifests: readonly Manifest[], attempt: number): Graph {
  const steps = 8;
  const seed = Math.floor(attempt / steps);
  return layered(barriersOf(manifests), (run) => {
    const groups = permuted(groupsOf(run), seed);
    const turn = Math.floor((groups.length * (attempt % steps)) / steps);
    return [[...groups.slice(turn), ...groups.slice(0, turn)]];
  });
}

type Group = readonly Manifest[];
/** Groups of one layer run beside each other, layers one after the other. */
type Layers = readonly (readonly Group[])[];

/** Either what stands alone, or a run of manifests in between. */
type Stretch = { readonly alone: Manifest } | { readonly run: readonly Manifest[] };

/** A file without a place in the order, and a Job, are waited for and wait for everything before them. */
function barriersOf(manifests: readonly Manifest[]): readonly Stretch[] {
  const stretches: Stretch[] = [];
  let run: Manifest[] = [];
  for (const manifest of manifests) {
    if (manifest.place !== undefined) {
      run.push(manifest);
      continue;
    }
    if (run.length > 0) stretches.push({ run });
    stretches.push({ alone: manifest });
    run = [];
  }
  return run.length > 0 ? [...stretches, { run }] : stretches;
}

/** A runlevel that comes again later, as the others' 90 after the release manager's own, is another layer. */
function byRunlevel(run: readonly Manifest[]): Layers {
  const levels: Manifest[][] = [];
  for (const manifest of run) {
    const last = levels.at(-1);
    if (last?.[0]?.place?.runlevel === manifest.place?.runlevel) last?.push(manifest);
    else levels.push([manifest]);
  }
  return levels.map(groupsOf);
}

function groupsOf(run: readonly Manifest[]): readonly Group[] {
  return [...Map.groupBy(run, ({ place }) => `${place?.runlevel} ${place?.component}`).values()];
}

function layered(stretches: readonly Stretch[], layersOf: (run: readonly Manifest[]) => Layers): Graph {
  const nodes: Node[] = [];
  let before: readonly number[] = [];
  const add = (manifests: readonly Manifest[], after: readonly number[]): number =>
    nodes.push({ manifests, after }) - 1;
  for (const stretch of stretches) {
    const layers: Layers = 'alone' in stretch ? [[[stretch.alone]]] : layersOf(stretch.run);
    for (const layer of layers) before = layer.map((group) => chain(group, before, add));
  }
  return nodes;
}

/** A Job splits its group: what comes after it must not begin before it has ended. Returns the last node. */
function chain(group: Group, before: readonly number[], add: (of: Group, after: readonly number[]) => number): number {
  let after = before;
  let part: Manifest[] = [];
  const flush = (): void => {
    if (part.length === 0) return;
    after = [add(part, after)];
    part = [];
  };
  for (const manifest of group) {
    if (manifest.id.kind !== 'Job' || manifest.id.group !== 'batch') {
      part.push(manifest);
      continue;
    }
    flush();
    after = [add([manifest], after)];
  }
  flush();
  return after[0] as number;
}

/** Fisher and Yates with a small generator of its own, so that the same attempt has the same order everywhere. */
function permuted<T>(items: readonly T[], seed: number): readonly T[] {
  const all = [...items];
  let state = (seed * 0x9e3779b1 + 0x7f4a7c15) >>> 0;
  for (let at = all.length - 1; at > 0; at -= 1) {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0;
    const other = state % (at + 1);
    [all[at], all[other]] = [all[other] as T, all[at] as T];
  }
  return all;
}
