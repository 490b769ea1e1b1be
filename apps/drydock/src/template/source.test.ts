import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isTemplateError } from '@drydock/templates';
import { writeTestOva } from '@drydock/templates/testing';
import { MockAgent } from 'undici';
import { createOutput, formatOf } from './output.ts';
import { TemplateProblem } from './problem.ts';
import { digestIn, openSource, type Source, type SourceOptions } from './source.ts';

let folder: string;
let ova: string;
let sha256: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drydock-source-'));
  ova = join(folder, 'a.ova');
  ({ sha256 } = await writeTestOva(ova, { version: '9.6.1', diskBytes: 1 << 20 }));
});
after(() => rm(folder, { recursive: true }));

function open(
  argument: string,
  change: Pick<SourceOptions, 'sha256' | 'release' | 'dispatcher'> = {},
): Promise<Source> {
  const sink = { write: () => undefined };
  return openSource(argument, {
    cacheDir: join(folder, 'cache'),
    out: createOutput(formatOf(), sink, sink),
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

test('TRUTH-2 a manifest that says something else than the file has is told before anybody logs in, with the member and both sums', async () => {
  for (const manifest of ['sha1', 'none', 'sha256'] as const) {
    const good = join(folder, `${manifest}.ova`);
    await writeTestOva(good, { version: '9.6.1', diskBytes: 3 << 20, manifest });
    assert.equal((await open(good)).image.release, '9.6.1');
  }
  const wrong = join(folder, 'wrong.ova');
  await writeTestOva(wrong, { version: '9.6.1', diskBytes: 3 << 20, manifest: 'wrong' });
  await assert.rejects(
    open(wrong),
    (error) =>
      isTemplateError(error, 'DIGEST_MISMATCH') &&
      /^disk\.vmdk: the manifest of the OVA says sha256 [0-9a-f]{64}, but it has [0-9a-f]{64}$/.test(error.text),
  );
});

test('SAFE-10 an address takes its digest from <address>.sha256 over TLS alone, and its release from the image', async () => {
  const content = await readFile(ova);
  const sums = `${'0'.repeat(64)}  b.ova\n${sha256}  a.ova\n`;
  const agent = new MockAgent();
  agent.disableNetConnect();
  const secure = agent.get('https://mirror.example');
  const plain = agent.get('http://mirror.example');
  const answer = (pool: typeof secure, path: string, status: number, body: string | Buffer, location?: string): void =>
    void pool
      .intercept({ path })
      .reply(status, body, location === undefined ? {} : { headers: { location } })
      .persist();
  answer(secure, '/a.ova?sig=1', 200, content);
  answer(secure, '/a.ova', 200, content);
  answer(plain, '/a.ova', 200, content);
  answer(secure, '/a.ova.sha256?sig=1', 200, sums);
  answer(secure, '/a.ova.sha256', 200, sums);
  answer(plain, '/a.ova.sha256', 200, sums);
  // As releases are published: the address leads on, and so does that of the digest.
  answer(secure, '/latest/a.ova', 302, '', '/a.ova');
  answer(secure, '/latest/a.ova.sha256', 302, '', '/a.ova.sha256');
  answer(secure, '/down/a.ova.sha256', 302, '', 'http://mirror.example/a.ova.sha256');
  answer(plain, '/up/a.ova.sha256', 302, '', 'https://mirror.example/a.ova.sha256');
  answer(secure, '/absent.ova.sha256?sig=hunter2', 404, '');
  const { image } = await open('https://mirror.example/a.ova?sig=1', { dispatcher: agent });
  assert.deepEqual(image, { location: 'https://mirror.example/a.ova?sig=1', sha256, release: '9.6.1' });
  assert.equal((await open('https://mirror.example/latest/a.ova', { dispatcher: agent })).image.sha256, sha256);
  const refused = (address: string, said: RegExp): Promise<void> =>
    assert.rejects(
      open(address, { dispatcher: agent }),
      (error: Error) => said.test(error.message) && !error.message.includes('hunter2'),
      address,
    );
  await refused('https://mirror.example/absent.ova?sig=hunter2', /absent\.ova\.sha256 answers 404; give --sha256/);
  const overPlain = /http:\/\/mirror\.example\/(?:up\/)?a\.ova\.sha256 is read over plain HTTP.*; give --sha256 HEX/;
  await refused('http://user:hunter2@mirror.example/a.ova', overPlain);
  await refused('https://mirror.example/down/a.ova', overPlain);
  await refused('http://mirror.example/up/a.ova', overPlain);
  await refused('https://user:hunter2@mirror.example:port/a.ova', /the address of the OVA cannot be read/);
  // A digest that somebody gave says what the image is, however it comes.
  assert.equal((await open('http://mirror.example/a.ova', { dispatcher: agent, sha256 })).image.release, '9.6.1');
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
