import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReport, ERAS, type Finding, readCrd } from '@drydock/crd';
import { ApiError, createClient, type KubeObject, type ListPage } from '@drydock/kube';
import { memoryCluster, misbehavingServer } from '@drydock/kube/testing';
import { clusterCrds, clusterEra, eraOf } from './cluster-schemas.ts';
import { type ScanOptions, type ScanProgress, scan } from './scan.ts';

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

/** What a scan with a second look tells, and of how many objects. */
async function lookTwice(client: ScanOptions['client']): Promise<{ readonly seen: unknown; readonly objects: number }> {
  const seen: (readonly [string, string, string])[] = [];
  const options = { client, crds: [crd('things')], wanted: [crd('things', ['a'])], now: ERAS.E2, target: ERAS.E0 };
  const pages = scan({ ...options, again: true });
  for (;;) {
    const { done, value } = await pages.next();
    if (done === true) return { seen, objects: value.objects };
    for (const finding of value) seen.push([finding.class, finding.object, finding.resourceVersion]);
  }
}

test('RB-R68: what changed during a long scan is judged as it is now, what is gone no longer counts, and each verdict states the version', async () => {
  const first = [
    [object('healed', 'b', '1'), object('spoilt', 'a', '1'), object('bad', 'b', '1')],
    [object('good', 'a', '1'), object('gone', 'b', '1')],
  ];
  const second = [
    [object('healed', 'a', '2'), object('spoilt', 'b', '2'), object('bad', 'b', '1')],
    [object('good', 'a', '1'), object('fresh', 'b', '3')],
  ];
  const whole = pagesFrom(first, second);
  assert.deepEqual(await lookTwice(whole.client), {
    seen: [
      ['BLOCK_SPEC', 'spoilt', '2'],
      ['BLOCK_SPEC', 'bad', '1'],
      ['BLOCK_SPEC', 'fresh', '3'],
    ],
    objects: 5,
  });
  assert.equal(whole.lists(), 2);
  // A second look that breaks off leaves what the first one saw.
  assert.deepEqual(await lookTwice(pagesFrom(first, [second[0] ?? [], failed('Forbidden')]).client), {
    seen: [
      ['BLOCK_SPEC', 'spoilt', '2'],
      ['BLOCK_SPEC', 'bad', '1'],
      ['BLOCK_SPEC', 'gone', '1'],
      ['UNDECIDED', '', ''],
    ],
    objects: 5,
  });
  // One that expires starts again.
  const expired = pagesFrom(first, [second[0] ?? [], failed('Expired')], second);
  assert.equal((await lookTwice(expired.client)).objects, 5);
  assert.equal(expired.lists(), 3);
  // A kind of one page is consistent, and is not listed again.
  const short = pagesFrom([[object('bad', 'b', '1')]]);
  assert.deepEqual(await lookTwice(short.client), { seen: [['BLOCK_SPEC', 'bad', '1']], objects: 1 });
  assert.equal(short.lists(), 1);
});

test('integers of 64 bits are judged by all their digits', async () => {
  const sized = readCrd(
    JSON.parse(JSON.stringify(manifest('things', undefined)).replaceAll('"phase":{"type":"string"}', SIZES)) as never,
    'test',
  );
  const item = (name: string, phase: string): string => `{"metadata":{"name":"${name}"},"spec":{"phase":${phase}}}`;
  const items = [
    item('largest', '[9223372036854775807]'),
    item('too-large', '[9223372036854775808]'),
    item('neighbours', '[9007199254740992,9007199254740993]'),
    item('twins', '[9007199254740993,9007199254740993]'),
  ];
  await using server = await misbehavingServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(`{"metadata":{"resourceVersion":"1"},"items":[${items.join()}]}`);
  });
  await using client = createClient(server.config);
  const findings = await collect({ client, crds: [crd('things')], wanted: [sized] });
  assert.deepEqual(
    findings.filter((finding) => finding.class !== 'BLOCK_SSA').map((finding) => `${finding.class} ${finding.object}`),
    ['BLOCK_SPEC too-large', 'BLOCK_CREATE twins'],
  );
});
const SIZES = '"phase":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer","format":"int64"}}';

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

