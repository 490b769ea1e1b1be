import type { Deployment } from '@drydock/api';
import type { Key } from '@drydock/kube';

/** The upstream controller that acts on the same objects. */
export const upstreamController: Required<Key> = {
  namespace: 'openshift-machine-config-operator',
  name: 'machine-config-controller',
};

/**
 * Why this process must not act on OpenShift's own API: upstream's controller is there. Undefined where nobody else acts. A
 * Deployment scaled to zero does not act, but its owner may scale it up at any time, so it counts too.
 */
export function upstreamRefusal(deployment: Deployment | undefined): string | undefined {
  return deployment === undefined
    ? undefined
    : `Deployment ${upstreamController.namespace}/${upstreamController.name} manages boot images in this cluster`;
}
