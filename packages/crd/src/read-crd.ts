import { parseAllDocuments } from 'yaml';
import { CrdError } from './errors.ts';
import { isList, isObject, type Json, type JsonObject } from './json.ts';
import type { Crd, CrdVersion, Schema } from './schema.ts';

/** What a document may cost. The largest real CRD has 2 MB and 30 levels. */
const MAX_BYTES = 8 << 20;
const MAX_DEPTH = 100;

/** All CustomResourceDefinitions of a YAML or JSON text; documents of other kinds are left out. `source` names the text in errors. Throws `CrdError`. */
export function readCrds(text: string, source: string): readonly Crd[] {
  if (Buffer.byteLength(text) > MAX_BYTES)
    throw new CrdError('TOO_LARGE', `${source} has more than ${MAX_BYTES} bytes`);
  const crds: Crd[] = [];
  for (const document of parseAllDocuments(text, {
    version: '1.1',
    schema: 'core',
    uniqueKeys: true,
    intAsBigInt: false,
    prettyErrors: false,
  })) {
    const [error] = document.errors;
    if (error !== undefined) throw new CrdError('UNREADABLE', `${source} cannot be read: ${error.message}`, error);
    let value: Json;
    try {
      value = document.toJS({ maxAliasCount: 100 }) as Json;
    } catch (cause) {
      throw new CrdError(
        'UNREADABLE',
        `${source} cannot be read: ${cause instanceof Error ? cause.message : ''}`,
        cause,
      );
    }
    const items = isObject(value) && isList(value['items']) ? value['items'] : [value];
    for (const item of items)
      if (isObject(item) && item['kind'] === 'CustomResourceDefinition') crds.push(readCrd(item, source));
  }
  return crds;
}

/** Reads a CustomResourceDefinition. Throws `CrdError` where it is none, or where an API server would not take it. */
export function readCrd(object: Json, source: string): Crd {
  const metadata = objectAt(object, 'metadata');
  const name = textAt(metadata, 'name') ?? '';
  const where = `${source}: CustomResourceDefinition ${name}`;
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
  const schema = objectAt(objectAt(version, 'schema'), 'openAPIV3Schema');
  if (schema !== undefined) checkStructure(schema, `${where}, version ${name}`, 'openAPIV3Schema', 0);
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

/** The rules of a structural schema that everything else here relies on. */
function checkStructure(schema: JsonObject, where: string, path: string, depth: number): void {
  if (depth > MAX_DEPTH)
    throw new CrdError('TOO_LARGE', `${where}: the schema is deeper than ${MAX_DEPTH} levels at ${path}`);
  const bad = (what: string): CrdError => new CrdError('NOT_STRUCTURAL', `${where}: ${path} ${what}`);
  if (schema['$ref'] !== undefined) throw bad('refers to another schema by $ref');
  const properties = schema['properties'];
  const additional = schema['additionalProperties'];
  const items = schema['items'];
  if (properties !== undefined && !isObject(properties)) throw bad('has properties that are no object');
  if (isList(items)) throw bad('has a list of schemas as items');
  if (isObject(properties) && additional !== undefined && additional !== false)
    throw bad('has both properties and additionalProperties');
  for (const [name, child] of Object.entries(isObject(properties) ? properties : {})) {
    if (!isObject(child)) throw bad(`has a property ${name} that is no schema`);
    checkStructure(child, where, `${path}.properties.${name}`, depth + 1);
  }
  if (isObject(items)) checkStructure(items, where, `${path}.items`, depth + 1);
  if (isObject(additional)) checkStructure(additional, where, `${path}.additionalProperties`, depth + 1);
  for (const junctor of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = schema[junctor];
    if (branches === undefined) continue;
    if (!isList(branches)) throw bad(`has ${junctor} that is no list`);
    for (const [index, branch] of branches.entries()) {
      if (!isObject(branch)) throw bad(`has ${junctor}[${index}] that is no schema`);
      checkStructure(branch, where, `${path}.${junctor}[${index}]`, depth + 1);
    }
  }
}

function objectAt(of: Json | undefined, key: string): JsonObject | undefined {
  const value = isObject(of) ? of[key] : undefined;
  return isObject(value) ? value : undefined;
}

function textAt(of: Json | undefined, key: string): string | undefined {
  const value = isObject(of) ? of[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}
