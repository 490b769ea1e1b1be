import { Namespace } from '@drydock/api';
import {
  type ClusterConfig,
  createClient,
  type EventRecorder,
  eventRecorder,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type Resource,
} from '@drydock/kube';
import { type Notice, Pod } from '@drydock/static-pods';
import { pino } from 'pino';

/** How to reach the cluster. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly tlsServerNameOverride?: string;
}

/** How long (ms) one request may take. */
const REQUEST_MS = 14_000;

/** A client for the kubeconfig, or for the pod's own service account where none is given. */
export async function connect({ kubeconfig, tlsServerNameOverride }: ClusterFlags): Promise<KubeClient> {
  const found = await loadKubeconfig(kubeconfig === undefined || kubeconfig === '' ? {} : { kubeconfig });
  const config: ClusterConfig =
    tlsServerNameOverride === undefined || tlsServerNameOverride === ''
      ? found
      : { ...found, tlsServerName: tlsServerNameOverride };
  return createClient(config, { userAgent: 'drydock-node', requestTimeout: REQUEST_MS });
}

/** Events about the controller of this process's pod. */
export interface Notices extends AsyncDisposable {
  readonly notify: (notice: Notice) => void;
}

/** Where events go. `POD_NAME` finds whom they are about; where that fails they are about the namespace. */
export async function notices(
  client: KubeClient,
  controller: string,
  { namespace, pod }: { readonly namespace: string; readonly pod: string | undefined },
): Promise<Notices> {
  const log = pino({ level: 'warn' }, pino.destination({ fd: 2, sync: true }));
  const recorder: EventRecorder = eventRecorder({ client, controller, log });
  const [resource, regarding] = await subject(client, namespace, pod);
  return {
    notify: (notice) => recorder.record(resource, regarding, notice),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  };
}

async function subject(
  client: KubeClient,
  namespace: string,
  name: string | undefined,
): Promise<readonly [Resource<KubeObject>, KubeObject]> {
  const whole: readonly [Resource<KubeObject>, KubeObject] = [Namespace, { metadata: { name: namespace, namespace } }];
  if (name === undefined || name === '') return whole;
  try {
    const pod = await client.get(Pod, { namespace, name }, { signal: AbortSignal.timeout(REQUEST_MS) });
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner === undefined) return [Pod, pod];
    const [group, version] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : ['', owner.apiVersion];
    const { kind, uid } = owner;
    const resource = { group: group ?? '', version: version ?? '', kind, plural: '', scope: 'Namespaced' } as const;
    return [resource, { metadata: { name: owner.name, namespace, uid } }];
  } catch (error) {
    console.error(`events will be about the namespace: ${error instanceof Error ? error.message : String(error)}`);
    return whole;
  }
}
