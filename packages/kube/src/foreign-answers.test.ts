import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from './client/rest.ts';
import { errorOfStatus } from './errors.ts';
import type { Status } from './status-object.ts';
import { failureOf } from './testing/failure.ts';
import { CONFIG_MAP, misbehavingServer, sendJson, sendStatus } from './testing/server.ts';

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
