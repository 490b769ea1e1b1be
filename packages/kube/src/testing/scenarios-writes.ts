import assert from 'node:assert/strict';
import { MERGE_PATCH } from '../patch-types.ts';
import type { KubeObject, Resource } from '../resource.ts';
import {
  type ClusterScenario,
  configMap,
  configMapsPath,
  fresh,
  refused,
  versionOf,
  widget,
  widgetsPath,
} from './scenarios.ts';
import { PARCEL, WIDGET, type Widget } from './scenarios-crds.ts';
import { CONFIG_MAP, type ConfigMap } from './server.ts';

const NAMESPACE: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  scope: 'Cluster',
};
const NOBODY = '00000000-0000-4000-8000-000000000000';

/** Creating, replacing, patching, deleting: guards, generation, the two halves of an object, finalizers. */
export const WRITE_SCENARIOS: readonly ClusterScenario[] = [
  {
    name: 'a new object gets uid, version, time and generation, whatever it brought itself',
    async run(cluster) {
      const { client } = cluster;
      const asked = widget(cluster, {}, { uid: NOBODY, generation: 7, creationTimestamp: '2020-01-01T00:00:00Z' });
      const made = await client.create(WIDGET, { ...asked, status: { phase: 'Ready' } });
      const { uid, generation, creationTimestamp = '' } = made.metadata;
      assert.match(uid ?? '', /^[0-9a-f-]{36}$/);
      assert.notEqual(uid, NOBODY);
      assert.equal(generation, 1);
      assert.match(creationTimestamp, /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.notEqual(creationTimestamp, '2020-01-01T00:00:00Z');
      assert.equal(made.status, undefined);
      assert.deepEqual(await client.get(WIDGET, made.metadata), made);
      assert.equal((await client.create(CONFIG_MAP, configMap(cluster))).metadata.generation, undefined);
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'made-' } };
      const generated = (await client.raw({ method: 'POST', path: configMapsPath(cluster), body })) as ConfigMap;
      assert.match(generated.metadata.name, /^made-[a-z0-9]{5}$/);
    },
  },
  {
    name: 'a write that asks for metadata alone gives back what was sent, with the metadata that the server gave it',
    async run(cluster) {
      const { client } = cluster;
      const asked = widget(cluster, { size: 3 });
      const made = await client.create(WIDGET, asked, { answer: 'metadata' });
      const is = await client.get(WIDGET, made.metadata);
      assert.deepEqual(made, { ...asked, apiVersion: is.apiVersion, kind: is.kind, metadata: is.metadata });
      assert.deepEqual([is.spec?.colour, asked.spec?.colour], ['red', undefined], 'the server has filled in more');
      const more = { ...is, spec: { size: 4 } };
      const changed = await client.replace(WIDGET, more, { answer: 'metadata' });
      assert.deepEqual(changed, { ...more, metadata: (await client.get(WIDGET, is.metadata)).metadata });
      await refused(client.replace(WIDGET, more, { answer: 'metadata' }), 'Conflict', 409);
      const again = client.create(WIDGET, asked, { answer: 'metadata' });
      assert.deepEqual((await refused(again, 'AlreadyExists', 409)).details?.name, made.metadata.name);
    },
  },
  {
    name: 'a create is refused for a name that is taken or wrong, a version, and a namespace that is absent or another',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(CONFIG_MAP, configMap(cluster));
      const taken = await refused(client.create(CONFIG_MAP, configMap(cluster, {}, made.metadata)), 'ServerError', 500);
      assert.match(taken.message, /resourceVersion should not be set/);
      const again = await refused(
        client.create(CONFIG_MAP, configMap(cluster, {}, { name: made.metadata.name })),
        'AlreadyExists',
        409,
      );
      assert.deepEqual(again.details, { name: made.metadata.name, kind: 'configmaps' });
      const wrong = await refused(client.create(WIDGET, widget(cluster, {}, { name: 'A_b' })), 'Invalid', 422);
      assert.equal(wrong.details.causes?.[0]?.field, 'metadata.name');
      const labelled = client.create(WIDGET, widget(cluster, {}, { labels: { 'a b': 'c d' } }));
      assert.equal((await refused(labelled, 'Invalid', 422)).details.causes?.length, 2);
      const nowhere = await refused(
        client.create(CONFIG_MAP, { metadata: { name: 'a', namespace: fresh() } }),
        'NotFound',
        404,
      );
      assert.equal(nowhere.details.kind, 'namespaces');
      const other = {
        method: 'POST',
        path: configMapsPath(cluster),
        body: { metadata: { name: 'a', namespace: 'other' } },
      } as const;
      await refused(client.raw(other), 'BadRequest', 400);
    },
  },
  {
    name: 'what is absent is NotFound, with group and plural, for every verb',
    async run(cluster) {
      const { client } = cluster;
      const { metadata } = widget(cluster);
      const error = await refused(client.get(WIDGET, metadata), 'NotFound', 404);
      assert.deepEqual(error.details, { name: metadata.name, group: 'scenarios.drydock.dev', kind: 'widgets' });
      const whole = { metadata: { ...metadata, resourceVersion: '1' } };
      await refused(client.replace(WIDGET, whole), 'NotFound', 404);
      await refused(client.replaceStatus(WIDGET, { ...whole, status: {} }), 'NotFound', 404);
      await refused(client.patch(WIDGET, metadata, [{ op: 'add', path: '/spec', value: {} }]), 'NotFound', 404);
      await refused(client.mergePatch(WIDGET, metadata, {}), 'NotFound', 404);
      await refused(client.delete(WIDGET, metadata), 'NotFound', 404);
      await refused(client.applyStatus(WIDGET, { metadata }, { manager: 'one' }), 'NotFound', 404);
      await refused(client.raw({ path: '/apis/scenarios.drydock.dev/v1/nothings' }), 'NotFound', 404);
    },
  },
  {
    name: 'a stale PUT is a conflict without causes, an unguarded one is refused for custom kinds and taken for others',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(WIDGET, widget(cluster));
      const newer = await client.replace(WIDGET, { ...made, spec: { size: 2 } });
      assert.ok(Number(versionOf(newer)) > Number(versionOf(made)));
      const stale = await refused(client.replace(WIDGET, { ...made, spec: { size: 3 } }), 'Conflict', 409);
      assert.deepEqual(stale.details, { name: made.metadata.name, group: 'scenarios.drydock.dev', kind: 'widgets' });
      await refused(client.replaceStatus(WIDGET, { ...made, status: { phase: 'Ready' } }), 'Conflict', 409);
      const { name, namespace } = made.metadata;
      const body = { apiVersion: 'scenarios.drydock.dev/v1', kind: 'Widget', metadata: { name, namespace } };
      const unguarded = client.raw({ method: 'PUT', path: `${widgetsPath(cluster)}/${name}`, body });
      assert.equal((await refused(unguarded, 'Invalid', 422)).details.causes?.[0]?.field, 'metadata.resourceVersion');
      const map = await client.create(CONFIG_MAP, configMap(cluster, { x: '1' }));
      const path = `${configMapsPath(cluster)}/${map.metadata.name}`;
      const written = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: map.metadata.name }, data: { x: '2' } };
      assert.equal(((await client.raw({ method: 'PUT', path, body: written })) as ConfigMap).data?.['x'], '2');
      const other = { ...written, metadata: { ...written.metadata, uid: NOBODY } };
      await refused(client.raw({ method: 'PUT', path, body: other }), 'Conflict', 409);
      const misnamed = { ...written, metadata: { name: 'other' } };
      await refused(client.raw({ method: 'PUT', path, body: misnamed }), 'BadRequest', 400);
    },
  },
  {
    name: 'the generation counts changes of the spec alone, and a write that changes nothing makes no version',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(WIDGET, widget(cluster, { size: 1 }));
      const same = await client.replace(WIDGET, made);
      assert.equal(versionOf(same), versionOf(made));
      const labelled = await client.mergePatch(WIDGET, made.metadata, { metadata: { labels: { a: 'b' } } });
      assert.equal(labelled.metadata.generation, 1);
      const ready = await client.replaceStatus(WIDGET, { ...labelled, status: { phase: 'Ready' } });
      assert.equal(ready.metadata.generation, 1);
      const bigger = await client.replace(WIDGET, { ...ready, spec: { ...ready.spec, size: 2 } });
      assert.equal(bigger.metadata.generation, 2);
      const box = await client.create(PARCEL, { metadata: { name: fresh() }, spec: { a: 1 }, status: { a: 1 } });
      assert.equal((await client.mergePatch(PARCEL, box.metadata, { status: { a: 2 } })).metadata.generation, 2);
      assert.equal(
        (await client.mergePatch(PARCEL, box.metadata, { metadata: { labels: { a: 'b' } } })).metadata.generation,
        2,
      );
    },
  },
  {
    name: 'spec and status are written apart: neither half of a write reaches the other',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(WIDGET, widget(cluster, { size: 1 }));
      const half = await client.replaceStatus(WIDGET, {
        ...made,
        metadata: { ...made.metadata, labels: { lost: 'x' } },
        spec: { size: 9 },
        status: { phase: 'Ready' },
      });
      assert.deepEqual([half.spec?.size, half.status?.phase, half.metadata.labels], [1, 'Ready', undefined]);
      const other = await client.replace(WIDGET, { ...half, spec: { size: 2 }, status: { phase: 'Waiting' } });
      assert.deepEqual([other.spec?.size, other.status?.phase], [2, 'Ready']);
      const patched = await client.mergePatch(WIDGET, made.metadata, {
        spec: { size: 3 },
        status: { phase: 'Waiting' },
      });
      assert.deepEqual([patched.spec?.size, patched.status?.phase], [3, 'Ready']);
      const box = await client.create(PARCEL, { metadata: { name: fresh() }, status: { a: 1 } });
      assert.deepEqual(box.status, { a: 1 });
      await refused(client.replaceStatus(PARCEL, box), 'NotFound', 404);
      await refused(client.applyStatus(CONFIG_MAP, configMap(cluster), { manager: 'one' }), 'NotFound', 404);
    },
  },
  {
    name: 'a JSON patch does all or nothing, and a failed test is a 422 without causes, like a path that is not there',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(WIDGET, widget(cluster, { size: 4, tags: ['a'] }));
      const key = made.metadata;
      const failed = await refused(
        client.patch(WIDGET, key, [
          { op: 'replace', path: '/spec/size', value: 5 },
          { op: 'test', path: '/spec/colour', value: 'blue' },
        ]),
        'PatchTestFailed',
        422,
      );
      assert.deepEqual(failed.details, {});
      await refused(client.patch(WIDGET, key, [{ op: 'add', path: '/a/b/c', value: 1 }]), 'PatchTestFailed', 422);
      await refused(client.patch(WIDGET, key, [{ op: 'remove', path: '/spec/note' }]), 'PatchTestFailed', 422);
      await refused(
        client.patch(WIDGET, key, [{ op: 'replace', path: '/spec/tags/7', value: 'x' }]),
        'PatchTestFailed',
        422,
      );
      assert.equal(versionOf(await client.get(WIDGET, key)), versionOf(made));
      const patched = await client.patch(WIDGET, key, [
        { op: 'test', path: '/spec/size', value: 4 },
        { op: 'test', path: '/spec/note', value: null },
        { op: 'replace', path: '/spec/note', value: 'new' },
        { op: 'add', path: '/spec/tags/-', value: 'c' },
        { op: 'add', path: '/spec/tags/1', value: 'b' },
        { op: 'replace', path: '/spec/tags/0', value: 'A' },
        { op: 'remove', path: '/spec/tags/2' },
        { op: 'add', path: '/metadata/annotations', value: { 'a/b': 'x' } },
        { op: 'test', path: '/metadata/annotations/a~1b', value: 'x' },
      ]);
      assert.deepEqual([patched.spec?.note, patched.spec?.tags], ['new', ['A', 'b']]);
      const invalid = client.patch(WIDGET, key, [{ op: 'replace', path: '/spec/colour', value: 'pink' }]);
      assert.equal((await refused(invalid, 'Invalid', 422)).details.causes?.[0]?.field, 'spec.colour');
    },
  },
  {
    name: 'a patch that names a version is guarded by it, and cannot change uid or name',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(WIDGET, widget(cluster));
      const key = made.metadata;
      const version = '/metadata/resourceVersion';
      await client.patch(WIDGET, key, [
        { op: 'add', path: version, value: versionOf(made) },
        { op: 'add', path: '/spec/size', value: 2 },
      ]);
      const stale = [{ op: 'add', path: version, value: versionOf(made) }] as const;
      await refused(client.patch(WIDGET, key, stale), 'Conflict', 409);
      await refused(
        client.mergePatch(WIDGET, key, { metadata: { resourceVersion: versionOf(made) } }),
        'Conflict',
        409,
      );
      await refused(client.mergePatch(WIDGET, key, { metadata: { uid: NOBODY } }), 'Invalid', 422);
      await refused(client.mergePatch(WIDGET, key, { metadata: { name: 'other' } }), 'BadRequest', 400);
      const { name } = key;
      await refused(
        client.raw({ method: 'PATCH', path: `${widgetsPath(cluster)}/${name}`, body: {} }),
        'BadRequest',
        415,
      );
    },
  },
  {
    name: 'a merge patch removes by null, also inside new lists, where a PUT keeps it',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(WIDGET, widget(cluster, { note: 'x', settings: { a: '1', b: '2' } }));
      const merged = await client.mergePatch(WIDGET, made.metadata, {
        spec: { note: null, settings: { a: null, c: '3' } },
      });
      assert.deepEqual([merged.spec?.settings, 'note' in (merged.spec ?? {})], [{ b: '2', c: '3' }, false]);
      const history = [{ version: '1', completionTime: null }];
      const put = await client.replaceStatus(WIDGET, { ...merged, status: { history } });
      assert.deepEqual(put.status?.history, history);
      const { name } = made.metadata;
      const path = `${widgetsPath(cluster)}/${name}/status`;
      const body = { status: { history: [{ version: '2', completionTime: null }] } };
      const patched = (await client.raw({ method: 'PATCH', path, body, contentType: MERGE_PATCH })) as Widget;
      assert.deepEqual(patched.status?.history, [{ version: '2' }]);
    },
  },
  {
    name: 'a delete checks uid and version',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(CONFIG_MAP, configMap(cluster));
      const { name, namespace, uid = '' } = made.metadata;
      const key = { name, namespace: namespace ?? '' };
      await refused(client.delete(CONFIG_MAP, key, { uid: NOBODY }), 'Conflict', 409);
      await refused(client.delete(CONFIG_MAP, key, { resourceVersion: '1' }), 'Conflict', 409);
      await client.delete(CONFIG_MAP, key, { uid, resourceVersion: versionOf(made) });
      await refused(client.get(CONFIG_MAP, key), 'NotFound', 404);
      const again = await client.create(CONFIG_MAP, configMap(cluster, {}, { name }));
      assert.notEqual(again.metadata.uid, uid);
      await refused(client.delete(CONFIG_MAP, key, { uid }), 'Conflict', 409);
    },
  },
  {
    name: 'an object with finalizers stays, marked, until the last one is gone, and takes no new ones',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(WIDGET, widget(cluster, {}, { finalizers: ['drydock.dev/a', 'drydock.dev/b'] }));
      const key = made.metadata;
      await client.delete(WIDGET, key);
      const marked = await client.get(WIDGET, key);
      assert.ok(marked.metadata.deletionTimestamp !== undefined);
      assert.equal(marked.metadata.generation, 2);
      await client.delete(WIDGET, key);
      assert.equal(versionOf(await client.get(WIDGET, key)), versionOf(marked));
      const more = { metadata: { finalizers: ['drydock.dev/a', 'drydock.dev/c'] } };
      const refusal = await refused(client.mergePatch(WIDGET, key, more), 'Invalid', 422);
      assert.equal(refusal.details.causes?.[0]?.reason, 'FieldValueForbidden');
      await refused(client.create(WIDGET, widget(cluster, {}, { name: key.name })), 'AlreadyExists', 409);
      const one = await client.mergePatch(WIDGET, key, {
        metadata: { finalizers: ['drydock.dev/b'], deletionTimestamp: null },
      });
      assert.equal(one.metadata.deletionTimestamp, marked.metadata.deletionTimestamp);
      await client.mergePatch(WIDGET, key, { metadata: { finalizers: null } });
      await refused(client.get(WIDGET, key), 'NotFound', 404);
    },
  },
  {
    name: 'foreground and orphan deletions wait for the garbage collector, background ones do not',
    async run(cluster) {
      const { client } = cluster;
      const remove = async (propagationPolicy: string): Promise<string> => {
        const made = await client.create(WIDGET, widget(cluster));
        const path = `${widgetsPath(cluster)}/${made.metadata.name}`;
        await client.raw({
          method: 'DELETE',
          path,
          body: { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy },
        });
        return made.metadata.name;
      };
      for (const [policy, finalizer] of [
        ['Foreground', 'foregroundDeletion'],
        ['Orphan', 'orphan'],
      ] as const) {
        const name = await remove(policy);
        const { metadata } = await client.get(WIDGET, { name, namespace: cluster.namespace });
        assert.deepEqual(metadata.finalizers, [finalizer]);
        await client.mergePatch(WIDGET, metadata, { metadata: { finalizers: null } });
      }
      await refused(
        client.get(WIDGET, { name: await remove('Background'), namespace: cluster.namespace }),
        'NotFound',
        404,
      );
      await refused(remove('Sideways'), 'Invalid', 422);
      const made = await client.create(WIDGET, widget(cluster));
      await client.delete(WIDGET, made.metadata, {}, { propagation: 'Foreground' });
      await client.mergePatch(WIDGET, made.metadata, { metadata: { finalizers: null } });
      await refused(client.get(WIDGET, made.metadata), 'NotFound', 404);
    },
  },
  {
    name: 'a dry run answers as the write would, and changes nothing',
    async run(cluster) {
      const { client } = cluster;
      const body = { ...widget(cluster, { size: 5 }), apiVersion: 'scenarios.drydock.dev/v1', kind: 'Widget' };
      const path = widgetsPath(cluster);
      const dry = (await client.raw({ method: 'POST', path: `${path}?dryRun=All`, body })) as Widget;
      assert.deepEqual([dry.spec?.size, dry.spec?.colour, dry.metadata.resourceVersion], [5, 'red', undefined]);
      await refused(client.get(WIDGET, body.metadata), 'NotFound', 404);
      const made = await client.create(WIDGET, body);
      const at = `${path}/${body.metadata.name}?dryRun=All`;
      const patch = { method: 'PATCH', path: at, body: { spec: { size: 6 } }, contentType: MERGE_PATCH } as const;
      assert.equal(((await client.raw(patch)) as Widget).spec?.size, 6);
      await refused(client.raw({ ...patch, body: { spec: { colour: 'pink' } } }), 'Invalid', 422);
      await client.raw({ method: 'DELETE', path: at });
      await client.delete(WIDGET, body.metadata, {}, { dryRun: true });
      await client.replace(WIDGET, { ...made, spec: { size: 7 } }, { dryRun: true });
      await client.apply(
        WIDGET,
        { metadata: body.metadata, spec: { note: 'dry' } },
        { manager: 'dry' },
        { dryRun: true },
      );
      assert.equal(versionOf(await client.get(WIDGET, body.metadata)), versionOf(made));
      await refused(client.raw({ method: 'POST', path: `${path}?dryRun=some`, body }), 'Invalid', 422);
    },
  },
  {
    name: 'a namespace that is being deleted takes changes but no new objects',
    async run(cluster) {
      const { client } = cluster;
      const space = await client.create(NAMESPACE, { metadata: { name: fresh() } });
      const namespace = space.metadata.name;
      assert.equal(space.metadata.labels?.['kubernetes.io/metadata.name'], namespace);
      const made = await client.create(CONFIG_MAP, { metadata: { name: 'a', namespace } });
      await client.delete(NAMESPACE, space.metadata);
      const marked = (await client.get(NAMESPACE, space.metadata)) as { readonly status?: { readonly phase?: string } };
      assert.equal(marked.status?.phase, 'Terminating');
      const late = await refused(client.create(CONFIG_MAP, { metadata: { name: 'b', namespace } }), 'Forbidden', 403);
      assert.equal(late.details.causes?.[0]?.reason, 'NamespaceTerminating');
      assert.equal((await client.mergePatch(CONFIG_MAP, made.metadata, { data: { x: '1' } })).data?.['x'], '1');
    },
  },
];
