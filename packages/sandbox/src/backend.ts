import { SandboxError } from './errors.ts';

/** Which servers a sandbox is made of: those in TypeScript that come with it, or the real ones, which are built with Go. */
export type Backend = 'embedded' | 'real';

/** The back end that the variable SERVERS names, `embedded` without one; the choice never depends on what happens to be built. */
export function backendOf(named: string | undefined = process.env['SERVERS']): Backend {
  if (named === undefined || named === '') return 'embedded';
  if (named === 'embedded' || named === 'real') return named;
  throw new SandboxError('BadInput', `SERVERS is ${named}: set it to embedded or real, or unset it.`);
}

/** How a back end is named in the first line of commands. */
export function backendLine(backend: Backend): string {
  const what =
    backend === 'real'
      ? 'kube-apiserver and etcd, built with Go'
      : 'in TypeScript; for the real ones, set SERVERS=real';
  return `sandbox: ${backend} servers (${what}), for tests and demos, not for production`;
}

/** How a test that was skipped for want of the real servers begins its reason. */
export const NEEDS_REAL = 'needs the real servers: ';

/** What `skip` of a test says whose subject only the real servers have: false where the test runs on them. */
export function withoutRealServers(why: string): string | false {
  return backendOf() === 'real' ? false : `${NEEDS_REAL}${why}`;
}

/** The refusal of what only the real servers can do. */
export function needsRealServers(what: string): SandboxError {
  return new SandboxError(
    'NeedsRealServers',
    `The embedded servers have no ${what}. Build the real ones once with "make servers", then run the command with SERVERS=real.`,
  );
}
