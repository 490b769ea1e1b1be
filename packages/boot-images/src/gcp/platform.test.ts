import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type BootImageStatus, Deployment, MachineSet, Secret } from '@drydock/api';
import { upstreamController } from '../decide/coexistence.ts';
import { explainSet } from '../explain.ts';
import { setFacts } from '../pass/set-facts.ts';
import type { Platform } from '../platform.ts';
import { standings } from '../standing.ts';
import { bootImageStatus } from '../status/boot-image.ts';
import type { SetOutcome } from '../status/subject.ts';
import { type FakeCompute, googleError, startCompute } from '../testing/clouds/compute.ts';
import { type FakeCluster, fakeCluster, stub22 } from '../testing/fake-cluster.ts';
import {
  furnish,
  gcpDisks,
  gcpImage,
  gcpInfrastructure,
  gcpSet,
  gcpStream,
  oldGcpImage,
  publish,
  rhcosCloud,
} from '../testing/fake-gcp.ts';
import { gcpPlatform } from './platform.ts';

let compute: FakeCompute;
const opened: Platform[] = [];
const old = rhcosCloud(oldGcpImage);
const wanted = rhcosCloud(gcpImage);

before(async () => {
  compute = await startCompute();
});
after(async () => {
  for (const platform of opened) await platform[Symbol.asyncDispose]?.();
  await compute?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  compute.images.clear();
  compute.denied.clear();
  compute.fault = undefined;
});

/** A cluster on Google Cloud, whose clock is also the one of what is remembered of images. */
function cluster(
  options: { readonly sets?: readonly MachineSet[]; readonly userData?: string; readonly stream?: string } = {},
): FakeCluster {
  const platform = gcpPlatform({
    ...compute.options,
    bounds: { attempts: 1, exchangeMs: 20_000 },
    clock: { now: () => c.clock, date: () => new Date(), sleep: async () => undefined },
  });
  opened.push(platform);
  const c: FakeCluster = fakeCluster({
    ...{ sets: [gcpSet('wk-a')], stream: gcpStream, ...options },
    ...{ platform, infrastructure: gcpInfrastructure },
  });
  furnish(c.client, compute);
  return c;
}

const spec = (c: FakeCluster, set: string): Readonly<Record<string, unknown>> | undefined =>
  c.client.peek(MachineSet, { namespace: 'openshift-machine-api', name: set })?.spec?.template?.spec?.providerSpec
    ?.value;
const images = (c: FakeCluster, set: string = 'wk-a'): readonly (string | undefined)[] =>
  ((spec(c, set)?.['disks'] ?? []) as readonly { readonly boot: boolean; readonly image?: string }[])
    .filter(({ boot }) => boot)
    .map(({ image }) => image);

/** The status after all that was told of the set, as the one writer makes it. */
function statusOf(c: FakeCluster, name: string = 'wk-a'): BootImageStatus {
  let status: BootImageStatus | undefined;
  for (const outcome of c.outcomes.get(name) ?? []) status = next(c, name, status, outcome);
  return status ?? assert.fail('nothing was told');
}

function next(c: FakeCluster, name: string, before: BootImageStatus | undefined, outcome: SetOutcome): BootImageStatus {
  const set = c.ports.world.machineSets().find(({ metadata }) => metadata.name === name) ?? assert.fail('no set');
  const facts = setFacts(set, c.ports);
  return bootImageStatus(before, outcome, {
    ...{ set: `ms/${name}`, platform: 'gcp', generation: 1, now: new Date(c.clock), facts },
  });
}

function verified(status: BootImageStatus): string | undefined {
  const found = status.conditions?.find(({ type }) => type === 'Verified');
  return found === undefined ? undefined : `${found.status} ${found.reason}: ${found.message}`;
}

