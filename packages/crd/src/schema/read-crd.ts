import { oneLine, shownText } from '@drydock/api/text';
import { CrdError } from '../errors.ts';
import { isList, isObject, type Json, type JsonObject } from './json.ts';
import { readManifests } from './read-manifests.ts';
import type { Crd, CrdVersion, Schema } from './schema.ts';

/** The largest real CRD has 30 levels. */
const MAX_DEPTH = 100;

/** All CustomResourceDefinitions of a YAML or JSON text; documents of other kinds are left out. `source` names the text in errors. Throws `CrdError`. */
export function readCrds(text: string, source: string): readonly Crd[] {
  return readManifests(text, source)
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
    .map((manifest) => readCrd(manifest, source));
}

/** Reads a CustomResourceDefinition. Throws `CrdError` where it is none, or where an API server would not take it. */
export function readCrd(object: Json, source: string): Crd {
  const metadata = objectAt(object, 'metadata');
  const name = textAt(metadata, 'name') ?? '';
  const where = `${source}: CustomResourceDefinition ${shownText(name)}`;
  const spec = objectAt(object, 'spec');
  const names = objectAt(spec, 'names');
  const group = textAt(spec, 'group');
  const kind = textAt(names, 'kind');
  const plural = textAt(names, 'plural');
  const versions = spec?.['versions'];
  if (group === undefined || kind === undefined || plural === undefined || !isList(versions))
    throw new CrdError('NOT_A_CRD', `${where} lacks spec.group, spec.names.kind, spec.names.plural or spec.versions`);
  const stored = objectAt(object, 'status')?.['storedVersions'];
  return {
    name: name === '' ? `${plural}.${group}` : name,
    group,
    kind,
    plural,
    scope: textAt(spec, 'scope') === 'Cluster' ? 'Cluster' : 'Namespaced',
    versions: versions.map((version) => readVersion(version, where)),
    preservesUnknownFields: spec?.['preserveUnknownFields'] === true,
    conversion: textAt(objectAt(spec, 'conversion'), 'strategy') === 'Webhook' ? 'Webhook' : 'None',
    storedVersions: isList(stored) ? stored.filter((item) => typeof item === 'string') : [],
    manifest: isObject(object) ? object : {},
  };
}

function readVersion(version: Json, where: string): CrdVersion {
  const name = textAt(version, 'name');
  if (!isObject(version) || name === undefined)
    throw new CrdError('NOT_A_CRD', `${where} has a version without a name`);
  const written = objectAt(objectAt(version, 'schema'), 'openAPIV3Schema');
  const schema =
    written === undefined
      ? undefined
      : structural(written, `${where}, version ${shownText(name)}`, 'openAPIV3Schema', 0);
  const subresources = objectAt(version, 'subresources');
  return {
    name,
    served: version['served'] === true,
    storage: version['storage'] === true,
    schema: schema as Schema | undefined,
    status: subresources?.['status'] !== undefined,
    scale: subresources?.['scale'] !== undefined,
    selectable: (isList(version['selectableFields']) ? version['selectableFields'] : []).flatMap(
      (field) => textAt(field, 'jsonPath') ?? [],
    ),
  };
}

/** Keywords whose value is a schema, or a list of schemas. */
const ONE = ['items', 'additionalProperties', 'not'] as const;
const LISTS = ['allOf', 'anyOf', 'oneOf'] as const;

/** The schema, after a look at the rules of structural schemas that everything else here relies on. A keyword that is null is none, as for the server. */
function structural(schema: JsonObject, where: string, path: string, depth: number): JsonObject {
  if (depth > MAX_DEPTH)
    throw new CrdError('TOO_LARGE', `${where}: the schema is deeper than ${MAX_DEPTH} levels at ${placeText(path)}`);
  const bad = (what: string): CrdError => new CrdError('NOT_STRUCTURAL', `${where}: ${placeText(path)} ${what}`);
  const changed: { [key: string]: Json | undefined } = {};
  for (const [key, value] of Object.entries(schema)) if (value === null) changed[key] = undefined;
  const at = (key: string): Json | undefined => schema[key] ?? undefined;
  if (at('$ref') !== undefined) throw bad('refers to another schema by $ref');
  const additional = at('additionalProperties');
  const properties = at('properties');
  if (properties !== undefined && !isObject(properties)) throw bad('has properties that are no object');
  if (isList(at('items'))) throw bad('has a list of schemas as items');
  if (properties !== undefined && additional !== undefined && additional !== false)
    throw bad('has both properties and additionalProperties');
  const child = (of: Json, name: string, kind: string): JsonObject => {
    if (!isObject(of)) throw bad(`has ${kind} that is no schema`);
    return structural(of, where, `${path}.${name}`, depth + 1);
  };
  if (properties !== undefined) {
    const entries = Object.entries(properties).map(([name, of]): [string, JsonObject] => [
      name,
      child(of, `properties.${name}`, `a property ${shownText(name)}`),
    ]);
    if (entries.some(([name, of]) => of !== properties[name])) changed['properties'] = Object.fromEntries(entries);
  }
  for (const keyword of ONE) {
    const of = at(keyword);
    if (of === undefined || typeof of === 'boolean') continue;
    const inner = child(of, keyword, keyword);
    if (inner !== of) changed[keyword] = inner;
  }
  for (const keyword of LISTS) {
    const of = at(keyword);
    if (of === undefined) continue;
    if (!isList(of)) throw bad(`has ${keyword} that is no list`);
    const all = of.map((inner, index) => child(inner, `${keyword}[${index}]`, `${keyword}[${index}]`));
    if (all.some((inner, index) => inner !== of[index])) changed[keyword] = all;
  }
  if (Object.keys(changed).length === 0) return schema;
  const all = { ...schema, ...changed };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, Json] => entry[1] !== undefined));
}

/** A path in a message: its end, which says most. */
function placeText(path: string): string {
  return path.length > 300 ? `…${oneLine(path.slice(-300)).toWellFormed()}` : oneLine(path);
}

function objectAt(of: Json | undefined, key: string): JsonObject | undefined {
  const value = isObject(of) ? of[key] : undefined;
  return isObject(value) ? value : undefined;
}

function textAt(of: Json | undefined, key: string): string | undefined {
  const value = isObject(of) ? of[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}
