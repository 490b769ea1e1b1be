import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { Agent, request } from 'undici';
import { binaryPath, build } from './build.ts';
import { connectSwitchboard, type Switchboard } from './switchboard.ts';

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Client {
  call(body: string): Promise<Answer>;
  login(): Promise<Answer>;
  put(url: string, bytes: Buffer): Promise<number>;
}

interface Simulator extends AsyncDisposable {
  readonly board: Switchboard;
  readonly child: ChildProcess;
  /** The folder that the simulator uses for temporary files. */
  readonly scratch: string;
  client(): Client;
}

const THIS = (type: string, value = type): string => `<_this type="${type}">${value}</_this>`;
const method = (name: string, body: string): string => `<${name} xmlns="urn:vim25">${body}</${name}>`;
const LOGIN = method('Login', `${THIS('SessionManager')}<userName>sailor</userName><password>p&amp;w</password>`);
const TIME = method('CurrentTime', THIS('ServiceInstance'));
const fault = ({ text }: Answer): string | undefined => /xsi:type="(\w+)"/.exec(text.split('<detail>')[1] ?? '')?.[1];
const value = ({ text }: Answer, tag: string): string =>
  new RegExp(`<${tag}[^>]*>([^<]*)</${tag}>`).exec(text)?.[1] ?? '';

