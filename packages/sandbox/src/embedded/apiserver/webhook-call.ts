import { isObject, type JsonObject, noObject, objectOf } from '@drydock/kube/testing/api-server';

/** Why a webhook could not be asked. */
export class WebhookFailure extends Error {
  override readonly name = 'WebhookFailure';
}

/** Finds out whether a service exists; the sandbox has no network of services. */
export type FindService = (namespace: string, name: string) => boolean;

/** The largest answer (bytes) that is read. */
const LARGEST = 3 * 1024 * 1024;

/**
 * Posts a review to a webhook and returns what it answers. The certificate is verified with the CA bundle alone, or with the machine's authorities where there
 * is none. Throws `WebhookFailure`.
 */
export async function callWebhook(
  clientConfig: unknown,
  review: JsonObject,
  timeoutSeconds: number,
  findService: FindService,
): Promise<JsonObject> {
  const { url, service, caBundle } = objectOf(clientConfig);
  const at = isObject(service) ? serviceUrl(service) : String(url);
  const shown = `${at}${at.includes('?') ? '&' : '?'}timeout=${timeoutSeconds}s`;
  if (isObject(service)) {
    const { name, namespace } = service;
    const known = findService(String(namespace), String(name));
    const why = known ? 'dial tcp: connect: connection refused' : `service ${JSON.stringify(name)} not found`;
    throw new WebhookFailure(`Post ${JSON.stringify(shown)}: ${why}`);
  }
  const ca =
    typeof caBundle === 'string' && caBundle !== '' ? Buffer.from(caBundle, 'base64').toString('utf8') : undefined;
  // Few sandboxes have a webhook, and every start would wait for this module.
  const { Agent, request } = await import('undici');
  const dispatcher = new Agent({ connect: ca === undefined ? {} : { ca }, connections: 1 });
  try {
    const response = await request(shown, {
      dispatcher,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'user-agent': 'kube-apiserver-admission',
      },
      body: JSON.stringify(review),
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const text = await limited(response.body);
    if (response.statusCode !== 200)
      throw new WebhookFailure(
        `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`,
      );
    return parsed(text);
  } catch (error) {
    if (error instanceof WebhookFailure) throw error;
    throw new WebhookFailure(`Post ${JSON.stringify(shown)}: ${reasonOf(error)}`);
  } finally {
    await dispatcher.destroy();
  }
}

function serviceUrl(service: JsonObject): string {
  const { name, namespace, path = '/', port = 443 } = service;
  return `https://${String(name)}.${String(namespace)}.svc:${String(port)}${String(path)}`;
}

async function limited(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > LARGEST) throw new WebhookFailure(`http: request body too large`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parsed(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (isObject(value)) return value;
  const said = noObject(Array.isArray(value) ? 'array' : 'string');
  throw new WebhookFailure(`couldn't get version/kind; json parse error: ${said}`);
}

/** In Go's words, as far as they are known. */
function reasonOf(error: unknown): string {
  const { name, code, message } = error as {
    readonly name?: string;
    readonly code?: string;
    readonly message?: string;
  };
  if (name === 'TimeoutError' || name === 'AbortError') return 'context deadline exceeded';
  switch (code) {
    case 'ECONNREFUSED':
      return `dial tcp: connect: connection refused`;
    case 'ENOTFOUND':
      return `dial tcp: lookup: no such host`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `tls: failed to verify certificate: x509: ${message ?? ''}`;
    case 'UND_ERR_SOCKET':
    case 'ECONNRESET':
      return 'EOF';
    default:
      return message ?? String(error);
  }
}
