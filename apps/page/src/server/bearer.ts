import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Clock, type KubeClient, systemClock } from '@drydock/kube';
import type { Admission, Admit } from './server.ts';

/** What is asked about those who want to look. */
export interface BearerOptions {
  readonly client: Pick<KubeClient, 'raw'>;
  readonly clock?: Clock;
  /** Told what could not be asked; never a token. */
  readonly onError?: (error: unknown) => void;
}

/** The API server keeps `Authorization` for itself where it passes a request on: this one says the same. */
export const TOKEN_HEADER = 'drydock-authorization';
/** Audience of tokens that only the page accepts: whoever intercepts one cannot use it at the API server. */
export const PAGE_AUDIENCE = 'drydock-page';

/** An answer holds for so long (ms): whoever loses the right is out after that. */
const ADMITTED_MS = 60_000;
const REFUSED_MS = 10_000;
/** So many answers are kept. */
const MOST_KEPT = 1000;
/** So many are asked for at once: a flood of tokens must not become one at the API server. */
const MOST_ASKED = 8;
const ASK_MS = 10_000;
const MOST_TOKEN = 12_000;

const nobody: Admission = {
  kind: 'refused',
  code: 401,
  why: 'a bearer token of this cluster is expected: drydock page --in-cluster requests one',
};

/** Admits users whose bearer token is for the page or for the API server (TokenReview), and who may get BootImages (SubjectAccessReview). */
export function bearerTokens({ client, clock = systemClock, onError = () => undefined }: BearerOptions): Admit {
  const kept = new Map<string, { readonly until: number; readonly admission: Admission }>();
  const asked = new Map<string, Promise<Admission>>();

  async function ask(token: string, key: string): Promise<Admission> {
    try {
      const admission = await reviewed(client, token);
      const until = clock.now() + (admission.kind === 'admitted' ? ADMITTED_MS : REFUSED_MS);
      kept.delete(key);
      kept.set(key, { until, admission });
      const [oldest] = kept.keys();
      if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
      return admission;
    } catch (error) {
      onError(error);
      return { kind: 'refused', code: 503, why: 'who you are could not be asked of the API server: the log says why' };
    } finally {
      asked.delete(key);
    }
  }

  return (request) => {
    const token = tokenOf(request);
    if (token === undefined) return nobody;
    // Not the token itself, which nothing here keeps.
    const key = createHash('sha256').update(token).digest('base64');
    const known = kept.get(key);
    if (known !== undefined && known.until > clock.now()) return known.admission;
    const underway = asked.get(key);
    if (underway !== undefined) return underway;
    if (asked.size >= MOST_ASKED)
      return { kind: 'refused', code: 503, why: 'too many want to come in at once: try again in a second' };
    const asking = ask(token, key);
    asked.set(key, asking);
    return asking;
  };
}

function tokenOf({ headers }: IncomingMessage): string | undefined {
  const passed = headers[TOKEN_HEADER];
  const said = typeof passed === 'string' ? passed : (headers.authorization ?? '');
  const [, token] = /^Bearer ([\x21-\x7e]+)$/i.exec(said) ?? [];
  return token === undefined || token.length > MOST_TOKEN ? undefined : token;
}

interface Review {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly audiences?: readonly string[];
    readonly allowed?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

async function reviewed(client: Pick<KubeClient, 'raw'>, token: string): Promise<Admission> {
  const signal = AbortSignal.timeout(ASK_MS);
  const post = async (group: string, kind: string, spec: object): Promise<Review> => {
    const apiVersion = `${group}/v1`;
    const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
    return (await client.raw({ method: 'POST', path, body: { apiVersion, kind, spec } }, { signal })) as Review;
  };
  const review = async (spec: object): Promise<Review['status']> =>
    (await post('authentication.k8s.io', 'TokenReview', { token, ...spec })).status;
  const forPage = await review({ audiences: [PAGE_AUDIENCE] });
  // A server that knows no audiences ignores them, and does not repeat them.
  const isForPage = forPage?.authenticated === true && forPage.audiences?.includes(PAGE_AUDIENCE) === true;
  const who = isForPage ? forPage : await review({});
  const { username, uid, groups, extra } = who?.user ?? {};
  if (who?.authenticated !== true || username === undefined || username === '') return nobody;
  const { status: may } = await post('authorization.k8s.io', 'SubjectAccessReview', {
    ...{ user: username, groups: groups ?? [], extra: extra ?? {} },
    ...(uid === undefined ? {} : { uid }),
    resourceAttributes: { verb: 'get', group: 'drydock.dev', resource: 'bootimages' },
  });
  if (may?.allowed === true) return { kind: 'admitted' };
  return {
    kind: 'refused',
    code: 403,
    why: `${username} may not get bootimages.drydock.dev in all namespaces: kubectl apply -k deploy/rbac/page/viewer has a role for that`,
  };
}
