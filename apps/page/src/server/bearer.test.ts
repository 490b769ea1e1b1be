import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { RawRequest } from '@drydock/kube';
import { virtualClock } from '@drydock/kube/testing';
import { bearerTokens } from './bearer.ts';

interface Rig {
  readonly reviews: string[];
  users: Readonly<Record<string, string>>;
  /** For whom all tokens are; `ignored`: the server knows no audiences. */
  audience?: string;
  may: readonly string[];
  fails: boolean;
  hold: Promise<void> | undefined;
}

function rig() {
  const clock = virtualClock();
  const r: Rig = { reviews: [], users: { good: 'alice', poor: 'bob' }, may: ['alice'], fails: false, hold: undefined };
  const errors: unknown[] = [];
  const raw = async ({ path, body }: RawRequest): Promise<unknown> => {
    const { spec } = body as {
      readonly spec: { readonly token?: string; readonly user?: string; readonly audiences?: readonly string[] };
    };
    r.reviews.push(`${path.split('/').at(-1)} ${spec.token ?? spec.user}`);
    await r.hold;
    if (r.fails) throw new Error('no answer');
    if (spec.token === undefined) return { status: { allowed: r.may.includes(spec.user ?? '') } };
    const username = r.users[spec.token];
    if (username === undefined) return { status: { error: 'unknown', user: { username: 'alice' } } };
    const { audience = 'api' } = r;
    if (audience !== 'ignored' && audience !== (spec.audiences?.[0] ?? 'api')) return { status: { error: 'audience' } };
    return {
      status: { authenticated: true, user: { username }, ...(audience === 'ignored' ? {} : { audiences: [audience] }) },
    };
  };
  const admit = bearerTokens({ client: { raw }, clock, onError: (error) => errors.push(error) });
  const ask = async (headers: Record<string, string>): Promise<number> => {
    const admission = await admit({ headers } as unknown as IncomingMessage);
    return admission.kind === 'admitted' ? 200 : admission.code;
  };
  return { ...{ clock, errors, ask }, r, token: (token: string) => ask({ authorization: `Bearer ${token}` }) };
}

test('an answer holds for a minute, a refusal for ten seconds, and who lost the right is out after that', async () => {
  const { r, token, clock } = rig();
  assert.deepEqual([await token('good'), await token('poor'), await token('bad')], [200, 403, 401]);
  const { length } = r.reviews;
  assert.deepEqual(
    [await token('good'), await token('poor'), await token('bad'), r.reviews.length],
    [200, 403, 401, length],
  );
  r.may = ['bob'];
  await clock.advance(11_000);
  assert.deepEqual([await token('good'), await token('poor')], [200, 200]);
  await clock.advance(50_000);
  assert.equal(await token('good'), 403);
});

test('FIND-4 a token for the page or for the API server is admitted, one for another service is not, and a server that ignores audiences is asked again', async () => {
  for (const [audience, code] of [
    ['drydock-page', 200],
    ['api', 200],
    ['vault', 401],
    ['ignored', 200],
  ] as const) {
    const { r, token } = rig();
    r.audience = audience;
    assert.equal(await token('good'), code, audience);
    const tokenReviews = r.reviews.filter((one) => one.startsWith('tokenreviews')).length;
    assert.equal(tokenReviews, audience === 'drydock-page' ? 1 : 2, audience);
  }
});

test('no token, or what is none, is asked of nobody; the other header says the same', async () => {
  const { r, ask } = rig();
  for (const headers of [
    {},
    { authorization: 'Basic eA==' },
    { authorization: 'Bearer ' },
    { authorization: 'Bearer a b' },
    { cookie: 'good' },
  ])
    assert.equal(await ask(headers as Record<string, string>), 401);
  assert.equal(await ask({ authorization: `Bearer ${'x'.repeat(12_001)}` }), 401);
  assert.deepEqual(r.reviews, []);
  assert.equal(await ask({ 'drydock-authorization': 'Bearer good' }), 200);
});

test('one token is asked about once at a time, a flood of them a few at a time, and a server that fails lets nobody in', async () => {
  const { r, token, clock, errors } = rig();
  const held = Promise.withResolvers<void>();
  r.hold = held.promise;
  const same = Promise.all([token('good'), token('good'), token('good')]);
  const flood = Promise.all(Array.from({ length: 100 }, (_, at) => token(`t${at}`)));
  assert.ok(r.reviews.length <= 8, `${r.reviews.length} at once`);
  held.resolve();
  assert.deepEqual(await same, [200, 200, 200]);
  assert.equal((await flood).filter((code) => code === 503).length, 93);
  await clock.advance(61_000);
  r.fails = true;
  assert.equal(await token('good'), 503);
  assert.deepEqual(errors.map(String), ['Error: no answer'], 'without the token');
  r.fails = false;
  assert.equal(await token('good'), 200);
});
