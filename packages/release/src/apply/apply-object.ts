import type { JsonObject } from '@drydock/crd';
import { compareVersions, type KubeObject } from '@drydock/kube';
import { actionOf } from '../inclusion/annotations.ts';
import type { Manifest } from '../payload/manifest.ts';
import { type Attempt, ManifestFault } from './attempt.ts';
import { missingBackend } from './backends.ts';
import { deleteObject, forget } from './deletions.ts';
import { backendsOf, type Health, healthOf } from './health/health.ts';
import { isComplete, rolloutOf } from './health/rollout.ts';
import { asJson, objectIn, own } from './json.ts';
import { kindOf } from './merge/kinds.ts';
import { noteRan, writeObject } from './write-object.ts';

/** ms between two looks at what is waited for: the first is soon, since a definition is established in milliseconds. */
const LOOKS = [50, 100, 200, 500, 1_000, 2_000, 5_000] as const;
const DELETED = {
  reason: 'UpdatePayloadResourceNotFound',
  effect: 'Fail',
  message: 'it was deleted while it was waited for',
} as const;

/** How long (ms) a workload may take to roll out before that counts as a failure. */
const ROLLOUT_DEADLINE = 30 * 60_000;
/** Looks of a reconcile, which has two workers for everything: what takes longer is reported, and looked at in the next attempt. */
const RECONCILE_LOOKS = 5;

/** Brings one object to what its manifest says and waits for its health. Throws `ManifestFault`, `ApiError`, or the signal's reason. */
export async function applyObject(attempt: Attempt, manifest: Manifest, fresh: boolean): Promise<void> {
  // What is to go is gone where not even its kind is there.
  if (actionOf(manifest) === 'delete' && (await attempt.kinds.resourceOf(manifest.id, manifest.version)) === undefined)
    return forget(attempt, manifest);
  for (let looks = 0, again = fresh; ; looks += 1, again = true) {
    const { step, object } = await writeObject(attempt, manifest, again);
    if (step.action === 'delete') return deleteObject(attempt, manifest, step, object);
    if (actionOf(manifest) === 'delete') return forget(attempt, manifest);
    if (step.action !== 'wait') return object === undefined ? undefined : healthy(attempt, manifest, object);
    await pause(attempt, manifest, step.why, looks, {
      reason: 'UpdatePayloadResourceConflict',
      effect: 'Fail',
      message: step.why,
    });
  }
}

/** ClusterOperators are made before what comes with them, so that operators find theirs; what fails here is tried again in its turn. */
export async function precreateOperators(attempt: Attempt, manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) {
    if (kindOf(manifest.id) !== 'ClusterOperator.config.openshift.io') continue;
    try {
      const { step, object } = await writeObject(attempt, manifest, false);
      if (step.action !== 'create' || object === undefined) continue;
      const { status } = manifest.object;
      const related =
        typeof status === 'object' && status !== null ? own(status as never, 'relatedObjects') : undefined;
      if (related === undefined) continue;
      const resource = await attempt.resourceOf(manifest);
      const withStatus = { ...object, status: { relatedObjects: related } } as KubeObject;
      await attempt.ports.client.replaceStatus(resource, withStatus, { signal: attempt.signal });
    } catch {
      // Its own turn tells what is wrong with it.
    }
  }
}

/** Waits for what holds back only the end; false where the attempt ended before. */
export async function settleLate(attempt: Attempt): Promise<boolean> {
  const { wish, signal, late: waiting } = attempt;
  for (let looks = 0; ; looks += 1) {
    if (waiting.size === 0) return true;
    if (signal.aborted) return false;
    if (looks > 0) {
      try {
        await attempt.ports.clock.sleep(LOOKS[Math.min(looks, LOOKS.length - 1)] as number, { signal });
        for (const manifest of [...waiting.keys()]) await lookAgain(attempt, manifest);
      } catch {
        if (signal.aborted) return false;
      }
    }
    if (wish.owner.waitsForRollouts === true) failOverdue(attempt);
    if (wish.mode !== 'reconciling' || waiting.size === 0) continue;
    for (const [manifest, message] of waiting)
      attempt.fail(manifest, { reason: 'WorkloadNotAvailable', effect: 'Report', message });
    return true;
  }
}

