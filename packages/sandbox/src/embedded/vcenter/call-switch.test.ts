import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { initialState, startVCenterServer, type VCenterServer } from '@drydock/vsphere/testing/server';
import { Client } from 'undici';
import { MOST_ENTRIES, UploadLog } from './call-log.ts';
import { CallSwitch } from './call-switch.ts';

const LOGIN =
  '<Login xmlns="urn:vim25"><_this type="SessionManager">SessionManager</_this><userName>sailor</userName><password>p</password></Login>';

interface Rig extends AsyncDisposable {
  readonly server: VCenterServer;
  readonly calls: CallSwitch;
  /** Its one connection is used for every request. */
  readonly client: Client;
  /** How often the client had to connect. */
  readonly connections: () => number;
}

/** A server behind a switch. `act` stands between the switch and the server. */
async function rig(act: (method: string) => void = () => undefined): Promise<Rig> {
  const calls = new CallSwitch();
  const server = await startVCenterServer({
    ...{ state: initialState({}), user: 'sailor', password: 'p', interceptTransfer: calls.interceptTransfer },
    intercept: (call, run) =>
      calls.intercept(call, async () => {
        act(call.method);
        return run();
      }),
  });
  calls.server = server;
  let connections = 0;
  const client = new Client(new URL(server.url).origin);
  client.on('connect', () => {
    connections += 1;
  });
  return {
    ...{ server, calls, client, connections: () => connections },
    [Symbol.asyncDispose]: async () => {
      await client.destroy();
      await server.close();
    },
  };
}

async function post(
  client: Client,
  body: string,
  cookie = '',
): Promise<{ readonly cookie: string; readonly text: string }> {
  const envelope = `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>${body}</e:Body></e:Envelope>`;
  const response = await client.request({ method: 'POST', path: '/sdk', body: envelope, headers: { cookie } });
  const set = String(response.headers['set-cookie'] ?? '');
  return { cookie: set.split(';', 1)[0] ?? '', text: await response.body.text() };
}

test('a vCenter that starts answers 503 to calls and uploads, and keeps their connection', async () => {
  await using made = await rig();
  const { calls, client, connections } = made;
  calls.goDown(60_000);
  for (const path of ['/nfc/lease/disk.vmdk', '/sdk', '/rest/com/vmware/cis/session', '/nfc/lease/disk.vmdk']) {
    const response = await client.request({ method: 'POST', path, body: Buffer.alloc(8 << 20) });
    assert.equal(response.statusCode, 503, path);
    assert.match(await response.body.text(), /503 Service Unavailable/);
  }
  assert.equal(connections(), 1);
  calls.goDown(0);
  assert.match((await post(client, LOGIN)).text, /<LoginResponse/);
});

test('a busy task whose work goes wrong ends with the error', async () => {
  await using made = await rig((method) => {
    if (method === 'Rename_Task') throw new Error('the inventory is broken');
  });
  const { server, calls, client } = made;
  const { world } = server.state;
  calls.rules.add({ on: 'Rename_Task', do: 'task', work: 'last' });
  const folder = [...world.state.places.values()].find(({ name }) => name === 'ocp') ?? assert.fail();
  const { cookie } = await post(client, LOGIN);
  const rename = `<Rename_Task xmlns="urn:vim25"><_this type="Folder">${folder.ref.value}</_this><newName>a</newName></Rename_Task>`;
  const { text } = await post(client, rename, cookie);
  const task = world.tasks.get(/<returnval type="Task">([^<]+)</.exec(text)?.[1] ?? '') ?? assert.fail(text);
  for (const end = Date.now() + 30_000; task.state === 'running'; await turn())
    assert.ok(Date.now() < end, 'the task never ended');
  assert.deepEqual(
    [task.state, task.error?.fault, task.error?.text],
    ['error', 'SystemError', 'Error: the inventory is broken'],
  );
});

test('old uploads are forgotten, and their totals are not', () => {
  const log = new UploadLog();
  for (let at = 1; at <= 3 * MOST_ENTRIES; at += 1) {
    const upload = log.begin({ lease: 'l', file: String(at), method: 'PUT', contentLength: 10 });
    upload.bytes = 10;
    upload.state = 'done';
  }
  const { count, bytes, uploads } = log.totals();
  assert.deepEqual([count, bytes], [3 * MOST_ENTRIES, 30 * MOST_ENTRIES]);
  assert.ok(uploads.length <= MOST_ENTRIES, `${uploads.length} entries`);
  assert.equal(uploads.at(-1)?.id, String(3 * MOST_ENTRIES));
  log.reset();
  assert.deepEqual(log.totals(), { count: 0, bytes: 0, uploads: [] });
});