test('BI-V77 BI-V84 a set is moved to the image of the release once that was seen; nothing else in it changes', async () => {
  const c = cluster({ sets: [gcpSet('wk-a', [old])] });
  const before = spec(c, 'wk-a');
  await c.pass();
  assert.deepEqual(images(c), [wanted]);
  assert.deepEqual(spec(c, 'wk-a'), { ...before, disks: gcpDisks(wanted) });
  assert.deepEqual(spec(c, 'wk-a')?.['foo'], { bar: 1 });
  assert.deepEqual(c.client.writes, ['patch machinesets openshift-machine-api/wk-a']);
  const status = statusOf(c);
  assert.deepEqual(
    [status.phase, status.current, status.target, status.revertTo],
    ['Current', gcpImage, gcpImage, oldGcpImage],
  );
  assert.match(verified(status) ?? '', /^True Verified: image projects\/rhcos-cloud\/global\/images\/rhcos-9-8/);
  assert.deepEqual(c.events, [`wk-a Switched machineset wk-a: ${old} → ${wanted}`]);
});

test('BI-V78 a set that has it is reconciled without a write, also while the cloud does not answer', async () => {
  const c = cluster({ sets: [gcpSet('wk-a', [wanted])] });
  await c.pass();
  assert.match(verified(statusOf(c)) ?? '', /^True Verified/);
  c.clock += 600_000;
  compute.fault = () => googleError(503, 'Backend Error', 'backendError');
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 1 of 1 MAPI MachineSets \|/);
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.match(verified(statusOf(c)) ?? '', /^Unknown CloudUnavailable: /);
  assert.equal(statusOf(c).progress, 'unverified');
  compute.fault = undefined;
  c.clock += 300_000;
  assert.deepEqual(await c.timer(), { after: 3_600_000 }, 'after 5 min all is well again');
  assert.match(verified(statusOf(c)) ?? '', /^True Verified/);
});

test('BI-V79 BI-V81 BI-V82 a set with an image of somebody’s own is skipped with a reason, its stub untouched; that its image is gone is said', async () => {
  const own = 'projects/my-proj/global/images/custom';
  for (const disks of [[own], [old, own], ['']]) {
    const c = cluster({ sets: [gcpSet('wk-a', disks)], userData: stub22 });
    publish(compute, 'custom', { project: 'my-proj' });
    await c.pass();
    assert.deepEqual([c.client.writes, images(c)], [[], disks]);
    assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 0 of 1 MAPI MachineSets \(1 skipped\) \|/);
    const status = statusOf(c);
    assert.deepEqual([status.phase, status.reason, status.target], ['Skipped', 'CustomImage', gcpImage]);
  }
  const gone = cluster({ sets: [gcpSet('wk-a', [own])] });
  compute.images.delete('my-proj/custom');
  await gone.pass();
  const status = statusOf(gone);
  assert.match(verified(status) ?? '', /^False ImageNotPublished: there is no image projects\/my-proj/);
  assert.match(status.message ?? '', /which is not one of .*; there is no image projects\/my-proj/);
});

test('BI-V83 a stream without an image for the architecture is an error with the name of the set, and the others go on', async () => {
  const arm = gcpSet('wk-arm');
  const annotations = { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=arm64' };
  const c = cluster({ sets: [{ ...arm, metadata: { ...arm.metadata, annotations } }, gcpSet('wk-b')] });
  await c.pass();
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /Error\(s\): error syncing MAPI MachineSet wk-arm: failed to reconcile machineset wk-arm, err: rhcos-4\.22\/aarch64: image 'gcp' is not there$/,
  );
  assert.equal(statusOf(c, 'wk-arm').phase, 'Blocked');
  assert.deepEqual(images(c, 'wk-b'), [wanted]);
});

test('a target that is not published blocks the set, unpatched, and is looked at again by itself until it is', async () => {
  const c = cluster();
  compute.images.delete(`rhcos-cloud/${gcpImage}`);
  const outcome = await c.pass();
  assert.deepEqual([images(c), c.client.writes], [[old], []]);
  const status = statusOf(c);
  assert.deepEqual(
    [status.phase, status.reason, status.current, status.target],
    ['Blocked', 'ImageNotPublished', oldGcpImage, gcpImage],
  );
  assert.match(verified(status) ?? '', /^False ImageNotPublished: there is no image projects\/rhcos-cloud/);
  assert.match(status.nextStep ?? '', /wait until it is published/);
  assert.deepEqual([c.condition('Degraded')?.status, outcome], ['True', { after: 10_000 }]);
  publish(compute, gcpImage);
  c.clock += 10_000;
  await c.timer();
  assert.deepEqual([images(c), c.condition('Degraded')?.status], [[wanted], 'False']);
});

