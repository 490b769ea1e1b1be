import assert from 'node:assert/strict';
import { type ApiError, isApplyConflict } from '../errors.ts';
import { APPLY_PATCH } from '../patch-types.ts';
import type { KubeObject } from '../resource.ts';
import {
  type ClusterScenario,
  causesOf,
  configMap,
  parcel,
  refused,
  type ScenarioCluster,
  versionOf,
  widget,
  widgetsPath,
} from './scenarios.ts';
import { PARCEL, WIDGET, type Widget } from './scenarios-crds.ts';
import { CONFIG_MAP } from './server.ts';

const one = { manager: 'one' };
const two = { manager: 'two' };

interface Owner {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: unknown;
}

/** `metadata.managedFields`, which the client leaves out, by manager. */
async function owners(cluster: ScenarioCluster, object: KubeObject): Promise<Record<string, unknown>> {
  const path = `${widgetsPath(cluster)}/${object.metadata.name}`;
  const { metadata } = (await cluster.client.raw({ path })) as { metadata: { managedFields?: readonly Owner[] } };
  const entries = (metadata.managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }) => [
    [manager, operation, ...(subresource === undefined ? [] : [subresource])].join(' '),
    fieldsV1,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function conflictsOf(error: ApiError): readonly string[] {
  assert.ok(isApplyConflict(error));
  return (error.details.causes ?? []).map(({ message, field }) => `${message}: ${field}`).sort();
}

/** Server-side apply. */
export const APPLY_SCENARIOS: readonly ClusterScenario[] = [
  {
    name: 'apply creates what is absent, owns what it names, and changes nothing when applied again',
    async run(cluster) {
      const { client } = cluster;
      const want = widget(
        cluster,
        {
          size: 2,
          engine: { kind: 'v8' },
          parts: [{ name: 'a', maker: 'x' }],
          tags: ['t'],
          steps: [{ name: 's' }],
          point: { x: 1 },
        },
        { labels: { a: '1' } },
      );
      const made = await client.apply(WIDGET, want, one);
      assert.deepEqual(made.spec?.engine, { kind: 'v8', power: 10 });
      assert.deepEqual(await owners(cluster, want), {
        'one Apply': {
          'f:metadata': { 'f:labels': { 'f:a': {} } },
          'f:spec': {
            'f:engine': { 'f:kind': {} },
            'f:parts': { 'k:{"name":"a"}': { '.': {}, 'f:maker': {}, 'f:name': {} } },
            'f:point': {},
            'f:size': {},
            'f:steps': {},
            'f:tags': { 'v:"t"': {} },
          },
        },
      });
      assert.equal(versionOf(await client.apply(WIDGET, want, one)), versionOf(made));
    },
  },
  {
    name: 'an ordinary write owns what it changed, and takes it from everybody else',
    async run(cluster) {
      const { client } = cluster;
      const want = widget(cluster, { size: 2, note: 'n' });
      await client.apply(WIDGET, want, one);
      await client.mergePatch(WIDGET, want.metadata, { spec: { size: 3, settings: { a: 'b' } } });
      const now = await owners(cluster, want);
      assert.deepEqual(now['one Apply'], { 'f:spec': { 'f:note': {} } });
      assert.deepEqual(now['drydock Update'], { 'f:spec': { 'f:settings': { '.': {}, 'f:a': {} }, 'f:size': {} } });
      const refusal = await refused(client.apply(WIDGET, want, one), 'ApplyConflict', 409);
      assert.deepEqual(conflictsOf(refusal), ['conflict with "drydock" using scenarios.drydock.dev/v1: .spec.size']);
    },
  },
  {
    name: 'an apply conflict names manager and field; the same value is shared; force takes it over',
    async run(cluster) {
      const { client } = cluster;
      const want = widget(cluster, { size: 2, parts: [{ name: 'a', maker: 'x' }] });
      await client.apply(WIDGET, want, one);
      const other = { metadata: want.metadata, spec: { size: 5, parts: [{ name: 'a', maker: 'y' }] } };
      const refusal = await refused(client.apply(WIDGET, other, two), 'ApplyConflict', 409);
      assert.deepEqual(conflictsOf(refusal), [
        'conflict with "one": .spec.parts[name="a"].maker',
        'conflict with "one": .spec.size',
      ]);
      const shared = await client.apply(WIDGET, { metadata: want.metadata, spec: { size: 2 } }, two);
      assert.equal(shared.spec?.size, 2);
      const forced = await client.apply(
        WIDGET,
        { metadata: want.metadata, spec: { size: 5 } },
        { ...two, force: true },
      );
      assert.equal(forced.spec?.size, 5);
      const now = await owners(cluster, want);
      assert.deepEqual(now['two Apply'], { 'f:spec': { 'f:size': {} } });
      assert.equal(JSON.stringify(now['one Apply']).includes('f:size'), false);
    },
  },
  {
    name: 'map lists merge by key, sets by member, other lists and atomic maps whole',
    async run(cluster) {
      const { client } = cluster;
      const want = widget(cluster, { parts: [{ name: 'a' }], tags: ['t1'], steps: [{ name: 's' }], point: { x: 1 } });
      await client.apply(WIDGET, want, one);
      const { metadata } = want;
      const both = await client.apply(
        WIDGET,
        { metadata, spec: { parts: [{ name: 'b', count: 3 }], tags: ['t2'] } },
        two,
      );
      assert.deepEqual(both.spec?.parts, [
        { name: 'a', count: 1 },
        { name: 'b', count: 3 },
      ]);
      assert.deepEqual(both.spec?.tags, ['t1', 't2']);
      const whole = client.apply(
        WIDGET,
        { metadata, spec: { steps: [{ name: 's' }, { name: 't' }], point: { y: 1 } } },
        two,
      );
      assert.deepEqual(conflictsOf(await refused(whole, 'ApplyConflict', 409)), [
        'conflict with "one": .spec.point',
        'conflict with "one": .spec.steps',
      ]);
    },
  },
  {
    name: 'what an applier names no more goes, unless somebody else owns it, and defaults come back',
    async run(cluster) {
      const { client } = cluster;
      const want = widget(
        cluster,
        { size: 2, engine: { kind: 'v8' }, parts: [{ name: 'a' }], tags: ['t1'] },
        { labels: { a: '1' } },
      );
      await client.apply(WIDGET, want, one);
      const metadata = { name: want.metadata.name, namespace: cluster.namespace };
      await client.apply(WIDGET, { metadata, spec: { size: 2, parts: [{ name: 'b' }] } }, two);
      const less = await client.apply(WIDGET, { metadata, spec: { tags: ['t1'] } }, one);
      assert.deepEqual(less.spec, { colour: 'red', size: 2, parts: [{ name: 'b', count: 1 }], tags: ['t1'] });
      assert.equal(less.metadata.labels, undefined);
      assert.deepEqual((await client.apply(WIDGET, { metadata }, two)).spec, { colour: 'red', size: 1, tags: ['t1'] });
      const nothing = await client.apply(WIDGET, { metadata }, one);
      assert.equal(nothing.spec, undefined);
      assert.deepEqual(await owners(cluster, want), {});
    },
  },
  {
    name: 'without a schema ownership follows the JSON: maps key by key, lists whole',
    async run({ client }) {
      const made = await client.apply(PARCEL, parcel({ a: { b: 1, c: {} }, l: [{ name: 'x' }] }), one);
      const { metadata } = made;
      const bare = { name: metadata.name };
      const list = client.apply(PARCEL, { metadata: bare, spec: { a: { d: 1 }, l: [{ name: 'y' }] } }, two);
      assert.deepEqual(conflictsOf(await refused(list, 'ApplyConflict', 409)), ['conflict with "one": .spec.l']);
      const both = await client.apply(PARCEL, { metadata: bare, spec: { a: { d: 1 } } }, two);
      assert.deepEqual(both.spec, { a: { b: 1, c: {}, d: 1 }, l: [{ name: 'x' }] });
      const less = await client.apply(PARCEL, { metadata: bare, spec: { a: { b: 1 } } }, one);
      assert.deepEqual(less.spec, { a: { b: 1, d: 1 } });
    },
  },
  {
    name: 'two appliers of conditions keep both, each its own, on the status subresource',
    async run(cluster) {
      const { client } = cluster;
      const { metadata } = await client.create(WIDGET, widget(cluster));
      const key = { name: metadata.name, namespace: cluster.namespace };
      const condition = (type: string, status: string): Widget => ({
        metadata: key,
        status: { conditions: [{ type, status }] },
      });
      await client.applyStatus(WIDGET, { ...condition('A', 'True'), spec: { size: 77 } }, one);
      await client.applyStatus(WIDGET, condition('B', 'True'), two);
      const changed = await client.applyStatus(WIDGET, condition('A', 'False'), one);
      assert.deepEqual(changed.status?.conditions, [
        { type: 'A', status: 'False' },
        { type: 'B', status: 'True' },
      ]);
      assert.deepEqual([changed.spec?.size, changed.metadata.generation], [1, 1]);
      const now = await owners(cluster, changed);
      assert.ok('one Apply status' in now && 'two Apply status' in now);
      const main = await client.apply(
        WIDGET,
        { metadata: key, spec: { size: 3 }, status: { phase: 'Ready' } },
        { ...two, force: true },
      );
      assert.deepEqual([main.spec?.size, main.status?.phase], [3, undefined]);
      const less = await client.applyStatus(WIDGET, { metadata: key, status: {} }, one);
      assert.deepEqual(less.status?.conditions, [{ type: 'B', status: 'True' }]);
    },
  },
  {
    name: 'finalizers and owner references merge by themselves',
    async run(cluster) {
      const { client } = cluster;
      const want = configMap(cluster);
      const owner = (uid: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid });
      const part = (n: string) => ({
        metadata: { ...want.metadata, finalizers: [`drydock.dev/${n}`], ownerReferences: [owner(n) as never] },
      });
      await client.apply(CONFIG_MAP, part('u1'), one);
      const both = await client.apply(CONFIG_MAP, part('u2'), two);
      assert.deepEqual(both.metadata.finalizers, ['drydock.dev/u1', 'drydock.dev/u2']);
      assert.deepEqual(
        both.metadata.ownerReferences?.map(({ uid }) => uid),
        ['u1', 'u2'],
      );
      const left = await client.apply(CONFIG_MAP, { metadata: want.metadata }, one);
      assert.deepEqual(left.metadata.finalizers, ['drydock.dev/u2']);
      await client.mergePatch(CONFIG_MAP, want.metadata, { metadata: { finalizers: null } });
    },
  },
  {
    name: 'an apply with a stale version is a conflict, and one that makes no sense is refused',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(WIDGET, widget(cluster));
      const key = { name: made.metadata.name, namespace: cluster.namespace };
      const stale = { metadata: { ...key, resourceVersion: '1' }, spec: { engine: { kind: 'v8' } } };
      const conflict = await refused(client.apply(WIDGET, stale, one), 'Conflict', 409);
      assert.deepEqual(causesOf(conflict), []);
      const apply = (metadata: object, spec: unknown, query = '?fieldManager=one', kind = 'Widget'): Promise<unknown> =>
        client.raw({
          method: 'PATCH',
          path: `${widgetsPath(cluster)}/${key.name}${query}`,
          body: { apiVersion: 'scenarios.drydock.dev/v1', kind, metadata, spec },
          contentType: APPLY_PATCH,
        });
      await refused(apply(key, {}, ''), 'Invalid', 422);
      await refused(apply({ ...key, managedFields: [] }, {}), 'BadRequest', 400);
      await refused(apply(key, {}, '?fieldManager=one', 'Gadget'), 'BadRequest', 400);
      for (const spec of [
        { parts: [{ name: 'a' }, { name: 'a' }] },
        { tags: ['a', 'a'] },
        { parts: [{ count: 1 }] },
        { size: 'big' },
        { nothing: 1 },
      ]) {
        await refused(apply(key, spec), 'ServerError', 500);
      }
      assert.equal(versionOf(await client.get(WIDGET, key)), versionOf(made));
    },
  },
];
