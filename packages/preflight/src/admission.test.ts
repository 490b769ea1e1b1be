import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type Client, type KubeObject, type Resource } from '@drydock/kube';
import { clusterAdmission } from './admission.ts';

const hook = (name: string, service: string, failurePolicy?: string): KubeObject =>
  ({
    metadata: { name },
    webhooks: [{ clientConfig: { service: { namespace: 'n', name: service } }, failurePolicy }],
  }) as unknown as KubeObject;

/** A server with Services, of which some have an endpoint that is ready. */
function server(services: Readonly<Record<string, 'ready' | 'unready' | 'empty'>>): Pick<Client, 'list' | 'get'> {
  const hooks = [hook('answered', 'up'), hook('booting', 'slow'), hook('left', 'none'), hook('gone', 'absent')];
  const gone = (action: string): ApiError => new ApiError({ code: 'NotFound', action, said: 'not found' });
  return {
    get: async (resource: Resource<KubeObject>, { name = '' }: { readonly name?: string }) => {
      if (services[name] === undefined) throw gone(`get ${resource.kind}`);
      return { metadata: { name } };
    },
    list: async function* (resource: Resource<KubeObject>, { labels = '' }: { readonly labels?: string }) {
      if (resource.kind === 'ValidatingWebhookConfiguration') yield* [...hooks, hook('open', 'none', 'Ignore')];
      const state = services[labels.replace('kubernetes.io/service-name=', '')];
      if (resource.kind === 'EndpointSlice' && state !== undefined && state !== 'empty')
        yield { metadata: { name: 's' }, endpoints: [{ conditions: { ready: state === 'ready' } }] };
    },
  } as unknown as Pick<Client, 'list' | 'get'>;
}

test('SAFE-18 a webhook that fails closed and has nobody behind its Service is told as one that refuses, with the reason', async () => {
  const { headless } = await clusterAdmission(server({ up: 'ready', slow: 'unready', none: 'empty' }));
  assert.deepEqual(Object.fromEntries(headless), {
    'ValidatingWebhookConfiguration booting': 'its Service n/slow has no endpoint that is ready',
    'ValidatingWebhookConfiguration left': 'its Service n/none has no endpoint that is ready',
    'ValidatingWebhookConfiguration gone': 'its Service n/absent is not there',
  });
});
