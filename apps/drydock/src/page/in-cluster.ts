import { type ClusterConfig, isNotFound, type KubeClient } from '@drydock/kube';
import { type RemotePage, TOKEN_HEADER } from '@drydock/page';
import { UsageError } from '../exit.ts';

/** The Service of the page, as `namespace/name:port`; `https` before the name says what it speaks. */
export const PAGE_SERVICE = 'drydock/drydock-page:https';

/** The page that the operator serves in the cluster, reached through the API server, with the token of the kubeconfig. Throws `UsageError` where the service cannot be read. */
export function inClusterPage(
  client: Pick<KubeClient, 'raw' | 'rawStream'>,
  config: Pick<ClusterConfig, 'credentials'>,
  service: string,
): RemotePage {
  const [, namespace, name, port] = /^([a-z0-9-]{1,63})\/([a-z0-9-]{1,63}):([a-z0-9-]{1,15})$/.exec(service) ?? [];
  if (namespace === undefined || name === undefined || port === undefined)
    throw new UsageError(`--service ${service}: expected <namespace>/<name>:<port>, as ${PAGE_SERVICE}`);
  const base = `/api/v1/namespaces/${namespace}/services/https:${name}:${port}/proxy`;
  let installed: Promise<unknown> | undefined;
  const headers = async (signal: AbortSignal): Promise<Readonly<Record<string, string>>> => {
    // Else whoever may make a namespace could call one so, and be given the token of who looks. Definitions are an administrator's.
    installed ??= client.raw({ path: '/apis/drydock.dev' }, { signal }).catch((error: unknown) => {
      installed = undefined;
      if (!isNotFound(error)) throw error;
      throw new Error(
        "this cluster does not serve drydock.dev, so that a Service of that name would be somebody else's. Nothing was sent: install Drydock, or show your own page: drydock page",
      );
    });
    await installed;
    const { authorization = '' } = await config.credentials.get();
    if (!/^Bearer /i.test(authorization))
      throw new Error(
        'the page in the cluster takes bearer tokens, and this kubeconfig has none: give one, as --token "$(kubectl create token NAME)"',
      );
    return { [TOKEN_HEADER]: authorization };
  };
  return {
    text: async (path, signal) => {
      const answer = await client.raw({ path: base + path, headers: await headers(signal) }, { signal });
      return typeof answer === 'string' ? answer : JSON.stringify(answer);
    },
    events: async (lastId, signal) => {
      // What stands in a header is checked: it comes from a browser.
      const last = lastId !== undefined && /^[\w-]{1,64}$/.test(lastId) ? { 'last-event-id': lastId } : {};
      const request = {
        path: `${base}/events`,
        accept: 'text/event-stream',
        headers: { ...(await headers(signal)), ...last },
      };
      return client.rawStream(request, { signal });
    },
  };
}
