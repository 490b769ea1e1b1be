import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { test } from 'node:test';
import { createAuthority } from '@drydock/sandbox';
import { connectVCenter } from './connect.ts';
import { VimError } from './errors.ts';
import { createCaller, type SessionCaller } from './session/caller.ts';
import { createTransport } from './session/transport.ts';
import type { VimLog } from './soap/call.ts';
import { type Clock, systemClock } from './soap/clock.ts';
import { type SoapServer, startSoapServer } from './testing/soap-server.ts';
import type { ImportRequest, VCenter } from './vcenter.ts';

const authority = createAuthority('test');
const identity = authority.issueServer(['127.0.0.1']);
const ca = authority.certificate;
const pin = new X509Certificate(identity.certificate).fingerprint256;
const credentials = async (): Promise<{ user: string; password: string }> => ({ user: 'u', password: 'sesame' });
const FOLDER = { type: 'Folder', value: 'group-1' };
const VM = { type: 'VirtualMachine', value: 'vm-1' };

function client(server: SoapServer, tls: Parameters<typeof connectVCenter>[0]['tls'] = { ca }, log?: VimLog): VCenter {
  return connectVCenter({ url: server.url, credentials, env: {}, tls, ...(log === undefined ? {} : { log }) });
}

/** The error that a call ends with. */
async function failure(work: Promise<unknown>): Promise<VimError> {
  const error: unknown = await work.then(
    () => assert.fail('the call succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof VimError, String(error));
  assert.doesNotMatch(`${error.message} ${String(error.stack)}`, /sesame|cookie \d/);
  return error;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, 'the condition did not come true within 5 s');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const count = (server: SoapServer, method: string): number =>
  server.calls.filter((call) => call.method === method).length;

for (const [what, tls, code] of [
  ['no trust', {}, 'VIM_TLS_UNTRUSTED'],
  ['the CA', { ca }, undefined],
  ['the right pin', { sha256Pin: pin }, undefined],
  ['the right pin in another spelling', { sha256Pin: pin.replaceAll(':', '').toLowerCase() }, undefined],
  ['a wrong pin', { sha256Pin: 'ab'.repeat(32) }, 'VIM_TLS_UNTRUSTED'],
  ['a wrong pin beside the right CA', { ca, sha256Pin: 'ab'.repeat(32) }, 'VIM_TLS_UNTRUSTED'],
  ['insecure', { insecure: true }, undefined],
] as const) {
  test(`VS-W79 with ${what} the server is ${code === undefined ? 'spoken to' : 'refused before anything is sent'}`, async () => {
    await using server = await startSoapServer(identity);
    const warnings: string[] = [];
    await using vcenter = client(server, tls, { info: () => undefined, warn: (_, message) => warnings.push(message) });
    if (code === undefined) assert.equal(await vcenter.findChild(FOLDER, 'x'), undefined);
    else {
      const error = await failure(vcenter.findChild(FOLDER, 'x'));
      assert.equal(error.code, code);
      assert.equal(error.retriable, false);
      assert.equal(error.sent, false);
      assert.equal(server.calls.length, 0);
    }
    assert.equal(warnings.length, 'insecure' in tls ? 1 : 0);
  });
}

test('VS-W79 with a pin every connection is checked by its certificate: no session is resumed', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server, { sha256Pin: pin });
  await vcenter.findChild(FOLDER, 'x');
  const before = server.handshakes;
  await Promise.all([1, 2, 3, 4, 5, 6].map((i) => vcenter.findChild(FOLDER, `x${i}`)));
  assert.ok(server.handshakes > before, 'no second connection was made');
  // Four for calls, one that keeps the session.
  assert.ok(server.handshakes <= 5, `${server.handshakes} connections`);
});

test("OWN-21 the pin of a vCenter says nothing about its hosts: one that the CA knows is spoken to, one that shows the vCenter's own certificate is not", async () => {
  await using vcenter = await startSoapServer(identity);
  await using host = await startSoapServer(authority.issueServer(['127.0.0.1']));
  await using double = await startSoapServer(identity);
  const ask = async (trust: { ca?: string; sha256Pin: string }, { url }: SoapServer): Promise<number | undefined> => {
    const transport = createTransport({ baseUrl: new URL(vcenter.url), trust });
    try {
      const agent = transport.agentFor(new URL(url).host);
      const answered = once(get(url, { agent }), 'response') as Promise<[IncomingMessage]>;
      return (await answered)[0].resume().statusCode;
    } finally {
      transport.close();
    }
  };
  assert.equal(await ask({ ca, sha256Pin: pin }, host), 200);
  await assert.rejects(ask({ sha256Pin: pin }, double), { code: /SELF_SIGNED|UNABLE_TO/ });
  assert.equal(await ask({ sha256Pin: pin }, vcenter), 200);
});

