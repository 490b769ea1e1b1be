import type { ClusterConfig, KubeClient } from '@drydock/kube';
import type { ServerSurvey } from '@drydock/release';
import { type ClusterFlags, configOf } from '../connect.ts';

/** What of a login is other where one API server is asked by itself: each has a certificate for this name, whatever its address. */
export function configAt(server: string): Pick<ClusterConfig, 'server' | 'tlsServerName'> {
  return { server, tlsServerName: 'kubernetes.default.svc' };
}

/** Asks each API server whether it can be asked by itself from here. Rejects with `ApiError`. */
export async function surveyFrom(
  flags: ClusterFlags,
  { client, signal }: { readonly client: KubeClient; readonly signal: AbortSignal },
): Promise<ServerSurvey> {
  const { createClient } = await import('@drydock/kube');
  const { surveyServers } = await import('@drydock/release');
  const config = await configOf(flags);
  await using clients = new AsyncDisposableStack();
  const at = (server: string): KubeClient => clients.use(createClient({ ...config, ...configAt(server) }));
  return await surveyServers({ client, at: config.insecureSkipTlsVerify === true ? undefined : at, signal });
}

/** What names of accepted findings begin with that are about servers: they are for this command alone, not for the Payload. */
const PREFIX = 'ApiServer/';

/** Whether what is accepted is about a server. */
export function isAboutServers(accepted: string): boolean {
  return accepted.startsWith(PREFIX);
}

/** Why nobody should go a way from here, in words with what to do; undefined where each server can be asked, or somebody accepted by name that one cannot. */
export function objectionOf(
  { servers, unheard, unknown }: ServerSurvey,
  accepted: readonly string[],
): string | undefined {
  const open = [
    ...(unknown === undefined
      ? []
      : [{ name: `${PREFIX}unknown`, why: `nobody may say who the API servers are: ${unknown}` }]),
    ...unheard.map(({ server, why }) => ({
      name: `${PREFIX}${server}`,
      why: `${server}, one of ${servers.length} API servers, cannot be asked by itself: ${why}`,
    })),
  ].filter(({ name }) => !accepted.includes(name) && !accepted.includes('*'));
  if (open.length === 0) return undefined;
  return [
    'A definition is narrow once every API server serves it, and not all can be asked from here.',
    ...open.map(({ why }) => `${why.replace(/\.$/, '')}.`),
    'Run this where all can be reached, let an operator do it (drydock operator --roles release), or accept that nobody looks:',
    open.map(({ name }) => `--accept ${name}`).join(' '),
  ].join(' ');
}
