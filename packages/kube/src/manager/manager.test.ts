import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { test } from 'node:test';
import pino from 'pino';
import type { Client } from '../client/client.ts';
import type { Controller } from '../controller/controller.ts';
import { settle, type VirtualClock, virtualClock } from '../testing/clock.ts';
import type { Leader } from './leader.ts';
import { type ManagedCache, type Operator, type RunOptions, run } from './manager.ts';
import { processSignals, type SignalSource } from './process-signals.ts';
import { RunError } from './run-error.ts';

interface Rig {
  readonly story: string[];
  readonly stop: AbortController;
  readonly lose: AbortController;
  readonly waits: AbortController;
  readonly clock: VirtualClock;
  start(more?: Partial<RunOptions>): Promise<Operator>;
}

function rig(): Rig {
  const story: string[] = [];
  const stop = new AbortController();
  const lose = new AbortController();
  const waits = new AbortController();
  const clock = virtualClock();
  const cache = (name: string): ManagedCache => ({
    synced: Promise.resolve(),
    [Symbol.asyncDispose]: async () => void story.push(`dispose ${name}`),
  });
  const leader: Leader = {
    name: 'lease',
    identity: 'me',
    leading: true,
    assertHeld: () => undefined,
    holderIsLive: () => true,
    run: async (lead) => {
      story.push('lead');
      await lead(lose.signal, waits.signal);
      if (lose.signal.aborted) throw lose.signal.reason;
      story.push('release');
    },
  };
  const start = (more: Partial<RunOptions> = {}): Promise<Operator> =>
    run({
      client: {} as Client,
      caches: { first: cache('first'), second: cache('second') },
      controllers: [worker('c', story)],
      leader,
      log: pino({ level: 'silent' }),
      clock,
      signal: stop.signal,
      ...more,
    });
  return { story, stop, lose, waits, clock, start };
}

/** A controller whose one reconcile ends when told: with the stop, with the abort, or never. */
function worker(name: string, story: string[], until: 'signal' | 'abort' | 'never' = 'signal'): Controller {
  return {
    name,
    enqueue: () => undefined,
    running: () => [],
    run: async ({ signal, abort }) => {
      story.push(`start ${name}`);
      const end = until === 'signal' ? signal : abort;
      if (until === 'never' || end === undefined) await new Promise(() => undefined);
      else if (!end.aborted)
        await new Promise<void>((resolve) => end.addEventListener('abort', () => resolve(), { once: true }));
      story.push(`end ${name}`);
    },
  };
}

test('starts and stops in order: lead, work, release, caches the last one first', async () => {
  const made = rig();
  const operator = await made.start();
  await settle();
  assert.deepEqual(made.story, ['lead', 'start c']);
  made.stop.abort();
  await operator.finished;
  assert.deepEqual(made.story, ['lead', 'start c', 'end c', 'release', 'dispose second', 'dispose first']);
  assert.equal(made.clock.sleeping, 0);
});

test('whoever is to leave the lease ends in the same order, and cleanly', async () => {
  const made = rig();
  const operator = await made.start();
  await settle();
  made.waits.abort();
  await operator.finished;
  assert.deepEqual(made.story, ['lead', 'start c', 'end c', 'release', 'dispose second', 'dispose first']);
});

test('a reconcile that goes on for 30 s after the stop is aborted; the lease is not released', async () => {
  const made = rig();
  const operator = await made.start({ controllers: [worker('slow', made.story, 'abort')] });
  await settle();
  made.stop.abort();
  await made.clock.advance(29_999);
  assert.deepEqual(made.story, ['lead', 'start slow']);
  await made.clock.advance(2_000);
  await assert.rejects(operator.finished, { code: 'StopTimeout' });
  assert.ok(!made.story.includes('release'));
  assert.deepEqual(made.story.slice(-2), ['dispose second', 'dispose first']);
});

test('a lost lease aborts what runs at once; what never ends is told from what ended', async () => {
  const ends = [
    { until: 'abort', code: 'LeaseLost' },
    { until: 'never', code: 'StopTimeout' },
  ] as const;
  for (const { until, code } of ends) {
    const made = rig();
    const operator = await made.start({ controllers: [worker('c', made.story, until)] });
    await settle();
    made.lose.abort(new RunError('LeaseLost', 'lease ns/lease was lost'));
    await made.clock.advance(1_000);
    await assert.rejects(operator.finished, { code });
    assert.ok(!made.story.includes('release'));
  }
});

test('a part that fails stops the others and ends with its cause', async () => {
  const made = rig();
  const broken = { name: 'broken', run: () => Promise.reject(new Error('port taken')) };
  const operator = await made.start({ services: [broken] });
  await assert.rejects(operator.finished, (error: unknown) => {
    assert.ok(error instanceof RunError && error.code === 'PartEnded');
    assert.equal((error.cause as Error).message, 'port taken');
    return true;
  });
  assert.ok(made.story.includes('end c'));
});

test('a cache that cannot sync ends everything with its name', async () => {
  const made = rig();
  const synced = Promise.reject(new Error('forbidden'));
  const caches = { secrets: { synced, [Symbol.asyncDispose]: async () => void made.story.push('dispose') } };
  const operator = await made.start({ caches });
  await assert.rejects(operator.finished, { code: 'PartEnded', message: /cache secrets/ });
  assert.deepEqual(made.story.slice(-2), ['release', 'dispose']);
});

test('without a leader and without parts it runs until it is disposed', async () => {
  const made = rig();
  const operator = await run({
    client: {} as Client,
    caches: {},
    controllers: [],
    http: { port: 0, host: '127.0.0.1' },
    log: pino({ level: 'silent' }),
    signal: made.stop.signal,
  });
  assert.ok((operator.port ?? 0) > 0);
  const early = await Promise.race([operator.finished.then(() => 'ended'), settle().then(() => 'running')]);
  assert.equal(early, 'running');
  await operator[Symbol.asyncDispose]();
  await operator.finished;
});

test('the first signal stops in order, the second exits with 1', () => {
  const listeners = new Map<string, (name: 'SIGINT' | 'SIGTERM') => void>();
  const exits: number[] = [];
  const source: SignalSource = {
    on: (event, listener) => listeners.set(event, listener),
    off: (event) => listeners.delete(event),
    exit: (code) => exits.push(code),
  };
  {
    using signals = processSignals(source);
    listeners.get('SIGTERM')?.('SIGTERM');
    assert.ok(signals.signal.aborted);
    assert.deepEqual(exits, []);
    listeners.get('SIGINT')?.('SIGINT');
    assert.deepEqual(exits, [1]);
  }
  assert.equal(listeners.size, 0);
});

test('a service that fails before its first wait ends the process as one that fails later, and leaves no controller running', async () => {
  const made = rig();
  const service = {
    name: 'broken',
    run: (): Promise<void> => {
      throw new TypeError('no such thing');
    },
  };
  const operator = await made.start({ services: [service] });
  await assert.rejects(operator.finished, { code: 'PartEnded', message: /^broken failed\./ });
  assert.deepEqual(made.story.slice(0, 3), ['lead', 'start c', 'end c']);
});

test('a port that is taken rejects, and the caches do not go on by themselves', async () => {
  const { port, taken } = await new Promise<{ port: number; taken: Server }>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      resolve({ port: (server.address() as AddressInfo).port, taken: server });
    });
  });
  const made = rig();
  await assert.rejects(made.start({ http: { port, host: '127.0.0.1' } }), { code: 'EADDRINUSE' });
  assert.deepEqual(made.story, ['dispose second', 'dispose first']);
  taken.close();
});
