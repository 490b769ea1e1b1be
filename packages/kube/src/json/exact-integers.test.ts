import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createCache } from '../cache/cache.ts';
import { createClient } from '../client/rest.ts';
import type { KubeObject, Resource } from '../resource.ts';
import { misbehavingServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';
import { exactText, parseExact, withExact } from './exact-integers.ts';

interface Big extends KubeObject {
  readonly spec: {
    readonly size: number;
    readonly list: readonly number[];
    readonly deep: { readonly n: number };
    readonly replicas: number;
  };
  readonly status?: { readonly phase: string };
}
const BIG: Resource<Big> = { group: 'x.org', version: 'v1', kind: 'Big', plural: 'bigs', scope: 'Cluster' };
const KEY = { name: 'a' };
const SPEC =
  '"spec":{"size":9223372036854775807,"list":[1,-9007199254740993],"deep":{"n":9007199254740993},"replicas":1}';
const TEXT = `{"metadata":{"name":"a","resourceVersion":"7"},${SPEC}}`;

/** The body of what `write` sends to a server that has this object. */
async function sent(write: (client: ReturnType<typeof createClient>) => Promise<unknown>): Promise<string> {
  await using server = await misbehavingServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.query.has('watch')) {
      const end = '{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}';
      response.write(`{"type":"ADDED","object":${TEXT}}\n{"type":"BOOKMARK","object":${end}}\n`);
    } else if (request.query.has('limit')) response.end(`{"metadata":{"resourceVersion":"7"},"items":[${TEXT}]}`);
    else response.end(TEXT);
  });
  await using client = createClient(server.config);
  await write(client);
  return server.requests.at(-1)?.body ?? '';
}

test('an integer beyond 2^53 is read as the nearest number, and written back as the server had it', async () => {
  const changes: Record<string, (client: ReturnType<typeof createClient>) => Promise<unknown>> = {
    got: async (client) => {
      const object = await client.get(BIG, KEY);
      assert.equal(object.spec.size, 2 ** 63);
      return client.replace(BIG, { ...object, spec: { ...object.spec, replicas: 1 } });
    },
    listed: async (client) => {
      for await (const object of client.list(BIG)) await client.replace(BIG, object);
    },
    streamed: async (client) => {
      await using cache = createCache({ client, resource: BIG });
      await cache.synced;
      const object = cache.get(KEY);
      assert.ok(object !== undefined);
      await client.replace(BIG, object);
    },
    paged: async (client) => {
      await using cache = createCache({ client, resource: BIG, initial: 'pages' });
      await cache.synced;
      const object = await until('the object', () => cache.get(KEY));
      await client.replaceStatus(BIG, { ...object, status: { phase: 'x' } });
    },
    raw: async (client) => {
      const body = await client.raw({ path: '/apis/x.org/v1/bigs/a' });
      await client.raw({ method: 'PUT', path: '/apis/x.org/v1/bigs/a', body });
    },
  };
  for (const [name, change] of Object.entries(changes)) assert.ok((await sent(change)).includes(SPEC), name);
});

test('a JSON patch tests for what the server has, a merge patch and an apply keep it', async () => {
  const value = SPEC.slice('"spec":'.length);
  const patched = await sent(async (client) => {
    const { spec } = await client.get(BIG, KEY);
    await client.patch(BIG, KEY, [{ op: 'test', path: '/spec', value: spec }]);
  });
  assert.equal(patched, `[{"op":"test","path":"/spec","value":${value}}]`);
  const merged = await sent(async (client) => client.mergePatch(BIG, KEY, { spec: (await client.get(BIG, KEY)).spec }));
  assert.equal(merged, `{"spec":${value}}`);
  const applied = await sent(async (client) => client.apply(BIG, await client.get(BIG, KEY), { manager: 'me' }));
  assert.ok(applied.includes(SPEC));
});

