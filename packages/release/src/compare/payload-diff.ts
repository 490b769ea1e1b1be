import { diff, equal, isObject, type JsonObject, readCrd, type Step } from '@drydock/crd';
import { actionOf } from '../inclusion/annotations.ts';
import { idKey, type Manifest, type ObjectId } from '../payload/manifest.ts';

/** What stands between two releases, by objects. */
export interface PayloadDiff {
  /** Going back leaves these behind, unless somebody removes them. */
  readonly added: readonly ObjectId[];
  /** Going forward leaves these behind. */
  readonly removed: readonly ObjectId[];
  readonly changed: readonly ObjectChange[];
  /** What the newer release deletes. Going back makes the object again, not what was in it. */
  readonly deleted: readonly { readonly id: ObjectId; readonly losesData: boolean }[];
  /** Of definitions that both have: what each way refuses, loses or leaves undecided. */
  readonly definitions: readonly DefinitionChange[];
}

/** An object that both releases bring, with other content. */
export interface ObjectChange {
  readonly id: ObjectId;
  /** Fields of the object below which something differs, as `spec.template`: two levels at most. */
  readonly fields: readonly string[];
}

/** A definition that differs in more than words. */
export interface DefinitionChange {
  readonly crd: string;
  readonly forward: readonly Step[];
  readonly back: readonly Step[];
}

/** What an object of these kinds holds is gone with it, and no release brings it back. */
const HOLDERS = new Set([
  'CustomResourceDefinition.apiextensions.k8s.io',
  'PersistentVolume.',
  'PersistentVolumeClaim.',
  'Secret.',
  'Namespace.',
]);

/** Compares what two releases bring to the same audience. Throws `CrdError` for a definition that cannot be read. */
export function payloadDiff(old: readonly Manifest[], now: readonly Manifest[]): PayloadDiff {
  const [before, after] = [standing(old), standing(now)];
  const both = [...before].flatMap(([key, was]): (readonly [Manifest, Manifest])[] => {
    const is = after.get(key);
    return is === undefined ? [] : [[was, is]];
  });
  const changed = both.filter(([was, is]) => !equal(was.object, is.object));
  return {
    added: [...after].flatMap(([key, { id }]) => (before.has(key) ? [] : [id])),
    removed: [...before].flatMap(([key, { id }]) => (after.has(key) || deletes(now, key) ? [] : [id])),
    changed: changed.map(([was, is]) => ({ id: is.id, fields: fieldsBetween(was.object, is.object) })),
    deleted: now
      .filter((manifest) => actionOf(manifest) === 'delete')
      .map(({ id }) => ({ id, losesData: HOLDERS.has(`${id.kind}.${id.group}`) })),
    definitions: changed.flatMap(definitionChange),
  };
}

/** What a release keeps in place. */
function standing(manifests: readonly Manifest[]): ReadonlyMap<string, Manifest> {
  return new Map(
    manifests
      .filter((one) => actionOf(one) !== 'delete')
      .map((one): readonly [string, Manifest] => [idKey(one.id), one]),
  );
}

function deletes(manifests: readonly Manifest[], key: string): boolean {
  return manifests.some((one) => actionOf(one) === 'delete' && idKey(one.id) === key);
}

function definitionChange([was, is]: readonly [Manifest, Manifest]): readonly DefinitionChange[] {
  if (is.id.kind !== 'CustomResourceDefinition') return [];
  const [a, b] = [readCrd(was.object, was.file), readCrd(is.object, is.file)];
  const [forward, back] = [diff(a, b).steps, diff(b, a).steps];
  return forward.length + back.length === 0 ? [] : [{ crd: is.id.name, forward, back }];
}

function fieldsBetween(was: JsonObject, is: JsonObject, above = ''): readonly string[] {
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].toSorted();
  return names.flatMap((name) => {
    const [a, b] = [was[name], is[name]];
    if (equal(a, b)) return [];
    const field = `${above}${name}`;
    return above === '' && isObject(a) && isObject(b) ? fieldsBetween(a, b, `${field}.`) : [field];
  });
}
