import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '@drydock/api';
import { ApiError, type ApiErrorCode } from '@drydock/kube';
import { virtualClock } from '@drydock/kube/testing';
import { StaticPodError } from './errors.ts';
import { patiently } from './patience.ts';
import { fetchSource } from './revision/fetch.ts';
import { NAMESPACE, putSecret, smallCluster } from './testing/static-pod-world.ts';

const failure = (code: ApiErrorCode, status: number): ApiError =>
  new ApiError({ code, status, action: 'get', said: 'no' });
const refused = failure('Connection', 0);

/** Fails as often as told, then answers. */
function flaky(errors: readonly Error[]): { readonly call: () => Promise<string>; readonly calls: () => number } {
  let calls = 0;
  const call = async (): Promise<string> => {
    calls += 1;
    const error = errors[calls - 1];
    if (error !== undefined) throw error;
    return 'ok';
  };
  return { call, calls: () => calls };
}

async function run(
  errors: readonly Error[],
  advance = 60_000,
): Promise<{ readonly result: unknown; readonly calls: number }> {
  const clock = virtualClock();
  const end = new AbortController();
  const { call, calls } = flaky(errors);
  const done = patiently(call, { clock, signal: end.signal }).then(
    (result) => ({ result, calls: calls() }),
    (error: unknown) => ({ result: error, calls: calls() }),
  );
  await clock.advance(advance);
  end.abort();
  return done;
}

test('DU-D56 DU-D71 a success is one request', async () => {
  assert.deepEqual(await run([]), { result: 'ok', calls: 1 });
});

test('DU-D57 DU-D58 absent: one request, an error only where it is required', async () => {
  const cluster = smallCluster(7);
  const options = { client: cluster.client(), namespace: NAMESPACE };
  const before = cluster.calls;
  assert.equal(await fetchSource('secrets', 'nothing', true, options), undefined);
  assert.equal(cluster.calls - before, 1);
  await assert.rejects(fetchSource('secrets', 'nothing', false, options), StaticPodError);
  assert.equal(cluster.calls - before, 2);
});

test('DU-D59 DU-D68 DU-D69 DU-W21 refused connections and answers of class 5xx are tried again, longer than a blip of a second', async () => {
  const broken = failure('ServerError', 500);
  assert.deepEqual(await run([broken]), { result: 'ok', calls: 2 });
  assert.deepEqual(await run(Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? refused : broken))), {
    result: 'ok',
    calls: 9,
  });
});

test('answers of class 4xx are for good, except too many requests', async () => {
  const forbidden = failure('Forbidden', 403);
  assert.deepEqual(await run([forbidden]), { result: forbidden, calls: 1 });
  assert.deepEqual(await run([failure('TooManyRequests', 429)]), { result: 'ok', calls: 2 });
});

test('DU-D67 the time ends: the last real error is thrown', async () => {
  const end = new AbortController();
  let calls = 0;
  const call = async (): Promise<never> => {
    calls += 1;
    end.abort();
    throw refused;
  };
  await assert.rejects(patiently(call, { signal: end.signal }), refused);
  assert.equal(calls, 1);
  const late = await run(Array.from({ length: 1_000 }, () => refused));
  assert.equal(late.result, refused);
  assert.ok(late.calls > 10 && late.calls < 40, `${late.calls} calls in a minute`);
});

test('DU-D72 an answer that cannot be used ends it', async () => {
  const cluster = smallCluster(7);
  putSecret(cluster, 'odd', {});
  const calls = cluster.calls;
  const odd = patiently(async () => {
    await cluster.client().get(Secret, { namespace: NAMESPACE, name: 'odd' });
    throw new StaticPodError('BAD_CONTENT', 'odd', 'no use');
  });
  await assert.rejects(odd, { code: 'BAD_CONTENT' });
  assert.equal(cluster.calls - calls, 1);
});
