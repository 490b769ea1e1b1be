import { isIP } from 'node:net';
import type { Admit } from './server.ts';

/** Whether an address is of this machine alone. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1' || host === '[::1]') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/**
 * Admits whoever reaches a server that listens on this machine alone. A page of somebody else in the same browser must not be one of them: a name of its own that leads here (DNS rebinding) is refused, and so is what another site asks for.
 */
export const loopbackOnly: Admit = ({ headers }) => {
  const { host = '' } = headers;
  const name = host.replace(/:\d{1,5}$/, '');
  if (!isLoopback(name))
    return {
      kind: 'refused',
      code: 403,
      why: 'this server answers to localhost and 127.0.0.1 alone: open it by that name',
    };
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  // A link of another site may lead here; what it leads to cannot be read there, nor framed.
  if (mode === 'navigate') return { kind: 'admitted' };
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return { kind: 'refused', code: 403, why: 'this server answers to its own page alone' };
  return { kind: 'admitted' };
};
