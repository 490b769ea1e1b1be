import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, type MachineSet } from '@drydock/api';
import { fakeClient } from '../testing/fake-client.ts';
import { machineSet } from '../testing/fake-cluster.ts';
import { bootImageStatus } from './boot-image.ts';
import { createBootImages, imageOf } from './boot-image-store.ts';
import { progressText } from './progress-text.ts';
import type { SetOutcome } from './subject.ts';

const subject = (seconds: number): Parameters<typeof bootImageStatus>[2] => ({
  set: 'ms/wk-a',
  platform: 'vsphere',
  generation: 1,
  now: new Date(seconds * 1000),
  facts: { reference: 't-Q', image: 't-Q', target: 'R' },
});

test('progress reads as share, rate and rest', () => {
  assert.equal(progressText({ step: 'Uploading', bytes: 41e9, total: 100e9, rate: 0.9e9 }), '41% 0.9GB/s 66s');
  assert.equal(progressText({ step: 'Uploading', bytes: 5e6 }), '5.0MB');
  // The server has not said that it has it.
  assert.equal(progressText({ step: 'Uploading', bytes: 5e6, total: 5e6, sent: true }), '99%');
  assert.equal(progressText({ step: 'Publishing' }), '-');
});

test('since moves with the phase; the operation stays until its outcome; the way back survives', () => {
  const operation = { id: '01', name: 't', holder: 'h', instanceUuid: 'u' };
  const step: SetOutcome = {
    kind: 'step',
    phase: 'Uploading',
    operation,
    current: 'Q',
    target: 'R',
    template: { server: 'vc', name: 't-Q', release: 'Q' },
    progress: { step: 'Uploading', bytes: 41, total: 100, rate: 1 },
  };
  const first = bootImageStatus(undefined, step, subject(0));
  const second = bootImageStatus(first, step, subject(5));
  assert.deepEqual(
    [second.since, second.operation?.startedAt, second.progress],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '41% 1B/s 59s'],
  );
  const failed = bootImageStatus(
    second,
    { kind: 'failed', blocked: false, reason: 'X', message: 'm', nextStep: 'n' },
    subject(6),
  );
  assert.deepEqual([failed.phase, failed.operation?.id, failed.nextStep, failed.current], ['Failed', '01', 'n', 'Q']);
  const done = bootImageStatus(failed, { kind: 'current', current: 'R', target: 'R', movedTo: 't-R' }, subject(7));
  assert.deepEqual([done.phase, done.operation, done.revertTo, done.progress], ['Current', undefined, 'Q', '-']);
  const later = bootImageStatus(done, { kind: 'current', current: 'R', target: 'R', movedTo: 't-R' }, subject(9));
  assert.deepEqual(later, done);
});

test('TRUTH-1 what was found out about a template is said while the set points at it, and no longer', () => {
  const found: SetOutcome = {
    kind: 'current',
    current: 'Q',
    target: 'Q',
    template: { server: 'vc', name: 't-Q', release: 'Q' },
  };
  const left: SetOutcome = { kind: 'skip', counted: false, reason: 'NotSelected', brief: 'not selected', message: 'm' };
  const failed: SetOutcome = { kind: 'failed', blocked: false, reason: 'X', message: 'm' };
  const before = bootImageStatus(undefined, found, subject(0));
  const same = bootImageStatus(before, left, subject(1));
  assert.deepEqual([same.current, same.template?.name, same.target], ['Q', 't-Q', 'R']);
  // Months later somebody has pointed the set elsewhere, and the release asks for more.
  const moved = { ...subject(9), facts: { reference: 'own-image', target: 'S' } };
  const skipped = bootImageStatus(same, left, moved);
  assert.deepEqual([skipped.current, skipped.template, skipped.target], ['own-image', undefined, 'S']);
  const other = bootImageStatus(before, failed, moved);
  assert.deepEqual([other.current, other.template, other.target], ['own-image', undefined, 'S']);
});

