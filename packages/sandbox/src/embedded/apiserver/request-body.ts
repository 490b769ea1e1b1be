import type { Readable } from 'node:stream';
import { noObject, parseExact } from '@drydock/kube/testing/api-server';
import { ApiFailure, badRequest } from './api-failure.ts';
import { goJsonError } from './go-json-errors.ts';
import { decodeProtobuf } from './protobuf-decoder.ts';

/** The largest body that the server reads (bytes). */
export const BODY_LIMIT: number = 3 * 1024 * 1024;

/** How much of a body that is too large is read and thrown away (bytes): a client that still sends would not see the answer. */
const DISCARD_LIMIT = 32 * 1024 * 1024;

/** How much of a refused body the refusal shows (bytes). */
const SHOWN = 30;

const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';
const OBJECT_TYPES = ['application/json', 'application/yaml', PROTOBUF_TYPE];
const APPLY_TYPE = 'application/apply-patch+yaml';
const STRATEGIC_TYPE = 'application/strategic-merge-patch+json';
const PATCH_TYPES = ['application/json-patch+json', 'application/merge-patch+json', STRATEGIC_TYPE, APPLY_TYPE];

/** Reads a whole body. Rejects with 413 beyond the limit, and with 400 where the client goes away. */
export async function readBody(request: Readable, length: string | undefined): Promise<Buffer> {
  if (Number(length ?? 0) > DISCARD_LIMIT) throw tooLarge();
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let size = 0;
    const broken = (): void => reject(badRequest('unexpected EOF'));
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= BODY_LIMIT) chunks.push(chunk);
      else chunks = [];
      if (size > DISCARD_LIMIT) {
        request.pause();
        reject(tooLarge());
      }
    });
    request.once('end', () => (size > BODY_LIMIT ? reject(tooLarge()) : resolve(Buffer.concat(chunks))));
    request.once('error', broken);
    request.once('close', broken);
  });
}

function tooLarge(): ApiFailure {
  const message = `Request entity too large: limit is ${BODY_LIMIT}`;
  return new ApiFailure({ code: 413, reason: 'RequestEntityTooLarge', message });
}

/** A content type without its parameters, in lower case. */
export function contentTypeOf(header: string | undefined): string | undefined {
  const type = header?.split(';', 1)[0]?.trim().toLowerCase();
  return type === undefined || type === '' ? undefined : type;
}

/** Throws 415 for a body that this server does not read. */
export function checkContentType(verb: string, type: string | undefined): void {
  if (verb === 'patch') {
    if (type !== undefined && PATCH_TYPES.includes(type)) return;
    const message = '415: Unsupported Media Type';
    throw new ApiFailure({ code: 415, reason: 'UnsupportedMediaType', message, details: {} });
  }
  if (type === undefined || type === '*/*' || OBJECT_TYPES.includes(type)) return;
  const message = `the body of the request was in an unknown format - accepted media types include: ${OBJECT_TYPES.join(', ')}`;
  throw new ApiFailure({ code: 415, reason: 'UnsupportedMediaType', message });
}

/** Parses the body of a create, an update or a delete. `kind` is the one that it should have, for the words of a refusal. */
export async function parseObject(bytes: Buffer, type: string | undefined, kind: string): Promise<unknown> {
  if (type === PROTOBUF_TYPE) return decodeProtobuf(bytes, kind);
  const text = bytes.toString('utf8');
  const said = type === 'application/yaml' ? undefined : goJsonError(text);
  if (said !== undefined) throw unreadable(bytes, kind, said);
  const body = type === 'application/yaml' ? await parseYaml(text) : parseText(text);
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  const found = body === null ? 'null' : Array.isArray(body) ? 'array' : typeof body;
  // Go reads null into anything.
  if (body === null) return {};
  throw unreadable(bytes, kind, noObject(found === 'boolean' ? 'bool' : found));
}

/** Parses a patch. */
export async function parsePatch(bytes: Buffer, type: string | undefined): Promise<unknown> {
  const text = bytes.toString('utf8');
  const said = goJsonError(text);
  if (said === undefined) return parseText(text);
  if (type === APPLY_TYPE) return parseYaml(text);
  throw badRequest(type === STRATEGIC_TYPE ? said : `error decoding patch: ${said}`);
}

function parseText(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
}

async function parseYaml(text: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return parse(text, { version: '1.1', maxAliasCount: 100 });
  } catch (error) {
    throw badRequest(`error decoding YAML: ${error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : ''}`);
  }
}

function unreadable(bytes: Buffer, kind: string, said: string): ApiFailure {
  const problem = `couldn't get version/kind; json parse error: ${said}`;
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${problem} (${excerpt(bytes)})`);
}

/** The beginning of a body, as text where it looks like JSON, else in hexadecimal digits. */
function excerpt(bytes: Buffer): string {
  if (bytes.length === 0) return '<empty>';
  const encoding = bytes[0] === 0x7b ? 'utf8' : 'hex';
  return `${bytes.subarray(0, SHOWN).toString(encoding)}${bytes.length > SHOWN ? ' ...' : ''}`;
}
