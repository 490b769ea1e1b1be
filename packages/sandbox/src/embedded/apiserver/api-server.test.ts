import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { after, before, suite, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { type Authority, createAuthority, type Identity, newSigningKey } from '../../certificate.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { listAt, textAt, valueAt } from './object-fields.ts';

interface Answer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

interface Asking {
  readonly as?: Identity;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
}

const authority: Authority = createAuthority('test');
const admin = authority.issueClient({ user: 'admin', groups: ['system:masters'] });
const jane = authority.issueClient({ user: 'jane', groups: ['devs', 'o,dd'] });

function optionsOf(): Parameters<typeof startApiServer>[0] {
  const { certificate, privateKey } = authority.issueServer(['127.0.0.1']);
  const tokens = { 'static-token': { username: 'robot', groups: ['robots'] } };
  const keys = { clientCa: authority.certificate, tokenKey: newSigningKey() };
  return { host: '127.0.0.1', port: 0, certificate, privateKey, ...keys, era: 'E2', tokens };
}

suite('an embedded API server on the wire', () => {
  let server: ApiServer;
  const agents = new Map<Identity | undefined, HttpsAgent>();

  before(async () => {
    server = await startApiServer(optionsOf());
  });
  after(async () => {
    for (const agent of agents.values()) agent.destroy();
    await server[Symbol.asyncDispose]();
  });

  const ask = (method: string, path: string, { as, headers = {}, body }: Asking = { as: admin }): Promise<Answer> => {
    const agent =
      agents.get(as) ??
      new HttpsAgent({
        ...{ keepAlive: true, ca: authority.certificate },
        ...(as === undefined ? {} : { cert: as.certificate, key: as.privateKey }),
      });
    agents.set(as, agent);
    const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    const length = bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': bytes.length };
    return new Promise((resolve, reject) => {
      const sent = httpsRequest(
        `${server.url}${path}`,
        { agent, method, headers: { ...length, ...headers } as Record<string, string> },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => {
            const json = /json/.test(response.headers['content-type'] ?? '');
            resolve({
              code: response.statusCode ?? 0,
              headers: response.headers,
              body: json ? JSON.parse(text) : text,
            });
          });
        },
      );
      sent.on('error', reject);
      sent.end(bytes);
    });
  };

  const whoAmI = async (
    asking: Asking,
  ): Promise<{ username: string; groups: readonly string[]; uid?: string; extra?: object }> => {
    const body = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' };
    const answer = await ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { ...asking, body });
    assert.equal(answer.code, 201, JSON.stringify(answer.body));
    return valueAt(answer.body, 'status.userInfo') as Awaited<ReturnType<typeof whoAmI>>;
  };

  test('nobody reads anything without credentials but health and version', async () => {
    const codes = await Promise.all(
      ['/healthz', '/readyz', '/livez', '/version', '/api', '/api/v1/namespaces', '/openapi/v3', '/'].map(
        async (path) => (await ask('GET', path, {})).code,
      ),
    );
    assert.deepEqual(codes, [200, 200, 200, 200, 403, 403, 403, 403]);
    const refused = await ask('GET', '/api/v1/namespaces/a/secrets', {});
    const who = 'User "system:anonymous" cannot list resource "secrets" in API group "" in the namespace "a"';
    assert.equal(textAt(refused.body, 'message'), `secrets is forbidden: ${who}`);
    assert.deepEqual(valueAt(refused.body, 'details'), { kind: 'secrets' });
  });

  test('certificates and tokens name users; wrong ones are 401', async () => {
    const { username, groups } = await whoAmI({ as: jane });
    assert.deepEqual([username, groups], ['jane', ['devs', 'o,dd', 'system:authenticated']]);
    const robot = await whoAmI({ headers: { authorization: 'Bearer static-token' } });
    assert.deepEqual([robot.username, robot.groups], ['robot', ['robots', 'system:authenticated']]);
    const stranger = createAuthority('other').issueClient({ user: 'admin', groups: ['system:masters'] });
    const unknown = await ask('GET', '/api', { as: stranger });
    assert.deepEqual(
      [unknown.code, textAt(unknown.body, 'message'), textAt(unknown.body, 'reason')],
      [401, 'Unauthorized', 'Unauthorized'],
    );
    assert.equal((await ask('GET', '/healthz', { headers: { authorization: 'Bearer nonsense' } })).code, 401);
    // One for servers is none for clients.
    assert.equal((await ask('GET', '/api', { as: authority.issueServer(['admin']) })).code, 401);
  });

  test('the token of a ServiceAccount counts for its audience, and as long as the account is there', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts';
    const account = { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name: 'sa' } };
    await ask('POST', path, { as: admin, body: account });
    const request = async (spec: object): Promise<Answer> =>
      ask('POST', `${path}/sa/token`, {
        as: admin,
        body: { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec },
      });
    const token = textAt((await request({})).body, 'status.token');
    const user = await whoAmI({ headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual(user.groups, ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated']);
    const other = textAt((await request({ audiences: ['vault'] })).body, 'status.token');
    assert.equal((await ask('GET', '/api', { headers: { authorization: `Bearer ${other}` } })).code, 401);
    const review = {
      kind: 'TokenReview',
      apiVersion: 'authentication.k8s.io/v1',
      spec: { token: other, audiences: ['vault'] },
    };
    const reviewed = await ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { as: admin, body: review });
    assert.deepEqual(
      [valueAt(reviewed.body, 'status.authenticated'), valueAt(reviewed.body, 'status.audiences')],
      [true, ['vault']],
    );
    const forged = `${token.slice(0, -6)}AAAAAA`;
    assert.equal((await ask('GET', '/api', { headers: { authorization: `Bearer ${forged}` } })).code, 401);
    assert.equal((await request({ expirationSeconds: 10 })).code, 422);
    // One that was never shown before: the server remembers the others for ten seconds.
    const fresh = textAt((await request({})).body, 'status.token');
    await ask('DELETE', `${path}/sa`);
    assert.equal((await ask('GET', '/healthz', { headers: { authorization: `Bearer ${token}` } })).code, 200);
    assert.equal((await ask('GET', '/healthz', { headers: { authorization: `Bearer ${fresh}` } })).code, 401);
  });

  test('only who may impersonate acts in the name of others, with their groups', async () => {
    const headers = {
      'impersonate-user': 'joe',
      'impersonate-group': ['a', 'b'],
      'impersonate-extra-Team%2Fx': 'y',
      'impersonate-uid': '7',
    };
    const joe = await whoAmI({ as: admin, headers });
    assert.deepEqual(joe, {
      username: 'joe',
      uid: '7',
      groups: ['a', 'b', 'system:authenticated'],
      extra: { 'team/x': ['y'] },
    });
    const refused = await ask('GET', '/api', { as: jane, headers: { 'impersonate-user': 'joe' } });
    assert.match(
      textAt(refused.body, 'message'),
      /^users "joe" is forbidden: User "jane" cannot impersonate resource "users"/,
    );
    const account = await whoAmI({ as: admin, headers: { 'impersonate-user': 'system:serviceaccount:a:b' } });
    assert.ok(account.groups.includes('system:serviceaccounts:a'));
    assert.equal((await ask('GET', '/api', { as: admin, headers: { 'impersonate-group': 'a' } })).code, 500);
  });

  test('RBAC decides from the stored objects, at once, and nobody grants what they lack', async () => {
    const group = '/apis/rbac.authorization.k8s.io/v1';
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'rbac-writer' };
    const subjects = [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }];
    const meta = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'rbac-writer' } };
    const rules = [
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'], verbs: ['create', 'patch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
    ];
    assert.equal((await ask('GET', '/api/v1/pods', { as: jane })).code, 403);
    await ask('POST', `${group}/clusterroles`, { as: admin, body: { kind: 'ClusterRole', ...meta, rules } });
    await ask('POST', `${group}/clusterrolebindings`, {
      as: admin,
      body: { kind: 'ClusterRoleBinding', ...meta, roleRef, subjects },
    });
    assert.equal((await ask('GET', '/api/v1/pods', { as: jane })).code, 200);
    const role = (name: string, verbs: readonly string[]): Asking => ({
      as: jane,
      body: { kind: 'Role', ...meta, metadata: { name }, rules: [{ apiGroups: [''], resources: ['pods'], verbs }] },
    });
    const roles = `${group}/namespaces/default/roles`;
    assert.equal((await ask('POST', roles, role('reader', ['get']))).code, 201);
    const escalation = await ask('POST', roles, role('deleter', ['get', 'delete']));
    assert.equal(escalation.code, 403);
    assert.match(
      textAt(escalation.body, 'message'),
      /not currently held:\n\{APIGroups:\[""\], Resources:\["pods"\], Verbs:\["delete"\]\}$/,
    );
    // The same by a patch of what was harmless, and by binding another role.
    const patch = { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] };
    const patched = { as: jane, headers: { 'content-type': 'application/merge-patch+json' }, body: patch };
    assert.equal((await ask('PATCH', `${roles}/reader`, patched)).code, 403);
    const binding = { kind: 'RoleBinding', ...meta, roleRef: { ...roleRef, name: 'cluster-admin' }, subjects };
    assert.equal(
      (await ask('POST', `${group}/namespaces/default/rolebindings`, { as: jane, body: binding })).code,
      403,
    );
    assert.equal((await ask('GET', `${roles}/deleter`)).code, 404);
    await ask('DELETE', `${group}/clusterrolebindings/rbac-writer`);
    assert.equal((await ask('GET', '/api/v1/pods', { as: jane })).code, 403);
  });

  test('a PUT that would create, and an apply, need the verb create', async () => {
    const group = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
    const meta = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'lease-keeper' } };
    const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['update', 'patch'] }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'lease-keeper' };
    const subjects = [{ kind: 'Group', name: 'devs', apiGroup: 'rbac.authorization.k8s.io' }];
    await ask('POST', `${group}/roles`, { as: admin, body: { kind: 'Role', ...meta, rules } });
    await ask('POST', `${group}/rolebindings`, {
      as: admin,
      body: { kind: 'RoleBinding', ...meta, roleRef, subjects },
    });
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/l';
    const body = { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', metadata: { name: 'l' } };
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    for (const refused of [
      await ask('PUT', path, { as: jane, body }),
      await ask('PATCH', `${path}?fieldManager=x`, { as: jane, body, headers: apply }),
    ]) {
      assert.match(
        textAt(refused.body, 'message'),
        /^leases\.coordination\.k8s\.io "l" is forbidden: .* cannot create resource "leases"/,
      );
    }
    assert.equal((await ask('PUT', path, { as: admin, body })).code, 201);
    assert.equal((await ask('PATCH', `${path}?fieldManager=x`, { as: jane, body, headers: apply })).code, 200);
  });

  test('bodies that are no objects get the answers of the real server, and the process lives on', async () => {
    const path = '/api/v1/namespaces/default/configmaps';
    const said = async (body: string, headers = {}): Promise<readonly unknown[]> => {
      const { code, body: status } = await ask('POST', path, { as: admin, body, headers });
      return [code, textAt(status, 'message')];
    };
    const unread =
      "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error";
    assert.deepEqual(await said('{"a":'), [400, `${unread}: unexpected end of JSON input ({"a":)`]);
    assert.deepEqual(await said(''), [400, `${unread}: unexpected end of JSON input (<empty>)`]);
    assert.deepEqual(await said(' '.repeat(10 * 1024 * 1024)), [413, 'Request entity too large: limit is 3145728']);
    assert.equal((await said('{}', { 'content-type': 'text/plain' }))[0], 415);
    assert.equal((await said('['.repeat(1_000_000)))[0], 400);
    assert.equal((await ask('GET', '/api/v1/pods', { as: admin, headers: { accept: 'application/cbor' } })).code, 406);
    assert.equal(
      (
        await ask('GET', '/api/v1/pods', {
          as: admin,
          headers: { accept: 'application/vnd.kubernetes.protobuf, application/json' },
        })
      ).code,
      200,
    );
    const open = connectTls({ host: '127.0.0.1', port: Number(new URL(server.url).port), ca: authority.certificate });
    open.write('this is not HTTP\r\n\r\n');
    const [answer] = await new Promise<readonly [string]>((resolve) =>
      open.once('data', (chunk) => resolve([chunk.toString()])),
    );
    assert.match(answer, /^HTTP\/1\.1 400 /);
    open.destroy();
    assert.equal((await ask('GET', '/readyz')).code, 200);
  });

  test('what it has not is refused by name with 501', async () => {
    for (const path of ['/openapi/v2', '/metrics']) {
      const { code, body } = await ask('GET', path);
      assert.equal(code, 501);
      assert.ok(textAt(body, 'message').includes(path), textAt(body, 'message'));
    }
  });

  test('calls go on beside a large list that an HTTP/2 connection does not read', async () => {
    const configMaps = '/api/v1/namespaces/default/configmaps';
    const created = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        ask('POST', configMaps, {
          as: admin,
          body: { metadata: { name: `large-${n}` }, data: { text: 'x'.repeat(900_000) } },
        }),
      ),
    );
    assert.deepEqual(new Set(created.map(({ code }) => code)), new Set([201]));
    const identity = { cert: admin.certificate, key: admin.privateKey };
    const session = connectHttp2(server.url, { ca: authority.certificate, ...identity });
    const status = (path: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':path': path });
        stream.on('error', reject);
        stream.once('response', (headers) => resolve(Number(headers[':status'])));
      });
    try {
      assert.equal(await status(configMaps), 200);
      for (let call = 0; call < 150; call += 1) assert.equal(await status('/version'), 200, `call ${call}`);
    } finally {
      session.destroy();
      await Promise.all(created.map((_, n) => ask('DELETE', `${configMaps}/large-${n}`)));
    }
  });

  test('HTTP/2 serves many requests and a watch on one connection', async () => {
    const session = connectHttp2(server.url, {
      ca: authority.certificate,
      cert: admin.certificate,
      key: admin.privateKey,
    });
    const open = (
      headers: Record<string, string>,
      body?: string,
    ): Promise<{ status: number; text: () => Promise<string>; next: () => Promise<string> }> =>
      new Promise((resolve, reject) => {
        const stream = session.request(headers);
        stream.on('error', reject);
        stream.setEncoding('utf8');
        stream.once('response', (received) =>
          resolve({
            status: Number(received[':status']),
            text: async () => (await stream.toArray()).join(''),
            next: () => new Promise((got) => stream.once('data', got)),
          }),
        );
        stream.end(body);
      });
    try {
      const watch = await open({ ':path': '/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0' });
      assert.equal(watch.status, 200);
      const event = watch.next();
      const posts = Array.from({ length: 20 }, (_, n) =>
        open(
          { ':path': '/api/v1/namespaces/default/configmaps', ':method': 'POST', 'content-type': 'application/json' },
          JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: `h2-${n}` } }),
        ),
      );
      assert.deepEqual(new Set((await Promise.all(posts)).map(({ status }) => status)), new Set([201]));
      assert.match(await event, /^\{"type":"ADDED"/);
    } finally {
      session.destroy();
    }
  });

  test('tables, metadata alone and discovery come in the forms that kubectl asks for', async () => {
    const as = admin;
    const table = await ask('GET', '/api/v1/namespaces', {
      as,
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    assert.deepEqual(
      listAt(table.body, 'columnDefinitions').map((column) => textAt(column, 'name')),
      ['Name', 'Status', 'Age'],
    );
    assert.deepEqual(listAt(listAt(table.body, 'rows')[0], 'cells').slice(0, 2), ['default', 'Active']);
    const partial = await ask('GET', '/api/v1/namespaces/default', {
      as,
      headers: { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' },
    });
    assert.deepEqual(Object.keys(partial.body as object).sort(), ['apiVersion', 'kind', 'metadata']);
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const aggregated = await ask('GET', '/apis', { as, headers: { accept } });
    assert.equal(textAt(aggregated.body, 'kind'), 'APIGroupDiscoveryList');
    const etag = String(aggregated.headers['etag']);
    assert.equal((await ask('GET', '/apis', { as, headers: { accept, 'if-none-match': etag } })).code, 304);
    const index = await ask('GET', '/openapi/v3');
    const document = await ask('GET', textAt(index.body, 'paths.apis/apps/v1.serverRelativeURL'));
    assert.ok('io.k8s.api.apps.v1.Deployment' in (valueAt(document.body, 'components.schemas') as object));
    assert.ok(
      valueAt(document.body, 'paths./apis/apps/v1/namespaces/{namespace}/deployments/{name}.patch') !== undefined,
    );
  });
});

test('listening on all addresses prints a warning', async (t) => {
  const lines: string[] = [];
  t.mock.method(process.stderr, 'write', (text: string) => lines.push(text) > 0);
  const server = await startApiServer({ ...optionsOf(), host: '0.0.0.0' });
  await server[Symbol.asyncDispose]();
  assert.match(lines.join(''), /listening on 0\.0\.0\.0, so other machines can reach it/);
});
