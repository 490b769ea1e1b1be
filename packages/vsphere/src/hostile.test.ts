import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createAuthority } from '@drydock/sandbox';
import { connectVCenter, type VCenterConnection } from './connect.ts';
import { VimError } from './errors.ts';
import { foreignText, MAX_FOREIGN_TEXT, refText } from './foreign-text.ts';
import { type ReceivedCall, type Reply, type SoapServer, startSoapServer } from './testing/soap-server.ts';
import { xmlTreeBuilder } from './xml/xml-tree.ts';

const authority = createAuthority('test');
const identity = authority.issueServer(['127.0.0.1']);
const FOLDER = { type: 'Folder', value: 'group-1' };
const KEY = '52f6a1d0-aaaa-bbbb-cccc-0123456789ab';

/** What a process would write of an error: text, stack, fields, causes. */
function written(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) parts.push(String(at.stack), JSON.stringify(at));
  return parts.join('\n');
}

interface Rig extends AsyncDisposable {
  readonly server: SoapServer;
  readonly vcenter: VCenterConnection;
  readonly lines: string[];
}

async function rig(): Promise<Rig> {
  const server = await startSoapServer(identity);
  const lines: string[] = [];
  const line = (fields: object, message: string): void => {
    lines.push(`${JSON.stringify(fields)} ${written('err' in fields ? fields.err : undefined)} ${message}`);
  };
  const vcenter = connectVCenter({
    url: server.url,
    credentials: async () => ({ user: 'u', password: 'p' }),
    env: {},
    tls: { ca: authority.certificate },
    log: { info: line, warn: line },
  });
  return {
    server,
    vcenter,
    lines,
    async [Symbol.asyncDispose]() {
      await vcenter[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function failure(work: Promise<unknown>): Promise<VimError> {
  const error: unknown = await work.then(
    () => assert.fail('the call succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof VimError, String(error));
  return error;
}

const page = (objects: string, token: string): string => `<returnval><token>${token}</token>${objects}</returnval>`;
const object = (id: number): string =>
  `<objects><obj type="VirtualMachine">vm-${id}</obj><propSet><name>name</name><val>m</val></propSet></objects>`;

test('SAFE-2 a retrieval whose pages are empty and have no end is given up, and cancelled', async () => {
  await using made = await rig();
  made.server.on('RetrievePropertiesEx', page('', 't'));
  made.server.on('ContinueRetrievePropertiesEx', page('', 't'));
  const error = await failure(made.vcenter.children(FOLDER));
  assert.equal(error.code, 'VIM_BAD_RESPONSE');
  assert.match(error.message, /no end: 3 pages in a row/);
  assert.ok(made.server.calls.filter(({ method }) => method === 'ContinueRetrievePropertiesEx').length <= 5);
  assert.equal(made.server.calls.filter(({ method }) => method === 'CancelRetrievePropertiesEx').length, 1);
});

test('SAFE-2 a retrieval whose pages are full and have no end is given up', async () => {
  await using made = await rig();
  const full = page(Array.from({ length: 5_000 }, (_, id) => object(id)).join(''), 't');
  made.server.on('RetrievePropertiesEx', full);
  made.server.on('ContinueRetrievePropertiesEx', full);
  const place = { type: 'Datastore', value: 'd' };
  const error = await failure(made.vcenter.disksOn(place, { except: new Set() }));
  assert.match(error.message, /no end: more than 100000 objects/);
});

test('SAFE-2 an answer of nothing but elements is refused long before it is a gigabyte', async () => {
  await using made = await rig();
  made.server.on('FindByInventoryPath', '<a/>'.repeat(500_000));
  const error = await failure(made.vcenter.findByPath('/DC0'));
  assert.equal(error.code, 'VIM_BAD_RESPONSE');
  assert.match(error.message, /more than 400000 elements/);
  const builder = xmlTreeBuilder();
  const chunk = Buffer.from('<a/>'.repeat(16_384));
  let bytes = 3;
  builder.feed(Buffer.from('<r>'));
  assert.throws(() => {
    for (; bytes < 64 << 20; bytes += chunk.length) builder.feed(chunk);
  }, /more than 400000 elements/);
  assert.ok(bytes < 2 << 20, `${bytes} bytes of 64 MB were read`);
});

test('SAFE-2 what is kept of answers is bounded, however it is spread over pages, and a page at its bound is no page of machines', async () => {
  await using made = await rig();
  for (const [what, size] of [
    ['texts', 60_000],
    ['entries', 10],
  ] as const) {
    const entry = (n: number): string => `<OptionValue><key>${n}</key><value>${'v'.repeat(size)}</value></OptionValue>`;
    const options = Array.from({ length: what === 'texts' ? 1 : 600 }, (_, n) => entry(n)).join('');
    const machine = (id: number): string =>
      `<objects><obj type="VirtualMachine">vm-${id}</obj><propSet><name>config.extraConfig</name><val>${options}</val></propSet></objects>`;
    const full = page(Array.from({ length: 100 }, (_, id) => machine(id)).join(''), 't');
    made.server.on('RetrievePropertiesEx', full);
    made.server.on('ContinueRetrievePropertiesEx', full);
    const before = made.server.calls.length;
    const error = await failure(made.vcenter.children(FOLDER));
    assert.match(error.message, /no end: more than 50331648 bytes to keep/, what);
    const pages = made.server.calls.slice(before).filter(({ method }) => /^(?:Continue)?Retrieve/.test(method)).length;
    assert.ok(pages * full.length < 64 << 20, `${what}: ${pages} pages, ${pages * full.length} bytes`);
    assert.equal(made.server.calls.at(-1)?.method, 'CancelRetrievePropertiesEx', what);
  }
  made.server.on('FindByInventoryPath', `<returnval>${'x'.repeat(33 << 20)}</returnval>`);
  assert.match(
    (await failure(made.vcenter.findByPath('/DC0'))).message,
    /exceeds 33554432 bytes|exceeds 16777216 characters/,
  );
});

test('SAFE-2 texts of a fault are cut where they enter, whatever they are in', async () => {
  await using made = await rig();
  const long = 'x'.repeat(3_000_000);
  made.server.on('FindByInventoryPath', {
    fault: 'InvalidArgument',
    fields: `<faultCause><fault x:type="SystemError"><reason>${long}</reason></fault><localizedMessage>${long}</localizedMessage></faultCause><invalidProperty>${long}</invalidProperty><name>${long}</name>`,
  });
  const error = await failure(made.vcenter.findByPath('/DC0'));
  assert.ok(written(error).length < 10 * MAX_FOREIGN_TEXT, `${written(error).length} characters are written`);
  assert.equal(error.fault?.field('invalidProperty')?.length, MAX_FOREIGN_TEXT + 1);
  made.server.on('FindByInventoryPath', `</${'y'.repeat(900_000)}>`);
  assert.ok(written(await failure(made.vcenter.findByPath('/DC0'))).length < 10 * MAX_FOREIGN_TEXT);
});

const lease = `session[${KEY}]52aa-lease`;
const gone = (type: string): Reply => ({
  fault: 'ManagedObjectNotFound',
  fields: `<faultMessage><message>session[${KEY}]</message></faultMessage><obj type="${type}">session[${KEY}]52aa</obj><name>vim.${type}:session[${KEY}]52aa is gone</name>`,
});

test('SAFE-8 no error and no line of a log has the key of a session, whichever of its objects a call is made on', async () => {
  await using made = await rig();
  const { server, vcenter, lines } = made;
  server.on('RetrieveServiceContent', ({ cookie }: ReceivedCall): Reply => {
    assert.equal(cookie, undefined);
    const ref = (name: string, type: string): string => `<${name} type="${type}">session[${KEY}]${name}</${name}>`;
    return `<returnval><rootFolder type="Folder">group-d1</rootFolder>${ref('propertyCollector', 'PropertyCollector')}${ref('viewManager', 'ViewManager')}<about/>${ref('sessionManager', 'SessionManager')}${ref('searchIndex', 'SearchIndex')}</returnval>`;
  });
  for (const method of ['RetrievePropertiesEx', 'FindByInventoryPath', 'CreateListView', 'ModifyListView'])
    server.on(method, gone('PropertyCollector'));
  const errors = [
    await failure(vcenter.findByPath('/DC0')),
    await failure(vcenter.children(FOLDER)),
    await failure(vcenter.sessions()),
    await failure(vcenter.updates.watch({ paths: ['name'], containers: [] })),
  ];
  server.on('CreateListView', `<returnval type="ListView">session[${KEY}]list</returnval>`);
  server.on('CreatePropertyCollector', `<returnval type="PropertyCollector">session[${KEY}]pc</returnval>`);
  server.on('CreateFilter', `<returnval type="PropertyFilter">session[${KEY}]filter</returnval>`);
  server.on('WaitForUpdatesEx', { status: 503, contentType: 'text/html', body: '<html>' });
  for (const method of ['DestroyView', 'DestroyPropertyCollector', 'DestroyPropertyFilter'])
    server.on(method, { act: 'reset' });
  const watch = await vcenter.updates.watch({ paths: ['name'], containers: [] });
  const nothing = {
    object: () => undefined,
    change: () => undefined,
    missing: () => undefined,
    objectEnd: () => undefined,
  };
  errors.push(await failure(watch.next('', nothing)));
  await watch[Symbol.asyncDispose]();
  assert.ok(
    lines.some((line) => line.includes('PropertyCollector')),
    'what went wrong is said',
  );
  for (const error of errors) assert.ok(!written(error).includes(KEY), written(error));
  for (const line of lines) assert.ok(!line.includes(KEY), line);
});

test('SAFE-8 references of objects of a session are their type; others keep their id', () => {
  assert.equal(refText({ type: 'HttpNfcLease', value: lease }), 'HttpNfcLease');
  assert.equal(refText({ type: 'HttpNfcLease', value: 'lease-1' }), 'HttpNfcLease');
  assert.equal(refText({ type: 'Whatever', value: lease }), 'Whatever');
  assert.equal(refText({ type: 'VirtualMachine', value: 'vm-12' }), 'VirtualMachine:vm-12');
  assert.equal(foreignText(`the object HttpNfcLease:${lease} is gone`), 'the object HttpNfcLease:session[…] is gone');
  assert.equal(foreignText(`https://h/nfc/session%5B${KEY}%5D52/disk`), 'https://h/nfc/session[…]');
});

test('SAFE-11 a path with a character that no XML can carry is refused in words, and nothing is sent for it', async () => {
  await using r = await rig();
  await r.vcenter.about();
  const before = r.server.calls.length;
  await assert.rejects(
    r.vcenter.findByPath('/DC0/vm/a\u0001b'),
    (error: unknown) =>
      error instanceof VimError &&
      error.code === 'VIM_INVALID_NAME' &&
      !error.retriable &&
      !error.sent &&
      /character that XML does not allow/.test(error.message),
  );
  assert.ok(!r.server.calls.slice(before).some(({ method }) => method === 'FindByInventoryPath'));
});

test('SAFE-3 a server that takes connections and says nothing holds nobody up who is done with it', async () => {
  const taken = Promise.withResolvers<Socket>();
  const server = createServer((socket) => taken.resolve(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const vcenter = connectVCenter({
    ...{ url: `https://127.0.0.1:${port}/sdk`, env: {} },
    credentials: async () => ({ user: 'u', password: 'p' }),
  });
  const asked = assert.rejects(vcenter.about());
  const socket = await taken.promise;
  const closed = once(
    socket.resume().on('error', () => undefined),
    'close',
  );
  const began = performance.now();
  await vcenter[Symbol.asyncDispose]();
  await Promise.all([asked, closed]);
  assert.ok(performance.now() - began < 5_000, `${performance.now() - began} ms`);
  server.close();
});