function failOverdue(attempt: Attempt): void {
  for (const [manifest, why] of attempt.late) {
    if (attempt.waitedFor(manifest) < ROLLOUT_DEADLINE) continue;
    attempt.late.delete(manifest);
    const message = `it has not rolled out within ${ROLLOUT_DEADLINE / 60_000} minutes: ${why}`;
    attempt.fail(manifest, { reason: 'WorkloadNotAvailable', effect: 'Fail', message });
  }
}

async function lookAgain(attempt: Attempt, manifest: Manifest): Promise<void> {
  const live = await attempt.read(manifest, await attempt.resourceOf(manifest));
  attempt.late.delete(manifest);
  if (live !== undefined) await lateHealth(attempt, manifest, live);
  else if (mayExpire(manifest)) noteRan(attempt, manifest);
  else if (attempt.wish.owner.waitsForRollouts === true) attempt.fail(manifest, DELETED);
  attempt.arrived(manifest);
}

async function healthy(attempt: Attempt, manifest: Manifest, written: KubeObject): Promise<void> {
  let live: KubeObject = written;
  for (let looks = 0; ; looks += 1) {
    const health = healthOf(manifest, asJson(live), attempt.wish.mode);
    if (health.state === 'failed') throw new ManifestFault(health.fault);
    if (health.state === 'well' || health.late) {
      attempt.arrived(manifest);
      return lateHealth(attempt, manifest, live);
    }
    const fault = health.fault ?? { reason: 'UpdatePayloadFailed', effect: 'Fail', message: health.why };
    await pause(attempt, manifest, health.why, looks, fault);
    const seen = attempt.look(manifest)?.object;
    // A cache may be older than what was written.
    const newer = seen !== undefined && (compareVersions(versionOf(seen), versionOf(written)) ?? -1) >= 0;
    const next = newer ? seen : await attempt.read(manifest, await attempt.resourceOf(manifest));
    if (next === undefined) {
      throw new ManifestFault(DELETED);
    }
    live = next;
  }
}

/** Notes what only the end waits for. */
async function lateHealth(attempt: Attempt, manifest: Manifest, live: KubeObject): Promise<void> {
  const { wish, ports, signal } = attempt;
  if (isJob(manifest) && isComplete(asJson(live))) noteRan(attempt, manifest);
  if (wish.mode === 'initializing' && wish.owner.waitsForRollouts !== true) return;
  const health = lateHealthOf(attempt, manifest, asJson(live));
  if (health.state === 'failed') return attempt.fail(manifest, health.fault);
  const hasBackends = backendsOf(manifest, asJson(live)).length > 0;
  const why =
    health.state === 'waiting'
      ? health.why
      : hasBackends
        ? await missingBackend(ports.client, manifest, asJson(live), signal)
        : undefined;
  if (why === undefined) return;
  attempt.late.set(manifest, why);
  attempt.waitFor(manifest, why);
}

function lateHealthOf({ wish }: Attempt, manifest: Manifest, live: JsonObject): Health {
  if (wish.owner.waitsForRollouts !== true || wish.mode === 'reconciling') return healthOf(manifest, live, wish.mode);
  const rollout = rolloutOf(manifest, live);
  return rollout.state === 'well' ? healthOf(manifest, live, 'updating') : rollout;
}

function isJob({ id }: Manifest): boolean {
  return kindOf(id) === 'Job.batch';
}

/** Whether it is a Job that may be gone as soon as it has completed. */
function mayExpire(manifest: Manifest): boolean {
  return isJob(manifest) && own(objectIn(manifest.object, 'spec'), 'ttlSecondsAfterFinished') !== undefined;
}

/** Until the next look; in a reconcile, after some, the fault instead. */
async function pause(
  attempt: Attempt,
  manifest: Manifest,
  why: string,
  looks: number,
  fault: ConstructorParameters<typeof ManifestFault>[0],
): Promise<void> {
  attempt.waitFor(manifest, why);
  if (attempt.wish.mode === 'reconciling' && looks >= RECONCILE_LOOKS) throw new ManifestFault(fault);
  const delay = LOOKS[Math.min(looks, LOOKS.length - 1)] as number;
  await attempt.ports.clock.sleep(delay, { signal: attempt.signal });
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? '';
}
