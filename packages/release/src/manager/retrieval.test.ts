import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { Payload } from '@drydock/api';
import { type Clock, systemClock } from '@drydock/kube';
import { until, virtualClock } from '@drydock/kube/testing';
import { imageOf, ReleaseWorld } from '../testing/manager-world.ts';
import { payloadFiles } from '../testing/payload-files.ts';
import { type TestSigner, testSigner } from '../testing/signatures.ts';
import { boundedRetrieval, RETRIEVAL } from './retrieval.ts';
import { turns } from './turns.ts';

let signer: TestSigner;
before(async () => {
  signer = await testSigner('ours');
});

const BAD = ['a', 'b', 'c', 'd'];

/** A clock a hundred times as fast, but for the deadline of reading: that is over when `late` is called. */
function impatient(): { readonly clock: Clock; readonly late: () => void } {
  let over = Promise.withResolvers<void>();
  const ended = (signal: AbortSignal | undefined): Promise<void> => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    return Promise.race([over.promise, promise]);
  };
  return {
    clock: {
      now: () => performance.now() * 100,
      date: () => new Date(),
      sleep: (ms, options) => (ms === RETRIEVAL ? ended(options?.signal) : systemClock.sleep(ms / 100, options)),
    },
    late: () => {
      over.resolve();
      over = Promise.withResolvers();
    },
  };
}

test('TRUTH-20 four Payloads whose images hang hold up no fifth one, and each says what it waits for', async () => {
  const { clock, late } = impatient();
  await using world = new ReleaseWorld(signer, { clock });
  for (const name of BAD) world.hanging.add(await world.release(`0.0.1-${name}`));
  await world.release('1.0.0');
  await world.start();
  for (const name of BAD) await world.create(name, { image: imageOf(`0.0.1-${name}`) });
  await until('all four are being read', () => world.retrieved.length === BAD.length);
  await world.create('healthy', { image: imageOf('1.0.0') });
  const waitsFor = (name: string): string => world.cluster.peek(Payload, { name })?.status?.waiting?.[0]?.why ?? '';
  await until('the fifth one says what it waits for', () =>
    /^others are read first, each for at most 240 s: registry\.test\/tools@sha256:\w+, .+ and 1 more$/.test(
      waitsFor('healthy'),
    ),
  );
  assert.match(
    world.condition('healthy', 'ReleaseAccepted'),
    /^Unknown RetrievePayload: registry\.test\/tools@sha256:\w+ is not applied yet: others are read first/,
  );
  assert.match(waitsFor('a'), /^it is being read, until \S+Z at the latest/);
  assert.ok(!world.retrieved.includes(imageOf('1.0.0')));
  // It is said until the next attempt, which comes soon.
  const failed = new Set<string>();
  using _watching = world.cluster.subscribe(() => {
    for (const name of BAD)
      if (/^False RetrievePayload: .+ could not be read within 240 s/.test(world.condition(name, 'ReleaseAccepted')))
        failed.add(name);
  });
  late();
  await world.completed('healthy', '1.0.0');
  await until('each says that it could not be read', () => failed.size === BAD.length);
  // Who hangs is not kept from another image for as long as that.
  world.retrieved.length = 0;
  await world.patch('healthy', { image: imageOf('0.0.1-a') });
  await until('it is being read', () => world.retrieved.includes(imageOf('0.0.1-a')));
  await world.release('1.0.1');
  await world.patch('healthy', { image: imageOf('1.0.1') });
  await world.completed('healthy', '1.0.1');
});

test('TRUTH-20 four releases that are applied at the same time: the fifth says that they come first', async () => {
  const { clock } = impatient();
  await using world = new ReleaseWorld(signer, { clock });
  const over = Promise.withResolvers<void>();
  const atOnce = world.outcome;
  world.outcome = async (wish, ports) => {
    await over.promise;
    return await atOnce(wish, ports);
  };
  await world.start();
  for (const [at, name] of [...BAD, 'fifth'].entries()) {
    await world.release(`1.0.${at}`, { objects: [name] });
    await world.create(name, { image: imageOf(`1.0.${at}`) });
    if (name !== 'fifth') await until(`${name} is being applied`, () => world.applied.length === at + 1);
  }
  await until('it says what it waits for', () =>
    world.condition('fifth', 'Progressing').includes('waiting for its turn ('),
  );
  assert.match(
    world.condition('fifth', 'Progressing'),
    /0 of 1 done \(0% complete\), waiting for its turn \(Payload a, Payload b, Payload c and 1 more come first\)\.$/,
  );
  assert.equal(world.applied.length, BAD.length);
  over.resolve();
  await world.completed('fifth', '1.0.4');
});

test('who is read again comes after those that wait; who gives up leaves the line', async () => {
  const line = turns(1);
  const { signal } = new AbortController();
  const order: string[] = [];
  const go = async (who: string, of = signal): Promise<Disposable> => {
    const turn = await line.take(who, of);
    order.push(who);
    return turn;
  };
  const first = await go('first');
  const second = go('second');
  const leaving = new AbortController();
  const gone = assert.rejects(go('gone', leaving.signal), /enough/);
  const third = go('third');
  leaving.abort(new Error('enough'));
  await gone;
  assert.equal(line.taken(), 'first');
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  const again = go('first');
  (await second)[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  (await again)[Symbol.dispose]();
  assert.deepEqual([order, line.taken()], [['first', 'second', 'third', 'first'], undefined]);
});

test('a registry that hears of the end and one that does not are left at the same time, and the stop of the process at once', async () => {
  const clock = virtualClock();
  const files = payloadFiles({}, { version: '1.0.0' });
  const heard: unknown[] = [];
  const read = boundedRetrieval((image, signal) => {
    signal.addEventListener('abort', () => heard.push(image));
    return image === 'fast' ? Promise.resolve(files) : new Promise(() => undefined);
  }, clock);
  const stop = new AbortController();
  assert.equal(await read('fast', stop.signal), files, 'control');
  const late = assert.rejects(read('slow', stop.signal), {
    code: 'REGISTRY',
    message: /^slow could not be read within 240 s\. Look at the registry/,
  });
  await clock.advance(RETRIEVAL);
  await late;
  assert.deepEqual(heard, ['slow']);
  const stopped = assert.rejects(read('slow', stop.signal), /the process stops/);
  stop.abort(new Error('the process stops'));
  await stopped;
  await clock.advance(0);
  assert.equal(clock.sleeping, 0);
});
