import { addressText } from '@drydock/api/text';
import { ProxyDispatcher } from '@drydock/http';
import { type Dispatcher, interceptors, request } from 'undici';
import { TemplateError } from '../errors.ts';

/** Options of {@link requestLocation}: those of undici's `request`. */
export interface LocationOptions {
  readonly dispatcher: Dispatcher;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default GET. */
  readonly method?: 'GET' | 'HEAD';
  readonly signal?: AbortSignal;
  /** ms */
  readonly headersTimeout?: number;
  /** ms without a byte. */
  readonly bodyTimeout?: number;
  /** Whether what was read over plain HTTP, first or after a redirection, counts for nothing: a digest, which anybody on the way could put in place of another. */
  readonly trusted?: boolean;
}

/**
 * Asks for what is behind an address, over at most five redirections. A user and password in it are sent as a header (RFC 7617), to that host only. Fails
 * with `DOWNLOAD_FAILED` for what is no address, and where `trusted` is wanted and cannot be had.
 */
export async function requestLocation(
  location: string | URL,
  options: LocationOptions,
): Promise<Dispatcher.ResponseData> {
  const { dispatcher, headers = {}, trusted = false, ...rest } = options;
  const url = URL.parse(String(location));
  // The parser's own error has the whole text in it.
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw new TemplateError({
      code: 'DOWNLOAD_FAILED',
      message: `failed to download ${addressText(String(location))}: it is no address of http:// or https://`,
    });
  if (trusted) checkTls([url], url);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const pair = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  const response = await request(url, {
    ...rest,
    headers: username === '' && password === '' ? headers : { ...headers, authorization: `Basic ${pair}` },
    dispatcher: dispatcher.compose(interceptors.redirect({ maxRedirections: 5 })),
  });
  if (!trusted) return response;
  try {
    checkTls((response.context as { readonly history?: readonly URL[] } | undefined)?.history ?? [], url);
  } catch (error) {
    await response.body.dump();
    throw error;
  }
  return response;
}

function checkTls(visited: readonly URL[], asked: URL): void {
  const plain = visited.find(({ protocol }) => protocol !== 'https:');
  if (plain === undefined) return;
  const from = plain.href === asked.href ? '' : ` (${addressText(asked.href)} leads there)`;
  throw new TemplateError({
    code: 'DOWNLOAD_FAILED',
    message: `${addressText(plain.href)} is read over plain HTTP, where anybody on the way could change it${from}`,
  });
}

/** A `%` that encodes nothing stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Asks with the dispatcher that is given, or over the proxies of the environment, whose connections end with `ask`. */
export async function throughProxies<T>(
  given: Dispatcher | undefined,
  ask: (dispatcher: Dispatcher) => Promise<T>,
): Promise<T> {
  if (given !== undefined) return ask(given);
  const own = environmentProxies();
  try {
    return await ask(own);
  } finally {
    await own.destroy();
  }
}

/** The proxies of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). Fails with `DOWNLOAD_FAILED` where they are no addresses. */
function environmentProxies(): ProxyDispatcher {
  try {
    return new ProxyDispatcher();
  } catch {
    // Neither quoted nor kept as the cause: a password may be in it.
    const message =
      'failed to download: the proxy that HTTPS_PROXY or HTTP_PROXY names is no http, https or socks5 URL';
    throw new TemplateError({ code: 'DOWNLOAD_FAILED', message });
  }
}
