import {
  isObject,
  type JsonObject,
  type KindRules,
  kindOfCrd,
  listOf,
  metadataOf,
  objectOf,
  type RuleContext,
  type Schema,
  type ServedKind,
  type StatusCause,
  violations,
} from '@drydock/kube/testing/api-server';
import type { ApiServerEra } from '../../era.ts';
import type { PrinterColumn, ServedResource } from './contract.ts';
import { textOf } from './draft.ts';
import { ruleViolations } from './expressions/expression-rules.ts';
import type { ScalePaths } from './subresources.ts';

// Custom kinds: what a CustomResourceDefinition makes of the objects of its kind.

/** Causes that keep the server from evaluating rules: they might be about what is not there. */
const BLOCKING = [
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
];

const SKIPPED: StatusCause = {
  reason: 'FieldValueInvalid',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  field: '<nil>',
};

/** A version of a CRD by name. */
export function versionOf(crd: JsonObject, name: string): JsonObject {
  return objectOf(
    listOf(objectOf(crd['spec'])['versions'])
      .map(objectOf)
      .find((version) => version['name'] === name),
  );
}

/** Where a version of a custom kind keeps what its scale subresource shows. */
export function scalePathsOf(crd: JsonObject, version: string): ScalePaths | undefined {
  const scale = objectOf(versionOf(crd, version)['subresources'])['scale'];
  return isObject(scale) ? (scale as unknown as ScalePaths) : undefined;
}

/** The kind that a CRD serves. */
export function customKind(crd: JsonObject, era: ApiServerEra): ServedKind {
  const kind = kindOfCrd(crd);
  const scales = kind.versions.some((version) => scalePathsOf(crd, version) !== undefined);
  return { ...kind, subresources: scales ? ['scale'] : [], rules: rulesOf(crd, kind, era) };
}

function rulesOf(crd: JsonObject, kind: ServedKind, era: ApiServerEra): KindRules {
  const roots = new Map<string, Schema>();
  /** With the fields that every object has, for rules at the root. */
  const rootOf = (version: string): Schema => {
    const known = roots.get(version);
    if (known !== undefined) return known;
    const made = { ...kind.schema(version), 'x-kubernetes-embedded-resource': true };
    roots.set(version, made);
    return made;
  };
  const selectable = selectableFields(crd);
  const dying = metadataOf(crd)['deletionTimestamp'] !== undefined;
  return {
    closed: () => (dying ? 'create not allowed while custom resource definition is terminating' : undefined),
    violations: (object, old, context) => {
      const { version } = context;
      const schema = kind.schema(version);
      const ratchets = context.subresource === 'status' ? era === 'E2' : era !== 'E0';
      const whole = named(object, kind, version);
      const before = old === undefined ? undefined : named(old, kind, version);
      const causes = [
        ...structure(whole, before, schema, context, era, ratchets),
        ...scaleProblems(object, scalePathsOf(crd, version)),
      ];
      if (causes.some(({ reason = '' }) => BLOCKING.includes(reason)))
        return hasRulesText(crd, version) ? [...causes, SKIPPED] : causes;
      return [...causes, ...ruleViolations(whole, rootOf(version), before, ratchets ? context.warn : undefined)];
    },
    ...(selectable.length === 0
      ? {}
      : { fields: (object) => Object.fromEntries(selectable.map((path) => [path.slice(1), fieldText(object, path)])) }),
  };
}

function named(object: JsonObject, kind: ServedKind, version: string): JsonObject {
  return { apiVersion: `${kind.group}/${version}`, kind: kind.kind, ...object };
}

const withRules = new WeakMap<JsonObject, boolean>();

function hasRulesText(crd: JsonObject, version: string): boolean {
  const of = versionOf(crd, version);
  const known = withRules.get(of);
  if (known !== undefined) return known;
  const found = JSON.stringify(of['schema'] ?? {}).includes('"x-kubernetes-validations"');
  withRules.set(of, found);
  return found;
}

/** What the schema rejects: of a status alone, or of the whole object. */
function structure(
  object: JsonObject,
  old: JsonObject | undefined,
  schema: Schema,
  { subresource }: RuleContext,
  era: ApiServerEra,
  ratchets: boolean,
): readonly StatusCause[] {
  if (subresource !== 'status') return violations(object, schema, '', ratchets ? old : undefined);
  const status = schema.properties?.['status'];
  if (status === undefined || !('status' in object)) return [];
  return violations(object['status'], status, '', ratchets ? old?.['status'] : undefined, era === 'E0' ? '' : 'status');
}

/** What is counted must be where the scale subresource looks for it. */
function scaleProblems(object: JsonObject, paths: ScalePaths | undefined): readonly StatusCause[] {
  if (paths === undefined) return [];
  const path = paths.specReplicasPath;
  let value: unknown = object;
  for (const field of path.split('.').slice(1)) {
    if (value === undefined) return [];
    if (!isObject(value)) return [accessor(path, value, 'map[string]interface{}')];
    value = value[field];
  }
  if (value === undefined || (typeof value === 'number' && Number.isInteger(value))) return [];
  return [accessor(path, value, 'int64')];
}

function accessor(path: string, value: unknown, wanted: string): StatusCause {
  const type =
    typeof value === 'number'
      ? Number.isInteger(value)
        ? 'int64'
        : 'float64'
      : typeof value === 'boolean'
        ? 'bool'
        : typeof value;
  const said = `${path} accessor error: ${String(value)} is of the type ${type}, expected ${wanted}`;
  return { reason: 'FieldValueInvalid', message: `Invalid value: 0: ${said}`, field: path };
}

function selectableFields(crd: JsonObject): readonly string[] {
  return listOf(objectOf(crd['spec'])['versions']).flatMap((version) =>
    listOf(objectOf(version)['selectableFields']).map((one) => String(objectOf(one)['jsonPath'])),
  );
}

function fieldText(object: JsonObject, path: string): string {
  let value: unknown = object;
  for (const field of path.split('.').slice(1)) value = isObject(value) ? value[field] : undefined;
  return textOf(value);
}

const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const PART_VERBS = ['get', 'patch', 'update'];

/** What discovery says of a custom kind: one resource per version. */
export function servedResources(crd: JsonObject): readonly ServedResource[] {
  const spec = objectOf(crd['spec']);
  const names = objectOf(objectOf(crd['status'])['acceptedNames']);
  const group = String(spec['group']);
  const texts = (value: unknown): string[] => listOf(value).map(String);
  const versions = listOf(spec['versions']).map(objectOf);
  const storage = textOf(versions.find((version) => version['storage'] === true)?.['name']);
  return versions
    .filter((version) => version['served'] === true)
    .map((version) => {
      const name = String(version['name']);
      const kind = String(names['kind']);
      const { status, scale } = objectOf(version['subresources']);
      return {
        group,
        version: name,
        plural: String(names['plural']),
        singular: textOf(names['singular']),
        kind,
        listKind: textOf(names['listKind'], `${kind}List`),
        shortNames: texts(names['shortNames']),
        categories: texts(names['categories']),
        namespaced: spec['scope'] === 'Namespaced',
        verbs: metadataOf(crd)['deletionTimestamp'] === undefined ? VERBS : VERBS.filter((verb) => verb !== 'create'),
        subresources: [
          ...(status === undefined ? [] : [{ name: 'status', group, version: name, kind, verbs: PART_VERBS }]),
          ...(scale === undefined
            ? []
            : [{ name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: PART_VERBS }]),
        ],
        additionalPrinterColumns: listOf(version['additionalPrinterColumns']) as readonly PrinterColumn[],
        storageVersion: storage,
        builtIn: false,
      };
    });
}
