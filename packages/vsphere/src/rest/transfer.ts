import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { VimError } from '../errors.ts';
import { foreignText } from '../foreign-text.ts';
import { connectionError, hostPortOf } from '../session/transport.ts';
import type { Caller } from '../soap/call.ts';
import type { CallOptions, LibraryFile } from '../vcenter.ts';
import type { Rest } from './rest.ts';

/** Without a byte for this long the connection counts as dead. */
const STALLED_MS = 60_000;

/** Reads a file of a library from this vCenter; see `LibraryDownload.read`. */
export async function* readTransfer(
  caller: Pick<Caller, 'baseUrl' | 'httpsAgentFor'>,
  rest: Rest,
  path: string,
  { name, size }: LibraryFile,
  { signal }: CallOptions,
): AsyncGenerator<Uint8Array> {
  const { baseUrl } = caller;
  const headers = await rest.headers(signal === undefined ? {} : { signal });
  const op = `GET ${foreignText(name)}`;
  const where = `at ${baseUrl.host}`;
  const request = httpsRequest({
    agent: caller.httpsAgentFor(hostPortOf(baseUrl)),
    host: baseUrl.hostname.replaceAll(/[[\]]/g, ''),
    port: baseUrl.port === '' ? 443 : Number(baseUrl.port),
    method: 'GET',
    path,
    headers: { host: baseUrl.host, 'accept-encoding': 'identity', ...headers },
    ...(signal === undefined ? {} : { signal }),
  });
  request.setTimeout(STALLED_MS, () => request.destroy(stalled(op, baseUrl.host)));
  let received = 0;
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      // One that comes later comes to the reader of the body as well.
      request.on('error', reject);
      request.end();
    });
    const { statusCode: status = 0 } = response;
    if (status !== 200) throw refused(op, where, status);
    for await (const chunk of response) {
      const bytes: Buffer = chunk;
      received += bytes.length;
      if (received > size)
        throw new VimError({
          ...{ kind: 'protocol', code: 'VIM_BAD_RESPONSE', op },
          message: `the file has more than the ${size} bytes that the library lists`,
        });
      yield bytes;
    }
  } catch (cause) {
    if (cause instanceof VimError) throw cause;
    if (signal?.aborted === true)
      throw new VimError({ kind: 'aborted', code: 'VIM_ABORTED', op, message: 'the download was given up', cause });
    throw connectionError(op, '', where, true, cause);
  } finally {
    request.destroy();
  }
  if (received < size)
    throw new VimError({
      ...{ kind: 'transport', code: 'VIM_UNREACHABLE', op, retriable: true },
      message: `the file ended after ${received} of the ${size} bytes that the library lists`,
    });
}

function stalled(op: string, host: string): VimError {
  const message = `${host} gave nothing for ${STALLED_MS / 1000} s`;
  return new VimError({ kind: 'timeout', code: 'VIM_TIMEOUT', op, message, retriable: true });
}

function refused(op: string, where: string, status: number): VimError {
  const redirects = status >= 300 && status < 400;
  return new VimError({
    kind: 'http',
    code: 'VIM_HTTP_STATUS',
    op,
    status,
    message: `HTTP status ${status} ${where}${redirects ? ', and no redirection is followed' : ''}`,
    retriable: status === 401 || status === 404 || status === 429 || status >= 500,
  });
}
