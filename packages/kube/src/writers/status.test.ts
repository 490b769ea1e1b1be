import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ApiError, type ApiErrorCode } from '../errors.ts';
import { jsonEqual } from '../json/json-equal.ts';
import { memoryCluster } from '../testing/cluster.ts';
import { SCENARIO_CRDS, WIDGET } from '../testing/scenarios-crds.ts';
import { CONFIG_MAP, type ConfigMap } from '../testing/server.ts';
import { type StatusWriterOptions, statusWriter } from './status.ts';

const KEY = { namespace: 'ns', name: 'a' };

/** One object on a server that guards writes by resourceVersion; `rivals` change it just before our writes land. */
function server(rivals: ((now: ConfigMap) => ConfigMap)[] = [], applyFails?: ApiErrorCode) {
  let version = 1;
  let stored: ConfigMap = { metadata: { ...KEY, uid: 'u', resourceVersion: '1' }, status: { count: 1 } };
  const calls: string[] = [];
  const store = (object: ConfigMap): ConfigMap => {
    version += 1;
    stored = { ...object, metadata: { ...object.metadata, resourceVersion: `${version}` } };
    return stored;
  };
  const guarded = (want: ConfigMap): Promise<ConfigMap> => {
    const rival = rivals.shift();
    if (rival !== undefined) store(rival(stored));
    if (want.metadata.resourceVersion !== stored.metadata.resourceVersion) {
      return Promise.reject(new ApiError({ code: 'Conflict', action: 'write', said: 'changed' }));
    }
    return Promise.resolve(store({ ...stored, ...(want.status === undefined ? {} : { status: want.status }) }));
  };
  const client = {
    get: () => {
      calls.push('get');
      return Promise.resolve(stored);
    },
    replaceStatus: (_: unknown, want: ConfigMap) => {
      calls.push('put');
      return guarded(want);
    },
    applyStatus: (_: unknown, want: ConfigMap) => {
      calls.push('apply');
      if (applyFails !== undefined) {
        return Promise.reject(new ApiError({ code: applyFails, action: 'apply', said: 'no' }));
      }
      return guarded(want);
    },
  } as unknown as StatusWriterOptions<ConfigMap>['client'];
  return { client, calls, now: () => stored };
}

const clock = { now: () => 0, date: () => new Date(0), sleep: () => Promise.resolve() };
const add = (current: ConfigMap) => ({ ...current.status, count: (current.status?.count ?? 0) + 1 });

test('a conflict computes again from the new object, so that nobody loses an increment', async () => {
  const rival = (now: ConfigMap): ConfigMap => ({ ...now, status: { count: (now.status?.count ?? 0) + 10 } });
  const world = server([rival, rival, rival]);
  const writer = statusWriter({ client: world.client, resource: CONFIG_MAP, clock });
  const result = await writer.write(KEY, add);
  assert.equal(result.written, true);
  assert.equal(world.now().status?.count, 32);
  assert.deepEqual(world.calls, ['get', 'put', 'get', 'put', 'get', 'put', 'get', 'put']);
});

test('an unchanged status sends nothing, after the projection too; undefined leaves it alone', async () => {
  const world = server();
  const writer = statusWriter({
    client: world.client,
    resource: CONFIG_MAP,
    project: ({ phase: _unknown, ...known }) => known,
  });
  assert.equal((await writer.write(KEY, () => ({ count: 1, phase: 'New' }))).written, false);
  assert.equal((await writer.write(KEY, () => undefined)).written, false);
  assert.deepEqual(world.calls, ['get', 'get']);
  assert.equal((await writer.write(KEY, () => ({ count: 2, phase: 'New' }))).written, true);
  assert.deepEqual(world.now().status, { count: 2 });
});

test('a cached object spares the GET, and a stale one costs one round', async () => {
  const world = server();
  const writer = statusWriter({ client: world.client, resource: CONFIG_MAP, clock });
  const current = world.now();
  await writer.write(KEY, add, { current });
  assert.deepEqual(world.calls, ['put']);
  await writer.write(KEY, add, { current });
  assert.deepEqual(world.calls, ['put', 'put', 'get', 'put']);
  assert.equal(world.now().status?.count, 3);
});

