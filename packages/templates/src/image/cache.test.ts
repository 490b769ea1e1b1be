import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Agent } from 'undici';
import { isTemplateError } from '../errors.ts';
import { writeTestOva } from '../testing/ova.ts';
import type { TemplateImage } from '../wish.ts';
import { ovaCache } from './cache.ts';
import { requestLocation } from './location.ts';
import type { OvaSource } from './ova-source.ts';

type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

interface Rig extends AsyncDisposable {
  readonly dir: string;
  readonly cache: OvaSource;
  readonly agent: Agent;
  readonly requests: IncomingMessage['headers'][];
  answer: Answer;
  image(seed?: number): Promise<TemplateImage>;
}

const whole: Answer = (_request, response, body) =>
  void response.writeHead(200, { 'content-length': body.length, etag: '"e"' }).end(body);

async function rig(bytes = 1 << 30, freeBytes?: () => Promise<number>): Promise<Rig> {
  const dir = await mkdtemp(join(tmpdir(), 'cache-'));
  const bodies = new Map<string, Buffer>();
  const agent = new Agent();
  const server = createServer((request, response) => {
    made.requests.push(request.headers);
    made.answer(request, response, bodies.get((request.url ?? '').split('?')[0] ?? '') ?? Buffer.alloc(0));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const made: Rig = {
    agent,
    dir: join(dir, 'cache'),
    cache: ovaCache({
      dir: join(dir, 'cache'),
      bytes,
      dispatcher: agent,
      ...(freeBytes === undefined ? {} : { freeBytes }),
    }),
    requests: [],
    answer: whole,
    image: async (seed = 1) => {
      const ova = await writeTestOva(join(dir, `${seed}.ova`), { version: '9.6', diskBytes: 300_000, seed });
      bodies.set(`/${seed}.ova`, await readFile(ova.path));
      return {
        release: '9.6',
        sha256: ova.sha256,
        location: `http://user:secret@127.0.0.1:${port}/${seed}.ova?token=secret`,
      };
    },
    [Symbol.asyncDispose]: async () => {
      await agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(dir, { recursive: true });
    },
  };
  return made;
}

async function use(cache: OvaSource, image: TemplateImage): Promise<void> {
  await using ova = await cache.open(image, {});
  assert.ok(ova.source('disk.vmdk'));
}

test('BI-V158 empty: one download; then none; another process: none; a corrupted file: again', async () => {
  await using made = await rig();
  const image = await made.image();
  await use(made.cache, image);
  await use(made.cache, image);
  assert.equal(made.requests.length, 1);
  await use(ovaCache({ dir: made.dir, bytes: 1 << 30 }), image);
  assert.equal(made.requests.length, 1);
  await writeFile(join(made.dir, `${image.sha256}.ova`), 'corrupted');
  await use(made.cache, image);
  assert.equal(made.requests.length, 2);
  assert.deepEqual(await readdir(made.dir), [`${image.sha256}.ova`]);
});

test('BI-V158 HTTP 500 → failed to download, retriable; 404 is not; no secret in the text, no file left', async () => {
  await using made = await rig();
  const image = await made.image();
  for (const [status, retriable] of [
    [500, true],
    [404, false],
  ] as const) {
    made.answer = (_request, response) => void response.writeHead(status).end();
    await assert.rejects(use(made.cache, image), (error) => {
      assert.ok(isTemplateError(error, 'DOWNLOAD_FAILED'), String(error));
      assert.match(
        error.text,
        new RegExp(`^failed to download http://127.0.0.1:\\d+/1.ova: the server answers ${status}$`),
      );
      assert.equal(error.retriable, retriable);
      assert.ok(!JSON.stringify([error.message, String(error.cause)]).includes('secret'));
      return true;
    });
  }
  assert.deepEqual(await readdir(made.dir), []);
});

test('BI-V158 a wrong digest → error with both sums, no file left', async () => {
  await using made = await rig();
  const image = { ...(await made.image()), sha256: '0'.repeat(64) };
  await assert.rejects(
    use(made.cache, image),
    (error) => isTemplateError(error, 'DIGEST_MISMATCH') && /has sha256 [0-9a-f]{64}, but 0{64}/.test(error.text),
  );
  assert.deepEqual(await readdir(made.dir), []);
});

test('a connection that breaks is resumed where it broke, guarded by the entity tag', async () => {
  await using made = await rig();
  const image = await made.image();
  made.answer = (request, response, body) => {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const status = from > 0 ? 206 : 200;
    response.writeHead(status, { 'content-length': body.length - from, etag: '"e"' });
    if (made.requests.length < 3) response.write(body.subarray(from, from + 100_000), () => response.destroy());
    else response.end(body.subarray(from));
  };
  await use(made.cache, image);
  assert.equal(made.requests.length, 3);
  assert.equal(made.requests[1]?.['if-range'], '"e"');
  assert.match(made.requests[1]?.range ?? '', /^bytes=[1-9]\d*-$/);
});

test('a server that ignores the range starts again, and the digest is still right', async () => {
  await using made = await rig();
  const image = await made.image();
  made.answer = (_request, response, body) => {
    response.writeHead(200, { 'content-length': body.length, etag: '"e"' });
    if (made.requests.length < 2) response.write(body.subarray(0, 100_000), () => response.destroy());
    else response.end(body);
  };
  await use(made.cache, image);
});

test('a server that never gets further fails after a few tries', async () => {
  await using made = await rig();
  const image = await made.image();
  made.answer = (_request, response) => response.destroy();
  await assert.rejects(use(made.cache, image), (error) => isTemplateError(error, 'DOWNLOAD_FAILED') && error.retriable);
  assert.equal(made.requests.length, 3);
});

test('concurrent uses of one digest share a download', async () => {
  await using made = await rig();
  const image = await made.image();
  await Promise.all([use(made.cache, image), use(made.cache, image), use(made.cache, image)]);
  assert.equal(made.requests.length, 1);
});

test('the cache keeps within its bytes: the least recently used goes, the one in use stays', async () => {
  await using made = await rig(400_000);
  const [first, second] = [await made.image(1), await made.image(2)];
  await use(made.cache, first);
  {
    await using _held = await made.cache.open(second, {});
    assert.deepEqual(await readdir(made.dir), [`${second.sha256}.ova`]);
    await use(made.cache, first);
    assert.ok((await readdir(made.dir)).includes(`${second.sha256}.ova`));
  }
});

test('a local file is verified and read in place; a wrong or missing one is named', async () => {
  await using made = await rig();
  const image = await made.image();
  const path = join(made.dir, '..', '1.ova');
  const local = { ...image, location: pathToFileURL(path).href };
  await use(made.cache, local);
  await assert.rejects(use(made.cache, { ...local, sha256: '0'.repeat(64) }), (error) =>
    isTemplateError(error, 'DIGEST_MISMATCH'),
  );
  await assert.rejects(use(made.cache, { ...local, location: `${local.location}.no` }), (error) =>
    isTemplateError(error, 'DOWNLOAD_FAILED'),
  );
  assert.equal(made.requests.length, 0);
});

test('an abort ends the download at once and leaves no file', async () => {
  await using made = await rig();
  const image = await made.image();
  const abort = new AbortController();
  made.answer = (_request, response, body) => {
    response.writeHead(200, { 'content-length': body.length });
    response.write(body.subarray(0, 1000), () => abort.abort());
  };
  await assert.rejects(made.cache.open(image, { signal: abort.signal }), { name: 'AbortError' });
  assert.deepEqual(await readdir(made.dir), []);
});

test('SAFE-2 a download that one gives up goes on for another, and for a while for whoever asks again; then it ends, and leaves no file', async () => {
  await using made = await rig();
  const image = await made.image();
  const began = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  made.answer = (_request, response, body) => {
    response.writeHead(200, { 'content-length': body.length, etag: '"e"' });
    response.write(body.subarray(0, 1000), () => began.resolve());
    void go.promise.then(() => response.end(body.subarray(1000)));
  };
  await using patient = ovaCache({ dir: made.dir, bytes: 1 << 30, dispatcher: made.agent, lingerMs: 60_000 });
  const abort = new AbortController();
  const first = patient.open(image, { signal: abort.signal });
  await began.promise;
  abort.abort();
  await assert.rejects(first, { name: 'AbortError' });
  const again = patient.open(image, {});
  go.resolve();
  await (await again)[Symbol.asyncDispose]();
  assert.equal(made.requests.length, 1);

  await using hasty = await rig();
  const other = await hasty.image();
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  hasty.answer = (_request, response) => {
    response.writeHead(200, {});
    response.write('x', () => started.resolve());
    response.on('close', ended.resolve);
  };
  const short = ovaCache({ dir: hasty.dir, bytes: 1 << 30, dispatcher: hasty.agent, lingerMs: 10 });
  const gone = new AbortController();
  const asked = short.open(other, { signal: gone.signal });
  await started.promise;
  gone.abort();
  await assert.rejects(asked, { name: 'AbortError' });
  await ended.promise;
  await short[Symbol.asyncDispose]();
  assert.deepEqual(await readdir(hasty.dir), []);
});

test('a user and password in the address are sent to that host, and not to another one to which it leads', async () => {
  await using made = await rig();
  await using other = await rig();
  const image = await made.image();
  const elsewhere = await other.image();
  made.answer = (_request, response) =>
    void response.writeHead(302, { location: elsewhere.location.replace('user:secret@', '') }).end();
  await use(made.cache, image);
  assert.deepEqual(
    made.requests.map(({ authorization }) => authorization),
    [`Basic ${Buffer.from('user:secret').toString('base64')}`],
  );
  assert.deepEqual(
    other.requests.map(({ authorization }) => authorization),
    [undefined],
  );
  const percent = await requestLocation(image.location.replace('user:secret', 'a%40b:100%'), {
    dispatcher: made.agent,
  });
  await percent.body.dump();
  assert.equal(made.requests.at(-1)?.authorization, `Basic ${Buffer.from('a@b:100%').toString('base64')}`);
});

/** Sends until nobody listens any more; counts the bytes. */
function endless(sent: { bytes: number }): Answer {
  return (_request, response) => {
    const piece = Buffer.alloc(256 << 10);
    const more = (): void => {
      while (!response.destroyed) {
        sent.bytes += piece.length;
        if (!response.write(piece)) {
          response.once('drain', more);
          return;
        }
      }
    };
    response.writeHead(200);
    more();
  };
}

const refused = (code: string, text: RegExp) => (error: unknown) =>
  isTemplateError(error) && error.code === code && text.test(error.text);

test('SAFE-2 an image server that never ends is left when the image is larger than the cache, and leaves no file', async () => {
  await using made = await rig(3 << 20);
  const image = await made.image();
  const sent = { bytes: 0 };
  made.answer = endless(sent);
  await assert.rejects(
    use(made.cache, image),
    refused('CACHE_FAILED', /at least \d+ bytes, but the cache may hold 3145728/),
  );
  assert.deepEqual(await readdir(made.dir), []);
  assert.ok(sent.bytes < 40 << 20, `${sent.bytes} bytes were sent`);
  assert.equal(made.requests.length, 1, 'it is not tried again at once');
});

test('SAFE-2 an image that is announced larger than the cache is refused before its first byte', async () => {
  await using made = await rig(100_000);
  const image = await made.image();
  await assert.rejects(
    use(made.cache, image),
    refused('CACHE_FAILED', /has \d{6} bytes, but the cache may hold 100000/),
  );
  assert.deepEqual(await readdir(made.dir), []);
});

test('SAFE-2 a disk that runs full ends the download before it is full, whether the length was announced or not', async () => {
  let free = 200 << 20;
  await using made = await rig(1 << 30, async () => {
    free -= 60 << 20;
    return free;
  });
  const image = await made.image();
  const sent = { bytes: 0 };
  made.answer = endless(sent);
  await assert.rejects(
    use(made.cache, image),
    refused('CACHE_FAILED', /bytes free, but 0 are needed and 67108864 must stay free/),
  );
  assert.deepEqual(await readdir(made.dir), []);
  made.answer = whole;
  await assert.rejects(use(made.cache, image), refused('CACHE_FAILED', /bytes free, but \d{6} are needed/));
  free = 500 << 20;
  await use(made.cache, image);
});

test('SAFE-2 older images go before the next one comes, not after it', async () => {
  const bytes = 700_000;
  await using made = await rig(bytes);
  const [first, second, third] = [await made.image(1), await made.image(2), await made.image(3)];
  await use(made.cache, first);
  await use(made.cache, second);
  let there: readonly string[] = [];
  made.answer = (_request, response, body) => {
    response.writeHead(200, { 'content-length': body.length });
    response.write(body.subarray(0, 1000));
    const gone = async (): Promise<void> => {
      for (const deadline = Date.now() + 5_000; Date.now() < deadline; ) {
        there = await readdir(made.dir);
        if (!there.includes(`${first.sha256}.ova`)) break;
      }
      response.end(body.subarray(1000));
    };
    void gone();
  };
  await use(made.cache, third);
  assert.ok(there.includes(`${second.sha256}.ova`) && !there.includes(`${first.sha256}.ova`), there.join(' '));
});

test('SAFE-2 a server that gives a byte for each connection is given up', async () => {
  await using made = await rig();
  const image = await made.image();
  made.answer = (request, response, body) => {
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const status = from === 0 ? 200 : 206;
    response.writeHead(status, { 'content-length': body.length - from, etag: '"e"' });
    response.write(body.subarray(from, from + 1), () => response.destroy());
  };
  await assert.rejects(use(made.cache, image), refused('DOWNLOAD_FAILED', /failed to download/));
  assert.equal(made.requests.length, 50);
});
