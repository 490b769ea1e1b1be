import { isLegal } from '../diff/neutral.ts';
import { own } from '../schema/json.ts';
import { type Path, schemaPathText } from '../schema/path.ts';
import type { Crd, Schema } from '../schema/schema.ts';
import { ERAS } from '../validate/eras.ts';
import type { BridgeNote } from './bridge-node.ts';

/**
 * Where a bridge fills in a value that a release does not take. A server that ratchets lets it alone when that release is put; one of era E0 refuses every write of the object until the field is set.
 */
export function foreignDefaults(bridge: Crd, side: Crd, release: 'older' | 'newer'): readonly BridgeNote[] {
  return side.versions.flatMap(({ name, schema, served }): readonly BridgeNote[] => {
    const made = bridge.versions.find((version) => version.name === name)?.schema;
    if (!served || schema === undefined || made === undefined) return [];
    return placesOf(made, schema, []).map((path) => ({
      version: name,
      path: schemaPathText(path),
      what: `its default is nothing that the ${release} release takes: set the field before that one is put, a server of era E0 refuses writes of the object until then`,
    }));
  });
}

function placesOf(made: Schema, theirs: Schema, path: Path): readonly Path[] {
  const filled = made.default;
  if (filled !== undefined && !isLegal(filled, theirs, ERAS.E2.minor)) return [path];
  const found: Path[] = [];
  for (const [name, inner] of Object.entries(made.properties ?? {})) {
    const other = own(theirs.properties, name);
    if (other !== undefined) found.push(...placesOf(inner, other, [...path, name]));
  }
  if (made.items !== undefined && theirs.items !== undefined)
    found.push(...placesOf(made.items, theirs.items, [...path, '[]']));
  const [a, b] = [made.additionalProperties, theirs.additionalProperties];
  if (typeof a === 'object' && typeof b === 'object') found.push(...placesOf(a, b, [...path, '*']));
  return found;
}
