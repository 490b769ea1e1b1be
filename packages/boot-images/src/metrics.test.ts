import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { bootImageMetrics } from './metrics.ts';
import { unenforced } from './skew/mode.ts';
import { fakeCluster, infrastructure } from './testing/fake-cluster.ts';

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

test('why a set is stuck is told as long as it is', async () => {
  const registry = new Registry();
  const metrics = bootImageMetrics(registry);
  const status = { set: 'ms/wk-a', phase: 'Blocked', reason: 'CanaryFailed' };
  metrics.images(() => [{ metadata: { name: 'wk-a' }, status }]);
  const lines = async (): Promise<readonly string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('drydock_bootimage_stuck{'));
  assert.deepEqual(await lines(), ['drydock_bootimage_stuck{set="ms/wk-a",reason="CanaryFailed"} 1']);
  status.phase = 'Uploading';
  assert.deepEqual(await lines(), []);
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

test('BI-V204 the gauge of skew enforcement is 1 only where a person turned it off, and 0 once the MachineConfiguration is gone', async () => {
  const registry = new Registry();
  const metrics = bootImageMetrics(registry);
  const value = async (): Promise<string | undefined> =>
    (await registry.metrics()).split('\n').find((line) => line.startsWith('mcc_boot_image_skew_enforcement_none'));
  assert.equal(await value(), 'mcc_boot_image_skew_enforcement_none 0');
  const mc = (mode: 'None' | 'Manual') => ({
    metadata: { name: 'cluster' },
    status: { bootImageSkewEnforcementStatus: { mode } },
  });
  const on = (type: string | undefined, controlPlaneTopology = 'HighlyAvailable') => ({
    ...infrastructure(),
    status: { ...(type === undefined ? {} : { platformStatus: { type } }), controlPlaneTopology },
  });
  for (const [configuration, cluster, wanted] of [
    [mc('None'), on('AWS'), 1],
    [mc('None'), on('VSphere'), 1],
    [mc('Manual'), on('AWS'), 0],
    [mc('None'), on('AWS', 'SingleReplica'), 0],
    [mc('None'), on('BareMetal'), 0],
    [mc('None'), on(undefined), 0],
    [mc('None'), undefined, 0],
    [undefined, on('AWS'), 0],
  ] as const) {
    metrics.unenforced(() => unenforced(configuration, cluster));
    assert.equal(await value(), `mcc_boot_image_skew_enforcement_none ${wanted}`);
  }
});

test('sets are counted by what became of them; age and attempts are those of each set', async () => {
  const registry = new Registry();
  const metrics = bootImageMetrics(registry);
  const day = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');
  const image = (set: string, phase: string, current: string, count?: number) => ({
    metadata: { name: set },
    status: { set, phase, current, ...(count === undefined ? {} : { attempts: { target: 'x', count } }) },
  });
  metrics.images(() => [
    image('ms/a', 'Current', `9.8.${day}-0`),
    image('ms/b', 'Blocked', `rhcos-9-8-${day}-0-gcp-x86-64`, 4),
    image('cpms/cluster', 'Skipped', 'ami-0123456789abcdef0'),
  ]);
  metrics.hotLoop('ms/b');
  const text = await registry.metrics();
  for (const [phase, count] of [
    ['Current', 1],
    ['Blocked', 1],
    ['Skipped', 1],
    ['Failed', 0],
  ])
    assert.match(text, new RegExp(`drydock_bootimage_sets\\{phase="${phase}"\\} ${count}\n`));
  const ages = [...text.matchAll(/drydock_bootimage_age_seconds\{set="([^"]+)"\} (\d+)/g)];
  assert.deepEqual(
    ages.map(([, set]) => set),
    ['ms/a', 'ms/b'],
  );
  for (const [, , seconds = ''] of ages)
    assert.ok(Number(seconds) >= 2 * 86_400 && Number(seconds) < 3 * 86_400, seconds);
  assert.match(text, /drydock_bootimage_attempts\{set="ms\/b"\} 4\n/);
  assert.match(text, /drydock_bootimage_hot_loop_refusals_total\{set="ms\/b"\} 1\n/);
  assert.match(text, /drydock_bootimage_last_success_timestamp_seconds 0\n/);
  metrics.passed(new Date(5_000));
  assert.match(await registry.metrics(), /drydock_bootimage_last_success_timestamp_seconds 5\n/);
});

test('how old the oldest image is and whether it holds upgrades up; what nobody knows has no line', async () => {
  const registry = new Registry();
  const metrics = bootImageMetrics(registry);
  const lines = async (): Promise<readonly string[]> =>
    (await registry.metrics()).split('\n').filter((line) => /^drydock_bootimage_(?:skew|upgrade)/.test(line));
  assert.deepEqual(await lines(), ['drydock_bootimage_upgrade_held 0']);
  metrics.skew(() => ({ releases: 9, held: true }));
  const nine = 'drydock_bootimage_skew_releases{of="oldest"} 9';
  assert.deepEqual(await lines(), [nine, 'drydock_bootimage_upgrade_held 1']);
});

test('bytes of a step that is under way are those of its set, and go with the step', async () => {
  const registry = new Registry();
  const metrics = bootImageMetrics(registry);
  let progressDetail: { readonly bytes: number } | undefined = { bytes: 41 };
  metrics.images(() => [
    {
      metadata: { name: 'ms-a' },
      status: { set: 'ms/a', ...(progressDetail === undefined ? {} : { progressDetail }) },
    },
  ]);
  const line = /drydock_bootimage_progress_bytes\{set="ms\/a"\} 41\n/;
  assert.match(await registry.metrics(), line);
  progressDetail = undefined;
  assert.doesNotMatch(await registry.metrics(), line);
});
