import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReport, ERAS, type Finding, readCrd } from '@drydock/crd';
import { ApiError, type KubeObject, type ListPage } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import { clusterCrds, eraOf, serverMinor } from './cluster-schemas.ts';
import { probe } from './probe.ts';
import { type ScanOptions, type ScanProgress, scan } from './scan.ts';
import { sweepShadows } from './shadow.ts';

function manifest(plural: string, phases: readonly string[] | undefined): unknown {
  const phase = { type: 'string', ...(phases === undefined ? {} : { enum: phases }) };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { kind: plural === 'things' ? 'Thing' : 'Other', plural },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { phase } } } },
          },
        },
      ],
    },
  };
}

const crd = (plural: string, phases?: readonly string[]) => readCrd(manifest(plural, phases) as never, 'test');
const things = { group: 'example.com', version: 'v1', kind: 'Thing', plural: 'things', scope: 'Cluster' } as const;

async function collect(options: Omit<ScanOptions, 'now' | 'target'>): Promise<readonly Finding[]> {
  const all: Finding[] = [];
  for await (const findings of scan({ now: ERAS.E2, target: ERAS.E0, ...options })) all.push(...findings);
  return all;
}

function object(name: string, phase: string, version = '1'): KubeObject {
  return {
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name, uid: name, resourceVersion: version },
    spec: { phase },
  } as KubeObject;
}

/** Pages of a list; a function throws instead. */
function pagesFrom(...lists: readonly (readonly (readonly KubeObject[] | ApiError)[])[]): {
  readonly client: ScanOptions['client'];
  readonly lists: () => number;
} {
  let list = 0;
  return {
    lists: () => list,
    client: {
      async *pages() {
        const pages = lists[Math.min(list, lists.length - 1)] ?? [];
        list += 1;
        for (const page of pages) {
          if (page instanceof ApiError) throw page;
          yield { items: page, resourceVersion: '1' } as unknown as ListPage<never>;
        }
      },
    },
  };
}

const failed = (code: ApiError['code']): ApiError => new ApiError({ code, action: 'list Things', said: 'no' });

test('objects of a cluster are judged, and the definitions are read from it', async () => {
  const cluster = memoryCluster({ crds: [manifest('things', ['a', 'b'])] });
  await using client = cluster.client();
  for (const [name, phase] of [
    ['one', 'a'],
    ['two', 'b'],
  ] as const)
    await client.create(things, {
      apiVersion: 'example.com/v1',
      kind: 'Thing',
      metadata: { name },
      spec: { phase },
    } as KubeObject);
  const findings = await collect({ client, crds: [crd('things', ['a', 'b'])], wanted: [crd('things', ['a'])] });
  assert.deepEqual(
    findings.map((finding) => `${finding.class} ${finding.object} ${finding.path}`),
    ['BLOCK_SPEC two spec.phase'],
  );
  assert.match(findings[0]?.resourceVersion ?? '', /^\d+$/, 'the version that was looked at is stated');
});

test('RB-R77: a kind that may not be listed is undecided, and the rest goes on', async () => {
  const client: ScanOptions['client'] = {
    async *pages(resource) {
      if (resource.plural === 'others') throw failed('Forbidden');
      yield { items: [object('x', 'b')], resourceVersion: '1' } as unknown as ListPage<never>;
    },
  };
  const findings = await collect({
    client,
    crds: [crd('others'), crd('things', ['a', 'b'])],
    wanted: [crd('others'), crd('things', ['a'])],
  });
  assert.deepEqual(
    findings.map((finding) => `${finding.class} ${finding.crd}`),
    ['UNDECIDED others.example.com', 'BLOCK_SPEC things.example.com'],
  );
  const report = createReport();
  report.add(findings.slice(0, 1));
  assert.equal(report.build().verdict, 'undecided');
});

for (const [code, said] of [
  ['NotFound', /deleted during the scan/],
  ['ServerError', /cannot convert/],
  ['BadAnswer', /could not be listed/],
] as const)
  test(`a list that ends in ${code} is a verdict about its kind`, async () => {
    const { client } = pagesFrom([[object('x', 'b')], failed(code)]);
    const findings = await collect({ client, crds: [crd('things')], wanted: [crd('things', ['a'])] });
    assert.deepEqual(
      findings.map((finding) => finding.class),
      ['BLOCK_SPEC', 'UNDECIDED'],
    );
    assert.match(findings[1]?.what ?? '', said);
  });

test('RB-R67: an expired list starts again, and no object is judged twice', async () => {
  const { client, lists } = pagesFrom(
    [[object('x', 'b')], failed('Expired')],
    [[object('x', 'b')], [object('y', 'b')]],
  );
  const findings = await collect({ client, crds: [crd('things')], wanted: [crd('things', ['a'])] });
  assert.deepEqual([findings.map((finding) => finding.object), lists()], [['x', 'y'], 2]);
  const hopeless = pagesFrom([failed('Expired')]);
  assert.deepEqual(
    (await collect({ client: hopeless.client, crds: [crd('things')], wanted: [crd('things')] })).map(
      (finding) => finding.class,
    ),
    ['UNDECIDED'],
  );
});

