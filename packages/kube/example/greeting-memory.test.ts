import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { memoryCluster, until } from '@drydock/kube/testing';
import { parse } from 'yaml';
import { CONFIG_MAP, GREETING, runGreetings } from './greeting.ts';

test('a greeting is written although the first answers are lost after the server acted', async ({ signal }) => {
  const crd: unknown = parse(await readFile(`${import.meta.dirname}/greeting.crd.yaml`, 'utf8'));
  const cluster = memoryCluster({ crds: [crd] });
  const lost: string[] = [];
  cluster.onCall = ({ verb, resource }, phase, { mutates }) => {
    if (!mutates || phase === 'before' || resource.startsWith('leases') || lost.length === 3) return;
    lost.push(`${verb} ${resource}`);
    throw new Error('the answer was lost');
  };
  await using client = cluster.client();
  await using _operator = await runGreetings(client, signal);
  const ada = { namespace: 'default', name: 'ada' };
  cluster.put(GREETING, ada, { spec: { name: 'Ada' } });
  await until('the status', () => lost.length === 3 && cluster.peek(GREETING, ada)?.status?.configMap);
  const greeting = cluster.peek(CONFIG_MAP, { ...ada, name: 'greeting-ada' });
  assert.equal(greeting?.data?.['text'], 'Hello, Ada!');
  assert.equal(lost[0], 'apply configmaps');
});
