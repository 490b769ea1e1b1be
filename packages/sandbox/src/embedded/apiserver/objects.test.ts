import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { embeddedSpeaker } from '../../testing/conversations/conversation-speakers.ts';
import type { ObjectServer, ObjectsRequest, StoredChange, WatchEvent } from './contract.ts';
import { createObjectServer, RequestRefused } from './objects.ts';

const GROUP = 'objects.dev';
const CRD = {
  metadata: { name: `things.${GROUP}` },
  spec: {
    group: GROUP,
    names: { kind: 'Thing', plural: 'things' },
    scope: 'Cluster',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const THINGS = `/apis/${GROUP}/v1/things`;

function asked(path: string): ObjectsRequest {
  const user = { username: 'admin', groups: ['system:masters'] };
  return { method: 'GET', path, agent: 'test', user, signal: new AbortController().signal };
}

async function withThing(server: ObjectServer): Promise<void> {
  const speak = embeddedSpeaker(server);
  assert.equal((await speak({ method: 'POST', path: CRDS, body: CRD })).code, 201);
  for (let left = 100; (await speak({ method: 'GET', path: THINGS })).code !== 200; left -= 1) {
    assert.ok(left > 0, 'the kind was never served');
    await turn();
  }
  const body = { apiVersion: `${GROUP}/v1`, kind: 'Thing', metadata: { name: 'a' } };
  assert.equal((await speak({ method: 'POST', path: THINGS, body })).code, 201);
}

suite('the objects of an embedded API server', () => {
  test('a server that begins with the state of another one has its objects, kinds and versions', async () => {
    await using first = createObjectServer();
    await withThing(first);
    await using second = createObjectServer({ state: first.snapshot() });
    assert.equal(second.version, first.version);
    assert.deepEqual((await second.answer(asked(`${THINGS}/a`))).body, (await first.answer(asked(`${THINGS}/a`))).body);
    assert.deepEqual(second.resources().at(-1), first.resources().at(-1));
    const events: WatchEvent[] = [];
    const old = asked(`${THINGS}?watch=true&resourceVersion=${first.version - 1}`);
    using _watch = await second.watch(old, { event: (event) => events.push(event), end: () => undefined });
    assert.deepEqual(
      events.map(({ type, object }) => [type, object['code']]),
      [['ERROR', 410]],
    );
  });

  test('changes are told before the request that made them is answered, with what is stored', async () => {
    await using server = createObjectServer();
    const told: StoredChange[] = [];
    using _telling = server.subscribe((change) => told.push(change));
    const speak = embeddedSpeaker(server);
    const path = '/api/v1/namespaces/default/configmaps';
    await speak({ method: 'POST', path, body: { metadata: { name: 'a' } } });
    await speak({ method: 'DELETE', path: `${path}/a` });
    assert.deepEqual(
      told.map(({ plural, namespace, name, object }) => [plural, namespace, name, object?.['kind']]),
      [
        ['configmaps', 'default', 'a', 'ConfigMap'],
        ['configmaps', 'default', 'a', undefined],
      ],
    );
    assert.deepEqual(
      told.map(({ version }) => version),
      [server.version - 1, server.version],
    );
  });

  test('a watch of what is not served is refused before it begins', async () => {
    await using server = createObjectServer();
    const listener = { event: () => assert.fail('an event'), end: () => undefined };
    await assert.rejects(server.watch(asked('/api/v1/nothings?watch=true'), listener), (error) => {
      assert.ok(error instanceof RequestRefused);
      assert.equal(error.answer.code, 404);
      return true;
    });
  });

  test('what is not there is refused by its name', async () => {
    await using server = createObjectServer();
    const path = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
    const { code, body } = await server.answer(asked(path));
    assert.equal(code, 501);
    assert.match(JSON.stringify(body), /autoscaling\/v1\/horizontalpodautoscalers/);
  });

  test('the document of a custom kind has its schema, and goes with it', async () => {
    await using server = createObjectServer();
    let changes = 0;
    using _served = server.onServed(() => {
      changes += 1;
    });
    await withThing(server);
    assert.ok('dev.objects.v1.Thing' in (server.schemas(GROUP, 'v1') ?? {}));
    assert.ok(server.schemas('apps', 'v1') !== undefined);
    const speak = embeddedSpeaker(server);
    await speak({ method: 'DELETE', path: `${CRDS}/things.${GROUP}` });
    for (let left = 100; server.schemas(GROUP, 'v1') !== undefined; left -= 1) {
      assert.ok(left > 0, 'the kind was never withdrawn');
      await turn();
    }
    assert.ok(changes >= 2);
  });
});
