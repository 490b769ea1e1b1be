import { type Clock, type ClusterConfig, isForbidden, isNotFound, type KubeClient, systemClock } from '@drydock/kube';
import { PAGE_AUDIENCE } from '@drydock/page';

/** Names the namespaces in which the page is installed (its subjects) and the uid of that namespace (its annotation). No tenant may write it. */
const INSTALLATION = 'drydock-page';
/** Annotation of the ClusterRoleBinding: the uid that the namespace had when Drydock was installed. */
export const NAMESPACE_UID = 'drydock.dev/namespace-uid';
/** ServiceAccount that may get BootImages and nothing else; `drydock page` requests tokens for it. */
const VIEWER = 'drydock-page-viewer';
/** The shortest lifetime that the API server grants (s). */
const TOKEN_SECONDS = 600;
const RENEW_MS = (TOKEN_SECONDS / 2) * 1000;

/** What {@link pageTokens} needs. */
export interface PageTokenOptions {
  readonly client: Pick<KubeClient, 'raw'>;
  readonly config: Pick<ClusterConfig, 'credentials'>;
  /** Namespace of the page's Service. */
  readonly namespace: string;
  readonly clock?: Clock;
}

/**
 * The `Authorization` that may be sent to the page: a token with the page's own audience, which is worthless elsewhere, or the caller's own token if
 * the namespace is proven to be the one that Drydock was installed in. Checked for each request, because a namespace can be deleted and recreated by a
 * tenant at any time. Rejects if neither may be sent.
 */
export function pageTokens({
  client,
  config,
  namespace,
  clock = systemClock,
}: PageTokenOptions): (signal: AbortSignal) => Promise<string> {
  let requested: { readonly until: number; readonly token: string } | undefined;

  /** Undefined if the caller may not request one, or the ServiceAccount does not exist. */
  async function tokenForPage(signal: AbortSignal): Promise<string | undefined> {
    if (requested !== undefined && requested.until > clock.now()) return requested.token;
    const until = clock.now() + RENEW_MS;
    const answer = await readable(
      client.raw(
        {
          method: 'POST',
          path: `/api/v1/namespaces/${namespace}/serviceaccounts/${VIEWER}/token`,
          body: {
            ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
            spec: { audiences: [PAGE_AUDIENCE], expirationSeconds: TOKEN_SECONDS },
          },
        },
        { signal },
      ) as Promise<TokenRequest>,
    );
    const token = answer?.status?.token;
    // An admission webhook may change the audience; such a token could be good for the API server.
    if (token === undefined || answer?.spec?.audiences?.join() !== PAGE_AUDIENCE) return undefined;
    requested = { until, token };
    return token;
  }

  return async (signal) => {
    const doubt = await namespaceDoubt(client, namespace, signal);
    const token = await tokenForPage(signal);
    if (token !== undefined) return `Bearer ${token}`;
    if (doubt !== undefined)
      throw new Error(`${doubt}. No token was sent. next: drydock page --port-forward, which sends none`);
    const { authorization = '' } = await config.credentials.get();
    if (!/^Bearer /i.test(authorization))
      throw new Error(
        'the page in the cluster takes bearer tokens, and this kubeconfig has none. next: drydock page --port-forward, which needs none',
      );
    return authorization;
  };
}

interface TokenRequest {
  readonly spec?: { readonly audiences?: readonly string[] };
  readonly status?: { readonly token?: string };
}

interface Binding {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly subjects?: readonly { readonly kind: string; readonly namespace?: string }[];
}

interface NamespaceObject {
  readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string };
}

/** Why the namespace is not proven to be the installation's, or undefined if it is. Rejects if it is proven to be another one: then nothing may be sent there, and nothing that it serves may be shown. */
export async function namespaceDoubt(
  client: Pick<KubeClient, 'raw'>,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const get = (path: string): Promise<unknown> => readable(client.raw({ path }, { signal }));
  const binding = `ClusterRoleBinding ${INSTALLATION}`;
  const [bound, live] = await Promise.all([
    get(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${INSTALLATION}`) as Promise<Binding | undefined>,
    get(`/api/v1/namespaces/${namespace}`) as Promise<NamespaceObject | undefined>,
  ]);
  if (bound === undefined) return `${binding} does not exist, or you may not get it`;
  const named = bound.subjects?.some((one) => one.kind === 'ServiceAccount' && one.namespace === namespace) === true;
  if (!named) throw notInstalled(`${binding} names no ServiceAccount of namespace ${namespace}`);
  const recorded = bound.metadata?.annotations?.[NAMESPACE_UID];
  if (recorded === undefined) return `${binding} has no annotation ${NAMESPACE_UID}`;
  if (live === undefined) return `namespace ${namespace} does not exist, or you may not get it`;
  if (live.metadata.uid !== recorded)
    throw notInstalled(`namespace ${namespace} was recreated after the installation: its uid is not the recorded one`);
  if (live.metadata.deletionTimestamp !== undefined) throw notInstalled(`namespace ${namespace} is being deleted`);
  return undefined;
}

/** The answer, or undefined if the object does not exist or the caller may not read it. */
async function readable<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}

function notInstalled(why: string): Error {
  return new Error(`${why}. No token was sent. next: drydock page, which serves the page from this machine`);
}
