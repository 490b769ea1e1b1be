import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { bootImagePhases } from '@drydock/api';
import { parse } from 'yaml';
import { generateTypes } from './generate.ts';

const api = new URL('../../../api/', import.meta.url);
const kinds = ['bootimage', 'bootimagepolicy'].map((kind) => ({
  crd: readFileSync(new URL(`crds/drydock.dev_${kind.replace(/y$/, 'ie')}s.yaml`, api), 'utf8'),
  types: `src/${kind}.gen.ts`,
}));

test('the generated types in api/ are what the CRDs generate', () => {
  for (const { crd, types } of kinds) {
    const text = generateTypes(crd, { version: 'v1alpha1', descriptions: true });
    assert.equal(readFileSync(new URL(types, api), 'utf8'), text, 'run `npm run generate`');
  }
});

test('our statuses keep their promises: no enums, no required fields but map keys, lists of type map or set, every phase documented', () => {
  interface Node {
    readonly description?: string;
    readonly enum?: unknown;
    readonly required?: readonly string[];
    readonly type?: string;
    readonly properties?: Readonly<Record<string, Node>>;
    readonly items?: Node;
    readonly 'x-kubernetes-list-type'?: string;
    readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  }
  const [image, policy] = kinds.map(
    ({ crd }) =>
      (parse(crd) as { spec: { versions: { schema: { openAPIV3Schema: Node } }[] } }).spec.versions[0]?.schema
        .openAPIV3Schema.properties?.['status'],
  );
  let seen = 0;
  const visit = (node: Node, path: string, keys: readonly string[]): void => {
    seen++;
    assert.equal(node.enum, undefined, `${path} has an enum`);
    assert.deepEqual(node.required ?? [], keys, `${path} requires fields`);
    if (node.type === 'array') assert.match(node['x-kubernetes-list-type'] ?? '', /^(map|set)$/, path);
    for (const [name, child] of Object.entries(node.properties ?? {})) visit(child, `${path}.${name}`, []);
    if (node.items !== undefined) visit(node.items, `${path}[]`, node['x-kubernetes-list-map-keys'] ?? []);
  };
  assert.ok(image !== undefined && policy !== undefined);
  visit(image, 'status', []);
  assert.ok(seen > 30);
  visit(policy, 'status', []);
  const documented = image.properties?.['phase']?.description ?? '';
  assert.ok(bootImagePhases.length <= 9);
  for (const phase of bootImagePhases) assert.ok(documented.includes(`${phase}:`), phase);
});

const sample = `
metadata: {name: boats.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {kind: Boat, plural: boats}
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            metadata: {type: object}
            spec:
              type: object
              required: [size]
              properties:
                size: {x-kubernetes-int-or-string: true}
                rig: {type: string, enum: [Sloop, "it's"], description: "How */ it is rigged."}
                tags: {type: array, items: {type: string, enum: [a, b]}}
                crew: {type: array, items: {type: object, properties: {name: {type: string, nullable: true}}}}
                labels: {type: object, additionalProperties: {type: string}}
                raw: {type: object, x-kubernetes-preserve-unknown-fields: true}
                any: {x-kubernetes-preserve-unknown-fields: true}
                open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: boolean}}}
                odd-name: {type: number}
            status:
              type: object
              properties:
                phase: {type: string, enum: [Afloat]}
`;

test('the whole structural schema: unions, int-or-string, maps, lists, open status words, escapes', () => {
  const text = generateTypes(sample, { version: 'v1', descriptions: true });
  for (const line of [
    'readonly spec: BoatSpec;',
    'readonly status?: BoatStatus;',
    'readonly size: number | string;',
    "readonly rig?: 'Sloop' | 'it\\'s';",
    '/** How *\\/ it is rigged. */',
    "readonly tags?: readonly ('a' | 'b')[];",
    'readonly crew?: readonly BoatSpecCrewItem[];',
    'readonly name?: string | null;',
    'readonly labels?: Readonly<Record<string, string>>;',
    'readonly raw?: Readonly<Record<string, unknown>>;',
    'readonly any?: unknown;',
    'readonly [key: string]: unknown;',
    "readonly 'odd-name'?: number;",
    "readonly phase?: 'Afloat' | (string & {});",
    "scope: 'Cluster',",
  ]) {
    assert.ok(text.includes(line), `${line} in\n${text}`);
  }
  assert.ok(!generateTypes(sample, { version: 'v1', descriptions: false }).includes('rigged'));
});

test('a version that the CRD does not have is an error that says so', () => {
  assert.throws(
    () => generateTypes(sample, { version: 'v2', descriptions: false }),
    /boats\.example\.org has no schema for version v2/,
  );
  assert.throws(() => generateTypes('', { version: 'v2', descriptions: false }), /no schema/);
});
