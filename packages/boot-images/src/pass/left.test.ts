import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { BootImage, ConfigMap } from '@drydock/api';
import { imageOf } from '../status/boot-image-store.ts';
import {
  computed,
  type FakeCluster,
  fakeCluster,
  machineSet,
  newRelease,
  oldRelease,
  stream,
} from '../testing/fake-cluster.ts';
import { runPass } from './pass.ts';

const newest = '9.8.20260909-0';
const golden = { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' };

/** A cluster whose image `release` never ends; `asked` resolves when it is being downloaded. */
function endless(c: FakeCluster, release: string): { readonly asked: Promise<void>; readonly given: () => number } {
  const publish = c.store.publish.bind(c.store);
  const begun = Promise.withResolvers<void>();
  let given = 0;
  Object.assign(c.store, {
    publish: (async (wish, options) => {
      if (wish.image.release !== release) return publish(wish, options);
      options.onProgress?.({ step: 'Downloading', bytes: 1 });
      begun.resolve();
      const { signal } = options;
      if (signal === undefined) return new Promise(() => undefined);
      if (!signal.aborted) await once(signal, 'abort');
      given += 1;
      throw new Error('the client gave it up');
    }) satisfies typeof c.store.publish,
  });
  return { asked: begun.promise, given: () => given };
}

const go = (c: FakeCluster, signals: Parameters<typeof runPass>[3]): ReturnType<typeof runPass> =>
  runPass(c.ports, c.state, { reason: 'Test', touched: 'all' }, signals);

test('SAFE-2 a new release does not wait for an image that never ends: the download is given up, the set gets the new one', async () => {
  const c = fakeCluster();
  const { asked, given } = endless(c, newRelease);
  const news = new AbortController();
  const pass = go(c, { news: news.signal });
  await asked;
  c.client.put(ConfigMap, { metadata: golden, data: { stream: stream.replaceAll(newRelease, newest) } });
  news.abort();
  assert.deepEqual(await pass, { after: 1 });
  assert.equal(given(), 1);
  assert.equal(c.condition('Progressing')?.status, 'True');
  await c.pass();
  assert.equal(c.template('wk-a'), `${computed}-${newest}-0123abcd`);
  assert.deepEqual(
    c.events.filter((event) => event.includes(' Planned ')).map((event) => event.split(' ').at(-1)),
    [newRelease, newest],
  );
});

test('SAFE-2 what changes nothing for a set is no news to it: it goes on with the same image, and says so once', async () => {
  const c = fakeCluster();
  endless(c, newRelease);
  for (let n = 0; n < 2; n += 1) assert.deepEqual(await go(c, { news: AbortSignal.abort() }), { after: 1 });
  assert.equal(c.events.filter((event) => event.includes(' Planned ')).length, 1);
  assert.equal(c.events.filter((event) => event.includes(' Failed ')).length, 0);
});

test('SAFE-2 an image that never ends holds up no set that needs none', async () => {
  const ready = `${computed}-${newRelease}-0123abcd`;
  const sets = [machineSet('wk-a'), machineSet('wk-b', { template: 'gone' })];
  const templates = { [computed]: { version: oldRelease }, [ready]: { version: newRelease, ours: true } };
  const c = fakeCluster({ sets, templates });
  const { asked } = endless(c, newRelease);
  // The second set is pinned to what is there already.
  const own = imageOf(machineSet('wk-b'));
  c.client.put(BootImage, { ...own, spec: { ...own.spec, pin: { release: newRelease, image: ready } } });
  const stopping = new AbortController();
  const pass = go(c, { stopping: stopping.signal });
  await asked;
  // One at a time: a publication that came first would be waited for.
  while (c.template('wk-b') !== ready) await new Promise((resolve) => setImmediate(resolve));
  stopping.abort();
  await assert.rejects(pass, { name: 'AbortError' });
});

test('SAFE-3 a process that is told to stop leaves a download at once, and says of no set that it failed', async () => {
  const c = fakeCluster();
  const { asked, given } = endless(c, newRelease);
  const stopping = new AbortController();
  const pass = go(c, { stopping: stopping.signal });
  await asked;
  const began = performance.now();
  stopping.abort();
  await assert.rejects(pass, { name: 'AbortError' });
  // The download would never end by itself.
  assert.ok(performance.now() - began < 30_000);
  assert.equal(given(), 1);
  assert.equal(c.last('wk-a')?.kind, 'step');
  assert.deepEqual(
    c.events.filter((event) => event.includes(' Failed ')),
    [],
  );
});
