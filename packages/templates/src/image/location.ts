import { type Dispatcher, interceptors, request } from 'undici';

/** Options of {@link requestLocation}: those of undici's `request`. */
export interface LocationOptions {
  readonly dispatcher: Dispatcher;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** ms */
  readonly headersTimeout?: number;
  /** ms without a byte. */
  readonly bodyTimeout?: number;
}

/** Asks for what is behind an address, over at most five redirections. A user and password in it are sent as a header (RFC 7617), to that host only. */
export function requestLocation(location: string | URL, options: LocationOptions): Promise<Dispatcher.ResponseData> {
  const { dispatcher, headers = {}, ...rest } = options;
  const url = new URL(location);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const pair = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  return request(url, {
    ...rest,
    headers: username === '' && password === '' ? headers : { ...headers, authorization: `Basic ${pair}` },
    dispatcher: dispatcher.compose(interceptors.redirect({ maxRedirections: 5 })),
  });
}

/** A location for a message: user, password and query may be secrets. */
export function withoutSecrets(location: string): string {
  const url = URL.canParse(location) ? new URL(location) : undefined;
  return url === undefined ? location : `${url.protocol}//${url.host}${url.pathname}`;
}

/** A `%` that encodes nothing stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
