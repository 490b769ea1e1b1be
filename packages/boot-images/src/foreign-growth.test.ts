import { test } from 'node:test';
import { assertLinear } from '@drydock/model';
import { parseStream } from './observe/stream.ts';
import { convertStub } from './user-data/ignition.ts';

/** Pieces of JSON, each with its number, until there are so many characters. */
function pieces(size: number, piece: (number: string) => string): string {
  const all: string[] = [];
  for (let length = 0; length < size; length += all.at(-1)?.length ?? 0) all.push(piece(all.length.toString(36)));
  return all.join(',');
}

/** What a ConfigMap or a Secret can hold. */
const limit = 2 ** 20;
const stub = (more: string): string => `{"ignition":{"version":"2.2.0"},${more}}`;

test('SAFE-1 a stream of CoreOS costs what it weighs, whatever is in it', async () => {
  for (const [name, input] of Object.entries({
    architectures: (size: number) => `{"architectures":{${pieces(size, (n) => `"a${n}":{"artifacts":{}}`)}}}`,
    nesting: (size: number) => `{"architectures":${'{"x86_64":'.repeat(size / 11)}1${'}'.repeat(size / 11)}}`,
    numbers: (size: number) => `{"architectures":[${pieces(size, () => '9007199254740993')}]}`,
    'no end': (size: number) => `{"architectures":{${pieces(size, (n) => `"a${n}":[]`)}`,
  }))
    await assertLinear({ name, input, limit, read: (text) => parseStream(text).disk('x86_64', 'vmware', 'ova') });
});

test('SAFE-1 user data costs what it weighs, whatever is in it', async () => {
  for (const [name, input] of Object.entries({
    files: (size: number) => stub(`"storage":{"files":[${pieces(size, (n) => `{"path":"/${n}"}`)}]}`),
    links: (size: number) => stub(`"storage":{"links":[${pieces(size, (n) => `{"path":"/${n}"}`)}]}`),
    'one unit many times': (size: number) =>
      stub(`"systemd":{"units":[${pieces(size, (n) => `{"name":"a","${n}":1,"dropins":[{"name":"${n}"}]}`)}]}`),
    'one user many times': (size: number) =>
      stub(`"passwd":{"users":[${pieces(size, (n) => `{"name":"core","${n}":1,"sshAuthorizedKeys":["${n}"]}`)}]}`),
    keys: (size: number) =>
      stub(`"passwd":{"users":[{"name":"core","sshAuthorizedKeys":[${pieces(size, (n) => `"${n}"`)}]}]}`),
    nesting: (size: number) => stub(`"passwd":${'{"users":'.repeat(size / 11)}1${'}'.repeat(size / 11)}`),
    'names with escapes': (size: number) => stub(pieces(size / 2, (n) => `"\\n${n}":1`)),
    'no JSON': (size: number) => stub(`"storage":{"files":[${pieces(size, (n) => `{"path":"/${n}"}`)}`),
  }))
    await assertLinear({ name, input, limit, read: (text) => convertStub(text, 'worker-user-data') });
});
