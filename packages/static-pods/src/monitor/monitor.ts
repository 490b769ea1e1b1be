import { join } from 'node:path';
import {
  checkTrusted,
  type FileLock,
  lockFile,
  recover,
  removeTreeDurable,
  replaceFileDurable,
} from '@drydock/durable';
import { isNotFound, systemClock } from '@drydock/kube';
import { StaticPodError, usage } from '../errors.ts';
import { type Environment, looking, textOf } from '../revision/environment.ts';
import { checkObjectName } from '../revision/install-spec.ts';
import { decodePod, encodePod, type Pod, revisionOfPod, withContentUid } from '../revision/pod.ts';
import { MANIFEST_MODE } from '../revision/revision.ts';
import { isUsable, lastKnownGood, markLastKnownGood, previousRevision, revisionManifest } from './last-known-good.ts';
import {
  decideMonitor,
  type MonitorStep,
  type MonitorView,
  type Readiness,
  type RootManifest,
  type StaticPod,
} from './monitor-step.ts';

/** What a startup monitor watches over. */
export interface MonitorSpec {
  readonly revision: number;
  /** Name of the static pod without `-pod`, such as `kube-apiserver`. */
  readonly target: string;
  readonly resourceDir: string;
  readonly manifestDir: string;
  readonly nodeName: string;
  /** Shared with the installer. */
  readonly lockFile?: string;
  /** How long the pod may take to become ready; default 33 s. */
  readonly timeoutMs?: number;
  /** Time between two looks; default 1 s. */
  readonly pollMs?: number;
}

/** What a startup monitor acts through. */
export interface MonitorEnvironment extends Environment {
  /** Asks whether a revision of the pod is ready. Failing is no answer. */
  readonly ready: (pod: WatchedPod, signal?: AbortSignal) => Promise<Readiness>;
  /**
   * Tells the operator that the revision is the current one. It is tried five times; without it the operator would hold the node for unfinished, so the monitor
   * then fails and stays, unless there is no such operator.
   */
  readonly acknowledge?: (revision: number) => Promise<void>;
}

/** Which pod is asked for. */
export interface WatchedPod extends StaticPod {
  readonly revision: number;
}

/** How it ended. */
export type MonitorOutcome = Extract<MonitorStep, { do: 'leave' }>['outcome'];

/** Annotations of a pod that was fallen back to. */
export const FALLBACK_ANNOTATION = 'startup-monitor.static-pods.openshift.io/fallback';

/**
 * Watches one revision of a static pod until it is ready or its time is over, and then falls back to the last revision that was known to be good. The lock
 * is held during each look, and from the last one to the end. Resolves when the monitor's own manifest is gone; the caller then waits for kubelet to end it.
 * Fails where nothing was decided: kubelet starts the monitor again.
 */
export async function monitorStartup(spec: MonitorSpec, env: MonitorEnvironment): Promise<MonitorOutcome> {
  validateMonitor(spec);
  for (const dir of [spec.resourceDir, spec.manifestDir]) await checkTrusted(dir, env);
  const { clock = systemClock, signal, log } = env;
  const { timeoutMs = 33_000, pollMs = 1_000 } = spec;
  const deadline = clock.now() + timeoutMs - pollMs;
  let acknowledged = false;
  for (;;) {
    signal?.throwIfAborted();
    const deadlinePassed = clock.now() >= deadline;
    await using held = await lock(spec, env);
    if (held !== undefined) log?.(`looking at revision ${spec.revision}`);
    const ask = asking(env);
    for (let steps = 0, waiting = false; !waiting; steps += 1) {
      if (steps > MOST_STEPS) throw undecided(spec, 'what was done does not show on the disk');
      const view = await observe(spec, env, deadlinePassed, ask);
      const decided = decideMonitor(view);
      const step: MonitorStep =
        acknowledged && decided.do === 'acknowledge' ? { do: 'leave', outcome: 'ready' } : decided;
      switch (step.do) {
        case 'wait':
          log?.(step.reason);
          waiting = true;
          break;
        case 'fail':
          throw undecided(spec, step.reason);
        case 'link':
          await markLastKnownGood(spec, step.revision, env);
          log?.(`revision ${step.revision} is the last known good one`);
          break;
        case 'acknowledge':
          await acknowledge(spec, env);
          acknowledged = true;
          break;
        case 'fall-back':
          await fallBack(spec, step, env);
          log?.(`fell back to revision ${step.revision}: ${step.reason}: ${step.message}`);
          break;
        case 'leave':
          await leave(spec, env);
          return step.outcome;
      }
    }
    await held?.[Symbol.asyncDispose]();
    await clock.sleep(pollMs, signal === undefined ? {} : { signal });
  }
}

/** Link, fallback or acknowledgement, and leave: more than that is a disk that forgets. */
const MOST_STEPS = 6;

function undecided({ target, revision }: MonitorSpec, said: string): StaticPodError {
  return new StaticPodError('UNDECIDED', `${target}, revision ${revision}`, said);
}

/** Throws `USAGE` unless a startup can be watched with this. */
export function validateMonitor(spec: MonitorSpec): void {
  if (spec.timeoutMs !== undefined && !(spec.timeoutMs > 0))
    throw usage('--fallback-timeout-duration must be greater than 0');
  if (spec.resourceDir === '') throw usage('--resource-dir is required');
  if (spec.manifestDir === '') throw usage('--manifests-dir is required');
  if (spec.target === '') throw usage('--target-name is required');
  if (spec.nodeName === '') throw usage('--node-name is required');
  if (!(Number.isInteger(spec.revision) && spec.revision > 0)) throw usage('--revision must be greater than 0');
  checkObjectName('--target-name', spec.target);
}

