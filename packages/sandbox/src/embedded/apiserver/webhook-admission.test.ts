import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { embeddedSpeaker } from '../../testing/conversations/conversation-speakers.ts';
import { startWebhookDouble } from '../../testing/conversations/webhook-double.ts';
import { createObjectServer } from './objects.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

suite('writes that wait for a webhook', () => {
  test('two patches at once both hold, and a write that names a version loses to the faster one', async () => {
    await using webhooks = await startWebhookDouble();
    await using server = createObjectServer();
    const speak = embeddedSpeaker(server);
    const { places } = webhooks;
    const webhook = {
      name: 'warn.drydock.dev',
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      clientConfig: { url: `${places['https://hook.invalid']}/warn`, caBundle: places['THE_CA'] },
      rules: [{ operations: ['UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    };
    const configuration = { metadata: { name: 'warn' }, webhooks: [webhook] };
    const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
    assert.equal((await speak({ method: 'POST', path, body: configuration })).code, 201);
    const { body } = await speak({ method: 'POST', path: MAPS, body: { metadata: { name: 'a' } } });
    const { metadata } = body as { readonly metadata: { readonly resourceVersion: string } };
    const patch = (key: string, more: object = {}): ReturnType<typeof speak> =>
      speak({
        method: 'PATCH',
        path: `${MAPS}/a`,
        body: { data: { [key]: 'x' }, ...more },
        type: 'application/merge-patch+json',
      });
    const guarded = { metadata: { resourceVersion: metadata.resourceVersion } };
    const keys = ['k1', 'k2', 'k3'];
    const [late, ...free] = await Promise.all([patch('late', guarded), ...keys.map((key) => patch(key))]);
    assert.deepEqual(
      free.map(({ code, warnings }) => [code, warnings]),
      keys.map(() => [200, ['w1']]),
    );
    const { data } = (await speak({ method: 'GET', path: `${MAPS}/a` })).body as { readonly data: object };
    for (const key of keys) assert.ok(key in data, `${key} of ${JSON.stringify(data)}`);
    // Whichever came first: the guarded one was stored, or told that it is late.
    assert.equal('late' in data, late?.code === 200);
    assert.ok(late?.code === 200 || late?.code === 409, String(late?.code));
  });
});
