import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type KubeClient } from '@drydock/kube';
import { inClusterPage } from './in-cluster.ts';

const { signal } = new AbortController();
const config = { credentials: { get: async () => ({ authorization: 'Bearer t0ken' }), reject: () => false } };

/** What a client was asked for, with the token where it was sent. */
function rig(served: boolean) {
  const asked: string[] = [];
  const raw: KubeClient['raw'] = async ({ path, headers }) => {
    asked.push(`${path} ${headers?.['drydock-authorization'] ?? ''}`.trim());
    if (path === '/apis/drydock.dev' && !served)
      throw new ApiError({ code: 'NotFound', action: 'read', said: 'not found', status: 404 });
    return '{}';
  };
  const page = inClusterPage({ raw, rawStream: () => assert.fail() }, config, 'drydock/drydock-page:https');
  return { asked, page };
}

test('SAFE-9 where Drydock is not installed nobody is sent a token, though somebody has made a Service of that name', async () => {
  const { asked, page } = rig(false);
  await assert.rejects(page.text('/state', signal), /does not serve drydock\.dev.*Nothing was sent/);
  await assert.rejects(page.events(undefined, signal), /does not serve drydock\.dev/);
  assert.ok(
    asked.every((one) => one === '/apis/drydock.dev'),
    asked.join(),
  );
});

test('the page is asked with the token, and whether it is installed is asked once', async () => {
  const { asked, page } = rig(true);
  for (const path of ['/state', '/page.js']) await page.text(path, signal);
  const base = '/api/v1/namespaces/drydock/services/https:drydock-page:https/proxy';
  assert.deepEqual(asked, ['/apis/drydock.dev', `${base}/state Bearer t0ken`, `${base}/page.js Bearer t0ken`]);
});