test('without the right to look the set is patched, and its BootImage said so before', async () => {
  const c = cluster();
  compute.denied.add('rhcos-cloud');
  const outcome = await c.pass();
  assert.deepEqual(images(c), [wanted]);
  const told = (c.outcomes.get('wk-a') ?? []).map(
    ({ kind, verified: seen }) => `${kind} ${seen?.status} ${seen?.reason}`,
  );
  assert.deepEqual(told, ['step Unknown Unverified', 'current Unknown Unverified']);
  const status = statusOf(c);
  assert.match(verified(status) ?? '', /missing: permission compute\.images\.get on project rhcos-cloud$/);
  assert.match(status.message ?? '', /; nobody could look .* missing: permission compute\.images\.get/);
  assert.deepEqual(
    [status.phase, status.progress, c.condition('Degraded')?.status],
    ['Current', 'unverified', 'False'],
  );
  assert.deepEqual(outcome, { after: 60_000 }, 'collection');
  compute.denied.clear();
  c.clock += 300_000;
  await c.timer();
  assert.match(verified(statusOf(c)) ?? '', /^True Verified/, 'a right that was granted shows by itself');
});

test('without any credentials the set is patched and declared unverified, and with them it is looked at', async () => {
  const c = cluster();
  c.client.objects.delete('secrets drydock/drydock-cloud-credentials');
  await c.pass();
  assert.match(
    verified(statusOf(c)) ?? '',
    /missing: Secret drydock\/drydock-cloud-credentials or openshift-machine-api\/gcp-/,
  );
  furnish(c.client, compute);
  await c.pass();
  assert.match(verified(statusOf(c)) ?? '', /^True Verified/);
  assert.ok(c.client.peek(Secret, { namespace: 'drydock', name: 'drydock-cloud-credentials' }));
});

test('BI-V68 [N] a cloud’s 503 degrades, is tried again with growing pauses, and clears without an event', async () => {
  const c = cluster();
  compute.fault = ({ path }) =>
    path.startsWith('/compute/') ? googleError(503, 'Backend Error', 'backendError') : undefined;
  assert.deepEqual(await c.pass(), { after: 5_000 });
  assert.deepEqual([c.condition('Degraded')?.status, images(c)], ['True', [old]]);
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /failed to get projects\/rhcos-cloud\/.* at compute\.googleapis\.com: .*503/,
  );
  c.clock += 5_000;
  assert.deepEqual(await c.timer(), { after: 10_000 });
  assert.equal(statusOf(c).phase, 'Failed');
  compute.fault = undefined;
  c.clock += 10_000;
  await c.timer();
  assert.deepEqual([c.condition('Degraded')?.status, images(c)], ['False', [wanted]]);
});

test('sets with one image cost one question, also of a fleet; a cloud that never answers holds nobody for long', async () => {
  const names = Array.from({ length: 200 }, (_, n) => `wk-${n}`);
  const fleet = cluster({ sets: names.map((name) => gcpSet(name)) });
  const before = compute.asked.length;
  await fleet.pass();
  assert.equal(compute.asked.length - before, 1);
  assert.deepEqual([...new Set(names.flatMap((name) => images(fleet, name)))], [wanted]);
  const waiting = cluster({ sets: names.map((name) => gcpSet(name)) });
  compute.fault = () => 'hang';
  const calls = compute.calls.length;
  await waiting.pass();
  // The place is silent: nobody after the first waits for it again at once.
  assert.equal(compute.calls.length - calls, 1);
  assert.match(waiting.condition('Degraded')?.message ?? '', /^200 Degraded MAPI MachineSets/);
});

