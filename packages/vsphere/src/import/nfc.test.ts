import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { isVimError } from '../errors.ts';
import { plainAgent } from '../testing/plain-agent.ts';
import { type NfcUpload, nfcTarget, uploadFile } from './nfc.ts';

const BASE = new URL('https://vcenter.example:8443/sdk');
const FILE = { key: 'k', path: 'disk.vmdk', create: false };
const TICKET = '/nfc/52ab-TICKET/disk-0.vmdk';

async function host(handler: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    upload: (given: Partial<NfcUpload> & Pick<NfcUpload, 'source'>) =>
      uploadFile({
        agent: plainAgent(port),
        target: { hostPort: `esx.example:${port}`, path: TICKET },
        file: FILE,
        ...given,
      }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const pieces = (bytes: Buffer, size: number) => ({
  size: bytes.length,
  open: () =>
    Readable.from(
      (function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      })(),
    ),
});

test('VS-W81 host * means our own address; a thumbprint stays with its host; only https is taken', () => {
  assert.deepEqual(nfcTarget('https://*/nfc/a%5Bb%5D/d.vmdk', BASE), {
    hostPort: 'vcenter.example:8443',
    path: '/nfc/a%5Bb%5D/d.vmdk',
  });
  const pinned = nfcTarget('https://esx.example/nfc/x', BASE, 'AA:BB');
  assert.deepEqual(pinned, { hostPort: 'esx.example:443', path: '/nfc/x', sslThumbprint: 'AA:BB' });
  assert.equal(nfcTarget('https://[fe80::1]:902/nfc/x', BASE, '').hostPort, '[fe80::1]:902');
  for (const url of ['http://esx.example/nfc/x', 'file:///etc/passwd', '', 'https://']) {
    assert.throws(
      () => nfcTarget(url, BASE),
      (error) => isVimError(error, 'VIM_LEASE_FAILED'),
    );
  }
});

for (const [create, size] of [
  [false, 1_000],
  [true, 1_000],
  [false, 1 << 20],
] as const) {
  test(`${create ? 'puts' : 'posts'} the exact length, pieces of ${size} bytes, and computes both digests`, async () => {
    const bytes = randomBytes(1_500_001);
    const got: { method?: string | undefined; headers?: IncomingHttpHeaders; sha1?: string } = {};
    await using esx = await host((request, response) => {
      const sha1 = createHash('sha1');
      request.on('data', (chunk: Buffer) => sha1.update(chunk));
      request.on('end', () => {
        Object.assign(got, { method: request.method, headers: request.headers, sha1: sha1.digest('hex') });
        response.writeHead(201).end();
      });
    });
    const progress: number[] = [];
    const sent = await esx.upload({
      source: pieces(bytes, size),
      file: { ...FILE, create },
      onProgress: (n) => progress.push(n),
    });
    assert.equal(sent.sha1, createHash('sha1').update(bytes).digest('hex'));
    assert.equal(sent.sha256, createHash('sha256').update(bytes).digest('hex'));
    assert.equal(got.sha1, sent.sha1);
    assert.equal(got.method, create ? 'PUT' : 'POST');
    assert.equal(got.headers?.['content-length'], '1500001');
    assert.equal(got.headers?.['transfer-encoding'], undefined);
    assert.equal(got.headers?.['overwrite'], create ? 't' : undefined);
    assert.equal(
      got.headers?.['content-type'],
      create ? 'application/octet-stream' : 'application/x-vnd.vmware-streamVmdk',
    );
    assert.equal(progress.at(-1), bytes.length);
    assert.ok(progress.length <= 8, `${progress.length} pieces`);
  });
}

for (const size of [70_000, 256 << 10, 700_000]) {
  test(`what a slow host gets is right although the source uses its memory again, pieces of ${size} bytes`, async () => {
    const bytes = randomBytes(6_000_001);
    let got = '';
    await using esx = await host((request, response) => {
      const sha1 = createHash('sha1');
      request.on('data', (chunk: Buffer) => {
        sha1.update(chunk);
        request.pause();
        setImmediate(() => request.resume());
      });
      request.on('end', () => {
        got = sha1.digest('hex');
        response.writeHead(200).end();
      });
    });
    const reused = function* (): Generator<Buffer> {
      const given: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        // One is read ahead, one is with the consumer; older ones are over.
        given.at(-2)?.fill(0);
        given.push(Buffer.from(bytes.subarray(at, at + size)));
        yield given.at(-1) as Buffer;
      }
    };
    const source = { size: bytes.length, open: () => Readable.from(reused(), { highWaterMark: 1 }) };
    assert.equal((await esx.upload({ source })).sha1, createHash('sha1').update(bytes).digest('hex'));
    assert.equal(got, createHash('sha1').update(bytes).digest('hex'));
  });
}

test('an empty file is one request', async () => {
  await using esx = await host((request, response) => {
    request.resume().on('end', () => response.writeHead(200).end());
  });
  assert.equal((await esx.upload({ source: { size: 0, open: () => Readable.from([]) } })).size, 0);
});

const accept = (request: IncomingMessage, response: ServerResponse): void => {
  request.resume().on('end', () => response.writeHead(200).end());
};

for (const [what, real] of [
  ['less', 900],
  ['more', 1_100],
] as const) {
  test(`OWN-21 a source that gives ${what} than it announced fails, and is not waited for`, async () => {
    await using esx = await host(accept);
    const source = { ...pieces(randomBytes(real), 100), size: 1_000 };
    await assert.rejects(
      esx.upload({ source, signal: AbortSignal.timeout(5_000) }),
      (error) => isVimError(error, 'VIM_UPLOAD_FAILED') && error.message.includes('1000'),
    );
  });
}

test('an early refusal ends the upload with its status, and no error names the ticket', async () => {
  await using esx = await host((_request, response) => {
    response.writeHead(503).end();
  });
  const endless = {
    size: 2 ** 40,
    open: () =>
      Readable.from(
        (function* () {
          for (;;) yield Buffer.alloc(1 << 16);
        })(),
      ),
  };
  await assert.rejects(esx.upload({ source: endless }), (error) => {
    assert.ok(isVimError(error, 'VIM_UPLOAD_FAILED'), String(error));
    assert.equal(error.status, 503);
    assert.doesNotMatch(`${error.message} ${error.stack} ${String(error.cause)}`, /TICKET/);
    return true;
  });
});

test('VS-W96 a connection that breaks in the middle is VIM_UNREACHABLE and closes the source', async () => {
  await using esx = await host((request) => {
    request.once('data', () => request.socket.destroy());
  });
  const stream = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(1 << 16);
    })(),
  );
  await assert.rejects(esx.upload({ source: { size: 2 ** 40, open: () => stream } }), (error) =>
    isVimError(error, 'VIM_UNREACHABLE'),
  );
  assert.equal(stream.destroyed, true);
});

test('a signal ends the upload at once', async () => {
  await using esx = await host(() => undefined);
  const controller = new AbortController();
  const upload = esx.upload({
    source: pieces(randomBytes(1_000), 100),
    signal: controller.signal,
    onProgress: () => controller.abort(),
  });
  await assert.rejects(upload, (error) => isVimError(error, 'VIM_ABORTED'));
  await assert.rejects(esx.upload({ source: pieces(Buffer.alloc(1), 1), signal: controller.signal }), (error) =>
    isVimError(error, 'VIM_ABORTED'),
  );
});