test('SAFE-4 a status that a stale cache agrees with is written all the same: wanted 0, cache 0, live 1', async () => {
  const set = (count: number) => () => ({ count });
  const world = server();
  const writer = statusWriter({ client: world.client, resource: CONFIG_MAP, clock });
  const stale = { ...world.now(), status: { count: 0 } };
  await writer.write(KEY, set(1), { current: stale });
  assert.equal((await writer.write(KEY, set(0), { current: stale })).written, true);
  assert.equal(world.now().status?.count, 0);
  // By conflict, not by a write of its own, it knows that the cache lags behind: then agreement proves nothing either.
  const rival = server();
  const other = statusWriter({ client: rival.client, resource: CONFIG_MAP, clock });
  const current = { ...rival.now(), status: { count: 0 } };
  await statusWriter({ client: rival.client, resource: CONFIG_MAP, clock }).write(KEY, set(2));
  assert.equal((await other.write(KEY, set(2), { current })).written, false);
  assert.equal((await other.write(KEY, set(0), { current })).written, true);
  // Once the cache has caught up it is believed again, and spares the calls.
  rival.calls.length = 0;
  assert.equal((await other.write(KEY, set(0), { current: rival.now() })).written, false);
  assert.deepEqual(rival.calls, []);
});

test('SAFE-4 a write whose answer was lost counts as one that may have been stored', async () => {
  const world = server();
  const { replaceStatus } = world.client;
  let lost = true;
  const client: typeof world.client = {
    ...world.client,
    replaceStatus: async (...sent) => {
      const stored = await replaceStatus(...sent);
      if (lost) throw new ApiError({ code: 'Connection', action: 'write', said: 'reset' });
      return stored;
    },
  };
  const writer = statusWriter({ client, resource: CONFIG_MAP, clock });
  const current = world.now();
  await assert.rejects(
    writer.write(KEY, () => ({ count: 5 }), { current }),
    { code: 'Connection' },
  );
  lost = false;
  assert.equal((await writer.write(KEY, () => ({ count: 1 }), { current })).written, true);
  assert.equal(world.now().status?.count, 1);
});

test('another object of the same name is not written, and a busy object is given up', async () => {
  const other = server([(now) => ({ ...now, metadata: { ...now.metadata, uid: 'other' } })]);
  await assert.rejects(statusWriter({ client: other.client, resource: CONFIG_MAP, clock }).write(KEY, add), {
    code: 'Conflict',
  });
  assert.equal(other.now().status?.count, 1);
  const busy = server(Array(20).fill((now: ConfigMap) => now));
  await assert.rejects(statusWriter({ client: busy.client, resource: CONFIG_MAP, clock }).write(KEY, add), {
    code: 'Conflict',
  });
  assert.equal(busy.calls.filter((call) => call === 'put').length, 8);
});

test('apply is an option whose rejection falls back to the PUT', async () => {
  const applied = server();
  const apply = { manager: 'me' };
  await statusWriter({ client: applied.client, resource: CONFIG_MAP, apply }).write(KEY, add);
  assert.deepEqual(applied.calls, ['get', 'apply']);
  for (const code of ['Invalid', 'ServerError'] as const) {
    const blocked = server([], code);
    await statusWriter({ client: blocked.client, resource: CONFIG_MAP, apply }).write(KEY, add);
    assert.deepEqual(blocked.calls, ['get', 'apply', 'put']);
    assert.equal(blocked.now().status?.count, 2);
  }
  const owned = server([], 'ApplyConflict');
  const refused = statusWriter({ client: owned.client, resource: CONFIG_MAP, apply }).write(KEY, add);
  await assert.rejects(refused, { code: 'ApplyConflict' });
});

test('SAFE-1 a status as deep as servers take it is compared', () => {
  const nested = (leaf: number): unknown => JSON.parse(`${'{"a":['.repeat(4_950)}${leaf}${']}'.repeat(4_950)}`);
  assert.equal(jsonEqual(nested(1), nested(1)), true);
  assert.equal(jsonEqual(nested(1), nested(2)), false);
});

test('jsonEqual is equality of the JSON that would be sent', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      assert.equal(jsonEqual(a, structuredClone(a)), true);
      if (JSON.stringify(a) === JSON.stringify(b)) assert.equal(jsonEqual(a, b), true);
      assert.equal(jsonEqual([a], [a, b]), false);
    }),
  );
  assert.equal(jsonEqual({ a: 1, b: undefined }, { a: 1 }), true);
  assert.equal(jsonEqual({ a: 1, b: 2 }, { b: 2, a: 1 }), true);
  assert.equal(jsonEqual({ a: null }, {}), false);
  for (const inherited of ['constructor', 'toString']) {
    assert.equal(jsonEqual({}, { [inherited]: 'x' }), false, inherited);
    assert.equal(jsonEqual({ [inherited]: undefined }, {}), true, inherited);
  }
});