test('TRUTH-2 an upload whose session ended is still Publishing, and says that it starts again', () => {
  const note = 'the session ended; the upload starts again';
  const step: SetOutcome = {
    kind: 'step',
    phase: 'Publishing',
    progress: { step: 'Publishing', note },
    note,
    current: 'Q',
    target: 'R',
  };
  const status = bootImageStatus(undefined, step, subject(0));
  assert.deepEqual([status.phase, status.message], ['Publishing', `ms/wk-a moves from Q to R: ${note}`]);
  const blocked = status.conditions?.find(({ type }) => type === 'Blocked');
  assert.equal(blocked?.status, 'False');
});

test('one BootImage per set, owned by it; an unchanged status is not written again', async () => {
  const client = fakeClient();
  const set: MachineSet = machineSet('wk-a', {}, { uid: 'set-uid' });
  const images = createBootImages({
    client,
    cached: () => undefined,
    exists: () => true,
    platform: () => 'vsphere',
    facts: () => ({ reference: undefined, target: undefined }),
    now: () => new Date(0),
  });
  const outcome: SetOutcome = { kind: 'skip', counted: true, reason: 'Owned', brief: 'owned by X/x', message: 'm' };
  await images.report(set, outcome);
  await images.report(set, outcome);
  const writes = ['create', 'status'].map((verb) => `${verb} bootimages openshift-machine-api/ms-wk-a`);
  assert.deepEqual(client.writes, writes);
  const image = client.peek(BootImage, imageOf(set).metadata);
  assert.equal(image?.metadata.ownerReferences?.[0]?.uid, 'set-uid');
  assert.equal(image?.status?.progress, 'skipped: owned by X/x');
  client.objects.delete('bootimages openshift-machine-api/ms-wk-a');
  await images.report(set, { ...outcome, brief: 'other' });
  assert.equal(client.peek(BootImage, imageOf(set).metadata)?.status?.progress, 'skipped: other');
});

test('TRUTH-18 that an image is tried is said no more of a set that has its image, or is left alone; what became of it is', () => {
  const canary = {
    group: 'g',
    machine: 'drydock-canary-0',
    image: 't-R',
    message: 'canary drydock-canary-0: phase none',
  };
  const tried: SetOutcome = { kind: 'step', phase: 'Publishing', reason: 'Canary', current: 'Q', target: 'R', canary };
  const trying = bootImageStatus(undefined, tried, subject(0));
  assert.deepEqual(trying.canary, canary);
  const failed: SetOutcome = { kind: 'failed', blocked: false, reason: 'X', message: 'm' };
  assert.deepEqual(bootImageStatus(trying, failed, subject(1)).canary, canary, 'it is looked at again');
  const left: SetOutcome = { kind: 'skip', counted: false, reason: 'NotSelected', brief: 'not selected', message: 'm' };
  for (const outcome of [{ kind: 'current', current: 'Q', target: 'Q', pinned: true } as const, left])
    assert.equal(bootImageStatus(trying, outcome, subject(2)).canary, undefined);
  const passed = bootImageStatus(trying, { ...tried, canary: { ...canary, verdict: 'Passed' } }, subject(3));
  const current = bootImageStatus(passed, { kind: 'current', current: 'R', target: 'R' }, subject(4));
  assert.equal(current.canary?.verdict, 'Passed');
});

test('TRUTH-18 a set that is pinned while another image is imported: its history does not have the operation of that import for the pinned image', () => {
  const operation = { id: '0123456789abcdef', name: 't-R', holder: 'h', instanceUuid: 'u' };
  const about = { ...subject(0), facts: { reference: 't-P', image: 't-P', target: 'P' } };
  const step: SetOutcome = { kind: 'step', phase: 'Uploading', operation, current: 'Q', target: 'R' };
  const uploading = bootImageStatus(undefined, step, about);
  const pinned = bootImageStatus(uploading, { kind: 'step', phase: 'Switching', current: 'Q', target: 'P' }, about);
  const back = bootImageStatus(
    pinned,
    { kind: 'current', by: 'revert', current: 'P', target: 'P', pinned: true },
    { ...about, facts: { ...about.facts, pin: { pin: { release: 'P', image: 't-P' } } } },
  );
  assert.equal(back.history?.[0]?.release, 'P');
  assert.notEqual(back.history?.[0]?.id, operation.id);
});
