import type { JsonObject } from '@drydock/crd';
import type { Manifest } from '../../payload/manifest.ts';
import { objectIn, own, textIn } from '../json.ts';
import { kindOf } from '../merge/kinds.ts';
import { conditionsOf, failed, type Health, numberIn, WELL, waiting } from './health.ts';

/**
 * Pure: whether a workload has rolled out, by the rules of `kubectl rollout status` and `kubectl wait --for=condition=complete`. What is
 * paused, suspended or scaled to nothing has; so has a DaemonSet that no node matches. Other kinds have nothing to roll out.
 */
export function rolloutOf({ id }: Pick<Manifest, 'id'>, live: JsonObject): Health {
  if (isIdle(objectIn(live, 'spec'))) return WELL;
  switch (kindOf(id)) {
    case 'Deployment.apps':
      return isUnseen(live) ?? deploymentRollout(live);
    case 'DaemonSet.apps':
      return isUnseen(live) ?? daemonSetRollout(live);
    case 'StatefulSet.apps':
      return isUnseen(live) ?? statefulSetRollout(live);
    case 'Job.batch':
      return jobRollout(live);
    default:
      return WELL;
  }
}

/** It says itself that nothing of it is to run, so no controller need have seen it. */
function isIdle(spec: JsonObject): boolean {
  return own(spec, 'paused') === true || own(spec, 'suspend') === true || own(spec, 'replicas') === 0;
}

/** Whether a Job has done its work. */
export function isComplete(live: JsonObject): boolean {
  return conditionsOf(live).get('Complete')?.status === 'True';
}

function isUnseen(live: JsonObject): Health | undefined {
  const { observedGeneration } = counts(live, ['observedGeneration']);
  const generation = numberIn(objectIn(live, 'metadata'), 'generation');
  return observedGeneration < generation ? later('its controller has not seen it yet') : undefined;
}

function deploymentRollout(live: JsonObject): Health {
  const progressing = conditionsOf(live).get('Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded')
    return failed('WorkloadNotProgressing', `it does not progress${progressing.text}`, progressing);
  const wanted = replicasOf(objectIn(live, 'spec'));
  const { updatedReplicas, availableReplicas, replicas } = counts(live, [
    'updatedReplicas',
    'availableReplicas',
    'replicas',
  ]);
  if (updatedReplicas < wanted) return later(`${updatedReplicas} of ${wanted} replicas are updated`);
  if (replicas > updatedReplicas) return later(`${replicas - updatedReplicas} old replicas are still there`);
  return availableReplicas < wanted ? later(`${availableReplicas} of ${wanted} replicas are available`) : WELL;
}

function daemonSetRollout(live: JsonObject): Health {
  const { desiredNumberScheduled, updatedNumberScheduled, numberAvailable } = counts(live, [
    'desiredNumberScheduled',
    'updatedNumberScheduled',
    'numberAvailable',
  ]);
  if (!isOnDelete(live) && updatedNumberScheduled < desiredNumberScheduled)
    return later(`${updatedNumberScheduled} of ${desiredNumberScheduled} pods are updated`);
  return numberAvailable < desiredNumberScheduled
    ? later(`${numberAvailable} of ${desiredNumberScheduled} pods are available`)
    : WELL;
}

function statefulSetRollout(live: JsonObject): Health {
  const spec = objectIn(live, 'spec');
  const wanted = replicasOf(spec);
  const { updatedReplicas, readyReplicas } = counts(live, ['updatedReplicas', 'readyReplicas']);
  const partition = numberIn(objectIn(objectIn(spec, 'updateStrategy'), 'rollingUpdate'), 'partition');
  const toUpdate = isOnDelete(live) ? 0 : Math.max(0, wanted - partition);
  if (updatedReplicas < toUpdate) return later(`${updatedReplicas} of ${toUpdate} replicas are updated`);
  return readyReplicas < wanted ? later(`${readyReplicas} of ${wanted} replicas are ready`) : WELL;
}

function jobRollout(live: JsonObject): Health {
  const failure = conditionsOf(live).get('Failed');
  if (failure?.status === 'True') return failed('JobFailed', `it failed${failure.text}`, failure);
  return isComplete(live) ? WELL : later('it has not completed yet');
}

/** With this strategy, pods are only updated when somebody deletes them. */
function isOnDelete(live: JsonObject): boolean {
  return textIn(objectIn(objectIn(live, 'spec'), 'updateStrategy'), 'type') === 'OnDelete';
}

/** Left out, it is 1 (apps/v1). */
function replicasOf(spec: JsonObject): number {
  return own(spec, 'replicas') === undefined ? 1 : numberIn(spec, 'replicas');
}

function counts<F extends string>(live: JsonObject, fields: readonly F[]): Readonly<Record<F, number>> {
  const status = objectIn(live, 'status');
  return Object.fromEntries(fields.map((field) => [field, numberIn(status, field)])) as Record<F, number>;
}

function later(why: string): Health {
  return waiting(why, true);
}
