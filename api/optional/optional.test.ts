import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { generateTypes } from '../../packages/kube/src/generate.ts';
import { OPTIONAL_SOURCES } from './sources.ts';

interface Schema {
  readonly type?: string;
  readonly enum?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface Crd {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly scope: string;
    readonly names: Readonly<Record<string, unknown>>;
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

const fixtures = join(import.meta.dirname, '../../../shared/fixtures/crds/vm-operator');
const read = (path: string): string => readFileSync(path, 'utf8');

for (const { crd, version, out } of OPTIONAL_SOURCES) {
  const text = read(join(import.meta.dirname, crd));
  const ours = parse(text) as Crd;
  const schemaOf = (of: Crd): Schema => {
    const found = of.spec.versions.find(({ name }) => name === version);
    assert.ok(found !== undefined, `${of.metadata.name} has no version ${version}`);
    return found.schema.openAPIV3Schema;
  };

  suite(crd, () => {
    test('the generated types are what the CRD generates', () => {
      const types = generateTypes(text, { version, descriptions: true, meta: '../src/meta.ts' });
      assert.equal(read(join(import.meta.dirname, out)), types, 'run `npm run generate`');
    });

    test('it says that it is ours, and refuses no word of a newer version', () => {
      assert.equal(ours.metadata.labels?.['app.kubernetes.io/part-of'], 'drydock');
      assert.doesNotMatch(text, /^\s*enum:/m);
    });

    const upstream = join(fixtures, `${String(ours.spec.names['plural'])}.yaml`);
    const skip = existsSync(upstream) ? false : `upstream's CRD ${String(ours.spec.names['plural'])}.yaml is not here`;
    test("names and types of its fields are upstream's", { skip }, () => {
      const theirs = parse(read(upstream)) as Crd;
      assert.equal(ours.metadata.name, theirs.metadata.name);
      assert.equal(ours.spec.scope, theirs.spec.scope);
      for (const [what, name] of Object.entries(ours.spec.names)) assert.deepEqual(theirs.spec.names[what], name, what);
      let fields = 0;
      const compare = (mine: Schema, their: Schema | undefined, path: string): void => {
        assert.equal(mine.type, their?.type, path);
        fields += 1;
        for (const [name, field] of Object.entries(mine.properties ?? {}))
          compare(field, their?.properties?.[name], `${path}.${name}`);
        if (mine.items !== undefined) compare(mine.items, their?.items, `${path}[]`);
      };
      compare(schemaOf(ours), schemaOf(theirs), '');
      assert.ok(fields > 8, `only ${fields} fields were compared`);
      assert.throws(() =>
        compare({ type: 'object', properties: { nodename: { type: 'string' } } }, schemaOf(theirs), ''),
      );
    });
  });
}
