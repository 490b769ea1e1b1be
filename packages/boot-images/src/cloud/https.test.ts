import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { inspect } from 'node:util';
import type { BootImageError } from '../errors.ts';
import { type CloudFault, type CloudServer, startCloudServer } from '../testing/clouds/cloud-server.ts';
import { type CloudHttpsOptions, cloudHttps } from './https.ts';

const HOST = 'compute.example.com';
let server: CloudServer;

before(async () => {
  server = await startCloudServer([HOST], ({ path }) => ({ status: 200, body: { path } }));
});
after(() => server?.[Symbol.asyncDispose]());
beforeEach(() => {
  server.fault = undefined;
});

/** Time that passes only in the pauses between attempts. */
function pausing(): { readonly clock: NonNullable<CloudHttpsOptions['clock']>; readonly pauses: number[] } {
  let time = 0;
  const pauses: number[] = [];
  return {
    pauses,
    clock: {
      now: () => time,
      date: () => new Date(time),
      sleep: async (ms, { signal } = {}) => {
        signal?.throwIfAborted();
        pauses.push(ms);
        time += ms;
      },
    },
  };
}

async function ask(options: CloudHttpsOptions = {}, signal?: AbortSignal): Promise<string> {
  await using https = cloudHttps({ ...server.options, clock: pausing().clock, ...options });
  const call = { method: 'GET', url: `https://${HOST}/a?b=c`, action: 'get a', headers: { authorization: 'hunter2' } };
  const { status, text } = await https.ask({ ...call, method: 'GET', ...(signal === undefined ? {} : { signal }) });
  return `${status} ${text}`;
}

async function failure(options: CloudHttpsOptions = {}): Promise<BootImageError> {
  const error: unknown = await ask(options).then(
    (text) => assert.fail(`it answered ${text}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof Error && error.name === 'BootImageError', String(error));
  assert.doesNotMatch(inspect(error, { depth: 8, showHidden: true }), /hunter/);
  return error as BootImageError;
}

/** The first calls go wrong. */
function wrongFor(times: number, fault: CloudFault): void {
  let left = times;
  server.fault = () => {
    left -= 1;
    return left >= 0 ? fault : undefined;
  };
}

test('an answer comes through the proxy of the environment, by the authority that was given; 4xx is one', async () => {
  assert.equal(await ask(), '200 {"path":"/a"}');
  assert.ok(server.hosts.has(HOST));
  server.fault = () => ({ status: 404, body: { error: 1 } });
  assert.equal(await ask(), '404 {"error":1}');
  const { code, message } = await failure({ ca: '' });
  assert.equal(code, 'CloudUnavailable');
  assert.match(message, /^failed to get a at compute\.example\.com: no complete answer \(/);
});

test('NO_PROXY is heeded', async () => {
  const env = { ...server.options.env, NO_PROXY: '.example.com' };
  server.fault = () => assert.fail('it was led there');
  await failure({ env, bounds: { attempts: 1, exchangeMs: 2_000 } });
});

for (const [what, fault] of [
  ['429', { status: 429, body: 'slow down' }],
  ['503', { status: 503, body: '<html>' }],
  ['500', { status: 500, body: {} }],
  ['a reset', 'reset'],
  ['a truncated answer', 'truncated'],
] as const) {
  test(`${what} is repeated with growing pauses, and told when it lasts`, async () => {
    wrongFor(2, fault);
    const { clock, pauses } = pausing();
    assert.equal(await ask({ clock }), '200 {"path":"/a"}');
    assert.equal(pauses.length, 2);
    assert.ok((pauses[0] ?? 0) >= 250 && (pauses[1] ?? 0) >= 500, String(pauses));
    wrongFor(100, fault);
    const { code, retriable } = await failure();
    assert.deepEqual([code, retriable], ['CloudUnavailable', true]);
  });
}

test('Retry-After is waited for, unless it is longer than a call may last', async () => {
  wrongFor(1, { status: 429, body: '', headers: { 'retry-after': '7' } });
  const { clock, pauses } = pausing();
  assert.equal(await ask({ clock }), '200 {"path":"/a"}');
  assert.deepEqual(pauses, [7_000]);
  wrongFor(1, { status: 429, body: '', headers: { 'retry-after': '3600' } });
  assert.match((await failure()).message, /HTTP 429/);
});

test('silence, an endless body and one that drips end at their bounds', async () => {
  for (const [fault, code] of [
    ['hang', 'CloudUnavailable'],
    ['drip', 'CloudUnavailable'],
    ['endless', 'CloudAnswerInvalid'],
  ] as const) {
    server.fault = () => fault;
    const started = performance.now();
    const bounds = { attempts: 2, exchangeMs: fault === 'endless' ? 10_000 : 150, bytes: 1 << 20 };
    assert.equal((await failure({ bounds })).code, code, fault);
    assert.ok(performance.now() - started < 5_000, fault);
  }
});

test('an exchange for which less than its own time is left ends with the call', async () => {
  server.fault = () => 'hang';
  const { code, message } = await failure({ bounds: { exchangeMs: 10_000, callMs: 150.5 } });
  assert.equal(code, 'CloudUnavailable');
  assert.match(message, /no complete answer within 151 ms/);
});

test('a redirection is not followed, and what is no https:// is not asked', async () => {
  server.fault = () => ({ status: 302, body: '', headers: { location: 'https://elsewhere.example/?token=hunter2' } });
  assert.match((await failure()).message, /a redirection \(HTTP 302\)/);
  await using https = cloudHttps(server.options);
  for (const url of ['http://compute.example.com/', 'https://u:hunter2@compute.example.com/', 'nonsense hunter2'])
    await assert.rejects(https.ask({ method: 'GET', url, action: 'get a' }), ({ message }: Error) => {
      assert.doesNotMatch(message, /hunter2/);
      return /only https/.test(message);
    });
});

test('a proxy that is none, one that refuses, and its password are told without the password', async () => {
  const refusing = createServer();
  refusing.on('connect', (_, socket) => socket.end('HTTP/1.1 407 no\r\n\r\n'));
  refusing.listen(0, '127.0.0.1');
  await once(refusing, 'listening');
  const { port } = refusing.address() as AddressInfo;
  for (const proxy of ['http://u:hun%zzter2@127.0.0.1:1', 'ftp://u:hunter2@h', `http://u:hunter2@127.0.0.1:${port}`])
    assert.equal((await failure({ env: { HTTPS_PROXY: proxy }, bounds: { attempts: 1 } })).code, 'CloudUnavailable');
  refusing.close();
});

test('whoever asks can stop, also in a pause', async () => {
  server.fault = () => ({ status: 503, body: '' });
  const stop = new AbortController();
  const clock = { ...pausing().clock, sleep: async () => stop.abort(new Error('enough')) };
  await assert.rejects(ask({ clock }, stop.signal), /enough/);
  const calls = server.calls.length;
  await assert.rejects(ask({}, AbortSignal.abort(new Error('before'))), /before/);
  assert.equal(server.calls.length, calls);
});

test('each exchange is counted with its status, or with what went wrong', async () => {
  const counted: string[] = [];
  wrongFor(1, { status: 503, body: '' });
  await ask({ onCall: (host, code) => void counted.push(`${host} ${code}`) });
  assert.deepEqual(counted, [`${HOST} 503`, `${HOST} 200`]);
});
