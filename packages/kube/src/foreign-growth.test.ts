import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertLinear } from '@drydock/model';
import { loadKubeconfig } from './access/kubeconfig.ts';
import { createClient } from './client/rest.ts';
import { errorOfStatus, type Status } from './errors.ts';
import { failureOf } from './testing/failure.ts';
import { CONFIG_MAP, misbehavingServer, sendJson, sendStatus } from './testing/server.ts';
import { htmlTitle, statusOfBody } from './transport/transport-errors.ts';
import { readStatusNote, STATUS_NOTE } from './writers/status-channel.ts';

/** Pieces, each with its number, until there are so many characters. */
function pieces(size: number, piece: (number: string) => string, joint = ','): string {
  const all: string[] = [];
  for (let length = 0; length < size; length += all.at(-1)?.length ?? 0) all.push(piece(all.length.toString(36)));
  return all.join(joint);
}

test('SAFE-1 what an API server says of a failure, a kubeconfig and a note on a Lease cost what they weigh', async () => {
  const limit = 2 ** 20;
  const read = (body: string): unknown => [errorOfStatus(statusOfBody(body), 500, { action: 'get' }), htmlTitle(body)];
  for (const [name, input] of Object.entries({
    causes: (size: number) => `{"kind":"Status","details":{"causes":[${pieces(size, (n) => `{"field":"${n}"}`)}]}}`,
    'a long message': (size: number) => `{"kind":"Status","message":"${'\\n'.repeat(size / 2)}"}`,
    'a page': (size: number) => '<title>'.repeat(size / 7),
    nesting: (size: number) => `{"kind":"Status","details":${'['.repeat(size)}`,
  }))
    await assertLinear({ name, input, limit, read });
  const note = (text: string): unknown => readStatusNote({ [STATUS_NOTE]: text });
  const noted = (size: number): string => `{"named":[${pieces(size, (n) => `{"object":"${n}"}`)}]}`;
  await assertLinear({ name: 'a note', input: noted, limit: 2 ** 18, read: note });

  const folder = await mkdtemp(join(tmpdir(), 'drydock-growth-'));
  const kubeconfig = join(folder, 'config');
  const fields = (n: string): string =>
    `{name: c${n}, cluster: {server: "https://x"}, context: {cluster: c}, user: {}}`;
  try {
    for (const list of ['clusters', 'users', 'contexts'])
      await assertLinear({
        name: `kubeconfig ${list}`,
        input: (size) => `${list}:\n- ${pieces(size, fields, '\n- ')}\n`,
        limit: 2 ** 19,
        read: async (text) => {
          await writeFile(kubeconfig, text);
          return loadKubeconfig({ kubeconfig, env: {} });
        },
      });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('SAFE-2 a text of 3 MB that a server calls a message is cut where it enters, as answer and as event', async () => {
  const long = 'very '.repeat(600_000);
  const status = {
    reason: long,
    message: long,
    details: {
      name: long,
      causes: Array.from({ length: 5_000 }, () => ({ field: long.slice(0, 9_000), message: 'no' })),
    },
  };
  await using server = await misbehavingServer((request, response) => {
    if (request.query.has('watch')) sendJson(response, { type: 'ERROR', object: { kind: 'Status', ...status } });
    else sendStatus(response, 422, { ...status, details: { name: 'a' } });
  });
  await using client = createClient(server.config);
  for (const call of [
    client.get(CONFIG_MAP, { namespace: 'ns', name: 'a' }),
    Array.fromAsync(client.watch(CONFIG_MAP, { resourceVersion: '1', timeoutSeconds: 300 })),
  ]) {
    const { message, reason, details } = await failureOf(call);
    assert.ok(message.length < 3_000, `${message.length}`);
    assert.ok(reason.length < 500 && (details.name ?? '').length < 500);
    assert.ok((details.causes ?? []).length <= 1_000);
    assert.ok((details.causes ?? []).every(({ field = '' }) => field.length < 3_000));
  }
});

test('SAFE-2 a Status whose fields are anything but what they should be is still an error with a code', () => {
  for (const odd of [
    null,
    'text',
    7,
    [],
    { code: 'x', message: 7, details: 'no' },
    { details: { causes: {} } },
    { details: { causes: [null, 7] } },
  ]) {
    const error = errorOfStatus(odd as Status, 503, { action: 'get ConfigMap ns/a' });
    assert.deepEqual([error.code, error.status], ['Unavailable', 503]);
    assert.match(error.message, /^get ConfigMap ns\/a: the server answered HTTP 503\./);
  }
});

test('SAFE-2 a list that never ends is given up: by its pages, by its objects', async () => {
  let page = 0;
  const endless = (items: readonly object[]) =>
    misbehavingServer((_, response) => {
      page += 1;
      sendJson(response, { metadata: { resourceVersion: '1', continue: `page-${page}` }, items });
    });
  await using empty = await endless([]);
  await using hollow = createClient(empty.config);
  const error = await failureOf(Array.fromAsync(hollow.list(CONFIG_MAP)));
  assert.match(error.message, /^list ConfigMaps: 100 pages in a row were empty, so the list would never end/);
  await using full = await endless(Array.from({ length: 500 }, (_, n) => ({ metadata: { name: `m-${n}` } })));
  await using client = createClient(full.config, { maxListed: 2_000 });
  const many = await failureOf(Array.fromAsync(client.list(CONFIG_MAP)));
  assert.deepEqual([many.code, page < 200], ['AnswerTooLarge', true]);
  assert.match(many.message, /the list has more than 2000 objects/);
});
