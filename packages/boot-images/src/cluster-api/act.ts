import {
  type Client,
  isAlreadyExists,
  isConflict,
  isNotFound,
  isPatchTestFailed,
  type JsonPatchOp,
  keyOf,
  type Resource,
} from '@drydock/kube';
import { pointer } from '../observe/provider-spec.ts';
import { RETIRED } from './clone.ts';
import type { CollectStep } from './collect.ts';
import type { ClusterApiObject } from './kinds.ts';
import type { RotationStep } from './rotation.ts';
import type { RotatedSet } from './set.ts';

/** What one step changes, as far as it is one write. */
export type Write = Extract<RotationStep, { readonly kind: 'clone' | 'keep' | 'point' | 'variable' }>;

/** What acting needs. */
export interface ActPorts {
  readonly client: Pick<Client, 'create' | 'patch' | 'delete'>;
  readonly resourceOf: (group: string, kind: string) => Resource<ClusterApiObject>;
}

/** Whether a write took place. `moved`: the world is another one than that of the decision, which is made again. */
export type Acted = 'done' | 'moved';

/** One write of a rotation, which is seen wholly or not at all, and only where all is still as it was decided upon. */
export async function actRotation(
  set: RotatedSet,
  step: Write,
  { client, resourceOf }: ActPorts,
  call: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Acted> {
  switch (step.kind) {
    case 'clone':
      return guarded(() => client.create(resourceFor(step.template, resourceOf), step.template, call));
    case 'keep':
      return guarded(() =>
        client.patch(resourceFor(step.template, resourceOf), keyOf(step.template), unretired(step.template), call),
      );
    case 'point':
      return guarded(() => client.patch(resourceOf(set.group, set.kind), keyOf(set.object), pointed(set, step), call));
    case 'variable':
      return guarded(() =>
        client.patch(resourceFor(step.cluster, resourceOf), keyOf(step.cluster), variablePatch(step), call),
      );
  }
}

/** One write of a collection. */
export async function actCollection(
  { kind, template }: CollectStep,
  now: Date,
  { client, resourceOf }: ActPorts,
  call: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Acted> {
  const resource = resourceFor(template, resourceOf);
  const key = keyOf(template);
  const { uid, resourceVersion } = template.metadata;
  switch (kind) {
    case 'retire': {
      const value = now.toISOString();
      const path = pointer(['metadata', 'annotations', RETIRED]);
      return guarded(() => client.patch(resource, key, [...version(template), { op: 'add', path, value }], call));
    }
    case 'keep':
      return guarded(() => client.patch(resource, key, unretired(template), call));
    case 'delete': {
      // Without both, another template of the same name, or one that is needed again, could go.
      if (uid === undefined || resourceVersion === undefined) return 'moved';
      return guarded(() => client.delete(resource, key, { uid, resourceVersion }, call));
    }
  }
}

/** The guarded patch of a reference: nothing of the set may have changed since, and nothing but the name changes. */
function pointed(set: RotatedSet, { from, to }: Extract<Write, { readonly kind: 'point' }>): readonly JsonPatchOp[] {
  const path = pointer([...set.referencePath, 'name']);
  return [...version(set.object), { op: 'test', path, value: from }, { op: 'replace', path, value: to }];
}

function variablePatch({
  cluster,
  variable,
  place,
  value,
}: Extract<Write, { readonly kind: 'variable' }>): readonly JsonPatchOp[] {
  if (place.value !== undefined && place.name !== undefined)
    return [
      ...version(cluster),
      { op: 'test', path: place.name, value: variable },
      { op: 'test', path: place.value, value: place.current },
      { op: 'replace', path: place.value, value },
    ];
  const entry = { name: variable, value };
  return place.list === undefined
    ? [...version(cluster), { op: 'add', path: '/spec/topology/variables', value: [entry] }]
    : [...version(cluster), { op: 'add', path: `${place.list}/-`, value: entry }];
}

function unretired(template: ClusterApiObject): readonly JsonPatchOp[] {
  return [...version(template), { op: 'remove', path: pointer(['metadata', 'annotations', RETIRED]) }];
}

function version({ metadata }: ClusterApiObject): readonly JsonPatchOp[] {
  return [{ op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion }];
}

function resourceFor(
  { apiVersion = '', kind = '' }: ClusterApiObject,
  resourceOf: ActPorts['resourceOf'],
): Resource<ClusterApiObject> {
  return resourceOf(apiVersion.split('/')[0] ?? '', kind);
}

async function guarded(write: () => Promise<unknown>): Promise<Acted> {
  try {
    await write();
    return 'done';
  } catch (error) {
    if (isConflict(error) || isPatchTestFailed(error) || isNotFound(error) || isAlreadyExists(error)) return 'moved';
    throw error;
  }
}
