import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computed, type FakeCluster, fakeCluster, machineSet, published } from '../testing/fake-cluster.ts';

test('BI-V68 a failure is retried at its own pace without an event, and stays reported until then', async () => {
  const c = fakeCluster();
  c.store.fail = Object.assign(new Error('503'), { retriable: true });
  const first = await c.pass();
  assert.equal(c.condition('Degraded')?.status, 'True');
  assert.deepEqual(first, { after: 5000 });
  c.store.fail = undefined;
  c.clock += 1000;
  await c.timer();
  assert.equal(c.condition('Degraded')?.status, 'True');
  assert.equal(c.template('wk-a'), computed);
  c.clock += 5000;
  await c.timer();
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.equal(c.template('wk-a'), published);
  assert.equal(c.events.filter((e) => e.includes(' Failed ')).length, 1);
});

test('an upload of another process is waited for and is no failure', async () => {
  const c = fakeCluster();
  c.store.fail = Object.assign(new Error('busy'), { code: 'UPLOAD_IN_PROGRESS', retriable: true });
  assert.deepEqual(await c.pass(), { after: 5000 });
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.equal(c.condition('Progressing')?.status, 'True');
  assert.equal(c.last('wk-a')?.kind, 'waiting');
});

const blocked = (code: string): Error => Object.assign(new Error('absent'), { code, retriable: false });

/** Pauses between the looks that timers bring, while a failure lasts. */
async function pausesOf(c: FakeCluster, count: number): Promise<readonly number[]> {
  const found: number[] = [];
  let next = await c.pass();
  while (found.length < count) {
    const after = next?.after ?? Number.NaN;
    found.push(after / 1000);
    c.clock += after;
    next = await c.timer();
  }
  return found;
}

test('what a person must put right and a look can tell is looked at again after 10 s, then half as often, up to 5 min', async () => {
  const c = fakeCluster({ collectAfterMs: 10_000_000 });
  c.store.failInspect = blocked('FOLDER_NOT_FOUND');
  assert.deepEqual(await pausesOf(c, 7), [10, 20, 40, 80, 160, 300, 300]);
  const told = c.last('wk-a');
  assert.ok(told?.kind === 'failed' && told.blocked && told.reason === 'FolderNotFound');
  c.store.failInspect = undefined;
  c.store.fail = blocked('TAG_NOT_FOUND');
  assert.deepEqual(await c.pass(), { after: 10_000 });
  assert.equal(c.store.uploads, 0);
});

test('what only another upload would tell waits 5 min; what may pass by itself does not', async () => {
  const c = fakeCluster({ collectAfterMs: 10_000_000 });
  c.store.failUpload = blocked('OVA_INVALID');
  assert.deepEqual(await pausesOf(c, 2), [300, 300]);
  const denied = fakeCluster({ collectAfterMs: 10_000_000 });
  denied.store.failUpload = blocked('PRIVILEGE_MISSING');
  assert.deepEqual(await pausesOf(denied, 2), [300, 300]);
  const kept = fakeCluster({ collectAfterMs: 10_000_000 });
  kept.store.failUpload = blocked('TAG_FAILED');
  assert.deepEqual(await pausesOf(kept, 2), [10, 20]);
  const passing = fakeCluster({ collectAfterMs: 10_000_000 });
  passing.store.failUpload = Object.assign(new Error('507'), { code: 'IMPORT_FAILED', retriable: true });
  assert.deepEqual(await pausesOf(passing, 3), [5, 10, 20]);
});

test('an event about a failed set is acted upon at once; one about another set costs no upload', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a'), machineSet('wk-b', { template: 'elsewhere' })] });
  c.store.failUpload = blocked('OVA_INVALID');
  await c.pass();
  const uploads = c.store.uploads;
  c.store.failUpload = undefined;
  await c.pass({ reason: 'MAPIMachineSetUpdated', touched: new Set(['ms/wk-c']) });
  assert.deepEqual([c.store.uploads, c.template('wk-a')], [uploads, computed]);
  assert.equal(c.condition('Degraded')?.status, 'True');
  await c.pass({ reason: 'MAPIMachineSetUpdated', touched: new Set(['ms/wk-a']) });
  assert.deepEqual([c.template('wk-a'), c.template('wk-b')], [published, 'elsewhere']);
  await c.pass({ reason: 'InfrastructureUpdated', touched: 'all' });
  assert.equal(c.template('wk-b'), published);
  assert.equal(c.condition('Degraded')?.status, 'False');
});

test('a clock that is set back by a day neither stretches a pause nor the quiet time before a collection', async () => {
  const c = fakeCluster();
  c.store.fail = Object.assign(new Error('503'), { retriable: true });
  await c.pass();
  c.clock -= 86_400_000;
  c.store.fail = undefined;
  assert.deepEqual(await c.timer(), { after: 60_000 });
  assert.equal(c.template('wk-a'), published);
  c.clock -= 86_400_000;
  assert.deepEqual(await c.timer(), { after: 60_000 });
  c.clock += 60_000;
  assert.deepEqual(await c.timer(), { after: 3_600_000 });
});