test('TRUTH-16 the era of a server is what it says of its gate; its version alone counts where it says nothing', async () => {
  const asked: string[] = [];
  const says = (version: unknown, metrics?: string) =>
    clusterEra({
      raw: ({ path }) => {
        asked.push(path);
        if (path === '/version') return Promise.resolve(version);
        if (metrics === undefined)
          return Promise.reject(new ApiError({ code: 'Forbidden', action: 'GET /metrics', said: 'no' }));
        return Promise.resolve(metrics);
      },
    });
  const gate = (value: 0 | 1): string =>
    `# TYPE kubernetes_feature_enabled gauge\nkubernetes_feature_enabled{name="CRDValidationRatcheting",stage="BETA"} ${value}\nother 1\n`;
  const era = async (...args: Parameters<typeof says>) => {
    const { notes, server } = await says(...args);
    return [server.era, server.minor, notes.length];
  };
  assert.deepEqual(await era({ minor: '34' }), ['E2', 34, 0]);
  assert.deepEqual(asked, ['/version'], 'where the gate is locked nobody asks for it');
  assert.deepEqual(await era({ minor: '32' }, gate(0)), ['E0', 32, 0]);
  assert.deepEqual(await era({ minor: '32' }, gate(1)), ['E1', 32, 0]);
  assert.deepEqual(await era({ minor: '29' }, gate(1)), ['E1', 29, 0]);
  assert.deepEqual(await era({ minor: '34+', emulationMinor: '32' }, gate(0)), ['E0', 32, 0]);
  assert.deepEqual(await era({ minor: '34+', emulationMinor: '32' }, gate(1)), ['E2', 32, 0]);
  assert.deepEqual(await era({ minor: '34+', emulationMinor: '32' }), ['E1', 32, 1]);
  assert.match((await says({ minor: '31' })).notes.join(), /cannot be read \(Forbidden\).*--era-now/);
  assert.deepEqual(await era({ minor: '31' }, 'nothing of it'), ['E1', 31, 1]);
  assert.deepEqual([eraOf(29).era, eraOf(30).era, eraOf(33).era], ['E0', 'E1', 'E2']);
});

test('SAFE-1 an object that is nested 9,900 levels deep is judged, or undecided by its name, and the others are judged', async () => {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const of = (phases: readonly string[]) => {
    const made = manifest('things', phases) as { spec: { versions: { schema: object }[] } };
    const phase = { type: 'string', enum: phases };
    const properties = { spec: { type: 'object', properties: { phase, free: open } } };
    for (const version of made.spec.versions) version.schema = { openAPIV3Schema: { type: 'object', properties } };
    return readCrd(made as never, 'test');
  };
  const deep = JSON.parse(`${'{"a":['.repeat(4_950)}9007199254740993${']}'.repeat(4_950)}`) as unknown;
  const hostile = (name: string, spec: object) => ({ ...object(name, ''), spec }) as KubeObject;
  const items = [
    object('before', 'b'),
    hostile('free', { phase: 'b', free: deep }),
    hostile('unknown', { phase: 'a', unknown: deep }),
    hostile('typed', { phase: deep }),
    object('after', 'b'),
  ];
  const found = await collect({ client: pagesFrom([items]).client, crds: [of(['a', 'b'])], wanted: [of(['a'])] });
  const told = items.map(({ metadata: { name } }) => [
    name,
    ...found.filter((finding) => finding.object === name).map(({ class: kind }) => kind),
  ]);
  assert.deepEqual(told, [
    ['before', 'BLOCK_SPEC'],
    ['free', 'BLOCK_SPEC'],
    ['unknown', 'UNDECIDED'],
    ['typed', 'UNDECIDED'],
    ['after', 'BLOCK_SPEC'],
  ]);
  assert.match(found.find(({ object: of }) => of === 'typed')?.what ?? '', /nested more than 500 levels deep/);
});
