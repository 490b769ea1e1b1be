import {
  type Crd,
  CrdError,
  diff,
  isObject,
  type JsonObject,
  ROLLBACK,
  ROLLBACK_SCHEMAS,
  type RollbackMarker,
  readCrd,
  readRollbackMarker,
  rollbackAnnotations,
  type Unbridged,
} from '@drydock/crd';
import type { KubeClient, KubeObject, Resource } from '@drydock/kube';
import { stepFor } from '../apply/step.ts';
import type { Manifest } from '../payload/manifest.ts';
import { bridgeColumn, bridgeSpec } from './bridge-definition.ts';
import type { RollbackEnd, RollbackWish } from './wish.ts';

/** apiextensions.k8s.io/v1. */
export const DEFINITION: Resource<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
};

/** How a definition of the target stands on the server. */
export type DefinitionState =
  /** Not there: the payload brings it. */
  | { readonly kind: 'absent' }
  /** The target refuses and loses nothing that this one takes: the payload brings it as it is. `marked`: somebody went another way before. */
  | { readonly kind: 'fits'; readonly marked: boolean }
  /** It would refuse or lose something, and nobody knows yet that somebody goes back. */
  | { readonly kind: 'narrows' }
  /** Writers know, and keep within both. */
  | { readonly kind: 'marked' }
  /** Both can write. */
  | { readonly kind: 'bridged'; readonly column: string }
  /** It is the target's, and whoever put it there has not proved that it holds. */
  | { readonly kind: 'contracting' }
  | { readonly kind: 'unbridgeable'; readonly unbridged: readonly Unbridged[] }
  /** Somebody else goes back, or nobody can read who. */
  | { readonly kind: 'foreign'; readonly why: string }
  | { readonly kind: 'unreadable'; readonly why: string };

/** A definition that the target brings. */
export interface Definition {
  readonly name: string;
  readonly manifest: Manifest;
  /** undefined: absent, or unreadable. */
  readonly target: Crd | undefined;
  readonly live: KubeObject | undefined;
  readonly crd: Crd | undefined;
  readonly state: DefinitionState;
}

/** What a wish is compared with a marker by. */
export function markerOf({ owner, from, to }: RollbackWish): RollbackMarker {
  return { owner: owner.name, from: from.payload.version, to: to.payload.version };
}

/** Every definition that the target brings, as the server has it now. Rejects with `ApiError`. */
export async function observeDefinitions(
  wish: RollbackWish,
  client: Pick<KubeClient, 'list'>,
  signal: AbortSignal,
): Promise<readonly Definition[]> {
  const manifests = definitionsIn(wish.to);
  if (manifests.length === 0) return [];
  const live = new Map<string, KubeObject>();
  for await (const one of client.list(DEFINITION, {}, { signal })) live.set(one.metadata.name, one);
  return manifests.map((manifest) => definitionAs(manifest, live.get(manifest.id.name), wish));
}

/** Definitions that a release brings. */
export function definitionsIn({ manifests }: Pick<RollbackEnd, 'manifests'>): readonly Manifest[] {
  return manifests.filter(({ id }) => id.kind === DEFINITION.kind && id.group === DEFINITION.group);
}

/** One of them, of what the server has. Pure. */
export function definitionAs(manifest: Manifest, live: KubeObject | undefined, wish: RollbackWish): Definition {
  const { name } = manifest.id;
  const base = { name, manifest, live, target: undefined, crd: undefined };
  let target: Crd;
  let crd: Crd | undefined;
  try {
    target = readCrd(manifest.object, manifest.file);
    crd = live === undefined ? undefined : readCrd({ kind: DEFINITION.kind, ...live } as never, 'the cluster');
  } catch (error) {
    if (!(error instanceof CrdError)) throw error;
    return { ...base, state: { kind: 'unreadable', why: error.message } };
  }
  if (live === undefined || crd === undefined) return { ...base, target, state: { kind: 'absent' } };
  return { ...base, target, crd, state: stateOf({ manifest, live, target, crd }, wish) };
}

