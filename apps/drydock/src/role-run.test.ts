import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, type Leader, RunError, type Service } from '@drydock/kube';
import { virtualClock } from '@drydock/kube/testing';
import pino from 'pino';
import { startRole } from './role-run.ts';

/** A role whose Lease can be taken away, and what it did. */
async function role(options: { readonly service?: Service['run']; readonly fails?: number } = {}) {
  const story: string[] = [];
  const stop = new AbortController();
  const clock = virtualClock();
  let lose: (error: Error) => void = () => undefined;
  let pause: () => void = () => undefined;
  let made = 0;
  const leader = (): Leader => ({
    ...{ name: 'drydock-a', identity: 'me', leading: true },
    assertHeld: () => undefined,
    holderIsLive: () => true,
    run: async (lead) => {
      const [held, waits] = [new AbortController(), new AbortController()];
      lose = (error) => held.abort(error);
      pause = () => waits.abort();
      await lead(held.signal, waits.signal);
      if (held.signal.aborted) throw held.signal.reason;
    },
  });
  const running = await startRole({
    ...{ name: 'a', clock, signal: stop.signal, log: pino({ level: 'silent' }), client: {} as Client },
    make: async (closing) => {
      made += 1;
      if (made > 1 && made <= 1 + (options.fails ?? 0)) {
        story.push('fails');
        throw new Error('no answer');
      }
      const mine = made;
      closing.defer(() => void story.push(`disposed ${mine}`));
      const service: Service = {
        name: 'work',
        run: async (signal) => {
          story.push(`leads ${mine}`);
          await (options.service ?? ended)(signal);
        },
      };
      return { caches: {}, controllers: [], services: [service], leader: leader() };
    },
  });
  return {
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
    story,
    stop,
    clock,
    running,
    lose: () => lose(new RunError('LeaseLost', 'lost')),
    pause: () => pause(),
  };
}

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => signal.addEventListener('abort', () => done(), { once: true }));

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

test('FIND-2: a role that loses its Lease is made anew, with nothing of its past', async () => {
  await using one = await role();
  await settled();
  one.lose();
  await settled();
  one.pause();
  await settled();
  assert.deepEqual(one.story, ['leads 1', 'disposed 1', 'leads 2', 'disposed 2', 'leads 3']);
  one.stop.abort();
  await one.running.finished;
  assert.equal(one.story.at(-1), 'disposed 3');
});

test('FIND-2: while the API server does not answer, the role is not ready, alive, and tries again', async () => {
  await using one = await role({ fails: 2 });
  await settled();
  one.lose();
  await settled();
  assert.deepEqual(one.story.slice(1), ['disposed 1', 'fails']);
  assert.deepEqual(Object.keys(one.running.ready()), ['role-a']);
  assert.deepEqual(one.running.live(), {});
  for (const _ of [1, 2]) {
    await one.clock.advance(5_000);
    await settled();
  }
  assert.deepEqual(one.story.slice(3), ['fails', 'leads 4']);
  assert.deepEqual(Object.keys(one.running.live()), ['lease-drydock-a']);
});

test('FIND-2: a part that failed still ends the process', async () => {
  await using one = await role({ service: () => Promise.reject(new Error('port taken')) });
  await assert.rejects(one.running.finished, { code: 'PartEnded' });
  assert.deepEqual(one.story, ['leads 1', 'disposed 1']);
});