test('a refused status is projected again as long as somebody knows how, and the refusal is the error otherwise', async () => {
  const world = server();
  const invalid = new ApiError({
    code: 'Invalid',
    action: 'write',
    said: 'no',
    details: { causes: [{ field: 'status.phase' }] },
  });
  const { client: inner } = world;
  let dropped = false;
  const client: StatusWriterOptions<ConfigMap>['client'] = {
    get: inner.get,
    applyStatus: inner.applyStatus,
    replaceStatus: (resource, want, call) =>
      (want as ConfigMap).status?.phase === undefined
        ? inner.replaceStatus(resource, want, call)
        : Promise.reject(invalid),
  };
  const project = ({ phase, ...known }: { phase?: string; count?: number }) =>
    Promise.resolve(dropped || phase === undefined ? known : { ...known, phase });
  const refused = (causes: readonly { readonly field?: string }[]): boolean => {
    dropped = causes[0]?.field === 'status.phase';
    return dropped;
  };
  const writer = statusWriter({ client, resource: CONFIG_MAP, project, refused });
  assert.equal((await writer.write(KEY, () => ({ count: 2, phase: 'New' }))).written, true);
  assert.deepEqual([world.now().status, world.calls], [{ count: 2 }, ['get', 'put']]);
  const helpless = statusWriter({ client, resource: CONFIG_MAP, refused: () => false });
  await assert.rejects(
    helpless.write(KEY, () => ({ count: 3, phase: 'New' })),
    { code: 'Invalid' },
  );
});

test('a projection is told what became of what it gave, and what nobody can write ends without an error', async () => {
  const world = server();
  const told: string[] = [];
  const answers: (true | 'told')[] = [true, 'told'];
  let refusals = 2;
  const invalid = new ApiError({ code: 'Invalid', action: 'write', said: 'no' });
  const client: StatusWriterOptions<ConfigMap>['client'] = {
    ...world.client,
    replaceStatus: (...args) => {
      refusals -= 1;
      return refusals >= 0 ? Promise.reject(invalid) : world.client.replaceStatus(...args);
    },
  };
  const writer = statusWriter<ConfigMap>({
    client,
    resource: CONFIG_MAP,
    recall: (current) => ({ ...current, status: { ...current.status, phase: 'Kept' } }),
    project: ({ count = 0 }) => ({ count: count + told.length }),
    refused: (_causes, _current, sent) => {
      told.push(`refused ${JSON.stringify(sent)}`);
      return answers.shift() ?? false;
    },
    written: (sent, object) => void told.push(`written ${JSON.stringify([sent, object.status])}`),
    failed: () => void told.push('failed'),
  });
  const seen: unknown[] = [];
  const compute = (current: ConfigMap) => {
    seen.push(current.status);
    return add(current);
  };
  assert.equal((await writer.write(KEY, compute)).written, false, 'told elsewhere');
  assert.deepEqual(seen[0], { count: 1, phase: 'Kept' });
  assert.equal((await writer.write(KEY, compute)).written, true);
  assert.deepEqual(told, ['refused {"count":2}', 'refused {"count":3}', 'written [{"count":4},{"count":4}]']);
  await writer.write(KEY, () => ({ count: 1 }));
  assert.equal(told.at(-1), 'written [{"count":4},{"count":4}]', 'what is stored already counts as written');
});

test('an answer that never came is told as a failure, and thrown', async () => {
  const world = server();
  const failures: string[] = [];
  const client = {
    ...world.client,
    replaceStatus: () => Promise.reject(new ApiError({ code: 'Timeout', action: 'write', said: 'late' })),
  } as unknown as StatusWriterOptions<ConfigMap>['client'];
  const writer = statusWriter<ConfigMap>({
    client,
    resource: CONFIG_MAP,
    failed: ({ metadata }) => void failures.push(metadata.name),
  });
  await assert.rejects(writer.write(KEY, add), { code: 'Timeout' });
  assert.deepEqual(failures, ['a']);
});

test('a definition without a status subresource has its statuses written with the whole object', async () => {
  const crd = structuredClone(SCENARIO_CRDS[0]) as unknown as { spec: { versions: { subresources?: object }[] } };
  for (const version of crd.spec.versions) delete version.subresources;
  const cluster = memoryCluster({ crds: [crd] });
  const client = cluster.client();
  const key = { namespace: 'default', name: 'a' };
  await client.create(WIDGET, { metadata: key, spec: { size: 3 } });
  const writer = statusWriter({ client, resource: WIDGET });
  assert.equal((await writer.write(key, () => ({ phase: 'Ready' }))).written, true);
  assert.deepEqual([cluster.peek(WIDGET, key)?.status, cluster.peek(WIDGET, key)?.spec?.size], [{ phase: 'Ready' }, 3]);
  cluster.put(WIDGET, key, undefined);
  const gone = writer.write(key, () => ({ phase: 'Late' }), {
    current: { metadata: { ...key, uid: 'u', resourceVersion: '1' } },
  });
  await assert.rejects(gone, { code: 'NotFound' });
});
