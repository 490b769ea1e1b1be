/**
 * What proves the caller's identity in one request: an Authorization header, a client certificate (PEM), or both; and whom the
 * caller trusts, where that comes from a file that may be rotated as well.
 */
export interface Credential {
  /** PEM of the authorities; wins over the cluster's. */
  readonly ca?: string;
  readonly authorization?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where credentials come from. Cheap to ask for every request; sources cache until they expire. */
export interface Credentials {
  get(): Promise<Credential>;
  /**
   * The server answered 401 to `rejected`, or was not trusted with it. True when `get` may now give another one, so the request may be
   * sent once more.
   */
  reject(rejected: Credential): boolean;
}

/** Whether a token can stand in a header: visible ASCII. What is pasted with a line break cannot, and no server would take it for the same token. */
export function isHeaderText(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

/** A clock in milliseconds; tests pass their own. */
export type Now = () => number;

/** Credentials that never change: a token, a name and password, or a client certificate given as data. */
export function fixedCredentials(credential: Credential): Credentials {
  return { get: () => Promise.resolve(credential), reject: () => false };
}
