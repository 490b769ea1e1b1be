import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@drydock/api';
import { isNotFound } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import type { TemplateStore } from '@drydock/templates';
import { inspectingOnce, readingOnce } from './read-once.ts';

test('OWN-18 one look at a large cluster asks for each object and each template once, however many sets name it', async () => {
  const cluster = memoryCluster({ namespaces: ['a', 'b'] });
  const key = { namespace: 'a', name: 'stub' };
  cluster.put(Secret, key, { metadata: key });
  const client = readingOnce(cluster.client());
  for (let round = 0; round < 3; round += 1) {
    assert.equal((await client.get(Secret, key)).metadata.name, 'stub');
    await assert.rejects(client.get(Secret, { ...key, namespace: 'b' }), isNotFound);
    await assert.rejects(client.get(ConfigMap, key), isNotFound);
  }
  assert.equal(cluster.counters.get('get'), 3, 'another kind, and another namespace, are other objects');

  const asked: string[] = [];
  const store = inspectingOnce({
    inspect: async ({ folder }: { readonly folder: string }, reference: string) => {
      asked.push(`${folder} ${reference}`);
      return { kind: 'absent' };
    },
  } as unknown as TemplateStore);
  const place = (folder: string) => ({ folder }) as Parameters<TemplateStore['inspect']>[0];
  for (const [folder, name] of ['x 1', 'x 1', 'y 1', 'x 2', 'y 1'].map((text) => text.split(' ')))
    await store.inspect(place(folder ?? ''), name ?? '');
  assert.deepEqual(asked, ['x 1', 'y 1', 'x 2']);
});
