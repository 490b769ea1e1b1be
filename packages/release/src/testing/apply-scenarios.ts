import assert from 'node:assert/strict';
import { ConfigMap } from '@drydock/api';
import { jsonText } from '@drydock/crd';
import { isNotFound, type KubeClient, type KubeObject, withExact } from '@drydock/kube';
import { until } from '@drydock/kube/testing';
import { deletedData } from '../apply/deletions.ts';
import { configMapInventory } from '../apply/inventory/config-maps.ts';
import { findOrphans } from '../apply/orphans.ts';
import { planPayload } from '../apply/plan.ts';
import type { ApplyOutcome } from '../apply/wish.ts';
import { readManifestFile } from '../payload/manifest.ts';
import {
  type ApplyCluster,
  applyOn,
  applyWatched,
  configMapOf,
  DEFINITION,
  fresh,
  type Loose,
  manifestsOf,
  widgetDefinition,
  wishOf,
} from './apply-cluster.ts';

/** One behaviour of the applier on every API server, in memory or real. */
export interface ApplyScenario {
  readonly name: string;
  run(cluster: ApplyCluster): Promise<void>;
}

const complete = (outcome: ApplyOutcome): void =>
  assert.deepEqual([outcome.errors.map(({ message }) => message), outcome.complete], [[], true]);
const dataOf = async (client: KubeClient, key: { readonly namespace: string; readonly name: string }) =>
  (await client.get(ConfigMap, key)).data;

