import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { isVimError } from '../errors.ts';
import { manualClock } from '../testing/manual-clock.ts';
import { plainAgent } from '../testing/plain-agent.ts';
import { scriptedCaller } from '../testing/scripted-caller.ts';
import { createRest } from './rest.ts';
import { createTags } from './tags.ts';

interface Asked {
  readonly line: string;
  readonly session: string | undefined;
  readonly body: string;
}

/** A REST server of one generation: requests by `METHOD path`, answers as values. */
async function restServer(
  generation: 'api' | 'rest',
  answers: Readonly<Record<string, unknown>>,
  faults: string[] = [],
  clock = manualClock(),
) {
  const asked: Asked[] = [];
  const login = generation === 'api' ? 'POST /api/session' : 'POST /rest/com/vmware/cis/session';
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const line = `${request.method} ${request.url}`;
      asked.push({ line, session: request.headers['vmware-api-session-id'] as string | undefined, body });
      const fault = faults[0]?.startsWith(`${line} `) ? faults.shift() : undefined;
      if (fault !== undefined) {
        const type = 'com.vmware.vapi.std.errors.not_found';
        response.writeHead(Number(fault.split(' ').at(-1))).end(JSON.stringify({ type, value: { messages: [] } }));
        return;
      }
      const value = line === login ? 'session-1' : answers[line];
      if (value === undefined) response.writeHead(404).end();
      else if (value === '') response.writeHead(200).end();
      else response.writeHead(200).end(JSON.stringify(generation === 'rest' ? { value } : value));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const rest = createRest(scriptedCaller({ agent: plainAgent(port), clock }));
  return {
    asked,
    rest,
    tags: createTags(rest, clock),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const VM = { type: 'VirtualMachine', value: 'vm-1' };
const TAG = { name: 'infra', category_id: 'c:1' };
const REST = '/rest/com/vmware/cis/tagging';

const servers = {
  rest: {
    [`GET ${REST}/tag`]: ['t:1', 't:2', 't:3'],
    [`GET ${REST}/tag/id:t:1`]: TAG,
    [`GET ${REST}/tag/id:t:2`]: { name: 'other', category_id: 'c:1' },
    [`GET ${REST}/category/id:c:1`]: { name: 'openshift-infra' },
    [`POST ${REST}/tag-association/id:t:1?~action=attach`]: '',
    [`POST ${REST}/tag-association?~action=list-attached-tags`]: ['t:1'],
    'DELETE /rest/com/vmware/cis/session': '',
  },
  api: {
    'GET /api/cis/tagging/tag': ['t:1'],
    'GET /api/cis/tagging/tag/t:1': TAG,
    'GET /api/cis/tagging/category/c:1': { name: 'openshift-infra' },
    'POST /api/cis/tagging/tag-association/t:1?action=attach': '',
    'POST /api/cis/tagging/tag-association?action=list-attached-tags': ['t:1'],
    'DELETE /api/session': '',
  },
} as const;

for (const generation of ['api', 'rest'] as const) {
  test(`speaks /${generation}: finds by name, attaches, lists, logs in once and out`, async () => {
    await using server = await restServer(generation, servers[generation]);
    const { tags, rest, asked } = server;
    const [found] = await Promise.all([tags.named('infra'), tags.named('nobody')]);
    assert.deepEqual(found, [{ id: 't:1', category: 'openshift-infra' }]);
    await tags.attach(VM, ['t:1', 't:1']);
    assert.deepEqual(await tags.attached(VM), ['t:1']);
    await rest[Symbol.asyncDispose]();
    const logins = asked.filter(({ line }) => /^POST .*session$/.test(line));
    assert.equal(logins.length, generation === 'api' ? 1 : 2);
    assert.match(asked.at(-1)?.line ?? '', /^DELETE .*session$/);
    const attached = asked.filter(({ line }) => line.includes('action=attach'));
    assert.deepEqual(
      attached.map(({ body, session }) => ({ body, session })),
      [{ body: '{"object_id":{"type":"VirtualMachine","id":"vm-1"}}', session: 'session-1' }],
    );
  });
}

test('a session that ended is replaced once', async () => {
  const faults = ['GET /api/cis/tagging/tag 401'];
  await using server = await restServer('api', servers.api, faults);
  assert.equal((await server.tags.named('infra')).length, 1);
  assert.equal(server.asked.filter(({ line }) => line === 'POST /api/session').length, 2);
});

test('an unknown tag is named, a refused login is told apart, and neither error holds the password', async () => {
  await using server = await restServer('api', servers.api);
  await assert.rejects(
    server.tags.attach(VM, ['t:9']),
    (error) => isVimError(error, 'VIM_NOT_FOUND') && error.message.includes('t:9'),
  );
  await using refusing = await restServer('api', servers.api, ['POST /api/session 401']);
  await assert.rejects(refusing.tags.named('infra'), (error) => {
    assert.ok(isVimError(error, 'VIM_LOGIN_REFUSED'));
    assert.doesNotMatch(`${error.message} ${JSON.stringify(error)}`, /secret-word/);
    return true;
  });
});

test('a busy server is worth another try', async () => {
  await using server = await restServer('api', servers.api, ['POST /api/session 503']);
  await assert.rejects(server.tags.named('infra'), (error) => isVimError(error, 'VIM_HTTP_STATUS') && error.retriable);
  assert.equal((await server.tags.named('infra')).length, 1);
});

test('OWN-16 a tag is read once, and again only when its name is the one that is looked for; new, renamed and deleted tags are seen', async () => {
  const many = Array.from({ length: 300 }, (_, index) => `t:${index}`);
  const answers: Record<string, unknown> = {
    ...servers.api,
    'GET /api/cis/tagging/tag': many,
    ...Object.fromEntries(
      many.map((id) => [`GET /api/cis/tagging/tag/${id}`, { name: `n ${id}`, category_id: 'c:1' }]),
    ),
  };
  const clock = manualClock();
  await using server = await restServer('api', answers, [], clock);
  const { tags, asked } = server;
  const reads = (): number => asked.filter(({ line }) => line.startsWith('GET /api/cis/tagging/tag/')).length;
  const named = async (name: string) => (await tags.named(name)).map(({ id }) => id);

  assert.deepEqual(await named('n t:7'), ['t:7']);
  assert.equal(reads(), 300);
  for (let pass = 0; pass < 5; pass += 1) assert.deepEqual(await named('n t:7'), ['t:7']);
  assert.equal(reads(), 305, 'a pass reads the tag that it is about, and no other');

  answers['GET /api/cis/tagging/tag'] = [...many, 't:new'];
  answers['GET /api/cis/tagging/tag/t:new'] = { name: 'n t:7', category_id: 'c:1' };
  assert.deepEqual(await named('n t:7'), ['t:7', 't:new']);
  answers['GET /api/cis/tagging/tag/t:7'] = { name: 'renamed', category_id: 'c:1' };
  assert.deepEqual(await named('n t:7'), ['t:new'], 'a name is not believed for longer than a pass');
  answers['GET /api/cis/tagging/tag'] = many;
  assert.deepEqual(await named('n t:7'), []);

  answers['GET /api/cis/tagging/tag/t:8'] = { name: 'n t:7', category_id: 'c:1' };
  const before = reads();
  assert.deepEqual(await named('n t:7'), []);
  assert.equal(reads(), before, 'a name that is not there costs no reading of all');
  await clock.advance(10 * 60_000);
  assert.deepEqual(await named('n t:7'), ['t:8'], 'a tag that was renamed to it is found in the end');
});

test('OWN-21 a tag that is deleted after it was listed is not found, and hides no other one of its name', async () => {
  const faults = [`GET ${REST}/tag/id:t:1 404`];
  const answers: Record<string, unknown> = {
    ...servers.rest,
    [`GET ${REST}/tag/id:t:3`]: TAG,
  };
  await using server = await restServer('rest', answers, faults);
  assert.deepEqual(await server.tags.named('infra'), [{ id: 't:3', category: 'openshift-infra' }]);
  assert.deepEqual(faults, []);
});
