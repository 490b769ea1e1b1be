import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage } from '@drydock/api';
import { imageOf } from '../status/boot-image-store.ts';
import { computed, machineSet, newRelease, oldRelease } from '../testing/fake-cluster.ts';
import { type ReportingCluster, reportingCluster } from '../testing/reporting-cluster.ts';
import { runPass } from './pass.ts';

const older = `${computed}-${oldRelease}-0123abcd`;

/** A fleet in one place that has the new release, and whose sets are all pinned to the one before. */
async function pinned(count: number): Promise<ReportingCluster> {
  const sets = Array.from({ length: count }, (_, index) => machineSet(`wk-${index}`));
  const c = reportingCluster({ sets, templates: { [computed]: { version: newRelease } } });
  await c.pass();
  c.cluster.store.templates.set(older, { version: oldRelease, ours: true });
  for (const set of sets) {
    const own = imageOf(set);
    const { status = {} } = c.image(set.metadata.name) ?? {};
    c.cluster.client.put(BootImage, {
      ...own,
      spec: { ...own.spec, pin: { release: oldRelease, image: older } },
      status,
    });
  }
  return c;
}

test('OWN-18 a pass asks a vCenter about each template once, and reads a stub less often than there are sets, however many sets start from it, and the next pass asks anew', async () => {
  const questions = async (count: number): Promise<number> => {
    const c = await pinned(count);
    const { store } = c.cluster;
    const inspect = store.inspect.bind(store);
    let asked = 0;
    store.inspect = async (...about) => {
      asked += 1;
      return inspect(...about);
    };
    const { client } = c.cluster;
    const get = client.get.bind(client);
    const read: string[] = [];
    Object.assign(client, {
      get: (async (resource, key, call) => {
        read.push(resource.kind);
        return get(resource, key, call);
      }) satisfies typeof client.get,
    });
    await c.pass();
    if (count > 10)
      assert.ok(read.filter((kind) => kind === 'Secret').length < count, 'the stub that all of them have');
    for (let index = 0; index < count; index += 1) assert.equal(c.cluster.template(`wk-${index}`), older);
    const once = asked;
    store.templates.delete(older);
    await c.pass();
    assert.equal(c.image('wk-0')?.status?.reason, 'PinnedImageGone', 'what was found before is not told again');
    return once;
  };
  assert.equal(await questions(30), await questions(3));
});

test('OWN-18 sets that only have to be pointed elsewhere do not wait for one another', async () => {
  const c = await pinned(12);
  const { client } = c.cluster;
  let [underway, most] = [0, 0];
  const together = {
    ...client,
    patch: (async (...call) => {
      underway += 1;
      most = Math.max(most, underway);
      await new Promise((resolve) => setImmediate(resolve));
      underway -= 1;
      return client.patch(...call);
    }) as typeof client.patch,
  };
  const { concurrency: _, ...ports } = c.ports;
  await runPass({ ...ports, client: together }, c.state, { reason: 'Test', touched: 'all' });
  assert.equal(most, 12);
  assert.equal(c.cluster.template('wk-11'), older);
});
