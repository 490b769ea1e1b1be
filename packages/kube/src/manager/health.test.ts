import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from 'undici';
import { kubeMetrics } from '../controller/metrics.ts';
import { serveHealth } from './health.ts';

const one = { port: 0, host: '127.0.0.1', live: () => ({}), ready: () => ({}) } as const;

async function get(port: number, path: string): Promise<readonly [number, string]> {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, { reset: true });
  return [statusCode, await body.text()];
}

test('healthz, livez, readyz, single checks, verbose and metrics', async () => {
  let wrong: string | undefined = 'not synced';
  const { registry } = kubeMetrics();
  await using server = await serveHealth({ ...one, ready: () => ({ caches: () => wrong }), registry });
  const { port } = server;
  assert.deepEqual(await get(port, '/healthz'), [200, 'ok']);
  assert.deepEqual(await get(port, '/livez?verbose'), [200, '[+]ping ok\n[+]event-loop ok\nlivez check passed\n']);
  assert.deepEqual(await get(port, '/readyz'), [
    500,
    '[+]ping ok\n[-]caches failed: not synced\nreadyz check failed\n',
  ]);
  assert.equal((await get(port, '/readyz/caches'))[0], 500);
  wrong = undefined;
  assert.deepEqual(await get(port, '/readyz'), [200, 'ok']);
  assert.deepEqual(await get(port, '/readyz?verbose'), [200, '[+]ping ok\n[+]caches ok\nreadyz check passed\n']);
  assert.equal((await get(port, '/readyz/nothing'))[0], 404);
  assert.equal((await get(port, '/constructor'))[0], 404);
  const [status, text] = await get(port, '/metrics');
  assert.equal(status, 200);
  for (const name of ['workqueue_depth', 'rest_client_requests_total', 'leader_election_master_status']) {
    assert.ok(text.includes(`# TYPE ${name} `), name);
  }
});

test('a port that is taken is an error, not a hang', async () => {
  await using server = await serveHealth(one);
  await assert.rejects(serveHealth({ ...one, port: server.port }), { code: 'EADDRINUSE' });
});

test('SAFE-12 metrics and health are for this machine alone, unless all of its addresses are asked for', async () => {
  const answered = async (host: string | undefined): Promise<readonly boolean[]> => {
    await using server = await serveHealth({ ...one, host });
    const of = async (address: string): Promise<boolean> =>
      request(`http://${address}:${server.port}/healthz`, { reset: true }).then(
        ({ statusCode }) => statusCode === 200,
        () => false,
      );
    // Another address of this machine, which whoever listens on all of them answers.
    return await Promise.all(['127.0.0.1', '127.0.0.2'].map(of));
  };
  assert.deepEqual(await answered(undefined), [true, false]);
  assert.deepEqual(await answered('*'), [true, true]);
  assert.deepEqual(await answered('127.0.0.2'), [false, true]);
});
