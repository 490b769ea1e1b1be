import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { createAuthority, type Identity } from './certificate.ts';
import { integer, oid } from './der.ts';

test('the CA is a CA, and what it issues verifies against it and no other', () => {
  const [authority, other] = [createAuthority('one'), createAuthority('one')];
  const ca = new X509Certificate(authority.certificate);
  const client = new X509Certificate(authority.issueClient({ user: 'jane', groups: ['a', 'b'] }).certificate);
  assert.equal(ca.ca, true);
  assert.equal(client.ca, false);
  assert.equal(client.subject, 'O=a\nO=b\nCN=jane');
  assert.equal(client.verify(ca.publicKey), true);
  assert.equal(client.verify(new X509Certificate(other.certificate).publicKey), false);
});

test('a server certificate names its hosts', () => {
  const server = new X509Certificate(createAuthority('ca').issueServer(['localhost', '127.0.0.1']).certificate);
  assert.equal(server.checkHost('localhost'), 'localhost');
  assert.equal(server.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(server.checkIP('127.0.0.2'), undefined);
});

async function handshake(serving: Identity, client: Identity, ca: string): Promise<boolean> {
  const server = createServer({
    cert: serving.certificate,
    key: serving.privateKey,
    ca,
    requestCert: true,
    rejectUnauthorized: true,
  });
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => {
    socket.on('error', () => undefined);
    socket.end('welcome');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const socket = connect({
    host: '127.0.0.1',
    port: address.port,
    ca,
    cert: client.certificate,
    key: client.privateKey,
  });
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    answer += chunk;
  });
  socket.on('error', () => undefined);
  try {
    await new Promise((resolve) => socket.once('close', resolve));
    return answer === 'welcome';
  } finally {
    socket.destroy();
    server.close();
  }
}

test('mutual TLS works with issued certificates, and not with those of another authority', async () => {
  const [authority, other] = [createAuthority('one'), createAuthority('two')];
  const serving = authority.issueServer(['127.0.0.1']);
  assert.equal(await handshake(serving, authority.issueClient({ user: 'jane' }), authority.certificate), true);
  assert.equal(await handshake(serving, other.issueClient({ user: 'jane' }), authority.certificate), false);
});

test('DER: integers are minimal and never negative, object identifiers use base 128', () => {
  assert.equal(integer(Buffer.from([0, 0, 0x7f])).toString('hex'), '02017f');
  assert.equal(integer(Buffer.from([0x80])).toString('hex'), '02020080');
  assert.equal(integer(Buffer.from([0])).toString('hex'), '020100');
  assert.equal(oid('1.2.840.10045.4.3.2').toString('hex'), '06082a8648ce3d040302');
});