async function start(): Promise<Simulator> {
  await build({ servers: ['drydock-vcenter'], crds: [], log: () => undefined });
  const scratch = mkdtempSync(join(tmpdir(), 'switchboard-test-'));
  const child = spawn(binaryPath('drydock-vcenter'), ['--user', 'sailor', '--password', 'p&w'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, TMPDIR: scratch },
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { url, switchboard, caPem } = JSON.parse(line) as Record<'url' | 'switchboard' | 'caPem', string>;
  const dispatcher = new Agent({ connect: { ca: caPem } });
  return {
    board: connectSwitchboard(switchboard),
    child,
    scratch,
    client() {
      let cookie = '';
      const call = async (body: string): Promise<Answer> => {
        const response = await request(url, {
          method: 'POST',
          dispatcher,
          headers: { 'content-type': 'text/xml', ...(cookie === '' ? {} : { cookie }) },
          body: `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><e:Body>${body}</e:Body></e:Envelope>`,
        });
        const set = response.headers['set-cookie'];
        if (set !== undefined) cookie = (Array.isArray(set) ? (set[0] ?? '') : set).split(';')[0] ?? '';
        return { status: response.statusCode, text: await response.body.text() };
      };
      return {
        call,
        login: () => call(LOGIN),
        put: async (to, bytes) => {
          const response = await request(to, { method: 'POST', dispatcher, body: bytes });
          await response.body.dump();
          return response.statusCode;
        },
      };
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit');
        child.stdin.end();
        await gone;
      }
      await dispatcher.destroy();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  for (const end = Date.now() + 10_000; Date.now() < end; ) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what} did not happen within 10 s`);
}

const reset = (error: Error & { code?: string }): boolean =>
  error.code === 'ECONNRESET' || error.code === 'UND_ERR_SOCKET';

/** Imports a VM with one disk by lease, up to the lease being ready. */
async function lease(
  sim: Simulator,
  client: Client,
  name: string,
): Promise<{ readonly id: string; readonly url: string }> {
  const folder = (await sim.board.find('/DC0/vm')).moref;
  const pool = (await sim.board.find('/DC0/host/DC0_C0/Resources')).moref;
  const disk =
    '<deviceChange><operation>add</operation><fileOperation>create</fileOperation><device xsi:type="VirtualDisk"><key>-1</key>' +
    '<backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName></fileName><diskMode>persistent</diskMode></backing>' +
    '<controllerKey>200</controllerKey><unitNumber>0</unitNumber><capacityInKB>1024</capacityInKB></device></deviceChange>';
  const answer = await client.call(
    method(
      'ImportVApp',
      `${THIS('ResourcePool', pool)}<spec xsi:type="VirtualMachineImportSpec"><configSpec><name>${name}</name>` +
        `<files><vmPathName>[LocalDS_0]</vmPathName></files>${disk}</configSpec></spec><folder type="Folder">${folder}</folder>`,
    ),
  );
  const id = value(answer, 'returnval');
  assert.notEqual(id, '', answer.text);
  const read = method(
    'RetrievePropertiesEx',
    `${THIS('PropertyCollector', 'propertyCollector')}<specSet><propSet><type>HttpNfcLease</type><pathSet>state</pathSet>` +
      `<pathSet>info</pathSet></propSet><objectSet><obj type="HttpNfcLease">${id}</obj></objectSet></specSet><options/>`,
  );
  return until('the lease being ready', async () => {
    const seen = await client.call(read);
    return value(seen, 'url') === '' ? undefined : { id, url: value(seen, 'url') };
  });
}

test('the switchboard fails, delays, drops and counts calls', async () => {
  await using sim = await start();
  const { board } = sim;
  const client = sim.client();
  assert.equal((await client.login()).status, 200);

  await using failing = await board.rule({
    ...{ on: 'CurrentTime', skip: 1, times: 1, do: 'fault' },
    fault: { name: 'NoPermission', fields: { privilegeId: 'a<b' } },
  });
  assert.deepEqual(
    [fault(await client.call(TIME)), fault(await client.call(TIME)), fault(await client.call(TIME))],
    [undefined, 'NoPermission', undefined],
  );
  assert.equal((await failing.state()).taken, 1);

  const folder = (await board.find('/DC0/vm')).moref;
  const create = (name: string): string => method('CreateFolder', `${THIS('Folder', folder)}<name>${name}</name>`);
  await using _before = await board.rule({ on: 'CreateFolder', match: 'never', do: 'drop-before' });
  await assert.rejects(client.call(create('never')), reset);
  await using _after = await board.rule({ on: 'CreateFolder', match: 'acted', do: 'drop-after' });
  await assert.rejects(client.call(create('acted')), reset);
  const names = (await board.objects('Folder')).map(({ name }) => name);
  assert.deepEqual([names.includes('never'), names.includes('acted')], [false, true]);

  await using holding = await board.rule({ on: 'CurrentTime', do: 'hold', times: 1 });
  const held = client.call(TIME);
  await holding.held();
  assert.equal((await board.callLog()).at(-1)?.ended, false);
  await holding.release();
  assert.equal((await held).status, 200);
  assert.equal((await board.calls()).methods['CurrentTime'], 4);

  await assert.rejects(board.rule({ on: 'X', do: 'throttle', bytesPerSecond: 0 }), { code: 'BadInput' });
  await assert.rejects(holding.taken(9, { timeoutMs: 10 }), { code: 'NotReady' });
});

test('killing a session ends its pending wait, and a restart forgets sessions but not the inventory', async () => {
  await using sim = await start();
  const { board } = sim;
  const client = sim.client();
  await client.login();
  const wait = (version: string): string =>
    method(
      'WaitForUpdatesEx',
      `${THIS('PropertyCollector', 'propertyCollector')}<version>${version}</version><options><maxWaitSeconds>60</maxWaitSeconds></options>`,
    );
  const version = value(await client.call(wait('')), 'version');
  const pending = client.call(wait(version));
  await until('the wait', async () => (await board.callLog()).some((c) => c.method === 'WaitForUpdatesEx' && !c.ended));
  assert.equal(await board.killSessions(), 1);
  assert.equal(fault(await pending), 'NotAuthenticated');
  assert.equal(fault(await client.call(TIME)), 'NotAuthenticated');

  const again = sim.client();
  await again.login();
  await board.createVm({ name: 'kept', folder: '/DC0/vm', template: true, extraConfig: { mark: '1' } });
  await board.restart({ downMs: 200 });
  const first = await again.call(TIME).catch(() => again.call(TIME));
  assert.equal(first.status, 503);
  const back = await until('the end of the outage', async () => {
    const answer = await again.call(TIME);
    return answer.status === 503 ? undefined : answer;
  });
  assert.equal(fault(back), 'NotAuthenticated');
  assert.deepEqual(
    (await board.templates()).map((t) => [t.name, t.extraConfig['mark']]),
    [['kept', '1']],
  );

  await board.refuseLogins(true);
  assert.equal(fault(await sim.client().login()), 'InvalidLogin');
  await board.refuseLogins(false);
  assert.equal((await sim.client().login()).status, 200);
  const { logins, refused } = await board.sessions();
  assert.deepEqual([logins, refused], [3, 1]);
});

test('an upload is held after n bytes, cut after n bytes, and an aborted lease leaves no VM', async () => {
  await using sim = await start();
  const { board } = sim;
  const client = sim.client();
  await client.login();
  const bytes = Buffer.alloc(300_000, 7);
  const { id, url } = await lease(sim, client, 'imported');

  await using holding = await board.rule({ on: 'upload', do: 'hold', afterBytes: 100_000, times: 1 });
  const upload = client.put(url, bytes);
  await holding.held();
  const [seen] = (await board.uploads()).uploads;
  assert.deepEqual([seen?.state, seen?.bytes], ['held', 100_000]);
  await holding.release();
  assert.equal(await upload, 200);
  const manifest = await client.call(method('HttpNfcLeaseGetManifest', THIS('HttpNfcLease', id)));
  assert.equal(value(manifest, 'size'), '300000');

  await using _cut = await board.rule({ on: 'upload', do: 'drop-upload', afterBytes: 50_000, times: 1 });
  await assert.rejects(
    client.put(url, bytes),
    (error: Error & { code?: string }) => reset(error) || error.code === 'EPIPE',
  );
  assert.deepEqual(
    (await board.uploads()).uploads.map((u) => [u.state, u.bytes]),
    [
      ['done', 300_000],
      ['dropped', 50_000],
    ],
  );

  await using _slow = await board.rule({ on: 'upload', do: 'throttle', bytesPerSecond: 1_000_000, times: 1 });
  const started = performance.now();
  assert.equal(await client.put(url, bytes), 200);
  assert.ok(performance.now() - started > 200, 'throttled');

  assert.deepEqual(
    (await board.vms()).map((vm) => vm.name),
    ['imported'],
  );
  assert.equal((await client.call(method('HttpNfcLeaseAbort', THIS('HttpNfcLease', id)))).status, 200);
  assert.deepEqual(await board.vms(), []);

  const left = await lease(sim, client, 'left');
  await board.setOptions({ destroyOnAbort: false });
  await client.call(method('HttpNfcLeaseAbort', THIS('HttpNfcLease', left.id)));
  assert.deepEqual(
    (await board.vms()).map((vm) => vm.name),
    ['left'],
  );
});

test('tasks run as long as a rule says, and renames and clones behave as in vCenter', async () => {
  await using sim = await start();
  const { board } = sim;
  const client = sim.client();
  await client.login();
  await board.createFolder('/DC0/vm/images');
  const { moref } = await board.createVm({
    ...{ name: 'old', folder: '/DC0/vm/images', template: true, extraConfig: { mark: 'm' }, productVersion: '9.6' },
  });
  const worker = await board.cloneVm({ template: moref, name: 'worker', powerOn: true });
  const [template, clone] = await board.vms();
  assert.deepEqual([template?.productVersion, clone?.moref, clone?.power], ['9.6', worker.moref, 'poweredOn']);
  assert.equal(clone?.extraConfig['mark'], 'm');
  assert.notEqual(clone?.instanceUuid, template?.instanceUuid);

  const rename = (name: string): string =>
    method('Rename_Task', `${THIS('VirtualMachine', moref)}<newName>${name}</newName>`);
  const info = async (task: string): Promise<Answer> =>
    client.call(
      method(
        'RetrievePropertiesEx',
        `${THIS('PropertyCollector', 'propertyCollector')}<specSet><propSet><type>Task</type><pathSet>info</pathSet></propSet>` +
          `<objectSet><obj type="Task">${task}</obj></objectSet></specSet><options/>`,
      ),
    );
  const ended = (task: string): Promise<Answer> =>
    until('the end of the task', async () => {
      const answer = await info(task);
      return ['success', 'error'].includes(value(answer, 'state')) && answer;
    });
  assert.equal(fault(await client.call(rename(''))), 'InvalidName');
  const taken = await ended(value(await client.call(rename('worker')), 'returnval'));
  assert.match(taken.text, /type="DuplicateName"/);

  await using busy = await board.rule({ on: 'Rename_Task', do: 'task', hold: true, work: 'last', times: 1 });
  const task = value(await client.call(rename('new')), 'returnval');
  await busy.held();
  assert.equal(value(await info(task), 'state'), 'running');
  assert.equal((await board.templates())[0]?.name, 'old');
  await busy.release();
  assert.equal(value(await ended(task), 'state'), 'success');
  assert.equal((await board.templates())[0]?.name, 'new');

  await using _failing = await board.rule({
    on: 'Rename_Task',
    do: 'task',
    times: 1,
    fault: { name: 'ResourceInUse' },
  });
  const failed = await ended(value(await client.call(rename('newer')), 'returnval'));
  assert.match(failed.text, /type="ResourceInUse"/);
});

test('topology, tags, attributes, privileges and sabotage', async () => {
  await using sim = await start();
  const { board } = sim;
  const client = sim.client();
  await client.login();
  const { moref: datastore } = await board.createDatastore({ name: 'zone-b', cluster: '/DC0/host/DC0_C1' });
  assert.notEqual(datastore, '');
  const { moref } = await board.createVm({ name: 'v', folder: '/DC0/vm', cluster: 'DC0_C1', datastore: 'zone-b' });
  await board.createTag({ category: 'openshift', name: 'cluster-x', attachTo: [`VirtualMachine:${moref}`] });
  await board.setCustomValue(moref, 'drydock', 'yes');
  await board.editVm(moref, { extraConfig: { a: '1' }, annotation: 'note', productVersion: '1.2' });
  await board.powerVm(moref, true);
  await board.renameVm('/DC0/vm/v', 'w');
  const [vm] = await board.vms();
  assert.deepEqual(
    [
      vm?.name,
      vm?.datastores,
      vm?.tags,
      vm?.customValues,
      vm?.extraConfig['a'],
      vm?.annotation,
      vm?.productVersion,
      vm?.power,
    ],
    ['w', ['zone-b'], ['openshift/cluster-x'], { drydock: 'yes' }, '1', 'note', '1.2', 'poweredOn'],
  );
  await board.changeHost('DC0_C0_H0', { maintenance: true });
  await board.changeHost('DC0_C0_H1', { connectionState: 'notResponding' });
  assert.deepEqual(
    (await board.hosts()).slice(0, 2).map((h) => [h.inMaintenanceMode === true, h.connectionState]),
    [
      [true, 'connected'],
      [false, 'notResponding'],
    ],
  );

  await board.denyPrivileges(['VApp.Import']);
  const asked = await client.call(
    method(
      'HasPrivilegeOnEntities',
      `${THIS('AuthorizationManager')}<entity type="VirtualMachine">${moref}</entity><sessionId>s</sessionId><privId>VApp.Import</privId><privId>Other</privId>`,
    ),
  );
  assert.deepEqual(asked.text.match(/<isGranted>\w+/g), ['<isGranted>false', '<isGranted>true']);

  const pool = (await board.find('/DC0/host/DC0_C0/Resources')).moref;
  const unmounted = await client.call(
    method(
      'ImportVApp',
      `${THIS('ResourcePool', pool)}<spec xsi:type="VirtualMachineImportSpec"><configSpec><name>x</name>` +
        '<files><vmPathName>[zone-b]</vmPathName></files></configSpec></spec>',
    ),
  );
  assert.equal(fault(unmounted), 'InvalidDatastore');
  const unknown = await client.call(
    method(
      'CreateImportSpec',
      `${THIS('OvfManager')}<ovfDescriptor>x</ovfDescriptor><resourcePool type="ResourcePool">${pool}</resourcePool>` +
        '<datastore type="Datastore">datastore-999</datastore><cisp><entityName>x</entityName></cisp>',
    ),
  );
  assert.equal(fault(unknown), 'ManagedObjectNotFound');
  await board.powerVm(moref, false);
  await board.destroyVm(moref);
  assert.deepEqual(await board.vms(), []);
});

test('an update whose answer was lost is repeated to the next wait at the same version', async () => {
  await using sim = await start();
  const { board } = sim;
  const client = sim.client();
  await client.login();
  const { moref } = await board.createVm({ name: 'v', folder: '/DC0/vm' });
  const collector = THIS('PropertyCollector', 'propertyCollector');
  const filter = await client.call(
    method(
      'CreateFilter',
      `${collector}<spec><propSet><type>VirtualMachine</type><pathSet>config.annotation</pathSet><pathSet>config.template</pathSet>` +
        `</propSet><objectSet><obj type="VirtualMachine">${moref}</obj></objectSet></spec><partialUpdates>false</partialUpdates>`,
    ),
  );
  assert.equal(filter.status, 200, filter.text);
  const wait = (version: string): Promise<Answer> =>
    client.call(
      method(
        'WaitForUpdatesEx',
        `${collector}<version>${version}</version><options><maxWaitSeconds>5</maxWaitSeconds></options>`,
      ),
    );
  const version = value(await wait(''), 'version');
  await using dropping = await board.rule({ on: 'WaitForUpdatesEx', do: 'drop-after', times: 1 });
  const lost = assert.rejects(wait(version), reset);
  await dropping.taken();
  await board.editVm(moref, { annotation: 'seen twice' });
  await lost;
  assert.match((await wait(version)).text, /seen twice/);

  const marked = wait(version);
  assert.equal((await client.call(method('MarkAsTemplate', THIS('VirtualMachine', moref)))).status, 200);
  assert.match((await marked).text, /<name>config.template<\/name>.*true/);
});

for (const end of ['stdin', 'SIGTERM'] as const) {
  test(`the simulator ends with ${end} and leaves no file`, async () => {
    await using sim = await start();
    assert.notDeepEqual(readdirSync(sim.scratch), [], 'it has files while it runs');
    const gone = once(sim.child, 'exit');
    if (end === 'stdin') sim.child.stdin?.end();
    else sim.child.kill('SIGTERM');
    assert.deepEqual(await gone, [0, null]);
    assert.deepEqual(readdirSync(sim.scratch), []);
  });
}
