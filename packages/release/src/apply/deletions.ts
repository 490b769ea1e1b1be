import { isConflict, isNotFound, type KubeClient, type KubeObject, type Resource } from '@drydock/kube';
import { actionOf } from '../inclusion/annotations.ts';
import { idKey, type Manifest, type ObjectId } from '../payload/manifest.ts';
import { type Attempt, keyOf, ManifestFault } from './attempt.ts';
import type { InventoryEntry } from './inventory/entry.ts';
import { asJson, objectIn, objectsIn, textIn } from './json.ts';
import { kindOf } from './merge/kinds.ts';
import { type ApplyStep, losesData } from './step.ts';
import type { PendingDeletion } from './wish.ts';
import { newEntry } from './write-object.ts';

/** Names of objects that are kept; the number of all is kept besides. */
const MOST_NAMES = 100;

/** Objects of a definition that go with it: how many, and the names of the first hundred as `NAMESPACE/NAME`. */
export interface Held {
  readonly count: number;
  readonly names: readonly string[];
}

/** One thing that an incoming release deletes and that going back does not bring again. */
export interface DeletedData {
  readonly class: 'DELETED_DATA';
  /** What the release deletes, and where it says so. */
  readonly id: ObjectId;
  readonly file: string;
  readonly line: number;
  /** What is lost: the object itself, or one that goes with it. */
  readonly lost: string;
}

/**
 * What an incoming release deletes of what is there: definitions with each of their objects, volumes, Secrets, Namespaces. `inventory` is that from before the update; `held` tells the
 * objects of a definition by its `idKey`.
 */
export function deletedData(
  incoming: readonly Manifest[],
  inventory: ReadonlyMap<string, InventoryEntry>,
  held: ReadonlyMap<string, Held> = new Map(),
): readonly DeletedData[] {
  return incoming.flatMap((manifest) => {
    const { id, file, line } = manifest;
    const key = idKey(id);
    const entry = inventory.get(key);
    if (actionOf(manifest) !== 'delete' || !losesData(id)) return [];
    const inside = held.get(key) ?? entry?.held;
    if (inside === undefined && (entry === undefined || isDefinition(id))) return [];
    const lost = isDefinition(id) ? namesOf(inside) : [id.namespace === '' ? id.name : `${id.namespace}/${id.name}`];
    return lost.map((one): DeletedData => ({ class: 'DELETED_DATA', id, file, line, lost: one }));
  });
}

/**
 * What a newer release has deleted of what `target` brings, and what making it again does not bring back: the objects of definitions by the inventory, but for those that are there again (`live`), and what holds data and
 * `running` deletes.
 */
export function goneData(
  target: readonly Manifest[],
  {
    inventory,
    running,
    live,
  }: {
    readonly inventory: ReadonlyMap<string, InventoryEntry>;
    readonly running: readonly Manifest[];
    readonly live: ReadonlyMap<string, Held>;
  },
): readonly DeletedData[] {
  const deleting = new Set(running.filter((one) => actionOf(one) === 'delete').map(({ id }) => idKey(id)));
  return target.flatMap((manifest) => {
    const { id, file, line } = manifest;
    const key = idKey(id);
    if (actionOf(manifest) === 'delete' || !losesData(id)) return [];
    const there = new Set(live.get(key)?.names);
    const gone = isDefinition(id)
      ? namesOf(inventory.get(key)?.held).filter((one) => !there.has(one))
      : deleting.has(key)
        ? [id.namespace === '' ? id.name : `${id.namespace}/${id.name}`]
        : [];
    return gone.map((lost): DeletedData => ({ class: 'DELETED_DATA', id, file, line, lost }));
  });
}

function namesOf(held: Held | undefined): readonly string[] {
  const { count = 0, names = [] } = held ?? {};
  return count > names.length ? [...names, `${count - names.length} more`] : names;
}

/** The objects of a definition that is to be deleted. Rejects with `ApiError`. */
export async function heldBy(
  client: Pick<KubeClient, 'list'>,
  definition: KubeObject,
  signal: AbortSignal,
): Promise<Held> {
  const spec = objectIn(asJson(definition), 'spec');
  const names = objectIn(spec, 'names');
  const version = objectsIn(spec, 'versions').find((one) => one['served'] === true);
  const found: string[] = [];
  let count = 0;
  if (version === undefined) return { count, names: found };
  const resource: Resource<KubeObject> = {
    group: textIn(spec, 'group'),
    version: textIn(version, 'name'),
    kind: textIn(names, 'kind'),
    plural: textIn(names, 'plural'),
    scope: textIn(spec, 'scope') === 'Namespaced' ? 'Namespaced' : 'Cluster',
  };
  for await (const { metadata } of client.list(resource, {}, { signal })) {
    count += 1;
    if (found.length < MOST_NAMES)
      found.push(metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`);
  }
  return { count, names: found };
}

/** Whether deleting it deletes all objects of a kind. */
export function isDefinition(id: ObjectId): boolean {
  return kindOf(id) === 'CustomResourceDefinition.apiextensions.k8s.io';
}

/**
 * Asks for a deletion, once, and says whether it is confirmed. What was asked for is seen at the object itself, so that every process sees it; what a definition
 * holds is in the inventory before it goes.
 */
export async function deleteObject(
  attempt: Attempt,
  manifest: Manifest,
  step: ApplyStep & { readonly action: 'delete' },
  live: KubeObject | undefined,
): Promise<void> {
  const { ports, signal } = attempt;
  const resource = await attempt.resourceOf(manifest);
  if (!step.pending) {
    if (live !== undefined && isDefinition(manifest.id)) await keepHeld(attempt, manifest, live);
    try {
      const options = { propagation: 'Background', signal } as const;
      await ports.client.delete(resource, keyOf(manifest), { uid: step.uid }, options);
    } catch (error) {
      if (isConflict(error)) {
        const message = 'somebody made it again while it was to be deleted';
        throw new ManifestFault({ reason: 'UpdatePayloadResourceConflict', effect: 'Fail', message });
      }
      if (!isNotFound(error)) throw error;
    }
  }
  const left = await attempt.read(manifest, resource);
  if (left === undefined || left.metadata.uid !== step.uid) {
    forget(attempt, manifest);
    return;
  }
  attempt.deletions.push(pendingOf(manifest, left, ports.clock.date()));
}

/** An object that is gone is not known any more, but for what went with it. */
export function forget({ inventory }: Attempt, { id }: Manifest): void {
  const entry = inventory.entries.get(idKey(id));
  if (entry === undefined || (entry.held !== undefined && entry.held.count > 0 && entry.uid === '')) return;
  const { held, intent: _intent, settled: _settled, ...kept } = entry;
  const left =
    held === undefined || held.count === 0 ? undefined : { ...kept, uid: '', made: false, written: {}, held };
  inventory.note(new Map([[idKey(id), left]]));
}

async function keepHeld(attempt: Attempt, manifest: Manifest, definition: KubeObject): Promise<void> {
  const { ports, signal, inventory, wish } = attempt;
  const key = idKey(manifest.id);
  const held = await heldBy(ports.client, definition, signal);
  const entry = inventory.entries.get(key) ?? newEntry(manifest, wish.payload.version);
  await attempt.keep(manifest, new Map([[key, { ...entry, held }]]));
}

function pendingOf({ id }: Manifest, { metadata }: KubeObject, now: Date): PendingDeletion {
  const asked = new Date(metadata.deletionTimestamp ?? '');
  return {
    object: id,
    finalizers: metadata.finalizers ?? [],
    since: Number.isNaN(asked.getTime()) ? now : asked,
  };
}
