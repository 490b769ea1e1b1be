import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Spoken } from '../../testing/conversations/conversation-player.ts';
import { embeddedSpeaker } from '../../testing/conversations/conversation-speakers.ts';
import { createObjectServer } from './objects.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

/** An object that holds itself so many times over. */
function nested(levels: number): unknown {
  let value: unknown = {};
  for (let left = levels; left > 0; left -= 1) value = { a: value };
  return value;
}

function reasonOf({ code, body }: Spoken): string {
  return `${code} ${(body as { readonly reason?: string }).reason}`;
}

suite('bodies that nobody would send who means well', () => {
  test('what is nested too deep is refused, and nothing of it is kept', async () => {
    await using server = createObjectServer();
    const speak = embeddedSpeaker(server);
    assert.equal((await speak({ method: 'POST', path: MAPS, body: { metadata: { name: 'a' } } })).code, 201);
    const { version } = server;
    for (const type of ['application/merge-patch+json', 'application/strategic-merge-patch+json']) {
      const answer = await speak({ method: 'PATCH', path: `${MAPS}/a`, body: nested(9_990), type });
      assert.equal(reasonOf(answer), '400 BadRequest', type);
    }
    assert.equal(server.version, version);
    assert.equal((await speak({ method: 'GET', path: `${MAPS}/a` })).code, 200);
  });

  test('a deep schema is refused, and the server goes on', async () => {
    await using server = createObjectServer();
    const speak = embeddedSpeaker(server);
    let schema: object = { type: 'object' };
    for (let left = 9_000; left > 0; left -= 1) schema = { type: 'object', properties: { a: schema } };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }];
    const spec = { group: 'deep.dev', names: { kind: 'Deep', plural: 'deeps' }, scope: 'Cluster', versions };
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const answer = await speak({ method: 'POST', path, body: { metadata: { name: 'deeps.deep.dev' }, spec } });
    assert.equal(reasonOf(answer), '400 BadRequest');
    assert.equal((await speak({ method: 'GET', path })).code, 200);
  });

  test('a CRD with an invalid pattern and a name that is too long is refused with the messages of both', async () => {
    await using server = createObjectServer();
    const speak = embeddedSpeaker(server);
    const a = { type: 'string', pattern: '(', default: 'a' };
    const schema = { openAPIV3Schema: { type: 'object', properties: { a } } };
    const names = { kind: 'Bad', plural: 'bads', shortNames: ['b'.repeat(64)] };
    const versions = [{ name: 'v1', served: true, storage: true, schema }];
    const body = { metadata: { name: 'bads.bad.dev' }, spec: { group: 'bad.dev', names, scope: 'Cluster', versions } };
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const answer = await speak({ method: 'POST', path, body });
    assert.equal(reasonOf(answer), '422 Invalid');
    const { message } = answer.body as { readonly message: string };
    assert.match(message, /properties\[a\].pattern: Invalid value: "\(": .* missing closing \): `\(`/);
    assert.match(message, /properties\[a\].default in body should match '\(, but pattern is invalid: /);
    assert.match(message, /spec.names.shortNames\[0\]: Invalid value: "b+": must be no more than 63 characters/);
  });

  test('what is no object, too large, or no path is refused with its reason', async () => {
    await using server = createObjectServer();
    const speak = embeddedSpeaker(server);
    for (const body of [null, 'text', 5, []]) {
      assert.equal(reasonOf(await speak({ method: 'POST', path: MAPS, body })), '400 BadRequest', JSON.stringify(body));
    }
    const large = { metadata: { name: 'large' }, data: { x: 'y'.repeat(1_048_577) } };
    assert.equal(reasonOf(await speak({ method: 'POST', path: MAPS, body: large })), '422 Invalid');
    assert.equal((await speak({ method: 'GET', path: '/api/v1/namespaces/%ff/configmaps' })).code, 400);
  });

  test('a JSON patch reaches only what the object holds itself', async () => {
    await using server = createObjectServer();
    const speak = embeddedSpeaker(server);
    await speak({ method: 'POST', path: MAPS, body: { metadata: { name: 'a' } } });
    for (const path of ['/__proto__/polluted', '/constructor/prototype/polluted', '/metadata/__proto__/polluted']) {
      const patch = [{ op: 'add', path, value: 'yes' }];
      const type = 'application/json-patch+json';
      assert.equal((await speak({ method: 'PATCH', path: `${MAPS}/a`, body: patch, type })).code, 422, path);
    }
    assert.equal(({} as { readonly polluted?: unknown }).polluted, undefined);
  });

  test('an expression that would run for hours ends', async () => {
    await using server = createObjectServer();
    const speak = embeddedSpeaker(server);
    const list = { type: 'array', items: { type: 'integer' } };
    const rule = 'self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))';
    const spec = { type: 'object', properties: { l: list }, 'x-kubernetes-validations': [{ rule }] };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
    const versions = [{ name: 'v1', served: true, storage: true, schema }];
    const names = { kind: 'Slow', plural: 'slows' };
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const crd = {
      metadata: { name: 'slows.slow.dev' },
      spec: { group: 'slow.dev', names, scope: 'Cluster', versions },
    };
    assert.equal((await speak({ method: 'POST', path, body: crd })).code, 201);
    const object = { apiVersion: 'slow.dev/v1', kind: 'Slow', metadata: { name: 'a' } };
    const body = { ...object, spec: { l: Array.from({ length: 500 }, (_none, at) => at) } };
    for (let left = 100; left > 0; left -= 1) {
      const answer = await speak({ method: 'POST', path: '/apis/slow.dev/v1/slows', body });
      if (answer.code === 404) continue;
      assert.equal(reasonOf(answer), '422 Invalid');
      assert.match(JSON.stringify(answer.body), /running out of cost budget/);
      return;
    }
    assert.fail('the kind was never served');
  });
});
