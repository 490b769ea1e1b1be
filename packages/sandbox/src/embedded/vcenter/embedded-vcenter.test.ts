import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { Agent, request } from 'undici';
import { createAuthority } from '../../certificate.ts';
import { connectSwitchboard } from '../../switchboard.ts';
import { fault, start, TIME } from '../../testing/simulator.ts';
import type { VCenterEndpoint, VCenterProcess } from '../../vcenter.ts';
import { createWorkDirectory, type WorkDirectory } from '../../workdir.ts';
import { defineEmbeddedVCenter } from './embedded-vcenter.ts';

let directory: WorkDirectory;
let vcenter: VCenterProcess;
let endpoint: VCenterEndpoint;
let dispatcher: Agent;
/** Connections that are held open at once. */
const CONNECTIONS = 500;

before(async () => {
  directory = createWorkDirectory();
  const authority = createAuthority('embedded');
  const ca = directory.write('ca.crt', authority.certificate);
  vcenter = await defineEmbeddedVCenter(directory, authority, ca, { user: 'sailor', password: 'p&w', lockout: true });
  await vcenter.server.start();
  endpoint = vcenter.endpoint();
  dispatcher = new Agent({ connect: { ca: authority.certificate } });
});
after(async () => {
  await dispatcher?.destroy();
  await vcenter?.server.kill('SIGTERM');
  directory?.remove();
});

const envelope = (body: string): string =>
  `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>${body}</e:Body></e:Envelope>`;

async function post(body: string | Buffer): Promise<{ readonly status: number; readonly text: string }> {
  const response = await request(endpoint.url, { method: 'POST', dispatcher, body });
  return { status: response.statusCode, text: await response.body.text() };
}

const login = (password: string, user = 'sailor'): Promise<{ readonly status: number; readonly text: string }> =>
  post(
    envelope(
      `<Login xmlns="urn:vim25"><_this type="SessionManager">SessionManager</_this><userName>${user}</userName><password>${password}</password></Login>`,
    ),
  );

test('it listens on loopback alone, on a port that every consumer can name, and names no password', async () => {
  const { hostname, port } = new URL(endpoint.url);
  assert.equal(hostname, '127.0.0.1');
  assert.ok(Number(port) < 32_768, port);
  assert.equal(new URL(endpoint.switchboard).hostname, '127.0.0.1');
  const log = readFileSync(`${directory.path}/embedded-vcenter.log`, 'utf8');
  assert.ok(!log.includes('p&w'), log);
});

test('broken, bottomless and huge requests get a refusal each, and the server goes on', async () => {
  const bomb =
    `<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "${'&a;'.repeat(50)}"><!ENTITY c "${'&b;'.repeat(50)}">]>` +
    envelope('&c;');
  const refused = [
    ...['', 'no XML', '<e:Envelope', envelope(''), bomb, envelope(`${'<a>'.repeat(100_000)}`)],
    envelope(`<CurrentTime>${'x'.repeat(10 << 20)}</CurrentTime>`),
    Buffer.alloc(10 << 20, 0xff),
  ];
  for (const body of refused) {
    const answer = await post(body);
    assert.ok(answer.status === 500 && /<\w+Fault /.test(answer.text), `${answer.status} ${answer.text.slice(0, 300)}`);
  }
  assert.deepEqual(await post(Buffer.alloc(70 << 20, 0x20)), { status: 413, text: 'request body above 64 MiB' });
  const path = new URL('/rest/com/vmware/cis/tagging/tag', endpoint.url);
  const rest = await request(path, { method: 'POST', dispatcher, body: '{"create_spec":' });
  assert.equal(rest.statusCode, 401);
  await rest.body.dump();
  assert.match((await login('p&amp;w')).text, /<LoginResponse/);
});

test('a client that sends all of a huge request before it reads gets the refusal, and keeps its connection', async () => {
  const { port } = new URL(endpoint.url);
  const socket = connect({ host: '127.0.0.1', port: Number(port), ca: readFileSync(endpoint.ca, 'utf8') });
  const broken = once(socket, 'close').then(() => assert.fail('the connection was closed under the body'));
  const send = async (bytes: string | Buffer): Promise<void> => {
    const written = new Promise<void>((resolve, reject) => {
      socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    await Promise.race([written, broken]);
  };
  const head = (length: number): string => `POST /sdk HTTP/1.1\r\nhost: vcenter\r\ncontent-length: ${length}\r\n\r\n`;
  await send(head(70 << 20));
  for (let sent = 0; sent < 70; sent += 1) await send(Buffer.alloc(1 << 20, 0x20));
  await send(head(0));
  let text = '';
  const answered = new Promise<readonly string[]>((resolve) => {
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const statuses = text.match(/HTTP\/1\.1 \d+/g) ?? [];
      if (statuses.length === 2) resolve(statuses);
    });
  });
  assert.deepEqual(await Promise.race([answered, broken]), ['HTTP/1.1 413', 'HTTP/1.1 500']);
  broken.catch(() => undefined);
  socket.destroy();
});

test('five hundred connections that say nothing keep nobody else out', async () => {
  const { port } = new URL(endpoint.url);
  const ca = readFileSync(endpoint.ca, 'utf8');
  const sockets: TLSSocket[] = [];
  for (let n = 0; n < CONNECTIONS; n += 100) {
    const some = Array.from({ length: 100 }, () => connect({ host: '127.0.0.1', port: Number(port), ca }));
    for (const socket of some) socket.on('error', () => undefined);
    sockets.push(...some);
    await Promise.all(some.map((socket) => once(socket, 'secureConnect')));
  }
  assert.match((await login('p&amp;w')).text, /<LoginResponse/);
  for (const socket of sockets) socket.destroy();
});

test('five refusals within three minutes lock a user out, and no other', async () => {
  const board = connectSwitchboard(endpoint.switchboard);
  const before = (await board.sessions()).refused;
  for (let n = 0; n < 5; n += 1) assert.match((await login('wrong')).text, /InvalidLoginFault/);
  assert.match((await login('p&amp;w')).text, /InvalidLoginFault/, 'the right password helps no more');
  assert.equal((await board.sessions()).refused - before, 6);
});

for (const end of ['stdin', 'SIGTERM'] as const)
  test(`it ends with ${end}`, async () => {
    await using sim = await start('embedded');
    assert.equal(fault(await sim.client().call(TIME)), 'NotAuthenticated');
    const gone = once(sim.child, 'exit');
    if (end === 'stdin') sim.child.stdin?.end();
    else sim.child.kill('SIGTERM');
    assert.deepEqual(await gone, [0, null]);
  });
