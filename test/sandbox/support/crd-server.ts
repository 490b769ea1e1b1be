import { setTimeout as delay } from 'node:timers/promises';
import type { Crd, JsonObject } from '@drydock/crd';
import type { Sandbox } from '@drydock/sandbox';
import { Agent, request } from 'undici';

/** A cause of a 422 as the server gives it. */
export interface ServerCause {
  readonly reason: string;
  readonly field: string;
  readonly message: string;
}

/** What the server answered. */
export interface Answer {
  readonly status: number;
  readonly causes: readonly ServerCause[];
  readonly message: string;
  readonly warnings: readonly string[];
  readonly object: JsonObject;
}

/** One write. `path` begins with `/apis`. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** Content type; JSON by default. */
  readonly type?: string;
  /** The user to impersonate. */
  readonly as?: string;
}

/** Speaks to a sandbox's API server as its administrator, without any client in between: what is looked at is the answer itself. */
export interface CrdServer extends AsyncDisposable {
  call(call: Call): Promise<Answer>;
  /** Installs or replaces the definition, and waits until the server judges by it. Resolves with the milliseconds between the two. */
  install(crd: Crd): Promise<number>;
}

/** Where definitions are. */
export const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const DEADLINE_MS = 180_000;

/** The property that tells which schema is live, see {@link tagged}. */
export const PROBE = 'drydockProbe';

/**
 * The definition with one more property at the root of each version, an enum of one value: what the server lists as supported tells
 * which definition it judges by.
 */
export function tagged(manifest: JsonObject, tag: string): JsonObject {
  const copy = structuredClone(manifest) as { spec: { versions: { schema?: { openAPIV3Schema?: object } }[] } };
  for (const version of copy.spec.versions) {
    const schema: { properties?: object } = version.schema?.openAPIV3Schema ?? {};
    const properties = { ...schema.properties, [PROBE]: { type: 'string', enum: [tag] } };
    version.schema = { openAPIV3Schema: { ...schema, properties } };
  }
  return copy as unknown as JsonObject;
}

/** Where objects of a definition are; `name` and `rest` as in `…/NAME/status`. Objects with a namespace are in `default`. */
export function pathOf(crd: Crd, name?: string, rest = ''): string {
  const version = crd.versions.find(({ storage }) => storage)?.name ?? '';
  const namespace = crd.scope === 'Cluster' ? '' : '/namespaces/default';
  return `/apis/${crd.group}/${version}${namespace}/${crd.plural}${name === undefined ? '' : `/${name}`}${rest}`;
}

/** The head of an object of a definition. */
export function headOf(crd: Crd, name: string): JsonObject {
  const version = crd.versions.find(({ storage }) => storage)?.name ?? '';
  return { apiVersion: `${crd.group}/${version}`, kind: crd.kind, metadata: { name } };
}

function answerOf(status: number, text: string, warning: string | string[] | undefined): Answer {
  // A kind that is not served yet is `404 page not found`, as text.
  const object = (text.startsWith('{') ? JSON.parse(text) : { message: text }) as JsonObject & {
    readonly message?: string;
    readonly details?: { readonly causes?: readonly Partial<ServerCause>[] };
  };
  const causes = object.details?.causes ?? [];
  return {
    status,
    causes: causes.map(({ reason = '', field = '', message = '' }) => ({ reason, field, message })),
    message: object.message ?? '',
    warnings: warning === undefined ? [] : [warning].flat(),
    object,
  };
}

/** Connects. Also after a restart of the API server the same connection object serves. */
export function connectCrdServer(sandbox: Sandbox): CrdServer {
  const { url, ca, certificate, privateKey } = sandbox.admin;
  const dispatcher = new Agent({ connections: 8, connect: { ca, cert: certificate, key: privateKey } });
  let tags = 0;

  const call = async ({ as, method, path, body, type = 'application/json' }: Call): Promise<Answer> => {
    for (;;) {
      const response = await request(`${url}${path}`, {
        dispatcher,
        method,
        headers: {
          accept: 'application/json',
          'content-type': type,
          ...(as === undefined ? {} : { 'impersonate-user': as }),
        },
        body: body === undefined ? null : JSON.stringify(body, digits),
      });
      const text = await response.body.text();
      // A fresh kind is not served for a moment, and says so.
      if (response.statusCode !== 429) return answerOf(response.statusCode, text, response.headers['warning']);
      await delay(20);
    }
  };

  const probe = async (crd: Crd): Promise<string> => {
    const body = { ...headOf(crd, 'probe'), [PROBE]: 'none' };
    const answer = await call({ method: 'POST', path: `${pathOf(crd)}?dryRun=All`, body });
    return answer.causes.find(({ field }) => field === PROBE)?.message ?? '';
  };

  const install = async (crd: Crd): Promise<number> => {
    const tag = `tag-${tags++}`;
    const manifest = tagged(crd.manifest, tag);
    const path = `${CRDS}/${crd.name}`;
    const { object, status } = await call({ method: 'GET', path });
    const { resourceVersion } = (object['metadata'] ?? {}) as { readonly resourceVersion?: string };
    const body =
      status === 404
        ? manifest
        : { ...manifest, metadata: { ...(manifest['metadata'] as JsonObject), resourceVersion } };
    const answer = await call(status === 404 ? { method: 'POST', path: CRDS, body } : { method: 'PUT', path, body });
    if (answer.status >= 300) throw new Error(`the server refuses ${crd.name}: ${answer.message}`);
    const since = performance.now();
    // Some ask for a hundred definitions at once: whoever waits longer asks less often.
    for (let pause = 5; !(await probe(crd)).includes(`"${tag}"`); pause = Math.min(2 * pause, 500)) {
      if (performance.now() - since > DEADLINE_MS) throw new Error(`${crd.name} is not judged by its new definition`);
      await delay(pause);
    }
    return performance.now() - since;
  };

  return { call, install, [Symbol.asyncDispose]: () => dispatcher.destroy() };
}

function digits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}
