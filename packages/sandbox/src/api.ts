import { Agent, request } from 'undici';
import { stringify } from 'yaml';
import type { Identity } from './certificate.ts';

/** An answer of the API server: `body` is parsed JSON, or text where the server sent none. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The little that the sandbox needs from an API server. It never retries and never throws on a status. */
export interface Api {
  readonly url: string;
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, options?: ApiCall): Promise<ApiAnswer>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `type` is the content type of `body`, JSON by default. */
export interface ApiCall {
  readonly body?: unknown;
  readonly type?: string;
  /** What is asked for; JSON by default. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/** Who speaks to which server: PEM texts. */
export interface Credentials extends Identity {
  readonly url: string;
  readonly ca: string;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Connects with a client certificate; verifies the server against the sandbox's CA. */
export function createApi(as: Credentials): Api {
  const dispatcher = new Agent({
    connections: 16,
    connect: { ca: as.ca, cert: as.certificate, key: as.privateKey },
  });
  return {
    url: as.url,
    async call(method, path, options = {}) {
      const response = await request(`${as.url}${path}`, {
        dispatcher,
        method,
        headers: { accept: options.accept ?? 'application/json', 'content-type': options.type ?? 'application/json' },
        body: options.body === undefined ? null : JSON.stringify(options.body),
        signal: options.signal ?? null,
      });
      return { status: response.statusCode, body: parse(await response.body.text()) };
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}

const base64 = (pem: string): string => Buffer.from(pem).toString('base64');

/** A kubeconfig with everything embedded, so that the file can be moved. */
export function kubeconfigText(as: Credentials, user: string): string {
  const name = 'drydock-sandbox';
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: as.url, 'certificate-authority-data': base64(as.ca) } }],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(as.certificate), 'client-key-data': base64(as.privateKey) },
      },
    ],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  };
  // Read by YAML 1.1: a user may be called `on`.
  return stringify(config, { compat: 'yaml-1.1' });
}
