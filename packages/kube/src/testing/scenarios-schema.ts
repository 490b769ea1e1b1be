import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../errors.ts';
import type { Resource } from '../resource.ts';
import { type ClusterScenario, causesOf, configMap, fresh, parcel, refused, widget, widgetsPath } from './scenarios.ts';
import { crdOf, PARCEL, type Parcel, WIDGET, type Widget } from './scenarios-crds.ts';
import { CONFIG_MAP } from './server.ts';

/** What a CRD's structural schema does to an object. */
export const SCHEMA_SCENARIOS: readonly ClusterScenario[] = [
  {
    name: 'undeclared fields are dropped, but where the schema keeps them, and refused when asked to be strict',
    async run(cluster) {
      const { client } = cluster;
      const spec = { zz: 1, free: { a: { b: null } }, engine: { kind: 'v8', zz: 1 } } as unknown as Widget['spec'];
      const made = await client.create(WIDGET, widget(cluster, spec));
      assert.deepEqual(made.spec, {
        size: 1,
        colour: 'red',
        free: { a: { b: null } },
        engine: { kind: 'v8', power: 10 },
      });
      const body = { ...widget(cluster, spec), apiVersion: 'scenarios.drydock.dev/v1', kind: 'Widget' };
      const strict = client.raw({ method: 'POST', path: `${widgetsPath(cluster)}?fieldValidation=Strict`, body });
      assert.match((await refused(strict, 'BadRequest', 400)).message, /unknown field "spec.zz"/);
      const anything = { a: null, b: { c: [1, 'x', null] } };
      assert.deepEqual((await client.create(PARCEL, parcel(anything))).spec, anything);
    },
  },
  {
    name: 'defaults fill in what is absent or null, in lists too, on every write',
    async run(cluster) {
      const { client } = cluster;
      const spec = { colour: null, note: null, steps: null, settings: { a: null }, parts: [{ name: 'p' }] };
      const made = await client.create(WIDGET, widget(cluster, spec as unknown as Widget['spec']));
      assert.deepEqual(made.spec, {
        size: 1,
        colour: 'red',
        note: null,
        settings: {},
        parts: [{ name: 'p', count: 1 }],
      });
      const { size: _size, ...rest } = { ...made.spec, engine: { kind: 'x' } };
      const replaced = await client.replace(WIDGET, { ...made, spec: rest });
      assert.deepEqual([replaced.spec?.size, replaced.spec?.engine], [1, { kind: 'x', power: 10 }]);
    },
  },
  {
    name: 'types, required fields, enums, bounds and duplicates are 422, each with its field and reason',
    async run(cluster) {
      const { client } = cluster;
      const create = (spec: unknown): Promise<unknown> =>
        client.create(WIDGET, widget(cluster, spec as Widget['spec']));
      const first = await refused(
        create({
          size: 'x',
          colour: 'pink',
          engine: {},
          note: 'x'.repeat(30),
          parts: [{ count: '1' }],
          tags: ['a', 'a'],
        }),
        'Invalid',
        422,
      );
      assert.deepEqual(causesOf(first), [
        'spec.colour FieldValueNotSupported',
        'spec.engine.kind FieldValueRequired',
        'spec.note FieldValueTooLong',
        'spec.parts[0].count FieldValueTypeInvalid',
        'spec.parts[0].name FieldValueRequired',
        'spec.size FieldValueTypeInvalid',
        'spec.tags[1] FieldValueDuplicate',
      ]);
      assert.deepEqual([first.details.kind, first.details.group], ['Widget', 'scenarios.drydock.dev']);
      const second = create({
        size: -1,
        parts: [{ name: 'a' }, { name: 'a' }],
        settings: { a: 1 },
        steps: {},
        port: true,
      });
      assert.deepEqual(causesOf(await refused(second, 'Invalid', 422)), [
        'spec.parts[1] FieldValueDuplicate',
        'spec.port FieldValueTypeInvalid',
        'spec.settings.a FieldValueTypeInvalid',
        'spec.size FieldValueInvalid',
        'spec.steps FieldValueTypeInvalid',
      ]);
      for (const port of [80, 'http']) assert.ok(await create({ port }));
    },
  },
  {
    name: 'a status is validated like a spec',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(WIDGET, widget(cluster));
      const wrong = client.replaceStatus(WIDGET, {
        ...made,
        status: { phase: 'Nope', conditions: [{ type: 'A' }, { type: 'A' }] },
      });
      assert.deepEqual(causesOf(await refused(wrong, 'Invalid', 422)), [
        'status.conditions[1] FieldValueDuplicate',
        'status.phase FieldValueNotSupported',
      ]);
    },
  },
  {
    name: 'under a stricter schema what was stored before can be read and changed elsewhere, but not written anew',
    async run(cluster) {
      const { client } = cluster;
      const plural = fresh().replace('-', '');
      const group = 'scenarios.drydock.dev';
      const resource: Resource<Parcel> = { group, version: 'v1', kind: `K${plural}`, plural, scope: 'Cluster' };
      const schema = (colours: readonly string[]): unknown => {
        const colour = { type: 'string', enum: colours };
        return {
          type: 'object',
          properties: { spec: { type: 'object', properties: { colour, size: { type: 'integer' } } } },
        };
      };
      const until = async (what: string, seen: () => Promise<boolean>): Promise<void> => {
        for (const end = performance.now() + 20_000; !(await seen().catch(() => false)); await delay(20)) {
          assert.ok(performance.now() < end, `${what} did not happen within 20 s`);
        }
      };
      await cluster.serve(crdOf(resource, schema(['red', 'green']), false));
      await until('the new kind', async () => (await Array.fromAsync(client.list(resource))).length === 0);
      const made = await client.create(resource, parcel({ colour: 'green', size: 1 }));
      await cluster.serve(crdOf(resource, schema(['red']), false));
      const green = async (): Promise<boolean> => {
        const one = await client.create(resource, parcel({ colour: 'green' })).catch((error: unknown) => error);
        return one instanceof ApiError && one.code === 'Invalid';
      };
      await until('the stricter schema', green);
      assert.deepEqual((await client.get(resource, made.metadata)).spec, { colour: 'green', size: 1 });
      const patched = await client.mergePatch(resource, made.metadata, { spec: { size: 2 } });
      assert.deepEqual(patched.spec, { colour: 'green', size: 2 });
      const other = client.mergePatch(resource, made.metadata, { spec: { colour: 'blue' } });
      assert.deepEqual(causesOf(await refused(other, 'Invalid', 422)), ['spec.colour FieldValueNotSupported']);
    },
  },
  {
    name: 'kinds of Kubernetes itself are decoded before they are validated',
    async run(cluster) {
      const { client } = cluster;
      const numbers = { a: 1 } as unknown as Record<string, string>;
      await refused(client.create(CONFIG_MAP, configMap(cluster, numbers)), 'BadRequest', 400);
      await refused(client.create(CONFIG_MAP, configMap(cluster, {}, { labels: numbers })), 'BadRequest', 400);
      await refused(client.create(WIDGET, widget(cluster, {}, { labels: numbers })), 'BadRequest', 400);
      const key = await refused(client.create(CONFIG_MAP, configMap(cluster, { 'a b': 'x' })), 'Invalid', 422);
      assert.deepEqual(causesOf(key), ['data[a b] FieldValueInvalid']);
    },
  },
];
