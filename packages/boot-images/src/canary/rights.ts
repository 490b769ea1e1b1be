import type { BootImagePolicy } from '@drydock/api';
import type { CallOptions, KubeClient } from '@drydock/kube';
import type { PolicyWorld } from '../policy/policy-statuses.ts';
import { machineApiNamespace } from '../user-data/machine-api.ts';

/** What canaries are made with, of Machine API, besides what every role of boot images may do; `deploy/rbac/canary` grants it. */
const RIGHTS: readonly CanaryRight[] = [
  ...['get', 'create', 'delete'].map((verb) => ({
    ...{ verb, group: 'machine.openshift.io', resource: 'machines', namespace: machineApiNamespace },
  })),
  { verb: 'get', group: '', resource: 'nodes' },
];

/** One right, in all namespaces where it names none. */
export interface CanaryRight {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
}

/** What was granted is taken for granted for so long (ms). */
const GRANTED_MS = 60_000;

/** Whether the process may make canaries. */
export interface CanaryRights {
  /** Asks the server, where a policy wants canaries and it was not asked just now. */
  readonly ask: (policies: Iterable<BootImagePolicy>, call?: CallOptions) => Promise<void>;
  /** Which right is missing, as a clause; undefined where none is, or where nobody asked. */
  readonly missing: () => string | undefined;
  /** Why a policy cannot be obeyed for lack of one. */
  readonly refused: PolicyWorld['refused'];
}

/** Whether a policy wants canaries. */
export function wantsCanary({ spec }: BootImagePolicy): boolean {
  return spec?.canary?.mode === 'Machine';
}

/** See {@link CanaryRights}. */
export function canaryRights(
  client: Pick<KubeClient, 'raw'>,
  now: () => Date,
  rights: readonly CanaryRight[] = RIGHTS,
): CanaryRights {
  let missing: string | undefined;
  let granted = Number.NEGATIVE_INFINITY;
  const ask: CanaryRights['ask'] = async (policies, call = {}) => {
    if (Math.abs(now().getTime() - granted) < GRANTED_MS || ![...policies].some(wantsCanary)) return;
    missing = undefined;
    for (const right of rights) {
      if (await may(client, right, call)) continue;
      const { verb, group, resource, namespace } = right;
      const where = namespace === undefined ? '' : ` in ${namespace}`;
      missing = `the operator may not ${verb} ${group === '' ? resource : `${resource}.${group}`}${where}, which a canary needs`;
      return;
    }
    granted = now().getTime();
  };
  return {
    ask,
    missing: () => missing,
    refused: async (policy, call) => {
      await ask([policy], call);
      if (missing === undefined || !wantsCanary(policy)) return undefined;
      return { reason: 'CanaryNotPermitted', message: missing };
    },
  };
}

async function may(
  client: Pick<KubeClient, 'raw'>,
  resourceAttributes: CanaryRight,
  call: CallOptions,
): Promise<boolean> {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  };
  const { status } = (await client.raw({ method: 'POST', path, body }, call)) as {
    readonly status?: { readonly allowed?: boolean };
  };
  return status?.allowed === true;
}
