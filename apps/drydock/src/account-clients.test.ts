import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterConfig, KubeClient } from '@drydock/kube';
import { accountClients } from './account-clients.ts';

/** Clients of a cluster that count what is open, on a clock that the test sets. */
function rig(config: Partial<ClusterConfig> = {}) {
  const rigged = { now: 0, open: new Set<string>(), made: [] as Partial<ClusterConfig>[] };
  const clients = accountClients({ server: 'https://api', ...config } as ClusterConfig, {
    metrics: { request: () => undefined },
    now: () => rigged.now,
    create: (made) => {
      const name = `${made.impersonate?.user} ${made.server}`;
      rigged.made.push(made);
      rigged.open.add(name);
      const close = async (): Promise<void> => void rigged.open.delete(name);
      return { [Symbol.asyncDispose]: close } as unknown as KubeClient;
    },
  });
  return Object.assign(rigged, { clients });
}

test('SAFE-9 however many accounts others name, nobody loses the client that he works with; one that is not asked for is closed', async () => {
  const world = rig();
  const victim = world.clients.of({ namespace: 'victim', name: 'deployer' });
  for (let at = 0; at < 500; at += 1) world.clients.of({ namespace: 'tenant', name: `a${at}` });
  assert.equal(world.open.size, 501);
  world.now = 600_000;
  assert.equal(world.clients.of({ namespace: 'victim', name: 'deployer' }), victim);
  world.now = 1_000_000;
  world.clients.of({ namespace: 'tenant', name: 'new' });
  assert.deepEqual(
    [...world.open],
    ['system:serviceaccount:victim:deployer https://api', 'system:serviceaccount:tenant:new https://api'],
  );
  await world.clients[Symbol.asyncDispose]();
  assert.equal(world.open.size, 0);
});

test('what is asked of one API server by itself is asked in the name of the account, by a name of its certificate; without certificates nobody is', () => {
  const world = rig();
  world.clients.at?.({ namespace: 'n', name: 'a' }, 'https://10.0.0.1:6443');
  const [made] = world.made;
  assert.deepEqual(
    [made?.server, made?.tlsServerName, made?.impersonate],
    ['https://10.0.0.1:6443', 'kubernetes.default.svc', { user: 'system:serviceaccount:n:a' }],
  );
  assert.equal(rig({ insecureSkipTlsVerify: true }).clients.at, undefined);
});
