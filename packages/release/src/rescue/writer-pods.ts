import { Deployment, type KubeObject, type Resource } from '@drydock/api';
import { ApiError, isNotFound, type Key, type KubeClient } from '@drydock/kube';
import { ReleaseError } from '../errors.ts';

/** A process that may keep what the server refuses. */
export interface WriterPod {
  readonly uid: string;
  readonly key: Key;
  /** Its condition. */
  readonly ready: boolean;
  /** Somebody has deleted it, and it is still there. */
  readonly ending: boolean;
}

/** What a Deployment has made. */
export interface WriterPods {
  readonly pods: readonly WriterPod[];
  /** How many pods it lacks. */
  readonly missing: number;
}

/** The kind Pod. */
export const Pod: Resource<PodObject> = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  scope: 'Namespaced',
};

interface PodObject extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** A label selector of `apps/v1`. */
interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

type Reader = Pick<KubeClient, 'get' | 'list'>;
type Call = { readonly signal: AbortSignal };

/** The pods that a Deployment has made. Rejects with `ReleaseError` where it is not there, and with `ApiError`. */
export async function writerPods(
  { name, namespace }: { readonly namespace: string; readonly name: string },
  client: Reader,
  call: Call,
): Promise<WriterPods> {
  const found = (await client.get(Deployment, { namespace, name }, call).catch((cause: unknown) => {
    if (!isNotFound(cause)) throw cause;
    throw new ReleaseError('NO_WRITER', `the writer ${namespace}/${name} is no Deployment of this cluster`);
  })) as KubeObject & { readonly spec?: { readonly replicas?: number; readonly selector?: LabelSelector } };
  const labels = selectorText(found.spec?.selector ?? {});
  if (labels === '')
    throw new ReleaseError('NO_WRITER', `the Deployment ${namespace}/${name} selects its pods by no label`);
  const pods: WriterPod[] = [];
  for await (const pod of client.list(Pod, { namespace, labels }, call)) {
    if (!isMadeBy(pod, name)) continue;
    const { metadata, status } = pod;
    pods.push({
      uid: metadata.uid ?? '',
      key: { namespace, name: metadata.name },
      ready: status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true,
      ending: metadata.deletionTimestamp !== undefined,
    });
  }
  return { pods, missing: Math.max(0, (found.spec?.replicas ?? 1) - pods.length) };
}

/**
 * Whether its controller is a ReplicaSet of this Deployment. Other pods may have the same labels: a Job's, a debugging copy's. The
 * Deployment controller names each ReplicaSet after its Deployment and the hash in this label, so that nobody needs a right on ReplicaSets.
 */
function isMadeBy({ metadata }: PodObject, deployment: string): boolean {
  const hash = metadata.labels?.['pod-template-hash'];
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return hash !== undefined && owner?.kind === 'ReplicaSet' && owner.name === `${deployment}-${hash}`;
}

function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const others = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
  });
  return [...equal, ...others].join(',');
}

/** Evicts a pod. Resolves to what forbids it now, in the server's words, such as the name of a PodDisruptionBudget; undefined where it goes. */
export async function evict(
  { key: { namespace = '', name }, uid }: WriterPod,
  client: Pick<KubeClient, 'raw'>,
  call: Call,
): Promise<string | undefined> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  const body = {
    ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name } },
    deleteOptions: { preconditions: { uid } },
  };
  try {
    await client.raw({ method: 'POST', path, body }, call);
    return undefined;
  } catch (cause) {
    // Somebody else has done it: the pod is gone, or another one bears its name.
    if (isNotFound(cause) || (cause instanceof ApiError && cause.code === 'Conflict')) return undefined;
    if (!(cause instanceof ApiError) || cause.code !== 'TooManyRequests') throw cause;
    const budget = cause.details?.causes?.find(({ reason }) => reason === 'DisruptionBudget')?.message;
    return budget ?? cause.message;
  }
}
