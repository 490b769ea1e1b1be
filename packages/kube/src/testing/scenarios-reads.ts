import assert from 'node:assert/strict';
import type { WatchEvent } from '../client/client.ts';
import { isExpired } from '../errors.ts';
import {
  type ClusterScenario,
  configMap,
  configMapsPath,
  fresh,
  refused,
  type ScenarioCluster,
  versionOf,
  widget,
} from './scenarios.ts';
import { WIDGET } from './scenarios-crds.ts';
import { CONFIG_MAP, type ConfigMap } from './server.ts';

/** Makes ConfigMaps `<mark>-0`… with the label `mark` and, on every second one, `odd`. */
async function several(
  cluster: ScenarioCluster,
  count: number,
): Promise<{ readonly mark: string; readonly made: readonly ConfigMap[] }> {
  const mark = fresh();
  const made: ConfigMap[] = [];
  for (let n = 0; n < count; n++) {
    const labels = { mark, n: String(n), ...(n % 2 === 0 ? {} : { odd: 'y' }) };
    made.push(await cluster.client.create(CONFIG_MAP, configMap(cluster, {}, { name: `${mark}-${n}`, labels })));
  }
  return { mark, made };
}

interface RawList {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly ConfigMap[];
}

/** Events of a watch from a version until `count` have come; a deadline of 10 s ends the wait. Bookmarks are left out. */
async function events(
  cluster: ScenarioCluster,
  from: string,
  count: number,
  where: { readonly labels?: string; readonly fields?: string } = {},
): Promise<readonly Exclude<WatchEvent<ConfigMap>, { readonly type: 'BOOKMARK' }>[]> {
  const seen: Exclude<WatchEvent<ConfigMap>, { readonly type: 'BOOKMARK' }>[] = [];
  const signal = AbortSignal.timeout(10_000);
  const watch = { resourceVersion: from, timeoutSeconds: 60 };
  for await (const event of cluster.client.watch(
    CONFIG_MAP,
    watch,
    { namespace: cluster.namespace, ...where },
    { signal },
  )) {
    if (event.type !== 'BOOKMARK') seen.push(event);
    if (seen.length >= count) break;
  }
  return seen;
}

