import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { isVimError } from '../errors.ts';
import { simulatedFault, simulatedLoss } from '../testing/fault.ts';
import { type ManualClock, manualClock } from '../testing/manual-clock.ts';
import { plainAgent } from '../testing/plain-agent.ts';
import { type SeenCall, scriptedCaller } from '../testing/scripted-caller.ts';
import { openLease } from './lease.ts';

const LEASE = { type: 'HttpNfcLease', value: 'lease-1' };
const OPENED = {
  lease: LEASE,
  name: 'vm',
  items: [{ deviceId: '/vm/disk:0', path: 'disk.vmdk', size: 1 << 20, create: false }],
};
const INFO =
  '<entity type="VirtualMachine">vm-9</entity><deviceUrl><key>/vm-9/disk:0</key><importKey>/vm/disk:0</importKey>' +
  '<url>https://*/nfc/ticket/disk-0.vmdk</url><sslThumbprint/><disk>true</disk></deviceUrl><leaseTimeout>300</leaseTimeout>';

interface World {
  readonly clock: ManualClock;
  readonly answer?: (call: SeenCall) => string | undefined;
  /** Whether the server keeps the machine after an abort. */
  readonly keepsVm?: boolean;
  readonly states?: string[];
  readonly port?: number;
}

function world({ clock, answer, keepsVm = false, states = ['initializing', 'ready'], port }: World) {
  let aborted = false;
  return scriptedCaller({
    clock,
    ...(port === undefined ? {} : { agent: plainAgent(port) }),
    answer: (call) => {
      if (call.method === 'HttpNfcLeaseAbort') aborted = true;
      if (call.method === 'Destroy_Task') return '<returnval type="Task">task-1</returnval>';
      return answer?.(call);
    },
    properties: (ref) => {
      if (ref.type === 'VirtualMachine') return aborted && !keepsVm ? undefined : { name: 'vm' };
      const state = states.length > 1 ? states.shift() : states[0];
      if (state === 'gone') return undefined;
      return state === 'ready' ? { state, info: INFO } : { state: state ?? '' };
    },
  });
}

/** Moves the clock until the work has ended. */
async function drive<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let ended = false;
  work
    .finally(() => {
      ended = true;
    })
    .catch(() => undefined);
  while (!ended) await clock.advance(100);
  return work;
}

const methods = (calls: readonly SeenCall[]): string[] => calls.map((call) => call.method);

test('waits until the lease is ready and matches files with addresses', async () => {
  const clock = manualClock();
  const caller = world({ clock, states: ['initializing', 'initializing', 'ready'] });
  const lease = await drive(clock, openLease(caller, OPENED));
  assert.deepEqual(lease.vm, { type: 'VirtualMachine', value: 'vm-9' });
  assert.deepEqual(lease.files, [{ key: '/vm-9/disk:0', path: 'disk.vmdk', size: 1 << 20, create: false }]);
  await lease.complete();
  assert.equal(caller.calls.at(-1)?.options?.timeoutMs, 30 * 60_000);
  const before = caller.calls.length;
  await lease[Symbol.asyncDispose]();
  await clock.advance(60_000);
  assert.equal(caller.calls.length, before, 'a completed lease is neither aborted nor renewed');
});

for (const states of [['error'], ['done'], ['initializing', 'gone']]) {
  test(`a lease that ends as ${states.at(-1)} before it is ready is aborted`, async () => {
    const clock = manualClock();
    const caller = world({ clock, states });
    await assert.rejects(drive(clock, openLease(caller, OPENED)), (error) => isVimError(error, 'VIM_LEASE_FAILED'));
    assert.deepEqual(methods(caller.calls), ['HttpNfcLeaseAbort']);
  });
}

for (const keepsVm of [false, true]) {
  test(`VS-W96 abort once, the machine is gone although the server ${keepsVm ? 'keeps' : 'removes'} it, keep-alive stopped`, async () => {
    const clock = manualClock();
    const caller = world({ clock, keepsVm });
    const lease = await drive(clock, openLease(caller, OPENED));
    await drive(clock, lease.abort('test'));
    await lease.abort('again');
    await lease[Symbol.asyncDispose]();
    await clock.advance(60_000);
    const after = methods(caller.calls);
    assert.equal(after.filter((method) => method === 'HttpNfcLeaseAbort').length, 1);
    assert.equal(after.filter((method) => method === 'Destroy_Task').length, keepsVm ? 1 : 0);
    assert.equal(after.at(-1), keepsVm ? 'Destroy_Task' : 'HttpNfcLeaseAbort');
  });
}

test('an abort that the server refuses destroys nothing: the import may be complete', async () => {
  const clock = manualClock();
  const caller = world({
    clock,
    keepsVm: true,
    answer: ({ method }) => {
      if (method === 'HttpNfcLeaseAbort') throw simulatedFault('InvalidState', method, 'lease-1');
      return '';
    },
  });
  const lease = await drive(clock, openLease(caller, OPENED));
  await lease.abort('test');
  assert.equal(methods(caller.calls).includes('Destroy_Task'), false);
});

async function nfcHost(handler: RequestListener) {
  const server = createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('VS-W96 a host that drops the upload half-way: one abort on disposal, the error is the upload', async () => {
  await using host = await nfcHost((request) => {
    request.once('data', () => request.socket.destroy());
  });
  const clock = manualClock();
  const caller = world({ clock, port: host.port });
  const work = async () => {
    await using lease = await openLease(caller, OPENED);
    const [file] = lease.files;
    assert.ok(file !== undefined);
    await lease.upload(file, {
      size: 1 << 20,
      open: () => Readable.from([Buffer.alloc(1 << 19), Buffer.alloc(1 << 19)]),
    });
  };
  await assert.rejects(drive(clock, work()), (error) => isVimError(error, 'VIM_UNREACHABLE'));
  assert.equal(methods(caller.calls).filter((method) => method === 'HttpNfcLeaseAbort').length, 1);
});

test('VS-W97 a lease that cannot be renewed ends its upload with that reason', async () => {
  await using host = await nfcHost((request) => request.pause());
  const clock = manualClock();
  const caller = world({
    clock,
    port: host.port,
    answer: ({ method }) => {
      if (method === 'HttpNfcLeaseProgress') throw simulatedLoss(method);
      return '';
    },
  });
  const lease = await drive(clock, openLease(caller, OPENED));
  const [file] = lease.files;
  assert.ok(file !== undefined);
  const stalled = new Readable({ read: () => undefined });
  stalled.push(Buffer.alloc(1 << 10));
  const upload = lease.upload(file, { size: 1 << 20, open: () => stalled });
  await assert.rejects(drive(clock, upload), (error) => isVimError(error, 'VIM_LEASE_FAILED'));
  assert.equal(stalled.destroyed, true);
  assert.equal(methods(caller.calls).filter((method) => method === 'HttpNfcLeaseProgress').length, 3);
});

test('a signal ends the wait for the lease, which is then aborted', async () => {
  const clock = manualClock();
  const caller = world({ clock, states: ['initializing'] });
  const controller = new AbortController();
  const opening = openLease(caller, OPENED, { signal: controller.signal });
  await clock.advance(1_000);
  controller.abort();
  await assert.rejects(drive(clock, opening), (error) => isVimError(error, 'VIM_ABORTED'));
  assert.deepEqual(methods(caller.calls), ['HttpNfcLeaseAbort']);
});