test('a new value wins over the remembered one', async () => {
  const body = await sent(async (client) => {
    const object = await client.get(BIG, KEY);
    await client.replace(BIG, { ...object, spec: { ...object.spec, size: 5 } });
  });
  assert.ok(body.includes('"size":5,"list":[1,-9007199254740993]'), body);
});

test('SAFE-1 an object as deep as servers take them is written with all its digits, outside and innermost; what is deeper is refused by name', async () => {
  const LARGE = '9007199254740993';
  const nested = (levels: number): string => `${'{"a":['.repeat(levels / 2)}${LARGE}${']}'.repeat(levels / 2)}`;
  const text = `{"metadata":{"name":"a","resourceVersion":"7"},"spec":{"n":${LARGE},"a":${nested(9_900)}}}`;
  const written: string[] = [];
  await using server = await misbehavingServer((request, response) => {
    if (request.method === 'PUT') written.push(request.body);
    response.setHeader('content-type', 'application/json');
    response.end(text);
  });
  await using client = createClient(server.config);
  const object = await client.get(BIG, KEY);
  await client.replace(BIG, object);
  // The type stands before what was read.
  assert.ok(written[0]?.endsWith(text.slice(1)), `${written[0]?.slice(0, 200)}…`);
  await assert.rejects(client.patch(BIG, KEY, [{ op: 'add', path: '/spec', value: parseExact(nested(10_000)) }]), {
    code: 'BadRequest',
    message: /^patch Big a: it is nested more than 10000 levels deep, which no API server reads\./,
  });
  const ring: { again?: unknown } = {};
  ring.again = ring;
  await assert.rejects(client.mergePatch(BIG, KEY, ring), { code: 'BadRequest' });
});

test('any JSON that this reads is the same JSON when it is written; what holds no such integer is left untouched', () => {
  // The expected value is built beside its text: JSON.parse of this Node confuses some names (see `readJson`), so it cannot be the oracle.
  interface Tree {
    readonly text: string;
    readonly value: unknown;
  }
  const integer = fc
    .bigInt({ min: -(2n ** 64n), max: 2n ** 64n })
    .map((n): Tree => ({ text: `${n}`, value: Number(n) }));
  const scalar = fc.oneof(
    integer,
    fc
      .jsonValue({ maxDepth: 0 })
      .map((value): Tree => ({ text: JSON.stringify(value), value: Object.is(value, -0) ? 0 : value })),
  );
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie('tree')).map(
        (items): Tree => ({
          text: `[${items.map(({ text }) => text).join(',')}]`,
          value: items.map(({ value }) => value),
        }),
      ),
      fc.uniqueArray(fc.tuple(fc.string(), tie('tree')), { selector: ([key]) => key }).map(
        (fields): Tree => ({
          text: `{${fields.map(([key, { text }]) => `${JSON.stringify(key)}:${text}`).join(',')}}`,
          value: Object.fromEntries(fields.map(([key, { value }]) => [key, value])),
        }),
      ),
    ),
  }));
  fc.assert(
    fc.property(
      tree.map(({ text, value }): Tree => ({ text: `{"root":${text}}`, value: { root: value } })),
      ({ text, value }) => {
        const parsed = parseExact(text);
        assert.deepEqual(structuredClone(parsed), value);
        // Doubles may be written in another way (1e21), and keys that are numbers go first; integers keep their digits.
        const digits = (json: string): readonly string[] => (json.match(/-?\d{16,}/g) ?? []).toSorted();
        assert.deepEqual(digits(exactText(parsed)), digits(text.replaceAll(/-0(?!\d)/g, '0')));
        if (digits(text).length === 0) assert.equal(withExact(parsed, BigInt), parsed);
      },
    ),
    { numRuns: 300 },
  );
});

test('what others have read exactly is sent digit by digit, however deep it is', () => {
  const deep = Array.from({ length: 9_000 }).reduce<unknown>((inner) => [inner], 9223372036854775807n);
  assert.equal(exactText({ a: [9007199254740993n, 1], b: undefined }), '{"a":[9007199254740993,1]}');
  assert.ok(exactText({ deep }).includes('[9223372036854775807]'));
});
