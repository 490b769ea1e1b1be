import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { listOf, metadataOf, objectOf } from '@drydock/kube/testing/api-server';
import { ApiFailure, badRequest, notFound, notImplemented } from './api-failure.ts';
import { textOf } from './draft.ts';
import type { Exchange } from './exchange.ts';
import type { ObjectServer } from './objects.ts';
import type { ResourcePath } from './request-info.ts';
import { headerOf } from './wire-answer.ts';

// The proxy subresource of Services and Pods: a request goes to an address of the Endpoints object, or of the pod.

type Objects = Pick<ObjectServer, 'peek'>;

interface Target {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}

/** Headers of one connection, which a proxy does not pass on; and the credentials, which are the API server's alone. */
const NOT_PASSED = new Set([
  ...['authorization', 'connection', 'host', 'keep-alive', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
]);

/** Answers by passing the request on, with its body, and the answer back as it comes. */
export async function answerByProxy(objects: Objects, exchange: Exchange, path: ResourcePath): Promise<void> {
  const { request, response, info, signal } = exchange;
  if (headerOf(request, 'upgrade') !== undefined) throw notImplemented('upgraded connections through a proxy');
  const target = path.resource === 'pods' ? podTarget(objects, path) : serviceTarget(objects, path);
  const [raw = '', query] = (request.url ?? '').split(/\?(.*)/s);
  const inner = raw.slice(raw.indexOf('/proxy', raw.indexOf(`/${path.resource}/`)) + '/proxy'.length);
  if (inner === '' && info.verb === 'get') {
    response.statusCode = 301;
    response.setHeader('location', `${raw}/${query === undefined ? '' : `?${query}`}`);
    response.end();
    return;
  }
  const send = target.scheme === 'https' ? httpsRequest : httpRequest;
  const sent = send({
    ...{ host: target.host, port: target.port, method: request.method, headers: passedHeaders(exchange), signal },
    path: `${inner}${query === undefined ? '' : `?${query}`}`,
    // As kube-apiserver: pods have certificates that no CA of the cluster signed.
    rejectUnauthorized: false,
  });
  request.pipe(sent);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve);
    sent.once('error', reject);
  }).catch((error: unknown) => {
    const said = error instanceof Error ? error.message : String(error);
    const message = `error trying to reach service: ${said}`;
    throw new ApiFailure({ code: 503, reason: 'ServiceUnavailable', message });
  });
  response.statusCode = answer.statusCode ?? 502;
  for (const [name, value] of Object.entries(answer.headers))
    if (value !== undefined && !NOT_PASSED.has(name)) response.setHeader(name, value);
  if ('flushHeaders' in response) response.flushHeaders();
  answer.on('error', () => response.destroy());
  answer.pipe(response as NodeJS.WritableStream);
}

function passedHeaders({ request }: Exchange): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(':') || name.startsWith('impersonate-') || NOT_PASSED.has(name))
      continue;
    headers[name] = value;
  }
  return headers;
}

interface Named {
  readonly scheme: 'http' | 'https';
  readonly name: string;
  readonly port: string;
}

/** Reads `NAME`, `NAME:PORT` and `SCHEME:NAME:PORT`. */
function readTarget(id: string, what: string): Named {
  const parts = id.split(':');
  const [scheme = '', name = '', port = ''] =
    parts.length === 3 ? parts : ['', parts[0] ?? '', parts.length === 2 ? parts[1] : ''];
  const known = scheme === '' || scheme === 'http' || scheme === 'https';
  if (parts.length > 3 || !known || name === '') throw badRequest(`invalid ${what} request ${JSON.stringify(id)}`);
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port: String(port) };
}

const unavailable = (message: string): ApiFailure =>
  new ApiFailure({ code: 503, reason: 'ServiceUnavailable', message });

function serviceTarget(objects: Objects, { name: id, namespace }: ResourcePath): Target {
  const { scheme, name, port } = readTarget(id, 'service');
  let portName = port;
  if (/^\d+$/.test(port)) {
    const service = objects.peek('', 'services', { namespace, name });
    if (service === undefined) throw notFound('', 'services', name);
    const found = listOf(objectOf(objectOf(service)['spec'])['ports'])
      .map(objectOf)
      .find((one) => one['port'] === Number(port));
    if (found === undefined) throw unavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
    portName = textOf(found['name']);
  }
  const endpoints = objects.peek('', 'endpoints', { namespace, name });
  if (endpoints === undefined) throw notFound('', 'endpoints', name);
  for (const subset of listOf(objectOf(endpoints)['subsets']).map(objectOf)) {
    const numbered = listOf(subset['ports'])
      .map(objectOf)
      .find((one) => textOf(one['name']) === portName);
    const address = listOf(subset['addresses'])
      .map(objectOf)
      .find((one) => isOfPod(objects, namespace, one));
    if (numbered === undefined || address === undefined) continue;
    return { scheme, host: allowed(String(address['ip'])), port: Number(numbered['port']) };
  }
  throw unavailable(`no endpoints available for service ${JSON.stringify(id)}`);
}

/** Whether an address is one of the pod that it names: nobody reaches other addresses by writing Endpoints. */
function isOfPod(objects: Objects, namespace: string, address: Readonly<Record<string, unknown>>): boolean {
  const { namespace: of, name } = objectOf(address['targetRef']);
  if (of !== namespace || typeof name !== 'string') return false;
  const pod = objectOf(objects.peek('', 'pods', { namespace, name }));
  return listOf(objectOf(pod['status'])['podIPs']).some((one) => objectOf(one)['ip'] === address['ip']);
}

function podTarget(objects: Objects, { name: id, namespace }: ResourcePath): Target {
  const { scheme, name, port } = readTarget(id, 'pod');
  const pod = objects.peek('', 'pods', { namespace, name });
  if (pod === undefined) throw notFound('', 'pods', name);
  const { spec, status } = objectOf(pod);
  const own = listOf(objectOf(spec)['containers'])
    .flatMap((container) => listOf(objectOf(container)['ports']))
    .map(objectOf);
  const chosen = port === '' ? Number(own[0]?.['containerPort'] ?? 0) : Number(port);
  const [first] = listOf(objectOf(status)['podIPs']).map((one) => String(objectOf(one)['ip']));
  if (first === undefined) {
    const { name: shown } = metadataOf(objectOf(pod));
    throw badRequest(`pod ${JSON.stringify(shown)} has no address yet`);
  }
  return { scheme, host: allowed(first), port: chosen === 0 ? (scheme === 'https' ? 443 : 80) : chosen };
}

const OWN = new BlockList();
OWN.addSubnet('127.0.0.0', 8);
OWN.addSubnet('169.254.0.0', 16);
OWN.addSubnet('224.0.0.0', 24);
OWN.addAddress('::1', 'ipv6');
OWN.addSubnet('fe80::', 10, 'ipv6');
OWN.addSubnet('ff01::', 16, 'ipv6');
OWN.addSubnet('ff02::', 16, 'ipv6');

/** Refuses addresses of the API server's own machine. */
function allowed(ip: string): string {
  if (isIP(ip) === 0 || OWN.check(ip, isIP(ip) === 6 ? 'ipv6' : 'ipv4')) throw badRequest('address not allowed');
  return ip;
}