test('a withdrawn current image is named where nothing is to be done; a deprecated one with its end', async () => {
  const c = cluster({ sets: [gcpSet('wk-a', [wanted])] });
  publish(compute, gcpImage, { deprecated: { state: 'OBSOLETE' } });
  await c.pass();
  const status = statusOf(c);
  assert.deepEqual(
    [status.phase, status.progress, status.reason],
    ['Current', 'its image is no longer good', 'UpToDate'],
  );
  assert.match(
    status.message ?? '',
    /^new machines of ms\/wk-a start from rhcos-9-8-.*; image .* was withdrawn \(OBSOLETE\)/,
  );
  assert.match(verified(status) ?? '', /^False ImageWithdrawn/);
  publish(compute, gcpImage, { deprecated: { state: 'DEPRECATED', obsolete: '2027-01-01' } });
  c.clock += 600_000;
  await c.timer();
  assert.match(verified(statusOf(c)) ?? '', /^True Deprecated: image .* will be withdrawn on 2027-01-01$/);
});

test('what was seen is said as long as the set has that image and that target, also when the next pass cannot tell', () => {
  const c = cluster({ sets: [gcpSet('wk-a', [wanted])] });
  const seen = { status: 'True', reason: 'Verified', message: 'seen' } as const;
  const first = next(c, 'wk-a', undefined, { kind: 'current', current: gcpImage, target: gcpImage, verified: seen });
  const failed = next(c, 'wk-a', first, { kind: 'failed', blocked: false, reason: 'Unexpected', message: 'no' });
  assert.equal(verified(failed), 'True Verified: seen');
  c.edit.set('wk-a', () => gcpSet('wk-a', [old]));
  const moved = next(c, 'wk-a', failed, { kind: 'failed', blocked: false, reason: 'Unexpected', message: 'no' });
  assert.equal(verified(moved), undefined);
});

test('beside upstream nothing is written, and that the image of the release is not there is said all the same', async () => {
  const c = cluster();
  c.client.put(Deployment, { metadata: upstreamController } as Deployment);
  compute.images.delete(`rhcos-cloud/${gcpImage}`);
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  const status = statusOf(c);
  assert.deepEqual([status.reason, status.current, status.target], ['LeftToUpstream', oldGcpImage, gcpImage]);
  assert.match(verified(status) ?? '', /^False ImageNotPublished/);
  const [set] = c.ports.world.machineSets();
  const said = await explainSet(set ?? assert.fail('no set'), {
    ...c.ports,
    world: { ...c.ports.world, upstream: () => undefined },
  });
  assert.deepEqual([said.step, said.target, said.verified?.status], ['blocked', gcpImage, 'False']);
});

test('somebody who takes the image back three times is refused the fourth time', async () => {
  const c = cluster();
  for (let time = 0; time < 4; time += 1) {
    c.edit.set('wk-a', () => gcpSet('wk-a', [old]));
    await c.pass();
  }
  assert.match(c.condition('Degraded')?.message ?? '', /refusing to reconcile machineset wk-a, hot loop detected/);
  assert.deepEqual(images(c), [old]);
});

test('explain says what is seen of the image and what would be changed; status goes by API objects and asks nobody', async () => {
  const c = cluster();
  const [set] = c.ports.world.machineSets();
  assert.ok(set !== undefined);
  const said = await explainSet(set, c.ports);
  assert.deepEqual([said.step, said.edits?.length, said.verified?.status], ['switch', 1, 'True']);
  assert.match(
    said.answers.find(({ question }) => question === 'image')?.text ?? '',
    /^new machines start from rhcos-9-6-.*; the release asks for rhcos-9-8-.*; image .* is there, and machines can start from it$/,
  );
  compute.fault = () => 'reset';
  c.clock += 600_000;
  assert.equal((await explainSet(set, c.ports)).step, 'unknown', 'whoever asks may be farther away than the operator');
  const calls = compute.calls.length;
  const { images: stand } = await standings({
    ...{ world: c.ports.world, images: [], led: true, now: new Date(c.clock), architecture: 'x86_64' },
  });
  assert.equal(compute.calls.length, calls);
  const { platform, current, target, progress } = stand[0]?.status ?? {};
  assert.deepEqual([platform, current, target, progress], ['gcp', oldGcpImage, gcpImage, 'not looked at yet']);
});
