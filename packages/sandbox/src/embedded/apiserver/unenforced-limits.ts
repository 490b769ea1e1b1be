import {
  type Admission,
  type JsonObject,
  listOf,
  metadataOf,
  objectOf,
  Refusal,
} from '@drydock/kube/testing/api-server';

// Limits that the real API server enforces and this one does not: the first write that they would be about is refused, so that no test passes for want of them.

/** What limits are looked up in. */
export interface LimitsHost {
  list(group: string, plural: string): readonly JsonObject[];
  namespaceOf(admission: Admission): JsonObject | undefined;
}

const ENFORCE = 'pod-security.kubernetes.io/enforce';

/** Which object each type of limit is about. */
const LIMITED: Readonly<Record<string, readonly string[]>> = {
  pods: ['Container', 'Pod'],
  persistentvolumeclaims: ['PersistentVolumeClaim'],
};

/** Throws 501 where a LimitRange or a level of Pod Security would decide about a write. */
export function refuseUnenforced(admission: Admission, host: LimitsHost): void {
  const { kind, object, operation, subresource, namespace } = admission;
  if (object === undefined || subresource !== undefined || operation === 'DELETE' || kind.group !== '') return;
  const types = LIMITED[kind.plural];
  if (types === undefined) return;
  const limits = host
    .list('', 'limitranges')
    .filter((one) => metadataOf(one)['namespace'] === namespace)
    .flatMap((one) => listOf(objectOf(one['spec'])['limits']));
  if (limits.some((one) => types.includes(String(objectOf(one)['type'])))) throw missing('LimitRanges');
  if (kind.plural !== 'pods') return;
  const level = objectOf(metadataOf(host.namespaceOf(admission) ?? {})['labels'])[ENFORCE];
  if (level === 'baseline' || level === 'restricted') throw missing(`the Pod Security level ${level}`);
}

function missing(what: string): Refusal {
  const message = `the embedded API server does not enforce ${what}; use the real one (SERVERS=real)`;
  return new Refusal({ code: 501, reason: 'NotImplemented', message });
}