function stateOf(
  {
    manifest,
    live,
    target,
    crd,
  }: { readonly manifest: Manifest; readonly live: KubeObject; readonly target: Crd; readonly crd: Crd },
  wish: RollbackWish,
): DefinitionState {
  const way = markerOf(wish);
  const marker = readRollbackMarker(live);
  if (typeof marker === 'string')
    return { kind: 'foreign', why: `its annotation ${ROLLBACK} cannot be read: ${marker}` };
  if (marker !== undefined && marker.owner !== way.owner)
    return { kind: 'foreign', why: `${marker.owner} goes back from ${marker.from} to ${marker.to}` };
  const ours = marker !== undefined && marker.to === way.to;
  const column = bridgeColumn(specOf(live));
  if (ours && column !== undefined) return { kind: 'bridged', column };
  const isTargets = !changesSpec(manifest, live, wish);
  if (ours && isTargets) return { kind: 'contracting' };
  if (isTargets || !narrows(crd, target)) return { kind: 'fits', marked: marker !== undefined };
  const found = bridgeSpec(target, crd);
  if (found.spec === undefined) return { kind: 'unbridgeable', unbridged: found.unbridged };
  return ours ? { kind: 'marked' } : { kind: 'narrows' };
}

/** Whether a definition refuses or loses something that another one takes, as far as anybody can tell. */
export function narrows(from: Crd, to: Crd): boolean {
  return diff(from, to).steps.some(({ effect }) => effect === 'narrows' || effect === 'undecided');
}

/** Whether applying definitions narrows any of those that are there; one that nobody can read does. */
export function narrowsAny(manifests: readonly Manifest[], live: readonly KubeObject[]): boolean {
  return manifests.some((manifest) => {
    const there = live.find(({ metadata }) => metadata.name === manifest.id.name);
    try {
      return (
        there !== undefined &&
        narrows(
          readCrd({ kind: DEFINITION.kind, ...there } as never, 'the cluster'),
          readCrd(manifest.object, manifest.file),
        )
      );
    } catch (error) {
      if (!(error instanceof CrdError)) throw error;
      return true;
    }
  });
}

/** Whether applying the manifest would change more than metadata. */
function changesSpec(manifest: Manifest, live: KubeObject, { owner }: RollbackWish): boolean {
  const step = stepFor(manifest, live, undefined, 'updating', owner);
  return step.action === 'update' && step.differences.some(({ path }) => path === 'spec' || path.startsWith('spec.'));
}

/** The live definition with a marker, its spec as it is. */
export function markedDefinition(live: KubeObject, target: Crd, wish: RollbackWish): KubeObject {
  const { [ROLLBACK]: _marker, [ROLLBACK_SCHEMAS]: _schemas, ...rest } = live.metadata.annotations ?? {};
  const annotations = { ...rest, ...rollbackAnnotations(markerOf(wish), target) };
  return { ...live, metadata: { ...live.metadata, annotations } };
}

/** The same without one. */
export function unmarkedDefinition(live: KubeObject): KubeObject {
  const { [ROLLBACK]: _marker, [ROLLBACK_SCHEMAS]: _schemas, ...annotations } = live.metadata.annotations ?? {};
  return { ...live, metadata: { ...live.metadata, annotations } };
}

/** The live definition as a bridge. */
export function bridgedDefinition(live: KubeObject, spec: JsonObject): KubeObject {
  return { ...live, spec: { ...specOf(live), ...spec } } as KubeObject;
}

/** The live definition as the target has it, still marked. */
export function contractedDefinition(manifest: Manifest, live: KubeObject, { owner }: RollbackWish): KubeObject {
  const step = stepFor(manifest, live, undefined, 'updating', owner);
  return step.action === 'update' ? (step.object as unknown as KubeObject) : live;
}

/** The spec of an object. */
export function specOf(object: KubeObject): JsonObject | undefined {
  const { spec } = object as { readonly spec?: JsonObject };
  return isObject(spec as never) ? spec : undefined;
}
