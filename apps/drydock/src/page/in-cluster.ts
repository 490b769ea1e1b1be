import type { ClusterConfig, KubeClient } from '@drydock/kube';
import { type RemotePage, TOKEN_HEADER } from '@drydock/page';
import { UsageError } from '../exit.ts';
import { pageTokens } from './page-token.ts';

/** The Service of the page, as `namespace/name:port`. */
export const PAGE_SERVICE = 'drydock/drydock-page:https';

/** The page that the operator serves in the cluster, reached through the API server, with a token of {@link pageTokens}. Throws `UsageError` if `service` is malformed. */
export function inClusterPage(
  client: Pick<KubeClient, 'raw' | 'rawStream'>,
  config: Pick<ClusterConfig, 'credentials'>,
  service: string,
): RemotePage {
  const { namespace, name, port } = partsOf(service);
  const base = `/api/v1/namespaces/${namespace}/services/https:${name}:${port}/proxy`;
  const authorization = pageTokens({ client, config, namespace });
  const headers = async (signal: AbortSignal): Promise<Readonly<Record<string, string>>> => ({
    [TOKEN_HEADER]: await authorization(signal),
  });
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

/** Namespace of a Service as `--service` names it. Throws `UsageError` if it is malformed. */
export function namespaceOf(service: string): string {
  return partsOf(service).namespace;
}

function partsOf(service: string): { readonly namespace: string; readonly name: string; readonly port: string } {
  const [, namespace, name, port] = /^([a-z0-9-]{1,63})\/([a-z0-9-]{1,63}):([a-z0-9-]{1,15})$/.exec(service) ?? [];
  if (namespace === undefined || name === undefined || port === undefined)
    throw new UsageError(`--service ${service}: expected <namespace>/<name>:<port>, as ${PAGE_SERVICE}`);
  return { namespace, name, port };
}
