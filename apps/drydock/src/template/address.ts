import { TemplateProblem } from './problem.ts';

/** An address of a vCenter, taken apart. */
export interface Address {
  /** `https://host[:port]/sdk`, without user and password. */
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
}

/**
 * Reads an address as govc does: `host`, `host:port`, `https://host/sdk`, each with or without `user:password@` in front of the host. The user may contain a
 * backslash (`CORP\svc`), which an ordinary URL parser would take for a slash. The text is never repeated in an error: a password may be in it.
 */
export function readAddress(text: string, from: string): Address {
  const [, scheme = 'https', rest = ''] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.*)$/is.exec(text.trim()) ?? [];
  if (scheme.toLowerCase() !== 'https')
    throw invalid(from, `it begins with ${scheme.toLowerCase()}://, and only https:// is spoken`);
  const [, login, authority = '', tail = ''] = /^(?:([^/?#]*)@)?([^/?#]*)(.*)$/s.exec(rest) ?? [];
  if (authority === '' || /[\\\s]/.test(authority) || !URL.canParse(`https://${authority}${tail}`))
    throw invalid(from, 'it names no host; a user or password with "/", "?", "#" or "@" must be percent-encoded');
  const { host, pathname } = new URL(`https://${authority}${tail}`);
  const [, username = '', password = ''] = /^([^:]*):?(.*)$/s.exec(login ?? '') ?? [];
  return {
    url: `https://${host}${pathname === '/' ? '/sdk' : pathname.replace(/\/+$/, '')}`,
    ...(username === '' ? {} : { username: decoded(username) }),
    ...(password === '' ? {} : { password: decoded(password) }),
  };
}

/** Undoes percent-encoding. A `%` that encodes nothing stands for itself: passwords are rarely encoded by hand. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function invalid(from: string, why: string): TemplateProblem {
  return new TemplateProblem({
    code: 'ADDRESS_INVALID',
    message: `the address of the vCenter (${from}) cannot be used: ${why}`,
    next: 'drydock template doctor --url https://VCENTER',
  });
}
