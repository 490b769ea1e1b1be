import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Lease } from '@drydock/api';
import { createCache, createClient, loadKubeconfig } from '@drydock/kube';
import { startSandbox } from '@drydock/sandbox';
import { CONFIG_MAP, GREETING } from '../../packages/kube/example/greeting.ts';
import { eventually } from './support/kube-kinds.ts';

// The controller itself is tested beside it, in packages/kube/example; here the README is held to it, and its process is run.
const folder = join(import.meta.dirname, '../../packages/kube');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

test('the code of the README is the example that the tests run, in 40 lines each at most', () => {
  const blocks = [...read('README.md').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code ?? '');
  assert.deepEqual(blocks, [read('example/greeting.ts'), read('example/greeting.test.ts')]);
  for (const code of blocks) assert.ok(code.trimEnd().split('\n').length <= 40, code);
});

test('the README names only files that exist', () => {
  const links = [...read('README.md').matchAll(/\]\((?<path>[^)#]+)\)/g)].map(({ groups }) => groups?.['path'] ?? '');
  assert.ok(links.length >= 3);
  for (const link of links) assert.ok(read(link).length > 0, link);
});

test('two replicas of the process: one works, and the other one takes over when it is stopped', async () => {
  await using sandbox = await startSandbox({ crds: [join(folder, 'example/greeting.crd.yaml')] });
  await using client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  const namespace = 'default';
  await using configMaps = createCache({ client, resource: CONFIG_MAP, where: { namespace } });
  await using leases = createCache({ client, resource: Lease, where: { namespace } });
  await using processes = new AsyncDisposableStack();
  const replica = (): ChildProcess => {
    const child = spawn(process.execPath, [join(folder, 'example/main.ts')], {
      env: { ...process.env, KUBECONFIG: sandbox.kubeconfig },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    processes.defer(() => void child.kill('SIGKILL'));
    return child;
  };
  const holder = (): string => leases.get({ namespace, name: 'greetings' })?.spec?.holderIdentity ?? '';
  const greet = async (name: string): Promise<void> => {
    await client.create(GREETING, { metadata: { namespace, name }, spec: { name } });
    const said = (): string | undefined => configMaps.get({ namespace, name: `greeting-${name}` })?.data?.['text'];
    await eventually(`the greeting of ${name}`, () => said() === `Hello, ${name}!`);
  };

  const first = replica();
  await eventually('a leader', () => holder() !== '');
  const before = holder();
  replica();
  await greet('ada');
  const ended = once(first, 'exit');
  first.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  await eventually('another leader', () => holder() !== '' && holder() !== before);
  await greet('grace');
});
