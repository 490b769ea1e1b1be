import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { quotedText } from '@drydock/api/text';
import { isForbidden, type KubeClient, type ObjectMeta, type PortForwarder } from '@drydock/kube';
import type { RemotePage } from '@drydock/page';
import { namespaceDoubt } from './page-token.ts';

/** Port of the pod's loopback address on which the operator serves the page without a token (`--page-forward-port`). */
export const FORWARD_PORT = 8444;

/** What {@link forwardedPage} needs. */
export interface ForwardedPageOptions {
  readonly client: Pick<KubeClient, 'raw'>;
  readonly forwarder: PortForwarder;
  /** Namespace of the operator. */
  readonly namespace: string;
  readonly port: number;
}

/** The page that the operator serves in the cluster, reached by forwarding a port of its pod. The API server decides who may do that; no token is sent to the pod. Rejects if the namespace is proven to be another one than the installation's: its pod would show a page of its own. */
export function forwardedPage({ client, forwarder, namespace, port }: ForwardedPageOptions): RemotePage {
  const get = async (
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> => {
    // Checked for each request, because a tenant may recreate the namespace at any time.
    await namespaceDoubt(client, namespace, signal);
    const pod = await operatorPod(client, namespace, signal);
    const connection = await forwarder.connect({ namespace, name: pod }, port).catch(async (error: unknown) => {
      // A refused WebSocket does not say why; the same request without it does.
      const plain = `/api/v1/namespaces/${namespace}/pods/${pod}/portforward?ports=${port}`;
      const why = await client.raw({ path: plain }, { signal }).catch((refusal: unknown) => refusal);
      throw isForbidden(why) ? why : error;
    });
    const sent = request({
      ...{ path, headers: { host: 'localhost', connection: 'close', ...headers }, signal },
      createConnection: () => connection,
    });
    sent.end();
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve);
      sent.once('error', reject);
    });
    if (response.statusCode === 200) return response;
    const said = quotedText(await bounded(response, 64 * 2 ** 10));
    throw new Error(`pod ${namespace}/${pod} answered ${response.statusCode} to ${path}: ${said}`);
  };
  return {
    text: async (path, signal) => bounded(await get(path, {}, signal)),
    events: (lastId, signal) =>
      get('/events', lastId !== undefined && /^[\w-]{1,64}$/.test(lastId) ? { 'last-event-id': lastId } : {}, signal),
  };
}

interface PodList {
  readonly items: readonly {
    readonly metadata: ObjectMeta;
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

async function operatorPod(client: Pick<KubeClient, 'raw'>, namespace: string, signal: AbortSignal): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=app.kubernetes.io%2Fname%3Ddrydock`;
  const { items } = (await client.raw({ path }, { signal })) as PodList;
  const ready = items.find(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
  );
  if (ready === undefined)
    throw new Error(`namespace ${namespace} has no pod of the operator that is ready. next: drydock page`);
  return ready.metadata.name;
}

const MOST_BYTES = 64 * 2 ** 20;

/** A whole answer; an endless one is cut off. */
async function bounded(response: IncomingMessage, most: number = MOST_BYTES): Promise<string> {
  let length = 0;
  return text(
    Readable.from(response).map((chunk: Buffer) => {
      length += chunk.length;
      if (length > most) throw new Error(`the page sends more than ${most} bytes`);
      return chunk;
    }),
  );
}
