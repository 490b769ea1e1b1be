import { Deployment, Lease } from '@drydock/api';
import { type CallOptions, type Clock, ifFound, type KubeClient } from '@drydock/kube';

/** The Deployment that manages ClusterVersion in OpenShift. */
export const CLUSTER_VERSION_OPERATOR = { namespace: 'openshift-cluster-version', name: 'cluster-version-operator' };
/** Its Lease: wherever it runs, it holds this one. */
export const CLUSTER_VERSION_LEASE = { namespace: 'openshift-cluster-version', name: 'version' };

/** Who manages ClusterVersion instead, as a clause; undefined: nobody. Rejects with `ApiError`: a cluster that does not say so is not touched. */
export type ManagedBy = (call: CallOptions) => Promise<string | undefined>;

/**
 * Whether cluster-version-operator is there: its Deployment, or a Lease that somebody renews. Clocks of machines are not compared: a Lease counts as held until it was seen unchanged for as long as it lasts.
 */
export function upstreamManager(client: Pick<KubeClient, 'get'>, clock: Clock): ManagedBy {
  let seen = { state: '', since: 0 };
  return async (call) => {
    const there = await ifFound(client.get(Deployment, CLUSTER_VERSION_OPERATOR, call));
    if (there !== undefined)
      return `Deployment ${CLUSTER_VERSION_OPERATOR.namespace}/${CLUSTER_VERSION_OPERATOR.name} manages it`;
    const { metadata, spec } = (await ifFound(client.get(Lease, CLUSTER_VERSION_LEASE, call))) ?? {};
    const { holderIdentity: holder = '', leaseDurationSeconds = 0 } = spec ?? {};
    if (holder === '') return undefined;
    const state = `${metadata?.uid} ${metadata?.resourceVersion}`;
    if (state !== seen.state) seen = { state, since: clock.now() };
    if (clock.now() - seen.since > leaseDurationSeconds * 1000) return undefined;
    return `${holder} holds Lease ${CLUSTER_VERSION_LEASE.namespace}/${CLUSTER_VERSION_LEASE.name}, as cluster-version-operator does`;
  };
}

/** ms between two looks while something is applied. */
const LOOK = 15_000;

/** Work that ends when somebody else comes. */
export interface Alone extends Disposable {
  readonly signal: AbortSignal;
  /** Who came. */
  readonly instead: string | undefined;
}

/** Looks every few seconds whether somebody else manages the object by now. A look that fails says nothing. */
export function whileAlone(
  managedBy: ManagedBy | undefined,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Alone {
  const over = new AbortController();
  const came = new AbortController();
  let instead: string | undefined;
  const look = async (of: ManagedBy): Promise<void> => {
    const ends = AbortSignal.any([signal, over.signal]);
    while (!ends.aborted && instead === undefined) {
      await clock.sleep(LOOK, { background: true, signal: ends }).catch(() => undefined);
      if (!ends.aborted) instead = await of({ signal: ends }).catch(() => undefined);
    }
    if (instead !== undefined) came.abort(new Error(instead));
  };
  if (managedBy !== undefined) void look(managedBy);
  return {
    signal: AbortSignal.any([signal, came.signal]),
    get instead() {
      return instead;
    },
    [Symbol.dispose]: () => over.abort(),
  };
}