/** The table. Run it against the in-memory cluster and the real server. */
export const APPLY_SCENARIOS: readonly ApplyScenario[] = [
  {
    name: 'a payload is applied, and applied again it writes nothing, in every mode',
    run: async (cluster) => {
      const { namespace } = cluster;
      const { crd, kind } = widgetDefinition(`${fresh()}.example.com`);
      const widget = {
        apiVersion: `${kind.group}/v1`,
        kind: 'Widget',
        metadata: { name: 'w', namespace },
        spec: { color: 'red' },
      };
      const name = fresh();
      const manifests = manifestsOf(configMapOf(namespace, name, { a: '1' }, { labels: { x: 'y' } }), crd, widget);
      complete(await applyOn(cluster, wishOf(manifests)));
      await using client = cluster.client('administrator');
      assert.deepEqual(await dataOf(client, { namespace, name }), { a: '1' });
      const made = (await client.get(kind, { namespace, name: 'w' })) as KubeObject & { readonly spec: Loose };
      assert.deepEqual(made.spec, { color: 'red', size: 3 });
      const before = cluster.writes();
      for (const mode of ['reconciling', 'updating', 'initializing'] as const)
        complete(await applyOn(cluster, wishOf(manifests, { mode })));
      assert.equal(cluster.writes(), before);
    },
  },
  {
    name: 'with watched caches a reconcile that changes nothing writes nothing, and asks at most once for ten manifests; what is edited comes back',
    run: async (cluster) => {
      const { namespace } = cluster;
      const { crd, kind } = widgetDefinition(`${fresh()}.example.com`);
      const names = Array.from({ length: 28 }, fresh);
      const widget = { apiVersion: `${kind.group}/v1`, kind: 'Widget', metadata: { name: 'w', namespace }, spec: {} };
      const objects = names.map((name) => configMapOf(namespace, name, { a: '1' }, { labels: { x: 'y' } }));
      const wish = wishOf(manifestsOf(...objects, crd, widget));
      complete(await applyOn(cluster, wish));
      await using client = cluster.client('administrator');
      await applyWatched(cluster, wish, async (apply) => {
        complete(await apply('reconciling'));
        const [writes, requests] = [cluster.writes(), cluster.requests()];
        complete(await apply('reconciling'));
        assert.equal(cluster.writes(), writes);
        const asked = cluster.requests() - requests;
        assert.ok(asked <= 3, `${asked} requests for 30 manifests`);
        const key = { namespace, name: names[5] ?? '' };
        await client.mergePatch(ConfigMap, key, { data: { a: 'edited' }, metadata: { labels: { x: null } } });
        await client.mergePatch(
          DEFINITION,
          { name: crd.metadata.name },
          { spec: { names: { shortNames: ['edited'] } } },
        );
        await until('the edits are seen and taken back', async () => {
          complete(await apply('reconciling'));
          const { data, metadata } = await client.get(ConfigMap, key);
          const { spec } = (await client.get(DEFINITION, { name: crd.metadata.name })) as never as {
            readonly spec: { readonly names: { readonly shortNames?: unknown } };
          };
          return data?.['a'] === '1' && metadata.labels?.['x'] === 'y' && spec.names.shortNames === undefined;
        });
      });
    },
  },
  {
    name: 'what an administrator edits or deletes comes back; what they add stays',
    run: async (cluster) => {
      const { namespace } = cluster;
      const [a, b] = [fresh(), fresh()];
      const manifests = manifestsOf(configMapOf(namespace, a, { a: '1' }), configMapOf(namespace, b, { b: '1' }));
      complete(await applyOn(cluster, wishOf(manifests)));
      await using client = cluster.client('administrator');
      await client.mergePatch(ConfigMap, { namespace, name: a }, { data: { a: 'edited', theirs: 'x' } });
      await client.delete(ConfigMap, { namespace, name: b });
      complete(await applyOn(cluster, wishOf(manifests, { mode: 'reconciling' })));
      assert.deepEqual(await dataOf(client, { namespace, name: a }), { a: '1', theirs: 'x' });
      assert.deepEqual(await dataOf(client, { namespace, name: b }), { b: '1' });
    },
  },
  {
    name: 'RB-R12 labels, annotations and keys of a newer release go when an older one comes back, those of others stay',
    run: async (cluster) => {
      const { namespace } = cluster;
      const name = fresh();
      const key = { namespace, name };
      const of = (version: string, data: Readonly<Record<string, string>>, metadata: Loose) =>
        wishOf(manifestsOf(configMapOf(namespace, name, data, metadata)), { version });
      const older = of('1.0.0', { both: '1' }, { labels: { both: '1' } });
      const newer = of(
        '2.0.0',
        { both: '2', newer: '1' },
        { labels: { both: '1', newer: '1' }, annotations: { newer: '1' } },
      );
      complete(await applyOn(cluster, older));
      complete(await applyOn(cluster, newer));
      await using client = cluster.client('administrator');
      await client.mergePatch(ConfigMap, key, { metadata: { labels: { theirs: 'x' } }, data: { theirs: 'x' } });
      complete(await applyOn(cluster, older));
      const { metadata, data } = await client.get(ConfigMap, key);
      assert.deepEqual(
        [data, metadata.labels],
        [
          { both: '1', theirs: 'x' },
          { both: '1', theirs: 'x' },
        ],
      );
      assert.equal(metadata.annotations?.['newer'], undefined);
    },
  },
  {
    name: 'RB-R11 what is only created stays as it was edited; a deletion is asked for in an update alone, and confirmed',
    run: async (cluster) => {
      const { namespace } = cluster;
      const [kept, going] = [fresh(), fresh()];
      const annotated = (name: string, what: string) =>
        configMapOf(namespace, name, { a: '1' }, { annotations: { [`release.openshift.io/${what}`]: 'true' } });
      const manifests = manifestsOf(annotated(kept, 'create-only'), annotated(going, 'delete'));
      await using client = cluster.client('administrator');
      await client.create(ConfigMap, configMapOf(namespace, going, {}) as never);
      complete(await applyOn(cluster, wishOf(manifests, { mode: 'reconciling' })));
      assert.deepEqual(await dataOf(client, { namespace, name: going }), undefined);
      await client.mergePatch(ConfigMap, { namespace, name: kept }, { data: { a: 'edited' } });
      complete(await applyOn(cluster, wishOf(manifests)));
      assert.deepEqual(await dataOf(client, { namespace, name: kept }), { a: 'edited' });
      await assert.rejects(client.get(ConfigMap, { namespace, name: going }), (error) => isNotFound(error));
    },
  },
  {
    name: 'a deletion that something holds is pending for every process until it is gone, and is asked for once',
    run: async (cluster) => {
      const { namespace } = cluster;
      const name = fresh();
      const manifests = manifestsOf(
        configMapOf(namespace, name, {}, { annotations: { 'release.openshift.io/delete': 'true' } }),
      );
      await using client = cluster.client('administrator');
      await client.create(ConfigMap, configMapOf(namespace, name, {}, { finalizers: ['example.com/held'] }) as never);
      const first = await applyOn(cluster, wishOf(manifests));
      assert.deepEqual(
        [first.complete, first.deletions.map(({ finalizers }) => finalizers)],
        [true, [['example.com/held']]],
      );
      const writes = cluster.writes();
      const restarted = await applyOn(cluster, wishOf(manifests, { mode: 'reconciling' }));
      assert.deepEqual([restarted.deletions.map(({ object }) => object.name), cluster.writes()], [[name], writes]);
      await client.mergePatch(ConfigMap, { namespace, name }, { metadata: { finalizers: null } });
      assert.deepEqual((await applyOn(cluster, wishOf(manifests))).deletions, []);
    },
  },
  {
    name: 'of two owners that claim one object both are named, and the later is refused; what it brings besides is applied',
    run: async (cluster) => {
      const { namespace } = cluster;
      const [both, alone, first, second] = [fresh(), fresh(), fresh(), fresh()];
      const shared = (value: string) => configMapOf(namespace, both, { by: value });
      complete(await applyOn(cluster, wishOf(manifestsOf(shared('first')), { owner: `Payload ${first}` })));
      const files = manifestsOf(shared('second'));
      const other = readManifestFile(
        '0000_10_b_00.yaml',
        JSON.stringify(configMapOf(namespace, alone, { by: 'second' })),
      );
      const wish = wishOf([...files, ...other], { owner: `Payload ${second}` });
      for (const attempt of [0, 1]) {
        const outcome = await applyOn(cluster, { ...wish, attempt });
        assert.deepEqual([outcome.complete, outcome.errors.map(({ reason }) => reason)], [false, ['ResourceClaimed']]);
        assert.match(
          outcome.errors[0]?.message ?? '',
          new RegExp(`0000_10_a_00\\.yaml:1.*Payload ${first}.*Payload ${second}`),
        );
      }
      await using client = cluster.client('administrator');
      assert.deepEqual(await dataOf(client, { namespace, name: both }), { by: 'first' });
      assert.deepEqual(await dataOf(client, { namespace, name: alone }), { by: 'second' });
    },
  },
  {
    name: 'what belongs to one owner another neither changes nor deletes; what its owner no longer brings another may have, and keeps',
    run: async (cluster) => {
      const { namespace } = cluster;
      const [name, first, second] = [fresh(), `Payload ${fresh()}`, `Payload ${fresh()}`];
      const key = { namespace, name };
      complete(
        await applyOn(cluster, wishOf(manifestsOf(configMapOf(namespace, name, { by: 'first' })), { owner: first })),
      );
      const going = configMapOf(namespace, name, {}, { annotations: { 'release.openshift.io/delete': 'true' } });
      const refused = await applyOn(cluster, wishOf(manifestsOf(going), { owner: second }));
      assert.deepEqual(
        refused.errors.map(({ reason }) => reason),
        ['ResourceClaimed'],
      );
      await using client = cluster.client('manager');
      assert.deepEqual(await dataOf(client, key), { by: 'first' });

      complete(await applyOn(cluster, wishOf([], { owner: first, version: '2.0.0' })));
      const takes = wishOf(manifestsOf(configMapOf(namespace, name, { by: 'second' })), { owner: second });
      complete(await applyOn(cluster, takes));
      assert.deepEqual(await dataOf(client, key), { by: 'second' });
      const { signal } = new AbortController();
      const inventory = await configMapInventory({ client, namespace }).open({ name: first }, signal);
      const ports = { client, inventory, owner: { name: first }, signal };
      assert.deepEqual(await findOrphans([], ports), [], 'what another owner has taken over is nobody else to remove');
    },
  },
  {
    name: 'an inventory tells nothing of what a Secret holds',
    run: async (cluster) => {
      const { namespace } = cluster;
      const name = fresh();
      const inventoryAfter = async (value: string) => {
        const secret = {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name, namespace },
          stringData: { password: value },
          data: { token: Buffer.from(value).toString('base64') },
        };
        const wish = wishOf(manifestsOf(secret));
        complete(await applyOn(cluster, wish));
        const before = cluster.writes();
        complete(await applyOn(cluster, wish));
        assert.equal(cluster.writes(), before);
        await using client = cluster.client('administrator');
        const { entries } = await configMapInventory({ client, namespace }).open(
          wish.owner,
          new AbortController().signal,
        );
        return JSON.stringify([...entries.values()]);
      };
      assert.equal(await inventoryAfter('one'), await inventoryAfter('two'));
    },
  },
  {
    name: 'a write that lost is decided anew: somebody else changed the object since it was read',
    run: async (cluster) => {
      const { namespace } = cluster;
      const name = fresh();
      const key = { namespace, name };
      complete(await applyOn(cluster, wishOf(manifestsOf(configMapOf(namespace, name, { a: '1' })))));
      await using client = cluster.client('administrator');
      const stale = await client.get(ConfigMap, key);
      await client.mergePatch(ConfigMap, key, { data: { theirs: 'x' } });
      const live = {
        look: (_kind: unknown, { name: of }: { readonly name: string }) =>
          of === name ? ({ known: true, object: stale as KubeObject } as const) : ({ known: false } as const),
      };
      complete(await applyOn(cluster, wishOf(manifestsOf(configMapOf(namespace, name, { a: '2' }))), { live }));
      assert.deepEqual(await dataOf(client, key), { a: '2', theirs: 'x' });
    },
  },
  {
    name: 'bad objects are told by file and line with what to do; they hold back what comes after them, and nothing else',
    run: async (cluster) => {
      const { namespace } = cluster;
      const [before, after, beside] = [fresh(), fresh(), fresh()];
      const text = (name: string, data: Readonly<Record<string, string>> = {}) =>
        JSON.stringify(configMapOf(namespace, name, data));
      const manifests = [
        ...readManifestFile('0000_10_a_1.yaml', `${text(before)}\n---\n${text(fresh(), { 'not/a key': 'x' })}\n`),
        ...readManifestFile('0000_10_a_2.yaml', text(after)),
        ...readManifestFile('0000_10_b_1.yaml', text(beside)),
        ...readManifestFile(
          '0000_10_c_1.yaml',
          JSON.stringify({ apiVersion: 'none.example.com/v1', kind: 'None', metadata: { name: 'x' } }),
        ),
        ...readManifestFile(
          '0000_10_d_1.yaml',
          JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }),
        ),
      ];
      const outcome = await applyOn(cluster, wishOf(manifests));
      const told = outcome.errors.map(({ file, line, reason }) => `${file}:${line} ${reason}`).toSorted();
      assert.deepEqual(told, [
        '0000_10_a_1.yaml:2 UpdatePayloadResourceInvalid',
        '0000_10_c_1.yaml:1 UpdatePayloadResourceTypeMissing',
        '0000_10_d_1.yaml:1 UpdatePayloadResourceInvalid',
      ]);
      assert.ok(outcome.errors.every(({ nextStep, effect }) => nextStep !== '' && effect === 'Fail'));
      assert.deepEqual([outcome.complete, outcome.progress.done, outcome.progress.total], [false, 2, 6]);
      await using client = cluster.client('administrator');
      await client.get(ConfigMap, { namespace, name: before });
      await client.get(ConfigMap, { namespace, name: beside });
      await assert.rejects(client.get(ConfigMap, { namespace, name: after }), (error) => isNotFound(error));
    },
  },
  {
    name: 'RB-R72 a definition that is deleted takes its objects along: the inventory has them before they go',
    run: async (cluster) => {
      const { namespace } = cluster;
      const { crd, kind } = widgetDefinition(`${fresh()}.example.com`);
      complete(await applyOn(cluster, wishOf(manifestsOf(crd))));
      await using client = cluster.client('administrator');
      for (const name of ['one', 'two', 'three'])
        await until(`${name} can be made`, () =>
          client
            .create(kind, { metadata: { namespace, name } })
            .catch((error) => (isNotFound(error) ? false : Promise.reject(error))),
        );
      const going = {
        ...crd,
        metadata: { ...(crd['metadata'] as Loose), annotations: { 'release.openshift.io/delete': 'true' } },
      };
      const incoming = manifestsOf(going);
      await applyOn(cluster, wishOf(incoming, { version: '2.0.0' }));
      await using reader = cluster.client('administrator');
      const { entries } = await configMapInventory({ client: reader, namespace }).open(
        wishOf([]).owner,
        new AbortController().signal,
      );
      const lost = deletedData(incoming, entries).map((one) => `${one.class} ${one.id.name} ${one.lost}`);
      const name = (crd['metadata'] as { readonly name: string }).name;
      assert.deepEqual(
        lost.toSorted(),
        ['one', 'three', 'two'].map((one) => `DELETED_DATA ${name} ${namespace}/${one}`),
      );
      await until('the definition is gone', async () => {
        const { deletions } = await applyOn(cluster, wishOf(incoming, { version: '2.0.0' }));
        return deletions.length === 0;
      });
      await assert.rejects(client.get(DEFINITION, { name }), (error) => isNotFound(error));
    },
  },
  {
    name: 'a plan says what apply then does, changes nothing, and says afterwards that nothing is to be done',
    run: async (cluster) => {
      const { namespace } = cluster;
      const [going, left, changed, made] = [fresh(), fresh(), fresh(), fresh()];
      const { crd } = widgetDefinition(`${fresh()}.example.com`);
      const older = [configMapOf(namespace, left, {}), configMapOf(namespace, changed, { a: '1' }), crd];
      complete(await applyOn(cluster, wishOf(manifestsOf(...older))));
      await using client = cluster.client('manager');
      await client.create({ ...ConfigMap, kind: 'Secret', plural: 'secrets' } as never, {
        metadata: { namespace, name: going },
      });
      const deleted = { metadata: { name: going, namespace, annotations: { 'release.openshift.io/delete': 'true' } } };
      const wish = wishOf(
        manifestsOf(
          { apiVersion: 'v1', kind: 'Secret', ...deleted },
          configMapOf(namespace, changed, { a: '2' }),
          configMapOf(namespace, made, {}),
          crd,
        ),
        { version: '2.0.0' },
      );
      const plan = async () => {
        const inventory = configMapInventory({ client, namespace });
        return await planPayload(wish, { client, inventory, signal: new AbortController().signal });
      };
      const before = cluster.writes();
      const { phases, counts, deletedData: lost, orphans } = await plan();
      assert.equal(cluster.writes(), before);
      const objects = phases.flatMap(({ nodes }) => nodes.flatMap((node) => node.objects));
      assert.deepEqual(
        objects.map(({ action, id, wait }) => [action, id.name, wait]),
        [
          ['delete', going, undefined],
          ['update', changed, undefined],
          ['create', made, undefined],
          ['nothing', crd.metadata.name, 'it is established'],
        ],
      );
      assert.deepEqual(objects[1]?.differences, [{ path: 'data.a', was: '"1"', is: '"2"' }]);
      assert.deepEqual(
        lost.map((one) => one.lost),
        [`${namespace}/${going}`],
      );
      assert.deepEqual(
        orphans.map(({ id, made: ours, releases }) => [id.name, ours, releases]),
        [[left, true, ['1.0.0']]],
      );
      assert.deepEqual(counts, { create: 1, update: 1, delete: 1, wait: 0, nothing: 1, refuse: 0 });
      complete(await applyOn(cluster, wish));
      assert.equal((await plan()).counts.nothing, 4);
    },
  },
  {
    name: 'the end of the signal leaves the rest incomplete, and is no failure',
    run: async (cluster) => {
      const { namespace } = cluster;
      const manifests = manifestsOf(...Array.from({ length: 5 }, () => configMapOf(namespace, fresh(), { a: '1' })));
      const end = new AbortController();
      const outcome = await applyOn(cluster, wishOf(manifests), {
        signal: end.signal,
        onProgress: ({ done }) => {
          if (done === 2) end.abort(new Error('the attempt is over'));
        },
      });
      assert.deepEqual([outcome.complete, outcome.errors, outcome.progress.done], [false, [], 2]);
      complete(await applyOn(cluster, wishOf(manifests)));
    },
  },
  {
    name: 'integers of 64 bits, of definitions and of objects, are written and compared digit by digit',
    run: async (cluster) => {
      const { namespace } = cluster;
      const { crd, kind } = widgetDefinition(`${fresh()}.example.com`);
      const [limit, size, next] = [9223372036854775807n, 9007199254740993n, 9007199254740995n];
      const text = jsonText(crd).replace('"default":3', `"default":${limit}`);
      assert.ok(text.includes(`${limit}`));
      const yaml = (of: bigint): string =>
        `apiVersion: ${kind.group}/v1\nkind: Widget\nmetadata: { name: w, namespace: ${namespace} }\nspec: { size: ${of}, color: red }\n`;
      const release = (of: bigint) => [
        ...readManifestFile('release-manifests/0000_10_a_00.yaml', text),
        ...readManifestFile('release-manifests/0000_10_a_01.yaml', yaml(of)),
      ];
      complete(await applyOn(cluster, wishOf(release(size))));
      await using client = cluster.client('administrator');
      const stored = async (): Promise<string> => {
        const objects = [
          await client.get(DEFINITION, { name: crd.metadata.name }),
          await client.get(kind, { namespace, name: 'w' }),
        ];
        return objects.map((one) => jsonText(withExact(one, BigInt))).join();
      };
      assert.ok((await stored()).includes(`"default":${limit}`));
      assert.ok((await stored()).includes(`"size":${size}`));
      const before = cluster.writes();
      complete(await applyOn(cluster, wishOf(release(size), { mode: 'reconciling' })));
      assert.equal(cluster.writes(), before, 'what is as it should be is not written again');
      complete(await applyOn(cluster, wishOf(release(next))));
      assert.ok((await stored()).includes(`"size":${next}`));
    },
  },
];
