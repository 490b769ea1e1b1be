import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCache, createClient, loadKubeconfig, type Observer } from '@drydock/kube';
import { soaking } from '@drydock/model';
import { startSandbox } from '@drydock/sandbox';
import { CONFIG_MAP, each, eventually, NAMESPACE } from './support/kube-kinds.ts';

const servers = {
  'streams its lists': { flags: [], asked: ['stream'] },
  // A start of its own costs as much as the rest of the test, and an older era streams as the newest does: for `make soak`.
  ...(soaking && {
    'of version 1.32 streams its lists': { flags: ['--emulated-version=1.32'], asked: ['stream'] },
  }),
  'does not stream lists and says so': {
    flags: ['--feature-gates=WatchList=false'],
    asked: ['stream', 'pages', 'watch'],
  },
};

for (const [name, { flags, asked }] of Object.entries(servers)) {
  test(`the first list from a server that ${name} is complete, costs no failure, and changes follow`, async () => {
    await using sandbox = await startSandbox({ apiserverFlags: flags });
    await using client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
    const namespace = 'lists';
    await client.create(NAMESPACE, { metadata: { name: namespace } });
    const names = Array.from({ length: 620 }, (_, n) => `m-${n}`);
    await each(names, 16, (one) => client.create(CONFIG_MAP, { metadata: { namespace, name: one } }));
    const seen: string[] = [];
    const observer: Observer = {
      pages: (resource, where, options) => {
        seen.push('pages');
        return client.pages(resource, where, options);
      },
      watchBatches: (resource, from, where, options) => {
        seen.push(from.initialEvents === true ? 'stream' : 'watch');
        return client.watchBatches(resource, from, where, options);
      },
    };
    await using cache = createCache({ client: observer, resource: CONFIG_MAP, where: { namespace } });
    await cache.synced;
    assert.deepEqual(new Set([...cache.all()].map(({ metadata }) => metadata.name)), new Set(names));
    const key = { namespace, name: 'later' };
    await client.create(CONFIG_MAP, { metadata: key });
    await eventually('the change', () => cache.get(key) !== undefined);
    assert.deepEqual(seen, asked);
    assert.equal(cache.health().failures, 0);
  });
}
