import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, suite, test } from 'node:test';
import { connect as tlsConnect } from 'node:tls';
import { connectSwitchboard, type Switchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import { type Clock, type ConnectOptions, connectVCenter, type VCenter, VimError } from '@drydock/vsphere';
import { makeRequest } from './support/import-request.ts';
import { eventually } from './support/voyage.ts';

let sandbox: VCenterSandbox;
let board: Switchboard;
let ca: string;

before(async () => {
  sandbox = await startSandbox({ vcenter: true, kubernetes: false });
  board = connectSwitchboard(sandbox.vcenter.switchboard);
  ca = readFileSync(sandbox.vcenter.ca, 'utf8');
});

after(async () => {
  await sandbox?.[Symbol.asyncDispose]();
});

afterEach(async () => {
  await board.clearRules();
  await board.setOptions({ destroyOnAbort: true });
  await board.resetCalls();
});

function connect(more: Partial<ConnectOptions> = {}): VCenter {
  const { url, user, password } = sandbox.vcenter;
  return connectVCenter({ url, credentials: async () => ({ user, password }), tls: { ca }, env: {}, ...more });
}

async function failure(work: Promise<unknown>): Promise<VimError> {
  const error: unknown = await work.then(
    () => assert.fail('the call succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof VimError, String(error));
  return error;
}

const called = async (method: string): Promise<number> => (await board.calls()).methods[method] ?? 0;
const machine = async (name: string): Promise<{ readonly type: string; readonly value: string }> => {
  const { type, moref } = await board.createVm({ name, folder: '/DC0/vm' });
  return { type, value: moref };
};

test('VS-W76 VS-W87 faults of the simulator, of methods and tasks, known and unknown, keep name and fields', async () => {
  await using vcenter = connect();
  const vm = await machine('faults');
  const other = await machine('taken');
  const taken = await failure(vcenter.rename(vm, 'taken'));
  assert.deepEqual(
    [taken.code, taken.fault?.name, taken.fault?.field('name'), taken.fault?.reference('object')],
    ['VIM_NAME_TAKEN', 'DuplicateName', 'taken', other],
  );
  await board.destroyVm(other.value);
  const gone = await failure(vcenter.markAsTemplate(other));
  assert.deepEqual([gone.fault?.name, gone.fault?.reference('obj')], ['ManagedObjectNotFound', other]);
  const { user } = sandbox.vcenter;
  await using stranger = connect({ credentials: async () => ({ user, password: 'wrong' }) });
  assert.equal((await failure(stranger.findByPath('/DC0'))).fault?.name, 'InvalidLogin');

  const xml =
    '<reef>sharp</reef><faultCause><fault xsi:type="NoDiskSpace"><datastore>ds</datastore></fault></faultCause>';
  await using _unknown = await board.rule({
    on: 'MarkAsTemplate',
    do: 'fault',
    fault: { name: 'Aground', xml },
    times: 1,
  });
  const { fault } = await failure(vcenter.markAsTemplate(vm));
  assert.deepEqual(
    [fault?.name, fault?.message, fault?.field('reef'), fault?.has('NoDiskSpace'), fault?.cause?.field('datastore')],
    ['Aground', '', 'sharp', true, 'ds'],
  );
});

test('VS-W77 a session that was killed: one new login, which the simulator would refuse with the old cookie', async () => {
  await using vcenter = connect();
  await vcenter.findByPath('/DC0');
  const { logins } = await board.sessions();
  await board.killSessions();
  await Promise.all([1, 2, 3].map(() => vcenter.findByPath('/DC0')));
  const now = await board.sessions();
  assert.deepEqual([now.logins - logins, now.refused, now.sessions.length], [1, 1, 1]);
});

suite('VS-W79 TLS', () => {
  const pinOf = async (): Promise<string> => {
    const { hostname: host, port } = new URL(sandbox.vcenter.url);
    const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
    const socket = tlsConnect({ host, port: Number(port), ca }, () => {
      const certificate = socket.getPeerX509Certificate();
      if (certificate !== undefined) resolve(certificate);
    });
    socket.once('error', reject);
    try {
      return (await promise).fingerprint256;
    } finally {
      socket.destroy();
    }
  };
  for (const [what, tls, code] of [
    ['no trust', async () => ({}), 'VIM_TLS_UNTRUSTED'],
    ['the right pin', async () => ({ sha256Pin: await pinOf() }), undefined],
    ['a wrong pin', async () => ({ sha256Pin: 'ab'.repeat(32) }), 'VIM_TLS_UNTRUSTED'],
    ['a wrong pin beside the right CA', async () => ({ ca, sha256Pin: 'ab'.repeat(32) }), 'VIM_TLS_UNTRUSTED'],
    ['insecure, by an explicit flag', async () => ({ insecure: true }), undefined],
  ] as const) {
    test(what, async () => {
      await using vcenter = connect({ tls: await tls() });
      if (code === undefined) assert.ok(await vcenter.findByPath('/DC0'));
      else {
        assert.equal((await failure(vcenter.findByPath('/DC0'))).code, code);
        assert.equal((await board.calls()).total, 0, 'nothing was sent');
      }
    });
  }
});

test('VS-W82 an abort in the middle of a call ends it at once, and the server sees its caller go', async () => {
  await using vcenter = connect();
  const vm = await machine('aborted');
  await vcenter.vm(vm);
  await using hold = await board.rule({ on: 'RetrievePropertiesEx', do: 'hold' });
  const stop = new AbortController();
  const pending = failure(vcenter.vm(vm, { signal: stop.signal }));
  await hold.held();
  const at = performance.now();
  stop.abort();
  const error = await pending;
  const took = performance.now() - at;
  assert.equal(error.kind, 'aborted');
  // Nothing else would end it: the server holds it, and its own deadline is minutes.
  assert.ok(took < 10_000, `${took} ms`);
  await eventually('the end of the call', async () => (await hold.state()).held === 0 || undefined);
  assert.equal(await called('CancelWaitForUpdates'), 0);
});

test('VS-W83 503 with HTML while vCenter restarts is an http error that may pass; half an answer is a protocol error', async () => {
  await using vcenter = connect();
  const vm = await machine('restarted');
  await using _down = await board.rule({
    ...{ on: 'FindChild', do: 'status', status: 503, times: 1 },
    body: '<html><body><h1>503 Service Unavailable</h1></body></html>',
  });
  const folder = (await vcenter.findByPath('/DC0/vm')) ?? assert.fail();
  const down = await failure(vcenter.findChild(folder, 'restarted'));
  assert.deepEqual([down.kind, down.status, down.retriable], ['http', 503, true]);
  await using _half = await board.rule({
    ...{ on: 'Rename_Task', do: 'status', status: 200, times: 1 },
    body: '<?xml version="1.0"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><Rename_TaskResp',
  });
  const half = await failure(vcenter.rename(vm, 'x'));
  assert.equal(half.kind, 'protocol');
  assert.equal(await called('Rename_Task'), 1, 'what may have been done is looked at, not repeated');
  assert.equal((await vcenter.vm(vm))?.name, 'restarted');

  await board.restart({ downMs: 300 });
  const back = await eventually('the end of the restart', () => vcenter.vm(vm).catch(() => undefined));
  assert.equal(back.name, 'restarted');
});

test('VS-W81 VS-W88 VS-W91 an import goes to our own address, keeps what the import spec said, and ends as a tagged template', async () => {
  await using vcenter = connect();
  await board.createTag({ category: 'openshift-x', name: 'x' });
  const request = await makeRequest(vcenter, 'echoed');
  {
    await using lease = await vcenter.startImport(request);
    await board.resetUploads();
    for (const file of lease.files) await lease.upload(file, request.source);
    await lease.complete();
    const [tag] = await vcenter.tags.named('x');
    await vcenter.markAsTemplate(lease.vm);
    await vcenter.tags.attach(lease.vm, [tag?.id ?? '']);
  }
  assert.deepEqual(
    (await board.uploads()).uploads.map(({ bytes, state }) => [bytes, state]),
    [[request.source.size, 'done']],
  );
  const made = (await board.vms()).filter(({ name }) => name.startsWith('echoed'));
  assert.deepEqual(
    made.map((vm) => [vm.isTemplate, vm.power, vm.productVersion, vm.instanceUuid, vm.tags]),
    [[true, 'poweredOff', '9.8.20260428-0', request.instanceUuid, ['openshift-x/x']]],
  );
  const [vm] = made;
  assert.deepEqual([vm?.networks, vm?.disks.map(({ capacityKB }) => capacityKB)], [['VM Network'], [16 * 2 ** 20]]);
  for (const [key, value] of request.extraConfig) assert.equal(vm?.extraConfig[key], value);
});

for (const destroyOnAbort of [true, false]) {
  test(`VS-W96 an upload cut at 50 %: one abort, no machine left although the server ${destroyOnAbort ? 'removes' : 'keeps'} it`, async () => {
    await using vcenter = connect({ clock: fastClock(400) });
    await board.setOptions({ destroyOnAbort });
    const request = await makeRequest(vcenter, `cut-${destroyOnAbort}`);
    const afterBytes = request.source.size / 2;
    await using _cut = await board.rule({ on: 'upload', do: 'drop-upload', afterBytes });
    const work = async (): Promise<void> => {
      await using lease = await vcenter.startImport(request);
      for (const file of lease.files) await lease.upload(file, request.source);
    };
    assert.equal((await failure(work())).code, 'VIM_UNREACHABLE');
    assert.equal(await called('HttpNfcLeaseAbort'), 1);
    assert.equal(await called('Destroy_Task'), destroyOnAbort ? 0 : 1);
    assert.deepEqual(
      (await board.vms()).filter(({ name }) => name === request.name),
      [],
    );
    const renewals = await called('HttpNfcLeaseProgress');
    // 40 s of its clock: a renewal that still ran would have come 20 times.
    await vcenter.findByPath('/DC0');
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(await called('HttpNfcLeaseProgress'), renewals);
  });
}

test('VS-W97 twelve minutes of upload are renewed all along, two lost renewals cost nothing, three end it', async () => {
  await using vcenter = connect({ clock: fastClock(1000) });
  const importing = async (
    name: string,
  ): Promise<{ readonly upload: Promise<unknown>; readonly failed: Promise<VimError> }> => {
    const request = await makeRequest(vcenter, name);
    const work = async (): Promise<void> => {
      await using lease = await vcenter.startImport(request);
      for (const file of lease.files) await lease.upload(file, request.source);
      await lease.complete();
    };
    const upload = work();
    return {
      upload,
      failed: upload.then(
        () => assert.fail('it succeeded'),
        (error: VimError) => error,
      ),
    };
  };
  const lose = (times: number) =>
    board.rule({ on: 'HttpNfcLeaseProgress', do: 'fault', fault: { name: 'SystemError' }, times });
  {
    await using hold = await board.rule({ on: 'upload', do: 'hold', afterBytes: 1000 });
    const { upload, failed } = await importing('long');
    failed.catch(() => undefined);
    await hold.held();
    await using lost = await lose(2);
    await lost.taken(2);
    await eventually(
      '360 renewals, one every 2 s',
      async () => (await called('HttpNfcLeaseProgress')) > 360 || undefined,
    );
    await hold.release();
    await upload;
  }
  await using hold = await board.rule({ on: 'upload', do: 'hold', afterBytes: 1000 });
  const { failed } = await importing('lost');
  await hold.held();
  await using _lost = await lose(3);
  const error = await failed;
  assert.match(error.message, /renew/);
  assert.deepEqual(
    (await board.vms()).filter(({ name }) => name === 'lost'),
    [],
  );
});

test('VS-W102 the version is that of the OVF product; without one there is none', async () => {
  await using vcenter = connect();
  const { moref } = await board.createVm({ name: 'versioned', folder: '/DC0/vm', productVersion: '9.6.1' });
  const vm = { type: 'VirtualMachine', value: moref };
  assert.equal((await vcenter.vm(vm))?.productVersion, '9.6.1');
  await board.editVm(moref, { productVersion: '' });
  assert.equal((await vcenter.vm(vm))?.productVersion, undefined);
});

/** A clock on which everything passes that many times as fast. */
function fastClock(factor: number): Clock {
  return {
    now: () => performance.now() * factor,
    sleep: (ms, { signal } = {}) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(done, ms / factor);
        function done(): void {
          signal?.removeEventListener('abort', stop);
          resolve();
        }
        function stop(): void {
          clearTimeout(timer);
          reject(signal?.reason);
        }
        if (signal?.aborted === true) stop();
        else signal?.addEventListener('abort', stop, { once: true });
      }),
  };
}
