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
  const trimmed = text.trim();
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(trimmed)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'https') {
    throw invalid(from, `it begins with ${scheme}://, and only https:// is spoken`);
  }
  const rest = scheme === undefined ? trimmed : trimmed.slice(scheme.length + 3);
  const end = rest.search(/[/?#]/);
  const authority = end < 0 ? rest : rest.slice(0, end);
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  const url = `https://${host}${end < 0 ? '' : rest.slice(end)}`;
  if (host === '' || /[\\\s]/.test(host) || !URL.canParse(url)) {
    throw invalid(from, 'it names no host; a user or password with "/", "?", "#" or "@" must be percent-encoded');
  }
  const parsed = new URL(url);
  const path = parsed.pathname === '/' ? '/sdk' : parsed.pathname.replace(/\/+$/, '');
  if (at < 0) return { url: `https://${parsed.host}${path}` };
  const user = authority.slice(0, at);
  const colon = user.indexOf(':');
  const username = decoded(colon < 0 ? user : user.slice(0, colon));
  return {
    url: `https://${parsed.host}${path}`,
    ...(username === '' ? {} : { username }),
    ...(colon < 0 || colon === user.length - 1 ? {} : { password: decoded(user.slice(colon + 1)) }),
  };
}

/** A `%` that encodes nothing stands for itself: passwords are rarely encoded by hand. */
function decoded(text: string): string {
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
