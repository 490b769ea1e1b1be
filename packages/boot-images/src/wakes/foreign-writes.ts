import type { KubeClient } from '@drydock/kube';
import { at } from '../observe/json.ts';
import { type KeptSet, kindOf, specOf } from '../observe/kept-set.ts';
import type { Platform } from '../platform.ts';
import type { ObjectChange } from './triggers.ts';

/** One entry of `metadata.managedFields`: who wrote which fields, and when (Kubernetes API conventions, field management). */
interface ManagedFields {
  readonly manager?: string;
  readonly time?: string;
  readonly fieldsV1?: unknown;
}

/** What a set's new machines start from, as it refers to it; undefined where it refers to nothing. */
export function imageOfSet(set: KeptSet, { imageOf }: Pick<Platform, 'imageOf'>): string | undefined {
  const spec = specOf(set);
  return spec && imageOf(spec);
}

/** The image of a set as it is now, where a change of the set changed it. */
export function changedImage(
  { old, now }: ObjectChange<KeptSet>,
  platform: Pick<Platform, 'imageOf'>,
): string | undefined {
  if (old === undefined || now === undefined) return undefined;
  const image = imageOfSet(now, platform);
  return image === imageOfSet(old, platform) ? undefined : image;
}

/** The server takes it from the beginning of the client's user agent. */
const OURSELVES = 'drydock';

/**
 * The field manager that owns the image of a set, the latest of several, and ourselves last: of an image that is an object, whoever changed one field owns that
 * one, and we still own the others. Undefined where the server does not say. The object is read for that, because the client leaves managers out of all others.
 */
export async function imageWriter(
  client: Pick<KubeClient, 'raw'>,
  set: KeptSet,
  leaf: readonly string[],
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<string | undefined> {
  const { namespace = '', name } = set.metadata;
  const { resource, specPath } = kindOf(set);
  const path = `/apis/${resource.group}/${resource.version}/namespaces/${namespace}/${resource.plural}/${name}`;
  const managed = at(await client.raw({ path }, options), ['metadata', 'managedFields']);
  const entries: readonly ManagedFields[] = Array.isArray(managed) ? managed : [];
  const owned = [...specPath, ...leaf].map((part) => `f:${part}`);
  const owners = entries.filter(({ fieldsV1 }) => at(fieldsV1, owned) !== undefined);
  const others = owners.filter(({ manager }) => manager !== OURSELVES);
  const asked = others.length === 0 ? owners : others;
  return asked.toSorted((a, b) => (a.time ?? '').localeCompare(b.time ?? '')).at(-1)?.manager;
}
