import type { JsonObject } from '@drydock/crd';
import type { Manifest } from '../../payload/manifest.ts';
import type { Fault } from '../apply-error.ts';
import { objectIn, objectsIn, own, textIn } from '../json.ts';
import { kindOf } from '../merge/kinds.ts';
import type { ApplyMode, ApplyOwner } from '../owner.ts';
import { evaluateClusterOperator } from './cluster-operator.ts';

/** Whether a live object is as the release needs it. */
export type Health =
  | { readonly state: 'well' }
  /** What comes after it must wait too, unless `late`: then only the release as a whole does. */
  | { readonly state: 'waiting'; readonly why: string; readonly late: boolean; readonly fault?: Fault }
  | { readonly state: 'failed'; readonly fault: Fault };

/** Nothing is to be waited for. */
export const WELL: Health = { state: 'well' };

/** Pure: how an object stands by itself. Whether a webhook's backend answers, `backendsOf` says what to ask for. */
export function healthOf(manifest: Manifest, live: JsonObject, mode: ApplyMode): Health {
  const kind = kindOf(manifest.id);
  if (kind === 'ClusterOperator.config.openshift.io') return operatorHealth(manifest, live, mode);
  if (mode === 'initializing') return WELL;
  switch (kind) {
    case 'CustomResourceDefinition.apiextensions.k8s.io':
      return definitionHealth(live);
    case 'Deployment.apps':
      return deploymentHealth(live);
    case 'StatefulSet.apps':
      return statefulSetHealth(live);
    case 'DaemonSet.apps':
      return isGoing(live) ? failed('WorkloadNotAvailable', 'it is being deleted') : WELL;
    case 'Job.batch':
      return jobHealth(live);
    case 'APIService.apiregistration.k8s.io':
      return serviceHealth(live);
    default:
      return WELL;
  }
}

/** Services that a webhook configuration leads to, as `NAMESPACE/NAME`. */
export function backendsOf(
  { id }: Pick<Manifest, 'id'>,
  live: JsonObject,
): readonly { readonly namespace: string; readonly name: string }[] {
  if (id.group !== 'admissionregistration.k8s.io' || !id.kind.endsWith('WebhookConfiguration')) return [];
  const services = objectsIn(live, 'webhooks').flatMap((webhook) => {
    const service = objectIn(objectIn(webhook, 'clientConfig'), 'service');
    const [namespace, name] = [textIn(service, 'namespace'), textIn(service, 'name')];
    return namespace === '' || name === '' ? [] : [{ namespace, name }];
  });
  return [...new Map(services.map((one) => [`${one.namespace}/${one.name}`, one])).values()];
}

function operatorHealth({ object }: Manifest, live: JsonObject, mode: ApplyMode): Health {
  const verdict = evaluateClusterOperator(object, live, mode);
  if (verdict === undefined) return WELL;
  if (verdict.effect === 'None') return { state: 'waiting', why: verdict.message, late: false, fault: verdict };
  return { state: 'failed', fault: verdict };
}

function definitionHealth(live: JsonObject): Health {
  const conditions = conditionsOf(live);
  if (conditions.get('Established')?.status === 'True') return WELL;
  const names = conditions.get('NamesAccepted');
  if (names?.status === 'False') return failed('UpdatePayloadResourceConflict', `its names are taken${names.text}`);
  return waiting('it is not established yet');
}