test('VS-W79 a pin that is no SHA-256 fingerprint, or an address that is not https, is refused at once', () => {
  const refused = (tls: object, url = 'https://h'): void =>
    assert.throws(
      () => connectVCenter({ url, credentials, tls }),
      (error) => error instanceof VimError && error.code === 'VIM_REFUSED',
    );
  refused({ sha256Pin: 'AA:BB' });
  refused({}, 'http://h');
});

test('one login serves all who need it at once, and is ended with the client', async () => {
  await using server = await startSoapServer(identity);
  {
    await using vcenter = client(server);
    await Promise.all(Array.from({ length: 20 }, (_, i) => vcenter.findChild(FOLDER, `n${i}`)));
    assert.equal(count(server, 'Login'), 1);
    assert.equal(count(server, 'RetrieveServiceContent'), 1);
  }
  assert.equal(count(server, 'Logout'), 1);
  await until(() => server.open === 0);
});

test('VS-W78 the cookie is echoed byte for byte, quotes included', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  await vcenter.findChild(FOLDER, 'x');
  assert.equal(server.calls.at(-1)?.cookie, 'vmware_soap_session="cookie 1=="');
  assert.equal(server.calls.at(-1)?.soapAction, 'urn:vim25/8.0.2.0', 'the newest version that both know');
});

test('VS-W77 a new login is made without the old cookie, once for all who find the session dead', async () => {
  await using server = await startSoapServer(identity);
  server.on('Login', (call) => (call.cookie === undefined ? '<returnval/>' : { fault: 'InvalidLogin' }));
  await using vcenter = client(server);
  await vcenter.findChild(FOLDER, 'x');
  server.forgetSessions();
  await Promise.all([1, 2, 3].map((i) => vcenter.findChild(FOLDER, `y${i}`)));
  assert.equal(count(server, 'Login'), 2);
});

test('a call that is not repeatable is not repeated after NotAuthenticated; the next one logs in', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  await vcenter.findChild(FOLDER, 'x');
  server.forgetSessions();
  const error = await failure(vcenter.destroy(VM));
  assert.equal(error.code, 'VIM_NOT_AUTHENTICATED');
  assert.equal(error.retriable, true);
  assert.equal(count(server, 'Destroy_Task'), 1);
  await vcenter.findChild(FOLDER, 'x');
  assert.equal(count(server, 'Login'), 2);
});

for (const { when, never, arrange, work } of [
  {
    when: 'in the queue of its lane',
    never: 'MarkAsTemplate',
    arrange: async (server: SoapServer, vcenter: VCenter, lose: () => void) => {
      server.on('FindChild', { act: 'hang' });
      const held = new AbortController();
      const four = Array.from({ length: 4 }, () => vcenter.findChild(FOLDER, 'x', { signal: held.signal }));
      await until(() => count(server, 'FindChild') === 4);
      return async () => {
        lose();
        held.abort();
        await Promise.allSettled(four);
      };
    },
    work: (vcenter: VCenter, fence: () => void) => vcenter.markAsTemplate(VM, { fence }),
  },
  {
    when: 'during the login',
    never: 'Destroy_Task',
    arrange: async (server: SoapServer, _vcenter: VCenter, lose: () => void) => {
      server.on('Login', () => {
        lose();
        return '<returnval/>';
      });
      return undefined;
    },
    work: (vcenter: VCenter, fence: () => void) => vcenter.destroy(VM, { fence }),
  },
  {
    when: 'while an attribute is defined',
    never: 'SetField',
    arrange: async (server: SoapServer, _vcenter: VCenter, lose: () => void) => {
      server.on('AddCustomFieldDef', () => {
        lose();
        return '<returnval><key>7</key></returnval>';
      });
      return undefined;
    },
    work: (vcenter: VCenter, fence: () => void) => vcenter.setCustomValue(VM, 'a', 'b', { fence }),
  },
]) {
  test(`OWN-7 the fence is asked right before a request that changes something: lost ${when}, it is not sent`, async () => {
    await using server = await startSoapServer(identity);
    await using vcenter = client(server);
    let leads = true;
    const lose = (): void => {
      leads = false;
    };
    const meanwhile = await arrange(server, vcenter, lose);
    const refusal = new Error('the lease is not held');
    const fence = (): void => {
      if (!leads) throw refusal;
    };
    const working = assert.rejects(work(vcenter, fence), (error) => error === refusal);
    await meanwhile?.();
    await working;
    assert.equal(count(server, never), 0);
  });
}

