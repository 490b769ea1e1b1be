import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { bootImageMetrics } from './metrics.ts';
import { fakeCluster } from './testing/fake-cluster.ts';

test('the info gauge follows the BootImages: a set that is gone has no line', async () => {
  const registry = new Registry();
  const metrics = bootImageMetrics(registry);
  const images = ['ms/wk-a', 'ms/wk-b'].map((set) => ({
    metadata: { name: set },
    status: { set, platform: 'vsphere', current: 'Q', target: 'R', phase: 'Uploading' },
  }));
  metrics.images(() => images);
  const lines = async (): Promise<readonly string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('drydock_bootimage_info{'));
  assert.equal((await lines()).length, 2);
  images.pop();
  assert.deepEqual(await lines(), [
    'drydock_bootimage_info{set="ms/wk-a",platform="vsphere",current="Q",target="R",phase="Uploading"} 1',
  ]);
});

test('what must stay 0 is there from the start', async () => {
  const registry = new Registry();
  const metrics = bootImageMetrics(registry);
  const value = async (name: string): Promise<string | undefined> =>
    (await registry.metrics()).split('\n').find((line) => line.startsWith(name));
  for (const what of ['template_absent_observed', 'status_write_rejected']) {
    const name = `drydock_bootimage_${what}_total`;
    assert.equal(await value(name), `${name} 0`);
  }
  metrics.templateAbsent();
  const name = 'drydock_bootimage_template_absent_observed_total';
  assert.equal(await value(name), `${name} 1`);
});

test('each step of an update is measured once it ended well', async () => {
  const c = fakeCluster();
  const lasts: Readonly<Record<string, number>> = { Uploading: 3_000, Publishing: 40_000 };
  // What is over when a step begins is the one before.
  c.store.onStep = (step) => {
    c.clock += lasts[step] ?? 0;
  };
  await c.pass();
  assert.deepEqual(c.counted, ['vc1 41', 'vc1 59']);
  assert.deepEqual(c.steps, ['Downloading 3', 'Uploading 43', 'Publishing 0', 'Switching 0']);
  const failing = fakeCluster();
  failing.store.failUpload = new Error('broken');
  await failing.pass();
  assert.deepEqual(failing.steps, ['Downloading 0']);
});
