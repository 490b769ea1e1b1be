import { Zone } from '@drydock/api';
import {
  ApiError,
  type Client,
  isConflict,
  isNotFound,
  type JsonPatchOp,
  type KubeObject,
  keyText,
  type Resource,
} from '@drydock/kube';
import type { GuardedZone, Installation, OwnObject } from './installation.ts';

/** One object that goes, or a finalizer that is taken off. */
export type Removal =
  | { readonly kind: 'delete'; readonly object: OwnObject }
  | { readonly kind: 'release'; readonly zone: GuardedZone };

/** What goes together. */
export interface Stage {
  readonly title: string;
  readonly removals: readonly Removal[];
}

/**
 * What is taken off, in the order in which it can be: whoever makes things again first, then what would keep others from being deleted, then what was made, and the rights last. Stages without
 * anything are left out.
 */
export function stagesOf(installation: Installation): readonly Stage[] {
  const objects = (...all: readonly (readonly OwnObject[])[]): readonly Removal[] =>
    all.flat().map((object) => ({ kind: 'delete', object }));
  const stages: readonly Stage[] = [
    { title: 'the operator', removals: objects(installation.deployments) },
    { title: 'machines that try an image, which are drained first', removals: objects(installation.canaries) },
    { title: 'its verdict on upgrades, which would hold up the next one', removals: objects(installation.verdicts) },
    {
      title: 'finalizers, by which deletions would hang',
      removals: installation.zones.map((zone) => ({ kind: 'release', zone })),
    },
    { title: 'what it says of machine sets', removals: objects(installation.bootImages, installation.definitions) },
    { title: 'what it remembers', removals: objects(installation.records) },
    {
      title: 'its rights, and what else it was installed with',
      removals: objects(installation.rights, installation.others),
    },
  ];
  return stages.filter(({ removals }) => removals.length > 0);
}

/** `Deployment drydock/drydock`. */
export function removalText(removal: Removal): string {
  return removal.kind === 'delete'
    ? `${removal.object.resource.kind} ${keyText(removal.object.key)}`
    : `finalizer of Zone ${keyText(removal.zone.key)}`;
}

/** Takes off one. What is gone already is done; what has changed since it was seen stays, for another look. */
export async function remove(
  client: Pick<Client, 'delete' | 'patch'>,
  removal: Removal,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (removal.kind === 'release') await release(client, removal.zone, signal);
    else {
      const { resource, key, uid } = removal.object;
      await client.delete(resource, key, uid === '' ? {} : { uid }, { signal, propagation: 'Background' });
    }
  } catch (error) {
    const changed = isConflict(error) || (error instanceof ApiError && error.code === 'PatchTestFailed');
    if (!isNotFound(error) && !changed) throw error;
  }
}

async function release(
  client: Pick<Client, 'patch'>,
  { key, resourceVersion, rest }: GuardedZone,
  signal: AbortSignal,
): Promise<void> {
  const ops: readonly JsonPatchOp[] = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'replace', path: '/metadata/finalizers', value: rest },
  ];
  await client.patch(Zone as Resource<KubeObject>, key, ops, { signal });
}
