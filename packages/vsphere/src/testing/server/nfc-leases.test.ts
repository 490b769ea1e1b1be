import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority } from '@drydock/sandbox';
import { connectVCenter, isVimError, type MoRef, type VCenter } from '../../index.ts';
import { initialState } from '../inventory.ts';
import { ovfText } from '../ovf.ts';
import { startVCenterServer, type VCenterServer } from './vcenter-server.ts';

const LEASE_SECONDS = 1;

/** A server over the in-memory inventory, and a client of it. */
async function rig(): Promise<AsyncDisposable & { readonly server: VCenterServer; readonly vcenter: VCenter }> {
  await using made = new AsyncDisposableStack();
  const authority = createAuthority('leases');
  const identity = authority.issueServer(['127.0.0.1']);
  const login = { user: 'sailor', password: 'secret' };
  const server = made.use(
    await startVCenterServer({ identity, state: initialState({}), leaseTimeout: LEASE_SECONDS, ...login }),
  );
  const vcenter = made.use(
    connectVCenter({ url: server.url, tls: { ca: authority.certificate }, credentials: async () => login, env: {} }),
  );
  const resources = made.move();
  return { server, vcenter, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

async function importing(vcenter: VCenter, name: string): ReturnType<VCenter['startImport']> {
  const at = async (path: string): Promise<MoRef> => (await vcenter.findByPath(path)) ?? assert.fail(path);
  return vcenter.startImport({
    ...{ descriptor: ovfText({ size: 10 }), name, diskProvisioning: 'thin', instanceUuid: '', extraConfig: new Map() },
    ...{ folder: await at('/DC0/vm/ocp'), resourcePool: await at('/DC0/host/C0/Resources') },
    ...{ datastore: await at('/DC0/datastore/DS0'), host: await at('/DC0/host/C0/host-a') },
    networks: new Map([['VM Network', await at('/DC0/network/VM Network')]]),
  });
}

test('a lease that nobody keeps alive ends with its machine; one that is kept alive outlives its time', async () => {
  await using made = await rig();
  const { server, vcenter } = made;
  const kept = await importing(vcenter, 'kept');
  const { leases, world } = server.state;
  const [lease] = leases.values();
  assert.ok(lease !== undefined);
  const ends = Date.now() + 3 * LEASE_SECONDS * 1000;
  while (Date.now() < ends) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(lease.state, 'ready', 'the client keeps it alive');
  assert.ok((await vcenter.vm(kept.vm)) !== undefined);
  await kept.complete();
  assert.equal(leases.size, 0);

  await importing(vcenter, 'forgotten');
  const forgotten = [...leases.values()].at(-1) ?? assert.fail();
  // Its process dies: no word comes any more.
  for (const session of [...server.state.sessions.values()]) server.endSession(session);
  while (world.state.machines.size > 1) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(forgotten.state, 'error');
  assert.deepEqual(
    Array.from(world.state.machines.values(), ({ name }) => name),
    ['kept'],
  );
});

test('a lease is unknown to every session but the one that made it', async () => {
  await using made = await rig();
  const { server, vcenter } = made;
  await using lease = await importing(vcenter, 'mine');
  for (const session of [...server.state.sessions.values()]) server.endSession(session);
  await assert.rejects(lease.manifest(), (error) => isVimError(error) && error.fault?.name === 'ManagedObjectNotFound');
});