test('RB-R67: pages of 500 are let go one by one', async () => {
  const page = (from: number): readonly KubeObject[] =>
    Array.from({ length: 500 }, (_, index) => object(`o${from + index}`, 'b'));
  const progress: ScanProgress[] = [];
  let held = 0;
  const client: ScanOptions['client'] = {
    async *pages() {
      for (let from = 0; from < 10_000; from += 500) {
        held += 1;
        yield { items: page(from), resourceVersion: '1' } as unknown as ListPage<never>;
        held -= 1;
        assert.equal(held, 0);
      }
    },
  };
  const report = createReport();
  for await (const findings of scan({
    client,
    crds: [crd('things')],
    wanted: [crd('things', ['a'])],
    now: ERAS.E2,
    target: ERAS.E0,
    progress: (at) => progress.push(at),
  }))
    report.add(findings);
  assert.deepEqual(
    report.build().groups.map(({ count, objects }) => [count, objects]),
    [[10_000, 10_000]],
  );
  assert.equal(progress.at(-1)?.objects, 10_000);
});

test('RB-R68: what changed during a long scan is judged once more, and nothing else', async () => {
  const first = [[object('x', 'a', '1'), object('y', 'a', '1')], [object('z', 'a', '1')]];
  const second = [[object('x', 'a', '1'), object('y', 'b', '2')], [object('z', 'a', '1')]];
  const { client } = pagesFrom(first, second);
  const seen: (readonly [string, string])[] = [];
  for await (const findings of scan({
    client,
    crds: [crd('things')],
    wanted: [crd('things', ['a'])],
    again: true,
    now: ERAS.E2,
    target: ERAS.E0,
  }))
    for (const finding of findings) seen.push([finding.object, finding.resourceVersion]);
  assert.deepEqual(seen, [['y', '2']]);
});

test('a definition that cannot be judged is named, and the others are read', async () => {
  const broken = {
    list: async function* () {
      yield { metadata: { name: 'x.example.com' }, spec: {} } as never;
      yield manifest('things', ['a']) as never;
    },
  };
  const { crds, unreadable: bad } = await clusterCrds(broken as never);
  assert.deepEqual(
    crds.map(({ name }) => name),
    ['things.example.com'],
  );
  assert.deepEqual(
    bad.map(({ crd: name }) => name),
    ['x.example.com'],
  );
});

test('the era of a server follows from its version, and an emulated version counts', async () => {
  const says = (version: unknown) => serverMinor({ raw: () => Promise.resolve(version) });
  assert.deepEqual(await says({ minor: '34' }), { era: 'E2', minor: 34 });
  assert.deepEqual(await says({ minor: '34+', emulationMinor: '32' }), { era: 'E1', minor: 32 });
  assert.deepEqual([eraOf(29).era, eraOf(30).era, eraOf(33).era], ['E0', 'E1', 'E2']);
});

/** A cluster that keeps definitions, and answers to dry runs as it is told. */
function probeWorld(answer: () => Promise<unknown>) {
  const stored = new Map<string, KubeObject>();
  const cluster = {
    async *list() {
      yield* stored.values();
    },
    create: async (_resource: unknown, created: KubeObject, options: { readonly dryRun?: boolean } = {}) => {
      if (options.dryRun !== true) stored.set(created.metadata.name, created);
      else await answer();
      return created;
    },
    get: () => Promise.reject(failed('NotFound')),
    async *pages() {
      yield { items: [object('x', 'b'), object('legal', 'a')], resourceVersion: '1' };
    },
    delete: (_resource: unknown, { name }: { readonly name: string }) => {
      stored.delete(name);
      return Promise.resolve();
    },
    raw: () => Promise.resolve({}),
  };
  return { cluster: cluster as never, stored };
}

test('RB-R74: the probe gives the verdict of the server, and its definition is gone afterwards, also after an interruption', async () => {
  const requests = [{ crd: crd('things'), target: crd('things', ['a']), objects: new Set(['x']) }];
  const refuse = () =>
    Promise.reject(
      new ApiError({
        code: 'Invalid',
        action: 'create',
        said: 'no',
        details: { causes: [{ reason: 'FieldValueNotSupported', field: 'spec.phase' }] },
      }),
    );
  const world = probeWorld(refuse);
  const options = { now: ERAS.E2, target: ERAS.E1, run: 'r1' };
  const findings: Finding[] = [];
  for await (const more of probe(world.cluster, requests, options)) {
    findings.push(...more);
    assert.equal(world.stored.size, 1);
  }
  assert.deepEqual(
    findings.map((finding) => `${finding.class} ${finding.object} ${finding.path}`),
    ['BLOCK_SPEC x spec.phase'],
  );
  assert.equal(world.stored.size, 0);

  const controller = new AbortController();
  const interrupted = probeWorld(() => {
    controller.abort(new DOMException('SIGINT', 'AbortError'));
    return Promise.reject(controller.signal.reason as Error);
  });
  const run = Array.fromAsync(probe(interrupted.cluster, requests, { ...options, signal: controller.signal }));
  await assert.rejects(run, { name: 'AbortError' });
  assert.equal(interrupted.stored.size, 0);
});

test('a sweep takes shadows alone', async () => {
  const world = probeWorld(() => Promise.resolve());
  world.stored.set('theirs.example.com', { metadata: { name: 'theirs.example.com' } });
  world.stored.set('a.shadow.drydock.dev', { metadata: { name: 'a.shadow.drydock.dev' } });
  assert.equal(await sweepShadows(world.cluster), 1);
  assert.deepEqual([...world.stored.keys()], ['theirs.example.com']);
});
