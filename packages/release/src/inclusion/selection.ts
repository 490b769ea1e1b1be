import { ReleaseError } from '../errors.ts';
import { idKey, idText, type Manifest, type ObjectId, whereOf } from '../payload/manifest.ts';
import { type Audience, actionOf, excludedBy } from './annotations.ts';
import { type Capabilities, withoutCapability } from './capabilities.ts';

/** What an administrator takes out of the release manager's hands: `spec.overrides` of the ClusterVersion. */
export interface Override extends ObjectId {
  readonly unmanaged: boolean;
}

/** For whom a payload is judged. */
export interface SelectionOptions {
  readonly audience: Audience;
  /** undefined: all of them count as enabled. */
  readonly capabilities?: Capabilities;
  readonly overrides?: readonly Override[];
}

/** A payload, sorted by whether it is applied. */
export interface Selected {
  readonly included: readonly Manifest[];
  readonly excluded: readonly { readonly manifest: Manifest; readonly why: string }[];
}

/** Which manifests are applied, and why the others are not. Throws `ReleaseError`: of two that are about one object nobody knows which is meant. */
export function select(manifests: readonly Manifest[], options: SelectionOptions): Selected {
  const { audience, capabilities, overrides = [] } = options;
  const unmanaged = new Set(overrides.filter((one) => one.unmanaged).map(idKey));
  const included = new Map<string, Manifest>();
  const excluded: { readonly manifest: Manifest; readonly why: string }[] = [];
  for (const manifest of manifests) {
    const key = idKey(manifest.id);
    const why =
      excludedBy(manifest, audience) ??
      (capabilities === undefined ? undefined : withoutCapability(manifest, capabilities)) ??
      (unmanaged.has(key) ? 'an override leaves it unmanaged' : undefined);
    if (why !== undefined) {
      excluded.push({ manifest, why });
      continue;
    }
    actionOf(manifest);
    const other = included.get(key);
    if (other !== undefined)
      throw new ReleaseError('DUPLICATE', `${idText(manifest.id)} is in ${whereOf(other)} and in ${whereOf(manifest)}`);
    included.set(key, manifest);
  }
  return { included: [...included.values()], excluded };
}
