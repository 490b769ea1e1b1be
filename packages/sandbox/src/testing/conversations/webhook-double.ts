import { createServer } from 'node:https';
import { createAuthority } from '../../certificate.ts';
import type { Places } from './conversation-player.ts';

interface Review {
  readonly uid: string;
  readonly operation: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly dryRun?: boolean;
  readonly kind?: unknown;
  readonly resource?: unknown;
  readonly subResource?: string;
  readonly userInfo?: { readonly username: string };
  readonly options?: object;
  readonly object?: { readonly metadata: { readonly name?: string; readonly uid?: string } } | null;
  readonly oldObject?: unknown;
  readonly desiredAPIVersion: string;
  readonly objects?: readonly { readonly spec?: { readonly one?: string; readonly two?: string } }[];
}

/** A server that answers reviews by its paths, and what stands for it in conversations. */
export interface WebhookDouble extends AsyncDisposable {
  readonly places: Places;
}

const patch = (operations: readonly unknown[]): object => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

const ANSWERS: Readonly<Record<string, (review: Review) => object>> = {
  '/mutate': ({ operation }) => patch([{ op: 'add', path: '/metadata/labels', value: { mutated: operation } }]),
  '/badpatch': () => patch([{ op: 'remove', path: '/nope' }]),
  '/deny': ({ operation, object, name }) => ({
    allowed: false,
    status: { message: `no ${operation} ${object?.metadata.name ?? name}` },
    warnings: ['careful'],
  }),
  '/denycode': () => ({ allowed: false, status: { code: 409, reason: 'Conflict', message: 'x' } }),
  '/denybare': () => ({ allowed: false }),
  '/warn': () => ({ allowed: true, warnings: ['w1'] }),
  '/echo': (review) => ({ allowed: true, warnings: [seen(review)] }),
  '/convert': ({ objects = [], desiredAPIVersion }) => ({
    result: { status: 'Success' },
    convertedObjects: objects.map((object) => {
      const value = object.spec?.one ?? object.spec?.two;
      return {
        ...object,
        apiVersion: desiredAPIVersion,
        spec: desiredAPIVersion.endsWith('v1') ? { one: value } : { two: value },
      };
    }),
  }),
  '/convertfail': () => ({ result: { status: 'Failed', message: 'cannot' } }),
};

/** What a webhook was told, as a warning: so the client sees it. */
function seen({
  kind,
  resource,
  subResource,
  operation,
  name,
  namespace,
  dryRun,
  userInfo,
  object,
  oldObject,
  options = {},
}: Review): string {
  const sorted = Object.fromEntries(Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const has = [object !== null && object !== undefined, oldObject !== null && oldObject !== undefined];
  const born = object?.metadata.uid !== undefined;
  return JSON.stringify({
    kind,
    resource,
    subResource,
    operation,
    name,
    namespace,
    dryRun,
    user: userInfo?.username,
    has,
    born,
    options: sorted,
  });
}

/** Starts the double on a free port of this machine. */
export async function startWebhookDouble(): Promise<WebhookDouble> {
  const [authority, other] = [createAuthority('webhooks'), createAuthority('others')];
  const { certificate, privateKey } = authority.issueServer(['localhost', '127.0.0.1']);
  const server = createServer({ key: privateKey, cert: certificate }, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { pathname } = new URL(request.url ?? '/', 'https://double');
      const whole = JSON.parse(Buffer.concat(parts).toString('utf8')) as {
        readonly apiVersion: string;
        readonly kind: string;
        readonly request: Review;
      };
      const answer = ANSWERS[pathname];
      // `/slow` never answers.
      if (pathname === '/junk') response.end('junk');
      else if (pathname === '/500') response.writeHead(500).end('boom');
      else if (answer !== undefined) {
        const { apiVersion, kind, request: review } = whole;
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ apiVersion, kind, response: { uid: review.uid, ...answer(review) } }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  const bundle = (pem: string): string => Buffer.from(pem).toString('base64');
  return {
    places: {
      'https://hook.invalid': `https://127.0.0.1:${port}`,
      THE_CA: bundle(authority.certificate),
      OTHER_CA: bundle(other.certificate),
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