/** Lists, selectors, pages, watches, and what becomes of them when history is gone. */
export const READ_SCENARIOS: readonly ClusterScenario[] = [
  {
    name: 'label selectors: equality, sets, existence, comparison, joined by commas',
    async run(cluster) {
      const { client, namespace } = cluster;
      const { mark } = await several(cluster, 5);
      const listed = async (labels: string): Promise<string> =>
        (await Array.fromAsync(client.list(CONFIG_MAP, { namespace, labels: `mark=${mark},${labels}` })))
          .map(({ metadata }) => metadata.labels?.['n'])
          .join('');
      const expected = {
        odd: '13',
        '!odd': '024',
        'odd=y': '13',
        'odd!=y': '024',
        'n in (1,2)': '12',
        'n notin (1, 2),odd': '3',
        'odd notin (y)': '024',
        'n==3': '3',
        'n>2': '34',
        'n<1': '0',
        'odd=': '',
      };
      for (const [labels, names] of Object.entries(expected)) assert.equal(await listed(labels), names, labels);
      await refused(Array.fromAsync(client.list(CONFIG_MAP, { namespace, labels: 'a==b==c' })), 'BadRequest', 400);
    },
  },
  {
    name: 'field selectors: name and namespace, and nothing else',
    async run(cluster) {
      const { client, namespace } = cluster;
      const { mark } = await several(cluster, 3);
      const listed = async (fields: string): Promise<readonly string[]> =>
        (await Array.fromAsync(client.list(CONFIG_MAP, { labels: `mark=${mark}`, fields }))).map(
          ({ metadata }) => metadata.name,
        );
      assert.deepEqual(await listed(`metadata.name=${mark}-1`), [`${mark}-1`]);
      assert.deepEqual(await listed(`metadata.name!=${mark}-1,metadata.namespace=${namespace}`), [
        `${mark}-0`,
        `${mark}-2`,
      ]);
      assert.deepEqual(await listed('metadata.namespace=other'), []);
      await refused(listed('data.x=1'), 'BadRequest', 400);
      await refused(Array.fromAsync(client.list(WIDGET, { namespace, fields: 'spec.size=1' })), 'BadRequest', 400);
    },
  },
  {
    name: 'pages are of one version, in key order, and count what remains unless selected',
    async run(cluster) {
      const { client } = cluster;
      const { mark, made } = await several(cluster, 5);
      const path = `${configMapsPath(cluster)}?limit=2&labelSelector=mark%3D${mark}`;
      const first = (await client.raw({ path })) as RawList;
      assert.deepEqual(
        first.items.map(({ metadata }) => metadata.name),
        [`${mark}-0`, `${mark}-1`],
      );
      assert.equal(first.metadata.remainingItemCount, undefined);
      // Neither a deletion nor a change nor a new object after the first page is seen by the later ones.
      await client.delete(CONFIG_MAP, made[2]?.metadata ?? { name: '' });
      await client.mergePatch(CONFIG_MAP, made[3]?.metadata ?? { name: '' }, { data: { late: 'x' } });
      await client.create(CONFIG_MAP, configMap(cluster, {}, { name: `${mark}-2a`, labels: { mark } }));
      const next = `${path}&continue=${encodeURIComponent(first.metadata.continue ?? '')}`;
      const second = (await client.raw({ path: next })) as RawList;
      assert.deepEqual(
        second.items.map(({ metadata, data }) => [metadata.name, data]),
        [
          [`${mark}-2`, undefined],
          [`${mark}-3`, undefined],
        ],
      );
      assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
      const last = `${path}&continue=${encodeURIComponent(second.metadata.continue ?? '')}`;
      const third = (await client.raw({ path: last })) as RawList;
      assert.deepEqual([third.items.length, third.metadata.continue], [1, undefined]);
      const all = (await client.raw({ path: `${configMapsPath(cluster)}?limit=1` })) as RawList;
      assert.ok((all.metadata.remainingItemCount ?? 0) >= 4);
      await refused(client.raw({ path: `${next}&resourceVersion=5` }), 'BadRequest', 400);
      await refused(client.raw({ path: `${path}&continue=zzz` }), 'BadRequest', 400);
    },
  },
  {
    name: 'a list of exactly an older version shows that version, one of the future is a timeout',
    async run(cluster) {
      const { client } = cluster;
      const { mark, made } = await several(cluster, 2);
      const path = `${configMapsPath(cluster)}?labelSelector=mark%3D${mark}`;
      const before = (await client.raw({ path })) as RawList;
      await client.delete(CONFIG_MAP, made[0]?.metadata ?? { name: '' });
      const exact = `${path}&resourceVersionMatch=Exact&resourceVersion=${before.metadata.resourceVersion}`;
      assert.equal(((await client.raw({ path: exact })) as RawList).items.length, 2);
      await refused(client.raw({ path: `${path}&resourceVersionMatch=Exact` }), 'Invalid', 422);
      await refused(client.raw({ path: `${path}&resourceVersion=abc` }), 'BadRequest', 400);
      // The real server waits 3 s for it to come.
      const future = await refused(client.raw({ path: `${path}&resourceVersion=99999999999` }), 'Timeout', 504);
      assert.equal(future.details.causes?.[0]?.reason, 'ResourceVersionTooLarge');
    },
  },
  {
    name: 'a watch tells every change of its kind once, in the order of versions, from where it was asked',
    async run(cluster) {
      const { client } = cluster;
      const { made } = await several(cluster, 2);
      const [first, second] = made;
      assert.ok(first !== undefined && second !== undefined);
      await client.mergePatch(CONFIG_MAP, first.metadata, { data: { a: '1' } });
      await client.create(WIDGET, widget(cluster));
      await client.delete(CONFIG_MAP, second.metadata);
      await client.mergePatch(CONFIG_MAP, first.metadata, { data: { a: '2' } });
      const seen = await events(cluster, versionOf(first), 4);
      assert.deepEqual(
        seen.map(({ type, object }) => [type, object.metadata.name, object.data?.['a']]),
        [
          ['ADDED', second.metadata.name, undefined],
          ['MODIFIED', first.metadata.name, '1'],
          ['DELETED', second.metadata.name, undefined],
          ['MODIFIED', first.metadata.name, '2'],
        ],
      );
      const versions = seen.map(({ object }) => Number(versionOf(object)));
      assert.deepEqual(
        versions,
        versions.toSorted((a, b) => a - b),
      );
      assert.ok((versions[2] ?? 0) > Number(versionOf(second)), 'a deletion has a version of its own');
    },
  },
  {
    name: 'a selecting watch: what begins to match is added, what ends to match is deleted as it was',
    async run(cluster) {
      const { client } = cluster;
      const { mark, made } = await several(cluster, 1);
      const key = made[0]?.metadata ?? { name: '' };
      const from = versionOf(made[0] ?? { metadata: { name: '' } });
      await client.mergePatch(CONFIG_MAP, key, { metadata: { labels: { odd: 'y' } }, data: { a: '1' } });
      await client.mergePatch(CONFIG_MAP, key, { data: { a: '2' } });
      await client.mergePatch(CONFIG_MAP, key, { metadata: { labels: { odd: null } }, data: { a: '3' } });
      await client.mergePatch(CONFIG_MAP, key, { metadata: { labels: { odd: 'y' } } });
      const seen = await events(cluster, from, 4, { labels: `mark=${mark},odd=y` });
      assert.deepEqual(
        seen.map(({ type, object }) => [type, object.data?.['a'], object.metadata.labels?.['odd']]),
        [
          ['ADDED', '1', 'y'],
          ['MODIFIED', '2', 'y'],
          ['DELETED', '2', 'y'],
          ['ADDED', '3', 'y'],
        ],
      );
      const named = await events(cluster, from, 1, { fields: `metadata.name=${key.name}` });
      assert.equal(named[0]?.object.data?.['a'], '1');
    },
  },
  {
    name: 'a finished deletion is told as the object last was, with its finalizers',
    async run(cluster) {
      const { client } = cluster;
      const made = await client.create(CONFIG_MAP, configMap(cluster, {}, { finalizers: ['drydock.dev/a'] }));
      await client.delete(CONFIG_MAP, made.metadata);
      await client.mergePatch(CONFIG_MAP, made.metadata, { metadata: { finalizers: null } });
      const seen = await events(cluster, versionOf(made), 2, { fields: `metadata.name=${made.metadata.name}` });
      assert.deepEqual(
        seen.map(({ type, object }) => [
          type,
          object.metadata.finalizers,
          object.metadata.deletionTimestamp !== undefined,
        ]),
        [
          ['MODIFIED', ['drydock.dev/a'], true],
          ['DELETED', ['drydock.dev/a'], true],
        ],
      );
    },
  },
  {
    name: 'a watch without a version begins with what is there, as additions',
    async run(cluster) {
      const { mark, made } = await several(cluster, 3);
      await cluster.client.delete(CONFIG_MAP, made[1]?.metadata ?? { name: '' });
      const seen = await events(cluster, '', 2, { labels: `mark=${mark}` });
      assert.deepEqual(
        seen.map(({ type, object }) => [type, object.metadata.name]),
        [
          ['ADDED', `${mark}-0`],
          ['ADDED', `${mark}-2`],
        ],
      );
    },
  },
  {
    name: 'the server ends a watch in time, and shortly before says how far the kind has come since it began',
    async run(cluster) {
      const { client, namespace } = cluster;
      const { made } = await several(cluster, 1);
      const from = versionOf(made[0] ?? { metadata: { name: '' } });
      const signal = AbortSignal.timeout(15_000);
      const bookmarks = async (opened: () => void): Promise<readonly string[]> => {
        const watch = { resourceVersion: from, timeoutSeconds: 4, opened };
        const seen: string[] = [];
        for await (const event of client.watch(
          CONFIG_MAP,
          watch,
          { namespace, labels: `mark=${fresh()}` },
          { signal },
        )) {
          if (event.type === 'BOOKMARK') seen.push(event.resourceVersion);
        }
        return seen;
      };
      const changed = Promise.withResolvers<string>();
      const seen = await bookmarks(() => {
        client.create(CONFIG_MAP, configMap(cluster)).then((one) => changed.resolve(versionOf(one)), changed.reject);
      });
      assert.ok(Number(seen.at(-1)) >= Number(await changed.promise), String(seen));
    },
  },
  {
    name: 'the initial list can be streamed: additions, then a bookmark that says so',
    async run(cluster) {
      const { mark } = await several(cluster, 2);
      const path = `${configMapsPath(cluster)}?watch=true&labelSelector=mark%3D${mark}&sendInitialEvents=true`;
      await refused(cluster.client.raw({ path }), 'Invalid', 422);
      const whole = `${path}&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1`;
      const text = String(await cluster.client.raw({ path: whole }));
      const lines = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { type: string; object: ConfigMap });
      assert.deepEqual(
        lines.slice(0, 3).map(({ type }) => type),
        ['ADDED', 'ADDED', 'BOOKMARK'],
      );
      assert.equal(lines[2]?.object.metadata.annotations?.['k8s.io/initial-events-end'], 'true');
    },
  },
  {
    name: 'after a compaction older watches, continue tokens and exact lists are expired',
    async run(cluster) {
      const { client } = cluster;
      const { mark, made } = await several(cluster, 3);
      const path = `${configMapsPath(cluster)}?limit=1&labelSelector=mark%3D${mark}`;
      const page = (await client.raw({ path })) as RawList;
      await client.mergePatch(CONFIG_MAP, made[0]?.metadata ?? { name: '' }, { data: { a: '1' } });
      await cluster.forget();
      await assert.rejects(events(cluster, versionOf(made[0] ?? { metadata: { name: '' } }), 1), isExpired);
      const token = encodeURIComponent(page.metadata.continue ?? '');
      await refused(client.raw({ path: `${path}&continue=${token}` }), 'Expired', 410);
      const exact = `${path}&resourceVersionMatch=Exact&resourceVersion=${page.metadata.resourceVersion}`;
      await refused(client.raw({ path: exact }), 'Expired', 410);
      const now = (await client.raw({ path })) as RawList;
      await client.mergePatch(CONFIG_MAP, made[1]?.metadata ?? { name: '' }, { data: { a: '2' } });
      const [seen] = await events(cluster, now.metadata.resourceVersion, 1, { labels: `mark=${mark}` });
      assert.equal(seen?.object.data?.['a'], '2');
    },
  },
];
