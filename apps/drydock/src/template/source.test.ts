import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { isTemplateError } from '@drydock/templates';
import { writeTestOva } from '@drydock/templates/testing';
import { createOutput } from './output.ts';
import { TemplateProblem } from './problem.ts';
import { digestIn, openSource, type Source } from './source.ts';

let folder: string;
let ova: string;
let sha256: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drydock-source-'));
  ova = join(folder, 'a.ova');
  ({ sha256 } = await writeTestOva(ova, { version: '9.6.1', diskBytes: 1 << 20 }));
});
after(() => rm(folder, { recursive: true }));

function open(argument: string, change: { readonly sha256?: string; readonly release?: string } = {}): Promise<Source> {
  const sink = { write: () => undefined };
  return openSource(argument, {
    cacheDir: join(folder, 'cache'),
    out: createOutput('text', sink, sink),
    signal: new AbortController().signal,
    ...change,
  });
}

test('a file gives digest, size and release; a given release wins', async () => {
  const source = await open(ova);
  assert.deepEqual(source.image, { location: `file://${ova}`, sha256, release: '9.6.1' });
  assert.equal(source.size, (await readFile(ova)).length);
  assert.equal((await open(`file://${ova}`, { release: 'mine', sha256: `SHA256:${sha256}` })).image.release, 'mine');
});

test('a file that changed since it was hashed is not the image any more', async () => {
  const changing = join(folder, 'changing.ova');
  await writeFile(changing, await readFile(ova));
  const { image, ovas } = await open(changing);
  await (await ovas.open(image, {}))[Symbol.asyncDispose]();
  await appendFile(changing, Buffer.alloc(512));
  await assert.rejects(ovas.open(image, {}), (error) => isTemplateError(error, 'DIGEST_MISMATCH'));
});

test('what is no OVA, another one, or not there is told before anybody logs in', async () => {
  const text = join(folder, 'text.ova');
  await writeFile(text, 'no image here'.repeat(100));
  await assert.rejects(open(text), (error) => isTemplateError(error, 'OVA_INVALID'));
  await assert.rejects(open(ova, { sha256: 'a'.repeat(64) }), (error) => isTemplateError(error, 'DIGEST_MISMATCH'));
  await assert.rejects(open(join(folder, 'none.ova')), (error) => error instanceof TemplateProblem && error.exit === 2);
  await assert.rejects(open(folder), /is not a file/);
  await assert.rejects(open(ova, { sha256: 'abc' }), /is no SHA-256/);
});

test('an address takes its digest from <address>.sha256 and its release from the image', async () => {
  await writeFile(join(folder, 'a.ova.sha256'), `${'0'.repeat(64)}  b.ova\n${sha256}  a.ova\n`);
  const server = createServer((request, response) => {
    const name = basename(new URL(request.url ?? '/', 'http://x').pathname);
    if (request.url?.startsWith('/latest/') === true) {
      response.writeHead(302, { location: `/${name}` }).end();
      return;
    }
    readFile(join(folder, name)).then(
      (content) => response.end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    assert.deepEqual((await open(`${base}/a.ova?sig=1`)).image, {
      location: `${base}/a.ova?sig=1`,
      sha256,
      release: '9.6.1',
    });
    // As releases are published: the address leads on, and so does that of the digest.
    assert.equal((await open(`${base}/latest/a.ova`)).image.sha256, sha256);
    await assert.rejects(
      open(`${base}/absent.ova?sig=hunter2`),
      (error: Error) =>
        /absent\.ova\.sha256 answers 404; give --sha256/.test(error.message) && !error.message.includes('hunter2'),
    );
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('digests are read in the forms in which they are published', () => {
  const one = 'a'.repeat(64);
  const two = 'b'.repeat(64);
  assert.equal(digestIn(`${one.toUpperCase()}\n`, 'x.ova'), one);
  assert.equal(digestIn(`${one} *y.ova\n${two} *x.ova\n`, 'x.ova'), two);
  assert.equal(digestIn(`SHA256 (x.ova) = ${two}\n`, 'x.ova'), two);
  assert.equal(digestIn(`${one}  y.ova\n${two}  z.ova\n`, 'x.ova'), undefined);
  assert.equal(digestIn('not found', 'x.ova'), undefined);
});
