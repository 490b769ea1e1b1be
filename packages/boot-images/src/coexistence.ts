import { Deployment } from '@drydock/api';
import { type Client, isNotFound } from '@drydock/kube';

/** The upstream controller that acts on the same objects. */
export const upstreamController = {
  namespace: 'openshift-machine-config-operator',
  name: 'machine-config-controller',
} as const;

/**
 * Why this process must not act on OpenShift's own API: upstream's controller is there. Undefined where nobody else acts. A
 * Deployment scaled to zero does not act, but its owner may scale it up at any time, so it counts too.
 */
export async function upstreamPresent(client: Client, signal?: AbortSignal): Promise<string | undefined> {
  try {
    await client.get(Deployment, upstreamController, signal === undefined ? {} : { signal });
    return `Deployment ${upstreamController.namespace}/${upstreamController.name} manages boot images in this cluster`;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
