import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCache, createClient, loadKubeconfig } from '@drydock/kube';
import { until } from '@drydock/kube/testing';
import { startSandbox } from '@drydock/sandbox';
import { CONFIG_MAP, GREETING, runGreetings } from './greeting.ts';

test('a greeting is written, follows its wish, and comes back after its deletion', async ({ signal }) => {
  await using sandbox = await startSandbox({ crds: [`${import.meta.dirname}/greeting.crd.yaml`] });
  await using client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  await using configMaps = createCache({ client, resource: CONFIG_MAP });
  await using _operator = await runGreetings(client, signal);
  const ada = { namespace: 'default', name: 'ada' };
  const written = { ...ada, name: 'greeting-ada' };
  const says = (text: string) => until(text, () => configMaps.get(written)?.data?.['text'] === text);

  await client.create(GREETING, { metadata: ada, spec: { name: 'Ada' } });
  await says('Hello, Ada!');
  await client.mergePatch(GREETING, ada, { spec: { name: 'Countess' } });
  await says('Hello, Countess!');
  const { uid } = configMaps.get(written)?.metadata ?? {};
  await client.delete(CONFIG_MAP, written);
  await until('another one', () => ![undefined, uid].includes(configMaps.get(written)?.metadata.uid));
  assert.deepEqual((await client.get(GREETING, ada)).status, { configMap: 'greeting-ada' });
});
