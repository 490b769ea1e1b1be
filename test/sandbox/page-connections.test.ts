import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get } from 'node:https';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { createAuthority } from '@drydock/sandbox';
import type { Feed } from '../../apps/page/src/server/feed.ts';
import { startPage } from '../../apps/page/src/server/server.ts';

const authority = createAuthority('page');
const { certificate: cert, privateKey: key } = authority.issueServer(['localhost', '127.0.0.1']);

/** A page that admits whoever has the token. */
const page = () =>
  startPage({
    ...{ feed: {} as Feed, assets: new Map(), host: '127.0.0.1', port: 0, tls: { cert, key } },
    admit: ({ headers }) =>
      headers.authorization === 'Bearer right' ? { kind: 'admitted' } : { kind: 'refused', code: 401, why: 'no token' },
  });

/** The status of an answer to somebody with a token: 404 where nothing is served, because the request was admitted. */
async function asked(url: string, agent: Agent): Promise<number> {
  const request = get(new URL('/nothing', url), { agent, headers: { authorization: 'Bearer right' } });
  const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response.statusCode ?? 0;
}

test('FIND-4: 300 connections that say nothing keep nobody from the page, and end nobody who was admitted', async () => {
  await using server = await page();
  const { port, hostname: host } = new URL(server.url);
  const agent = new Agent({ ca: authority.certificate, keepAlive: true, maxSockets: 1 });
  const silent: Socket[] = [];
  try {
    assert.equal(await asked(server.url, agent), 404);
    const [kept] = Object.values(agent.freeSockets).flat();
    assert.ok(kept !== undefined);
    let closed = 0;
    for (let count = 0; count < 300; count += 1) {
      const socket = connect({ host, port: Number(port) });
      socket
        .on('error', () => undefined)
        .once('close', () => {
          closed += 1;
        });
      silent.push(socket);
      await once(socket, 'connect');
    }
    const began = performance.now();
    assert.equal(await asked(server.url, agent), 404);
    const other = new Agent({ ca: authority.certificate });
    assert.equal(await asked(server.url, other), 404);
    assert.ok(performance.now() - began < 4000, 'nobody waits until the silent ones run out');
    assert.equal(kept.destroyed, false, 'the connection of somebody who was admitted stays');
    assert.ok(closed > 0, 'the oldest of the silent ones made room');
    await Promise.all(silent.filter((one) => !one.destroyed).map((one) => once(one, 'close')));
    assert.ok(performance.now() - began < 15_000, 'a handshake that does not come ends');
  } finally {
    for (const socket of silent) socket.destroy();
    agent.destroy();
  }
});
