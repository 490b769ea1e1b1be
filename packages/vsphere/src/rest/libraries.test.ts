import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { isVimError } from '../errors.ts';
import { manualClock } from '../testing/manual-clock.ts';
import { plainAgent } from '../testing/plain-agent.ts';
import { scriptedCaller } from '../testing/scripted-caller.ts';
import type { LibraryFile } from '../vcenter.ts';
import { createLibraries } from './libraries.ts';
import { createRest } from './rest.ts';

type Answer = object | string | ((response: ServerResponse) => void);

const LIBRARY_ID = '11111111-1111-4111-8111-111111111111';
const ITEM_ID = '22222222-2222-4222-8222-222222222222';
const DISK = Buffer.from('KDMV and some bytes that are a disk');
const FILE: LibraryFile = { name: 'disk.vmdk', size: DISK.length };
const SESSION = '/content/library/item/download-session';

/** A vCenter with one library, one item and one file, in one generation of REST; `changes` lays other answers over it. */
async function rig(generation: 'api' | 'rest', changes: Readonly<Record<string, Answer>> = {}) {
  const asked: string[] = [];
  const isRest = generation === 'rest';
  const prefix = isRest ? '/rest/com/vmware' : '/api';
  const [id, act] = [isRest ? 'id:' : '', isRest ? '~action' : 'action'];
  const listed = [
    { name: FILE.name, size: FILE.size, checksum_info: { checksum: createHash('sha1').update(DISK).digest('hex') } },
    { name: 'odd.bin', size: 0, checksum_info: { algorithm: 'CRC', checksum: '1' } },
  ];
  const endpoint = { uri: 'https://another.example:9443/cls/data/ticket/disk.vmdk?secret=1' };
  const answers: Record<string, Answer> = {
    [isRest ? 'POST /rest/com/vmware/cis/session' : 'POST /api/session']: 'session-1',
    [isRest ? 'DELETE /rest/com/vmware/cis/session' : 'DELETE /api/session']: '',
    [`POST ${prefix}/content/library?${act}=find`]: [LIBRARY_ID],
    [`GET ${prefix}/content/library/${id}${LIBRARY_ID}`]: { name: 'Images' },
    [`POST ${prefix}/content/library/item?${act}=find`]: [ITEM_ID],
    [`GET ${prefix}/content/library/item/${id}${ITEM_ID}`]: { name: 'rhcos', library_id: LIBRARY_ID },
    [isRest
      ? `GET ${prefix}/content/library/item/file?library_item_id=${ITEM_ID}`
      : `GET ${prefix}/content/library/item/${ITEM_ID}/file`]: listed,
    [`POST ${prefix}${SESSION}`]: 'd-1',
    [`DELETE ${prefix}${SESSION}/${id}d-1`]: '',
    [`POST ${prefix}${SESSION}/${id}d-1?${act}=keep-alive`]: '',
    [isRest
      ? `POST ${prefix}/content/library/item/downloadsession/file/id:d-1?~action=prepare`
      : `POST ${prefix}${SESSION}/d-1/file?action=prepare`]: { name: FILE.name, status: 'PREPARING' },
    [isRest
      ? `GET ${prefix}/content/library/item/downloadsession/file?download_session_id=d-1`
      : `GET ${prefix}${SESSION}/d-1/file`]: [{ name: FILE.name, status: 'PREPARED', download_endpoint: endpoint }],
    'GET /cls/data/ticket/disk.vmdk?secret=1': (response: ServerResponse) => void response.end(DISK),
    ...changes,
  };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const line = `${request.method} ${request.url}`;
      asked.push(line);
      const answer = answers[line];
      if (typeof answer === 'function') return answer(response);
      if (answer === undefined) return response.writeHead(404).end();
      const value = isRest ? { value: answer } : answer;
      return response.writeHead(200).end(answer === '' ? '' : JSON.stringify(value));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock = manualClock();
  const { port } = server.address() as AddressInfo;
  const caller = scriptedCaller({
    agent: plainAgent(port),
    clock: { now: () => clock.now(), sleep: () => clock.advance(61_000) },
  });
  const rest = createRest(caller);
  return {
    asked,
    libraries: createLibraries(rest, caller),
    rest,
    [Symbol.asyncDispose]: async () => {
      await rest[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function read(libraries: Awaited<ReturnType<typeof rig>>['libraries'], file = FILE): Promise<string> {
  await using download = await libraries.download(ITEM_ID);
  const chunks: Uint8Array[] = [];
  for await (const chunk of download.read(file)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const refused = (code: Parameters<typeof isVimError>[1], says: RegExp) => (error: unknown) => {
  assert.ok(isVimError(error, code), String(error));
  assert.match(error.message, says);
  assert.doesNotMatch(error.message, /secret|ticket/);
  return true;
};

for (const generation of ['api', 'rest'] as const) {
  test(`OWN-18 speaks /${generation}: an item by names or ids, its files with sizes and sums, and their bytes, in one session that is ended, from no other host`, async () => {
    await using made = await rig(generation);
    const { libraries, asked } = made;
    assert.deepEqual(await libraries.named('Images'), [{ id: LIBRARY_ID, name: 'Images' }]);
    assert.deepEqual(await libraries.items(LIBRARY_ID, 'rhcos'), [{ id: ITEM_ID, name: 'rhcos' }]);
    assert.deepEqual(await libraries.items(ITEM_ID, 'rhcos'), [], 'an item of another library');
    assert.deepEqual(await libraries.files(ITEM_ID), [
      { ...FILE, checksum: { algorithm: 'sha1', sum: createHash('sha1').update(DISK).digest('hex') } },
      { name: 'odd.bin', size: 0 },
    ]);
    assert.equal(await read(libraries), DISK.toString());
    await made.rest[Symbol.asyncDispose]();
    const count = (says: RegExp): number => asked.filter((line) => says.test(line)).length;
    assert.equal(count(/^POST .*\/session$/), generation === 'api' ? 1 : 2, asked.join('\n'));
    assert.deepEqual(
      [count(/^DELETE .*download-session/), count(/^DELETE .*\/session$/), count(/keep-alive/)],
      [1, 1, 1],
    );
  });
}

test('OWN-18 a library that is known by its id alone is found by it, names that differ in case are told apart, and none is none', async () => {
  const find = 'POST /api/content/library?action=find';
  await using byId = await rig('api', { [find]: [] });
  assert.deepEqual(await byId.libraries.named(LIBRARY_ID), [{ id: LIBRARY_ID, name: 'Images' }]);
  assert.deepEqual(await byId.libraries.named('Images'), []);
  assert.deepEqual(await byId.libraries.named(ITEM_ID), []);
  const other = LIBRARY_ID.replaceAll('1', '3');
  await using two = await rig('api', {
    [find]: [LIBRARY_ID, other],
    [`GET /api/content/library/${other}`]: { name: 'images' },
  });
  assert.deepEqual(await two.libraries.named('images'), [{ id: other, name: 'images' }]);
  assert.equal((await two.libraries.named('IMAGES')).length, 2);
});

test('OWN-18 a server that gives more or less than it lists, leads elsewhere, refuses, or talks nonsense is told, and nothing goes on for ever', async () => {
  const DATA = 'GET /cls/data/ticket/disk.vmdk?secret=1';
  const endless = (response: ServerResponse): void => {
    const more = (): void =>
      void (response.write('x'.repeat(65_536)) ? setImmediate(more) : response.once('drain', more));
    more();
  };
  const cut = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-length': FILE.size }).write(DISK.subarray(0, 5), () => response.destroy());
  };
  const cases: readonly (readonly [Record<string, Answer>, Parameters<typeof refused>[0], RegExp])[] = [
    [{ [DATA]: endless }, 'VIM_BAD_RESPONSE', /more than the 35 bytes that the library lists/],
    [
      { [DATA]: (response: ServerResponse) => void response.end('few') },
      'VIM_UNREACHABLE',
      /ended after 3 of the 35 bytes/,
    ],
    [{ [DATA]: cut }, 'VIM_UNREACHABLE', /broke/],
    [
      {
        [DATA]: (response: ServerResponse) => void response.writeHead(302, { location: 'https://evil.example/' }).end(),
      },
      'VIM_HTTP_STATUS',
      /status 302 .*no redirection is followed/,
    ],
    [
      { [`POST /api${SESSION}`]: (response: ServerResponse) => void response.writeHead(403).end() },
      'VIM_NO_PERMISSION',
      /lacks ContentLibrary\.DownloadSession/,
    ],
    [{ [`POST /api${SESSION}`]: { no: 'id' } }, 'VIM_BAD_RESPONSE', /names no session/],
    [
      {
        [`GET /api${SESSION}/d-1/file`]: [
          { name: FILE.name, status: 'PREPARED', download_endpoint: { uri: 'ds:///secret' } },
        ],
      },
      'VIM_BAD_RESPONSE',
      /has no address of http/,
    ],
    [
      {
        [`GET /api${SESSION}/d-1/file`]: [
          { name: FILE.name, status: 'ERROR', error_message: { default_message: 'no room' } },
        ],
      },
      'VIM_BAD_RESPONSE',
      /cannot make it ready: “no room/,
    ],
    [
      { [`GET /api${SESSION}/d-1/file`]: [{ name: FILE.name, status: 'PREPARING' }] },
      'VIM_BAD_RESPONSE',
      /does not make it ready/,
    ],
    [{ [`GET /api${SESSION}/d-1/file`]: [] }, 'VIM_BAD_RESPONSE', /no such file any more/],
  ];
  for (const [changes, code, says] of cases) {
    await using made = await rig('api', changes);
    await assert.rejects(read(made.libraries), refused(code, says));
    const opened = !Object.keys(changes).some((line) => line.startsWith(`POST /api${SESSION}`));
    assert.equal(
      made.asked.filter((line) => line.startsWith('DELETE /api/content')).length,
      opened ? 1 : 0,
      String(says),
    );
  }
  const LIST = `GET /api/content/library/item/${ITEM_ID}/file`;
  for (const [listed, says] of [
    [{}, /is not a list/],
    [[{ name: 'a' }], /without a size/],
    [[{ name: 'a', size: -1 }], /without a size/],
    [[{ name: 'a', size: 2 ** 60 }], /without a size/],
    [
      [
        { name: 'a', size: 1 },
        { name: 'a', size: 2 },
      ],
      /two files of one name/,
    ],
    [Array.from({ length: 1000 }, (_, at) => ({ name: `${at}`, size: 1 })), /has 1000 entries/],
  ] as const) {
    await using made = await rig('api', { [LIST]: listed });
    await assert.rejects(made.libraries.files(ITEM_ID), refused('VIM_BAD_RESPONSE', says));
  }
});
