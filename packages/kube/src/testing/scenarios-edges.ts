import assert from 'node:assert/strict';
import { keyOf } from '../resource.ts';
import { type ClusterScenario, causesOf, configMap, refused, widget } from './scenarios.ts';
import { WIDGET, type Widget } from './scenarios-crds.ts';
import { CONFIG_MAP } from './server.ts';

const me = { manager: 'me' };
const you = { manager: 'you' };

/** What random writes against the real server have shown, and nobody would have thought of. */
export const EDGE_SCENARIOS: readonly ClusterScenario[] = [
  {
    name: 'an applied null is refused where none is allowed, unless a default takes its place',
    run: async (cluster) => {
      const { client } = cluster;
      const object = widget(cluster);
      const spec = { engine: null, settings: { a: null } } as unknown as NonNullable<Widget['spec']>;
      const error = await refused(client.apply(WIDGET, { ...object, spec }, me), 'Invalid', 422);
      assert.deepEqual(causesOf(error), ['spec.engine FieldValueTypeInvalid', 'spec.settings.a FieldValueTypeInvalid']);
      const given = { size: null, note: null, free: { n: null } } as unknown as NonNullable<Widget['spec']>;
      const applied = await client.apply(WIDGET, { ...object, spec: given }, me);
      assert.deepEqual(applied.spec, { colour: 'red', size: 1, note: null, free: { n: null } });
      const created = await client.create(WIDGET, widget(cluster, spec));
      assert.deepEqual(created.spec, { colour: 'red', size: 1, settings: {} }, 'a creation drops them');
    },
  },
  {
    name: 'a null among the texts of a ConfigMap is an empty text',
    run: async (cluster) => {
      const data = { a: null, b: '1' } as unknown as Record<string, string>;
      const created = await cluster.client.create(CONFIG_MAP, configMap(cluster, data));
      assert.deepEqual(created.data, { a: '', b: '1' });
    },
  },
  {
    name: 'a status that came with a creation is nobody’s',
    run: async (cluster) => {
      const { client } = cluster;
      const object = { ...widget(cluster), status: { phase: 'Ready' } };
      assert.equal((await client.create(WIDGET, object)).status, undefined);
      const status = { conditions: [{ type: 'A', status: 'True' }] };
      assert.deepEqual((await client.applyStatus(WIDGET, { ...object, status }, you)).status, status);
    },
  },
  {
    name: 'a status write changes no metadata, but what it leaves out of them is no longer owned',
    run: async (cluster) => {
      const { client } = cluster;
      const object = widget(cluster, {}, { labels: { l: '1' } });
      const { metadata } = await client.apply(WIDGET, object, me);
      const { labels: _, ...rest } = metadata;
      const written = await client.replaceStatus(WIDGET, { metadata: rest, status: { phase: 'Ready' } });
      assert.deepEqual(written.metadata.labels, { l: '1' });
      const other = { metadata: { ...keyOf(object), labels: { l: '2' } } };
      assert.deepEqual((await client.apply(WIDGET, other, you)).metadata.labels, { l: '2' }, 'no conflict');
    },
  },
  {
    name: 'empty labels and finalizers are absent from the beginning',
    run: async (cluster) => {
      const { client } = cluster;
      const empty = { labels: {}, annotations: {}, finalizers: [] };
      const custom = await client.create(WIDGET, widget(cluster, {}, empty));
      const builtIn = await client.create(CONFIG_MAP, configMap(cluster, {}, empty));
      for (const { metadata } of [custom, builtIn])
        for (const field of Object.keys(empty)) assert.equal(field in metadata, false, field);
    },
  },
  {
    name: 'a patch whose result cannot be decoded is itself what is invalid',
    run: async (cluster) => {
      const { client } = cluster;
      const object = await client.create(WIDGET, widget(cluster, {}, { labels: { l: '1' } }));
      for (const [path, value] of [
        ['/metadata/labels/l', { a: 'b' }],
        ['/metadata/labels', []],
        ['/metadata/finalizers', { name: 'x' }],
      ] as const) {
        const error = await refused(client.patch(WIDGET, keyOf(object), [{ op: 'add', path, value }]), 'Invalid', 422);
        assert.deepEqual(causesOf(error), ['patch FieldValueInvalid'], path);
      }
      const map = await client.create(CONFIG_MAP, configMap(cluster));
      const error = await refused(client.mergePatch(CONFIG_MAP, keyOf(map), { data: { n: 5 } }), 'Invalid', 422);
      assert.deepEqual(causesOf(error), ['patch FieldValueInvalid']);
    },
  },
  {
    name: 'items come in the order of the applied list, what others have stays where it was',
    run: async (cluster) => {
      const { client } = cluster;
      const object = widget(cluster);
      const tags = async (list: readonly string[], as: typeof me): Promise<readonly string[] | undefined> =>
        (await client.apply(WIDGET, { ...object, spec: { tags: list } }, as)).spec?.tags;
      assert.deepEqual(await tags(['t', 'v', 'x'], me), ['t', 'v', 'x']);
      assert.deepEqual(await tags(['t', 'u', 'v'], you), ['t', 'u', 'v', 'x']);
      assert.deepEqual(await tags(['x', 'a', 't'], you), ['v', 'x', 'a', 't']);
    },
  },
  {
    name: 'a value of the wrong type is also none of the listed ones',
    run: async (cluster) => {
      const spec = { colour: 5 } as unknown as NonNullable<Widget['spec']>;
      const error = await refused(cluster.client.create(WIDGET, widget(cluster, spec)), 'Invalid', 422);
      assert.deepEqual(causesOf(error), ['spec.colour FieldValueNotSupported', 'spec.colour FieldValueTypeInvalid']);
    },
  },
  {
    name: 'an applied status of an absent object is not looked at',
    run: async (cluster) => {
      const status = { odd: 1 } as unknown as Widget['status'] & object;
      await refused(cluster.client.applyStatus(WIDGET, { ...widget(cluster), status }, me), 'NotFound', 404);
    },
  },
  {
    name: 'an apply that gives up all that a map or a list holds, but not the map itself, leaves a null, which is refused',
    run: async (cluster) => {
      const { client } = cluster;
      const object = await client.create(WIDGET, widget(cluster, { settings: {} }));
      const want = { metadata: keyOf(object), spec: { settings: { a: '1' } } };
      await client.apply(WIDGET, want, me);
      const error = await refused(client.apply(WIDGET, { ...want, spec: {} }, me), 'Invalid', 422);
      assert.deepEqual(causesOf(error), ['spec.settings FieldValueTypeInvalid']);
      assert.deepEqual((await client.get(WIDGET, keyOf(object))).spec?.settings, { a: '1' });
    },
  },
  {
    name: 'what began without any owner is not tracked, until an apply finds that all of it is somebody’s',
    run: async (cluster) => {
      const { client } = cluster;
      const { metadata } = widget(cluster);
      const object = await client.create(WIDGET, { metadata });
      await client.mergePatch(WIDGET, keyOf(object), { spec: { size: 2 } });
      const want = { metadata: keyOf(object), spec: { size: 3, note: 'x' } };
      const error = await refused(client.apply(WIDGET, want, me), 'ApplyConflict', 409);
      assert.deepEqual(causesOf(error), ['.spec.size FieldManagerConflict']);
      assert.match(error.message, /before-first-apply/);
    },
  },
  {
    name: 'a null is dropped where only what is inside may be anything',
    run: async (cluster) => {
      const { client } = cluster;
      const object = await client.create(WIDGET, widget(cluster));
      const patched = await client.patch(WIDGET, keyOf(object), [{ op: 'add', path: '/spec/free', value: null }]);
      assert.equal('free' in (patched.spec ?? {}), false);
    },
  },
  {
    name: 'names that every JavaScript object has are names like any other',
    run: async (cluster) => {
      const { client } = cluster;
      const spec = JSON.parse(
        '{"constructor":{"a":1},"__proto__":{"a":1},"settings":{"constructor":"c","toString":"t"}}',
      ) as NonNullable<Widget['spec']>;
      const object = await client.create(WIDGET, widget(cluster, spec));
      assert.deepEqual(
        object.spec,
        { colour: 'red', size: 1, settings: { constructor: 'c', toString: 't' } },
        'undeclared fields are dropped',
      );
      const patch = client.patch(WIDGET, keyOf(object), [{ op: 'add', path: '/__proto__/polluted', value: 'yes' }]);
      await refused(patch, 'PatchTestFailed', 422);
      assert.equal(({} as { readonly polluted?: unknown }).polluted, undefined);
    },
  },
];