test('refused credentials name neither password nor cookie, and the next call tries again', async () => {
  await using server = await startSoapServer(identity);
  server.on('Login', { fault: 'InvalidLogin' });
  await using vcenter = client(server);
  assert.equal((await failure(vcenter.findChild(FOLDER, 'x'))).code, 'VIM_LOGIN_REFUSED');
  server.on('Login', '<returnval/>');
  assert.equal(await vcenter.findChild(FOLDER, 'x'), undefined);
});

test('VS-W82 an abort ends a pending call within 50 ms and destroys its socket', async () => {
  await using server = await startSoapServer(identity);
  server.on('FindChild', { act: 'hang' });
  await using vcenter = client(server);
  const took: number[] = [];
  // A busy machine can make it late, but never early.
  while (took.every((ms) => ms >= 50) && took.length < 10) {
    const abort = new AbortController();
    const pending = failure(vcenter.findChild(FOLDER, 'x', { signal: abort.signal }));
    await until(() => count(server, 'FindChild') === took.length + 1);
    const at = performance.now();
    abort.abort();
    assert.equal((await pending).kind, 'aborted');
    took.push(performance.now() - at);
  }
  assert.ok(Math.min(...took) < 50, `${took.join(', ')} ms`);
  // What is left keeps the session.
  await until(() => server.open === 1);
});

test('VS-W83 503 with HTML is an http error that may pass', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  server.on('FindChild', { status: 503, contentType: 'text/html', body: '<html><p>down<br></html>' });
  const error = await failure(vcenter.findChild(FOLDER, 'x'));
  assert.deepEqual([error.kind, error.status, error.retriable], ['http', 503, true]);
});

test('VS-W83 a truncated body is a protocol error, worth repeating for repeatable calls only', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  server.on('FindChild', { truncated: '<Envelope>' });
  const read = await failure(vcenter.findChild(FOLDER, 'x'));
  assert.deepEqual([read.kind, read.retriable], ['protocol', true]);
  assert.equal(count(server, 'FindChild'), 2);
  server.on('DestroyView', { truncated: '<Envelope>' });
  const caller = lowLevel(server);
  const write = await failure(caller.call('DestroyView', { type: 'ListView', value: 'v' }, []));
  assert.deepEqual([write.kind, write.retriable], ['protocol', false]);
  assert.equal(count(server, 'DestroyView'), 1);
  await caller.session.close();
});

test('VS-W89 an answer beyond the limit is a protocol error that is not repeated', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  server.on('FindChild', `<returnval>${'<a>'.repeat(10_000)}${'</a>'.repeat(10_000)}</returnval>`);
  const error = await failure(vcenter.findChild(FOLDER, 'x'));
  assert.deepEqual([error.kind, error.code, error.retriable], ['protocol', 'VIM_BAD_RESPONSE', false]);
  assert.equal(count(server, 'FindChild'), 1);
});

test('a refused connection is a transport error that surely sent nothing', async () => {
  const server = await startSoapServer(identity);
  await server[Symbol.asyncDispose]();
  await using vcenter = client(server);
  const error = await failure(vcenter.findChild(FOLDER, 'x'));
  assert.deepEqual(
    [error.kind, error.code, error.retriable, error.sent],
    ['transport', 'VIM_UNREACHABLE', true, false],
  );
});

function lowLevel(server: SoapServer, clock: Clock = systemClock): SessionCaller {
  const baseUrl = new URL(server.url);
  const transport = createTransport({ baseUrl, trust: { ca } });
  return createCaller({
    baseUrl,
    credentials,
    clock,
    log: { info: () => undefined, warn: () => undefined },
    transport,
  });
}

test('an idle session is kept alive after 5 minutes; a failed keep-alive leaves the login to the next call', async () => {
  await using server = await startSoapServer(identity);
  let now = 0;
  const sleepers: { readonly until: number; readonly wake: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    sleep: (ms, options) =>
      new Promise((resolve, reject) => {
        sleepers.push({ until: now + ms, wake: resolve });
        options?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      }),
  };
  const advance = (ms: number): void => {
    now += ms;
    for (const sleeper of sleepers.splice(0))
      if (sleeper.until <= now) sleeper.wake();
      else sleepers.push(sleeper);
  };
  const caller = lowLevel(server, clock);
  await caller.session.ensure();
  await until(() => sleepers.length === 1);
  advance(299_000);
  assert.equal(count(server, 'CurrentTime'), 0);
  advance(1_000);
  await until(() => count(server, 'CurrentTime') === 1 && sleepers.length === 1);
  server.forgetSessions();
  advance(300_000);
  await until(() => count(server, 'CurrentTime') === 2 && sleepers.length === 1);
  assert.equal(count(server, 'Login'), 1);
  await caller.session.ensure();
  assert.equal(count(server, 'Login'), 2);
  await caller.session.close();
});