function deploymentHealth(live: JsonObject): Health {
  if (isGoing(live)) return failed('WorkloadNotAvailable', 'it is being deleted');
  const conditions = conditionsOf(live);
  const [failure, available, progressing] = ['ReplicaFailure', 'Available', 'Progressing'].map((type) =>
    conditions.get(type),
  );
  if (failure?.status === 'True')
    return failed('WorkloadNotProgressing', `pods cannot be made${failure.text}`, failure);
  if (available?.status === 'False' && progressing?.status === 'False')
    return failed('WorkloadNotAvailable', `it is neither available nor progressing${available.text}`, available);
  if (progressing?.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded')
    return failed('WorkloadNotProgressing', `it does not progress${progressing.text}`, progressing);
  return WELL;
}

/** It has no conditions that tell a failure: only what its controller has seen, and whether anything of it runs. */
function statefulSetHealth(live: JsonObject): Health {
  if (isGoing(live)) return failed('WorkloadNotAvailable', 'it is being deleted');
  const [spec, status] = [objectIn(live, 'spec'), objectIn(live, 'status')];
  const generation = numberIn(objectIn(live, 'metadata'), 'generation');
  if (numberIn(status, 'observedGeneration') < generation) return waiting('its controller has not seen it yet', true);
  const replicas = own(spec, 'replicas') === undefined ? 1 : numberIn(spec, 'replicas');
  const ready = numberIn(status, 'readyReplicas');
  return replicas > 0 && ready === 0 ? waiting(`0 of ${replicas} replicas are ready`, true) : WELL;
}

function jobHealth(live: JsonObject): Health {
  const status = objectIn(live, 'status');
  const [succeeded, active, failures] = ['succeeded', 'active', 'failed'].map((field) => numberIn(status, field));
  if ((succeeded ?? 0) > 0 || (active ?? 0) > 0) return WELL;
  const failure = conditionsOf(live).get('Failed');
  const over = failure?.status === 'True' && failure.reason === 'DeadlineExceeded';
  if ((failures ?? 0) === 0 && !over) return WELL;
  return failed('JobFailed', `it failed${failure?.text ?? ': it was active longer than its deadline'}`, failure);
}

function serviceHealth(live: JsonObject): Health {
  const available = conditionsOf(live).get('Available');
  if (available?.status === 'True') return WELL;
  return waiting(`its API is not available${available?.text ?? ''}`, true);
}

/** A condition as it was read. */
export interface LiveCondition {
  readonly status: string;
  readonly reason: string;
  /** `: REASON: MESSAGE`, or ''. */
  readonly text: string;
  readonly since: Date | undefined;
}

/** Conditions of its status, by type. */
export function conditionsOf(live: JsonObject): ReadonlyMap<string, LiveCondition> {
  return new Map(
    objectsIn(objectIn(live, 'status'), 'conditions').map((condition) => {
      const [reason, message] = [textIn(condition, 'reason'), textIn(condition, 'message')];
      const said = [reason, message].filter((one) => one !== '').join(': ');
      const since = new Date(textIn(condition, 'lastTransitionTime'));
      return [
        textIn(condition, 'type'),
        {
          status: textIn(condition, 'status'),
          reason,
          text: said === '' ? '' : `: ${said}`,
          since: Number.isNaN(since.getTime()) ? undefined : since,
        },
      ];
    }),
  );
}

function isGoing(live: JsonObject): boolean {
  return own(objectIn(live, 'metadata'), 'deletionTimestamp') !== undefined;
}

/** A field that is a number; 0 where it is none. */
export function numberIn(object: JsonObject, field: string): number {
  const value = own(object, field);
  return typeof value === 'number' ? value : 0;
}

/** Something is waited for; `late`: only at the end. */
export function waiting(why: string, late: boolean = false): Health {
  return { state: 'waiting', why, late };
}

/** It will not come about by itself. */
export function failed(reason: Fault['reason'], message: string, condition?: LiveCondition): Health {
  const since = condition?.since;
  return { state: 'failed', fault: { reason, effect: 'Fail', message, ...(since === undefined ? {} : { since }) } };
}

const ROLLOUTS: Readonly<Record<string, string>> = {
  'Deployment.apps': 'it has rolled out',
  'DaemonSet.apps': 'it has rolled out',
  'StatefulSet.apps': 'it has rolled out',
  'Job.batch': 'it has completed',
};

/** What apply waits for once an object is written, as a clause; undefined where it goes on at once. */
export function waitOf(
  { id, object }: Manifest,
  mode: ApplyMode,
  { waitsForRollouts = false }: Pick<ApplyOwner, 'waitsForRollouts'>,
): string | undefined {
  const kind = kindOf(id);
  const rollout = waitsForRollouts && mode !== 'reconciling' ? ROLLOUTS[kind] : undefined;
  if (rollout !== undefined) return `at the end: ${rollout}`;
  if (kind === 'ClusterOperator.config.openshift.io') {
    const versions = objectsIn(objectIn(object, 'status'), 'versions').map(
      (one) => `${textIn(one, 'name')} ${textIn(one, 'version')}`,
    );
    const reached = mode === 'initializing' || versions.length === 0 ? '' : `, and has ${versions.join(', ')}`;
    return `it is available and not degraded${reached}`;
  }
  if (mode === 'initializing') return undefined;
  if (kind === 'CustomResourceDefinition.apiextensions.k8s.io') return 'it is established';
  if (kind === 'StatefulSet.apps') return 'at the end: a replica is ready';
  if (kind === 'APIService.apiregistration.k8s.io') return 'at the end: its API is available';
  const services = backendsOf({ id }, object).map(({ namespace, name }) => `Service ${namespace}/${name}`);
  return services.length === 0 ? undefined : `at the end: something is ready behind ${services.join(', ')}`;
}
