import { equal, type Json, type JsonObject } from '@drydock/crd';
import type { KubeObject } from '@drydock/kube';
import { actionOf } from '../inclusion/annotations.ts';
import type { Manifest, ObjectId } from '../payload/manifest.ts';
import type { ApplyReason } from './apply-error.ts';
import { type Difference, differencesOf } from './difference.ts';
import { withoutStale } from './inventory/claims.ts';
import { type InventoryEntry, isHeld } from './inventory/entry.ts';
import type { Inventory } from './inventory/inventory.ts';
import { asJson, isTooDeep, objectIn, textDigest, textIn, withField } from './json.ts';
import { asSent, isDefinition, kindOf, mergedContent } from './merge/kinds.ts';
import { mergedMetadata, newMetadata, otherController } from './merge/metadata.ts';
import type { ApplyMode, ApplyOwner } from './owner.ts';

/** What stands between an object as it is and as a payload wants it. A plan prints it and apply takes it: it is one value. */
export type ApplyStep =
  | { readonly action: 'create'; readonly object: JsonObject }
  | {
      readonly action: 'update';
      /** The live object with what the payload wants; its resourceVersion guards the write. */
      readonly object: JsonObject;
      readonly differences: readonly Difference[];
    }
  | {
      readonly action: 'delete';
      readonly uid: string;
      /** It was asked to go before, and something holds it. */
      readonly pending: boolean;
      /** What it holds is gone with it, and no release brings it back. */
      readonly losesData: boolean;
    }
  /** `why` is a clause. */
  | { readonly action: 'wait'; readonly why: string }
  | { readonly action: 'nothing'; readonly why: string }
  /** It cannot be taken, whatever is tried. */
  | { readonly action: 'refuse'; readonly reason: ApplyReason; readonly why: string };

/** Why nothing is to be done where both were compared. */
export const AS_IT_SHOULD_BE = 'it is as it should be';

/** What an object of these kinds holds is gone with it. */
const HOLDERS = new Set([
  'CustomResourceDefinition.apiextensions.k8s.io',
  'PersistentVolume.',
  'PersistentVolumeClaim.',
  'Secret.',
  'Namespace.',
]);

/** Whether what an object holds goes with it, and no release brings it back. */
export function losesData(id: ObjectId): boolean {
  return HOLDERS.has(kindOf(id));
}

/**
 * What is to be done for one manifest. Pure: `live` is the object as it is (undefined: there is none), `known` what the inventory has of it, `image` that of the release. Throws `ReleaseError`
 * for annotations that say nothing.
 */
export function stepFor(
  manifest: Manifest,
  live: KubeObject | undefined,
  known: InventoryEntry | undefined,
  mode: ApplyMode,
  owner?: ApplyOwner,
  image?: string,
): ApplyStep {
  const action = actionOf(manifest);
  const is = live === undefined ? undefined : asJson(live);
  if (action === 'delete') return deletion(manifest.id, is, mode);
  const createOnly = action === 'create';
  const wanted = manifest.object;
  if (is === undefined && known?.ran !== undefined && known.ran === image)
    return { action: 'nothing', why: 'it has done its work for this release, and was removed' };
  if (is === undefined) return { action: 'create', object: newObject(manifest, owner, createOnly) };
  if (createOnly || kindOf(manifest.id) === 'Job.batch') return { action: 'nothing', why: 'it is only created' };
  if (isTooDeep(is))
    return { action: 'refuse', reason: 'UpdatePayloadResourceInvalid', why: 'the live object is nested too deep' };
  if (objectIn(is, 'metadata')['deletionTimestamp'] !== undefined)
    return { action: 'wait', why: 'it is being deleted, and is made again when it is gone' };
  const other = otherController(is, owner);
  if (other !== undefined) return { action: 'refuse', reason: 'ResourceClaimed', why: `${other} controls it` };
  const isOperator = kindOf(manifest.id) === 'ClusterOperator.config.openshift.io';
  if (isOperator && mode !== 'reconciling') return { action: 'nothing', why: 'its operator writes it' };

  const metadata = mergedMetadata(wanted, is, owner, false);
  const content = isOperator || isSettled(manifest, is, known) ? is : mergedContent(manifest.id, contentOf(wanted), is);
  const merged = withoutStale(manifest.id, withField(content, 'metadata', metadata), wanted, {
    ...{ entry: known, live: is, owner },
  });
  if (equal(merged as Json, is as Json)) return { action: 'nothing', why: AS_IT_SHOULD_BE };
  return { action: 'update', object: merged, differences: differencesOf(is, merged, manifest.id.kind === 'Secret') };
}

/**
 * The refusal of an object that another owner has, whatever this manifest calls it (in a namespace where there is none for its kind, in another group that serves it): whoever made it keeps it, else who wrote it
 * first; undefined where there is no other.
 */
export function heldStep(
  { heldByOthers }: Pick<Inventory, 'heldByOthers'>,
  known: InventoryEntry | undefined,
  live: KubeObject | undefined,
): ApplyStep | undefined {
  const { uid = '' } = live?.metadata ?? {};
  const other = heldByOthers.get(uid);
  if (other === undefined || (known?.uid === uid && isHeld(known) && (known.made || !other.made))) return undefined;
  return { action: 'refuse', reason: 'ResourceClaimed', why: `${other.owner} has it` };
}

/** Whether the server made the live object of this very manifest, so that there is nothing to write, whatever it filled in. */
export function isSettled(manifest: Manifest, live: JsonObject, known: InventoryEntry | undefined): boolean {
  const { settled } = known ?? {};
  if (settled === undefined || known?.uid !== textIn(objectIn(live, 'metadata'), 'uid')) return false;
  return settled.manifest === contentDigest(manifest.object) && settled.content === contentMark(manifest, live);
}

const digests = new WeakMap<JsonObject, string>();

/** Digest of an object's content: all but type, metadata and status. Of a content with its fields in another order, which no server makes of one that it keeps, it is another one, and all is compared. */
export function contentDigest(object: JsonObject): string {
  const known = digests.get(object);
  if (known !== undefined) return known;
  const digest = textDigest(contentOf(object));
  digests.set(object, digest);
  return digest;
}

/** What stands for the content of a live object: of a definition its generation, which the server counts with each change of its content (apiextensions.k8s.io/v1), so that nobody need keep a schema; else a digest. */
export function contentMark(manifest: Pick<Manifest, 'id'>, live: JsonObject): string {
  const generation = isDefinition(manifest) ? objectIn(live, 'metadata')['generation'] : undefined;
  return typeof generation === 'number' ? `generation ${generation}` : contentDigest(live);
}

function contentOf(object: JsonObject): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, status: _status, ...content } = object;
  return content;
}

function newObject(manifest: Manifest, owner: ApplyOwner | undefined, createOnly: boolean): JsonObject {
  const { status: _status, ...wanted } = manifest.object;
  return { ...asSent(manifest.id, wanted), metadata: newMetadata(wanted, owner, createOnly) };
}

function deletion(id: ObjectId, live: JsonObject | undefined, mode: ApplyMode): ApplyStep {
  if (live === undefined) return { action: 'nothing', why: 'it is gone' };
  const metadata = objectIn(live, 'metadata');
  const pending = metadata['deletionTimestamp'] !== undefined;
  if (!pending && mode !== 'updating') return { action: 'nothing', why: 'only an update deletes' };
  return { action: 'delete', uid: textIn(metadata, 'uid'), pending, losesData: losesData(id) };
}