const IMPORT_REQUEST: ImportRequest = {
  descriptor: '<Envelope/>',
  name: 'm',
  resourcePool: { type: 'ResourcePool', value: 'p' },
  datastore: { type: 'Datastore', value: 'd' },
  folder: FOLDER,
  host: { type: 'HostSystem', value: 'h' },
  networks: new Map(),
  diskProvisioning: '',
  instanceUuid: 'u',
  extraConfig: new Map(),
};

/** Answers all that an import asks for, up to a lease that is ready and has no file. */
function offersImports(server: SoapServer): void {
  const lease = 'session[k]lease';
  server.on('RetrieveServiceContent', IMPORTING_CONTENT);
  server.on('CreateImportSpec', '<returnval><importSpec><configSpec/></importSpec></returnval>');
  server.on('ImportVApp', `<returnval type="HttpNfcLease">${lease}</returnval>`);
  server.on(
    'RetrievePropertiesEx',
    `<returnval><objects><obj type="HttpNfcLease">${lease}</obj><propSet><name>state</name><val>ready</val></propSet><propSet><name>info</name><val><entity type="VirtualMachine">vm-1</entity><leaseTimeout>1</leaseTimeout></val></propSet></objects></returnval>`,
  );
}

test('OWN-17 five Completes that the server holds stop neither reads, nor watches, nor the renewal of their leases', async () => {
  await using server = await startSoapServer(identity);
  offersImports(server);
  server.on('HttpNfcLeaseComplete', { act: 'hang' });
  server.on('CreateListView', '<returnval type="ListView">l</returnval>');
  server.on('CreatePropertyCollector', '<returnval type="PropertyCollector">c</returnval>');
  server.on('CreateFilter', '<returnval type="PropertyFilter">f</returnval>');
  await using vcenter = connectVCenter({ url: server.url, credentials, env: {}, tls: { ca } });
  const stop = new AbortController();
  const completes: Promise<unknown>[] = [];
  for (let index = 0; index < 5; index += 1) {
    const lease = await vcenter.startImport(IMPORT_REQUEST);
    completes.push(lease.complete({ signal: stop.signal }).catch(() => lease.abort('the test is over')));
  }
  await until(() => count(server, 'HttpNfcLeaseComplete') === 5);
  const soon = { signal: AbortSignal.timeout(5_000) };
  assert.equal(await vcenter.findByPath('/DC0', soon), undefined);
  await using _watch = await vcenter.updates.watch({ paths: ['name'], containers: [] }, soon);
  const renewals = count(server, 'HttpNfcLeaseProgress');
  await until(() => count(server, 'HttpNfcLeaseProgress') >= renewals + 5);
  stop.abort();
  await Promise.all(completes);
});

test('OWN-17 four reads that hang stop no lease from being renewed and no watch from being opened', async () => {
  await using server = await startSoapServer(identity);
  offersImports(server);
  server.on('FindByInventoryPath', { act: 'hang' });
  server.on('CreateListView', '<returnval type="ListView">l</returnval>');
  server.on('CreatePropertyCollector', '<returnval type="PropertyCollector">c</returnval>');
  server.on('CreateFilter', '<returnval type="PropertyFilter">f</returnval>');
  await using vcenter = connectVCenter({ url: server.url, credentials, env: {}, tls: { ca } });
  await using _lease = await vcenter.startImport(IMPORT_REQUEST);
  const stop = new AbortController();
  const reads = Array.from({ length: 6 }, () =>
    vcenter.findByPath('/DC0', { signal: stop.signal }).catch(() => undefined),
  );
  await until(() => count(server, 'FindByInventoryPath') === 4);
  await using _watch = await vcenter.updates.watch(
    { paths: ['name'], containers: [] },
    { signal: AbortSignal.timeout(5_000) },
  );
  const renewals = count(server, 'HttpNfcLeaseProgress');
  await until(() => count(server, 'HttpNfcLeaseProgress') >= renewals + 2);
  assert.equal(count(server, 'FindByInventoryPath'), 4, 'templates still have four calls at a time');
  stop.abort();
  await Promise.all(reads);
});

const IMPORTING_CONTENT =
  '<returnval><rootFolder type="Folder">group-d1</rootFolder><propertyCollector type="PropertyCollector">pc</propertyCollector><viewManager type="ViewManager">vm</viewManager>' +
  '<about><instanceUuid>uuid-1</instanceUuid></about><sessionManager type="SessionManager">sm</sessionManager><searchIndex type="SearchIndex">si</searchIndex><ovfManager type="OvfManager">om</ovfManager></returnval>';
