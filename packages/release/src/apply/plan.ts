import type { KubeObject, Resource } from '@drydock/kube';
import { isNotFound } from '@drydock/kube';
import type { Graph } from '../graph/graph.ts';
import { actionOf } from '../inclusion/annotations.ts';
import { idKey, type Manifest, type ObjectId } from '../payload/manifest.ts';
import { keyOf } from './attempt.ts';
import { type DeletedData, deletedData, type Held, heldBy, isDefinition } from './deletions.ts';
import type { Difference } from './difference.ts';
import { waitOf } from './health/health.ts';
import { isHeld } from './inventory/entry.ts';
import { createKinds, type Kinds } from './kinds.ts';
import { applyMemory } from './memory.ts';
import { findOrphans } from './orphans.ts';
import { pinOf } from './pin.ts';
import { type ApplyStep, heldStep, stepFor } from './step.ts';
import { type ApplyPorts, type ApplyWish, graphOf } from './wish.ts';

/** What would be done for one object. */
export interface PlannedObject {
  readonly id: ObjectId;
  readonly file: string;
  readonly line: number;
  readonly action: ApplyStep['action'];
  /** Of an update. */
  readonly differences?: readonly Difference[];
  /** Why nothing is done, or nothing can be. */
  readonly why?: string;
  /** What is waited for afterwards. */
  readonly wait?: string;
  /** What the step was decided by, of an update or a deletion: another one is another step. See {@link pinOf}. */
  readonly pin?: string;
}

/** What runs at the same time, after the phases before it. */
export interface PlannedPhase {
  /** From 1. */
  readonly phase: number;
  /** Each is applied in its order. */
  readonly nodes: readonly { readonly component: string; readonly objects: readonly PlannedObject[] }[];
}

/** What applying a payload would do. */
export interface ApplyPlan {
  readonly version: string;
  readonly owner: string;
  readonly mode: ApplyWish['mode'];
  readonly phases: readonly PlannedPhase[];
  /** How many objects of each action. */
  readonly counts: Readonly<Record<ApplyStep['action'], number>>;
  /** What goes with deletions, and no release brings back. */
  readonly deletedData: readonly DeletedData[];
  /** What earlier releases brought and this one does not: it stays, unless somebody removes it. */
  readonly orphans: readonly {
    readonly id: ObjectId;
    readonly releases: readonly string[];
    readonly made: boolean;
    readonly losesData: boolean;
  }[];
}

/** Objects that are read at the same time. */
const READS = 8;

/** What {@link applyPayload} would do, by the same steps. It only reads. Rejects with `ApiError`, and with `ReleaseError` for what cannot be read or says nothing. */
export async function planPayload(
  wish: ApplyWish,
  ports: Pick<ApplyPorts, 'client' | 'inventory' | 'signal' | 'crds'>,
): Promise<ApplyPlan> {
  const { client, signal } = ports;
  const { manifests, mode, owner, payload } = wish;
  for (const manifest of manifests) actionOf(manifest);
  const inventory = await ports.inventory.open(owner, signal);
  const kinds = createKinds({ client, manifests, memory: applyMemory(), signal });
  const live = await readAll(manifests, kinds, ports);
  const planned = new Map(
    manifests.map((manifest): readonly [Manifest, PlannedObject] => {
      const key = idKey(manifest.id);
      const known = inventory.entries.get(key);
      const other = isHeld(known) ? undefined : inventory.claimedByOthers.get(key);
      const step: ApplyStep =
        other === undefined
          ? (heldStep(inventory, known, live.get(manifest)) ??
            stepFor(manifest, live.get(manifest), known, mode, owner, payload.image))
          : { action: 'refuse', reason: 'ResourceClaimed', why: `${other} brings it already` };
      const changed = isDefinition(manifest.id) && ports.crds !== undefined ? ports.crds(step, manifest) : step;
      return [manifest, plannedObject(manifest, changed, live.get(manifest), { mode, owner })];
    }),
  );
  const held = new Map<string, Held>();
  for (const [manifest, { action }] of planned) {
    const definition = live.get(manifest);
    if (action === 'delete' && definition !== undefined && isDefinition(manifest.id))
      held.set(idKey(manifest.id), await heldBy(client, definition, signal));
  }
  const gone = manifests.filter((one) => planned.get(one)?.action === 'delete');
  const there = new Map(gone.map(({ id, version, file }) => [idKey(id), { id, version, file, ...UNKNOWN }]));
  const orphans = await findOrphans(manifests, { client, inventory, owner, signal });
  const counts = { create: 0, update: 0, delete: 0, wait: 0, nothing: 0, refuse: 0 };
  for (const { action } of planned.values()) counts[action] += 1;
  return {
    version: payload.version,
    owner: owner.name,
    mode,
    phases: phasesOf(graphOf(wish), planned),
    counts,
    deletedData: deletedData(gone, there, held),
    orphans: orphans.map(({ id, releases, made, losesData }) => ({ id, releases, made, losesData })),
  };
}

/** What is there is lost, whether anybody knows of it or not. */
const UNKNOWN = { releases: [], uid: '', made: false, written: {} } as const;

function plannedObject(
  manifest: Manifest,
  step: ApplyStep,
  live: KubeObject | undefined,
  { mode, owner }: Pick<ApplyWish, 'mode' | 'owner'>,
): PlannedObject {
  const { id, file, line } = manifest;
  const pin = pinOf(manifest, step, live);
  const wait = step.action === 'delete' || actionOf(manifest) === 'delete' ? undefined : waitOf(manifest, mode, owner);
  return {
    ...{ id, file, line, action: step.action },
    ...(step.action === 'update' ? { differences: step.differences } : {}),
    ...('why' in step ? { why: step.why } : {}),
    ...(step.action === 'delete' && step.pending ? { why: 'it was asked to go before, and something holds it' } : {}),
    ...(wait === undefined ? {} : { wait }),
    ...(pin === undefined ? {} : { pin }),
  };
}

function phasesOf(graph: Graph, planned: ReadonlyMap<Manifest, PlannedObject>): readonly PlannedPhase[] {
  const levels: number[] = [];
  const phases: { readonly component: string; readonly objects: readonly PlannedObject[] }[][] = [];
  for (const { manifests, after } of graph) {
    const level = after.reduce((most, before) => Math.max(most, (levels[before] ?? 0) + 1), 0);
    levels.push(level);
    const [first] = manifests;
    const component = first?.place === undefined ? 'alone' : `${first.place.runlevel} ${first.place.component}`;
    phases[level] ??= [];
    phases[level].push({ component, objects: manifests.flatMap((one) => planned.get(one) ?? []) });
  }
  return phases.map((nodes, index) => ({ phase: index + 1, nodes }));
}

async function readAll(
  manifests: readonly Manifest[],
  kinds: Kinds,
  { client, signal }: Pick<ApplyPorts, 'client' | 'signal'>,
): Promise<ReadonlyMap<Manifest, KubeObject>> {
  const live = new Map<Manifest, KubeObject>();
  const rest = manifests.values();
  const work = async (): Promise<void> => {
    for (const manifest of rest) {
      const resource: Resource<KubeObject> | undefined = await kinds.resourceOf(manifest.id, manifest.version);
      if (resource === undefined || (resource.scope === 'Namespaced' && manifest.id.namespace === '')) continue;
      try {
        live.set(manifest, await client.get(resource, keyOf(manifest), { signal }));
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: READS }, work));
  return live;
}
