import type { KubeClient } from '@drydock/kube';

/**
 * One question to the API server: may this user do this? Without `namespace` and `name`: everywhere, and with any name.
 */
export interface AccessQuestion {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Asks by a SelfSubjectAccessReview. */
export async function isAllowed(
  client: Pick<KubeClient, 'raw'>,
  question: AccessQuestion,
  signal: AbortSignal,
): Promise<boolean> {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: question },
  };
  const { status } = (await client.raw({ method: 'POST', path, body }, { signal })) as {
    readonly status?: { readonly allowed?: boolean };
  };
  return status?.allowed === true;
}
