import { equal, own } from '../schema/json.ts';
import { type Path, schemaPathText } from '../schema/path.ts';
import type { Crd, Schema } from '../schema/schema.ts';
import type { BridgeNote } from './bridge-node.ts';

type Release = 'older' | 'newer';

/** Which defaults of a bridge are those of one release alone: the other one fills in another value there, or none, and finds what the bridge has filled in stored. A note for each release, with all places. */
export function keptDefaults(bridge: Crd, old: Crd, now: Crd): readonly BridgeNote[] {
  const places: Readonly<Record<Release, Set<string>>> = { older: new Set(), newer: new Set() };
  for (const { name, schema } of bridge.versions) {
    const [a, b] = [old, now].map(({ versions }) => versions.find((version) => version.name === name)?.schema);
    if (schema !== undefined && a !== undefined && b !== undefined) gather(schema, a, b, [], places);
  }
  return (['older', 'newer'] as const)
    .filter((release) => places[release].size > 0)
    .map((release) => ({
      version: '',
      path: '',
      what: `keeps defaults that the ${release} release alone has: ${[...places[release]].join(', ')}`,
    }));
}

/** The schema of a node in the bridge and in both releases; undefined where a release does not have it. */
function gather(
  made: Schema,
  old: Schema | undefined,
  now: Schema | undefined,
  path: Path,
  places: Readonly<Record<Release, Set<string>>>,
): void {
  if (made.default !== undefined) {
    const isOf = (schema: Schema | undefined): boolean => equal(schema?.default, made.default);
    if (isOf(old) !== isOf(now)) places[isOf(old) ? 'older' : 'newer'].add(schemaPathText(path));
  }
  for (const [name, inner] of Object.entries(made.properties ?? {}))
    gather(inner, own(old?.properties, name), own(now?.properties, name), [...path, name], places);
  if (made.items !== undefined) gather(made.items, old?.items, now?.items, [...path, '[]'], places);
  const { additionalProperties: others } = made;
  if (typeof others === 'object') gather(others, othersOf(old), othersOf(now), [...path, '*'], places);
}

function othersOf(schema: Schema | undefined): Schema | undefined {
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}