async function lock(
  { lockFile: path }: MonitorSpec,
  { ops, signal }: MonitorEnvironment,
): Promise<FileLock | undefined> {
  if (path === undefined) return undefined;
  let open = true;
  const held = await lockFile(path, { ...(ops && { ops }), ...(signal && { signal }) });
  // Disposed at the end of a look, and once more at the end of its scope.
  return {
    path: held.path,
    [Symbol.asyncDispose]: async () => {
      if (open) await held[Symbol.asyncDispose]();
      open = false;
    },
  };
}

async function observe(
  spec: MonitorSpec,
  env: MonitorEnvironment,
  deadlinePassed: boolean,
  ask: (pod: WatchedPod) => Promise<Readiness | undefined>,
): Promise<MonitorView> {
  const ops = looking(env);
  const manifest = await rootManifest(spec, env);
  const linked = await lastKnownGood(spec, ops);
  // The watched revision itself may have been good once; now it is what to get away from.
  // One that cannot be read is looked at again with all others when the time is over.
  const isGood =
    linked !== undefined && linked !== spec.revision && (await isUsable(spec, linked, ops).catch(() => false));
  const fallback = isGood ? linked : deadlinePassed ? await previousRevision(spec, spec.revision, ops) : undefined;
  // Whether an older one is well only matters where it would be replaced.
  const asked =
    manifest.kind === 'revision' &&
    (manifest.revision === spec.revision || (deadlinePassed && manifest.revision < spec.revision));
  const readiness = asked ? await ask({ ...manifest.pod, revision: manifest.revision }) : undefined;
  return { revision: spec.revision, manifest, deadlinePassed, fallback, linked, ...(readiness && { readiness }) };
}

/** One answer for the whole of a look: an answer takes its time, and what is done meanwhile does not change it. */
function asking({ ready, signal, log }: MonitorEnvironment): (pod: WatchedPod) => Promise<Readiness | undefined> {
  const answers = new Map<number, Readiness | undefined>();
  return async (pod) => {
    if (answers.has(pod.revision)) return answers.get(pod.revision);
    const answer = await ready(pod, signal).catch((error: unknown) => {
      signal?.throwIfAborted();
      log?.(`readiness is not known: ${textOf(error)}`);
      return undefined;
    });
    answers.set(pod.revision, answer);
    return answer;
  };
}

/** What kubelet reads. */
export async function rootManifest(
  { manifestDir, target }: Pick<MonitorSpec, 'manifestDir' | 'target'>,
  env: Environment,
): Promise<RootManifest> {
  const ops = looking(env);
  const path = join(manifestDir, `${target}-pod.yaml`);
  try {
    if ((await ops.lstat(path)) === undefined) return { kind: 'unusable', reason: `${path} is missing` };
    const pod = decodePod(await ops.read(path), path);
    const revision = revisionOfPod(pod, path);
    const fallbackFor = pod.metadata.annotations?.[`${FALLBACK_ANNOTATION}-for-revision`];
    const { name, namespace = 'default' } = pod.metadata;
    return {
      kind: 'revision',
      revision,
      pod: { name, namespace },
      ...(fallbackFor !== undefined && { fallbackFor }),
    };
  } catch (error) {
    // A disk that fails says nothing about the pod.
    if (!(error instanceof StaticPodError)) throw error;
    return { kind: 'unusable', reason: error.message };
  }
}

async function acknowledge(spec: MonitorSpec, env: MonitorEnvironment): Promise<void> {
  const { target, revision } = spec;
  const { clock = systemClock, signal, log } = env;
  let last: unknown;
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    try {
      await env.acknowledge?.(revision);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      last = error;
      log?.(`the operator could not be told, attempt ${attempt}: ${textOf(error)}`);
      await clock.sleep(200, signal === undefined ? {} : { signal });
    }
  }
  if (isNotFound(last)) return log?.('there is no such operator: nobody is told');
  const said = `the operator's status could not be written: ${textOf(last)}`;
  throw new StaticPodError('UNTOLD', `${target}, revision ${revision}`, said, last);
}

/** Replaces the manifest by the good revision's, with the reason in annotations. */
async function fallBack(
  spec: MonitorSpec,
  step: Extract<MonitorStep, { do: 'fall-back' }>,
  env: MonitorEnvironment,
): Promise<void> {
  const ops = looking(env);
  const source = revisionManifest(spec, step.revision);
  const name = `${spec.target}-pod.yaml`;
  await recover(spec.manifestDir, { ...env, owns: (entry) => entry === name });
  const content = encodePod(annotated(decodePod(await ops.read(source), source), spec.revision, step));
  await replaceFileDurable(join(spec.manifestDir, name), content, { ...env, mode: MANIFEST_MODE, unlessEqual: true });
}

/** The pod as it is run instead of a revision that failed; with a uid of its own, so that kubelet takes it for another one. */
export function annotated(
  pod: Pod,
  revision: number,
  { reason, message }: { readonly reason: string; readonly message: string },
): Pod {
  const annotations = {
    ...pod.metadata.annotations,
    [`${FALLBACK_ANNOTATION}-for-revision`]: String(revision),
    [`${FALLBACK_ANNOTATION}-reason`]: reason,
    [`${FALLBACK_ANNOTATION}-message`]: message,
  };
  return withContentUid({ ...pod, metadata: { ...pod.metadata, annotations } });
}

/** The monitor's own manifest goes: kubelet then ends it. What a kill leaves of it in the trash goes with the next installation. */
async function leave({ manifestDir, target }: MonitorSpec, env: MonitorEnvironment): Promise<void> {
  const name = `${target}-startup-monitor-pod.yaml`;
  await removeTreeDurable(join(manifestDir, name), manifestDir, env);
}
