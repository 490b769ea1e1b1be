import { type Client, systemClock } from '@drydock/kube';
import { StaticPodError } from '../errors.ts';
import { patiently } from '../patience.ts';
import type { Environment } from '../revision/environment.ts';
import { Pod } from '../revision/pod.ts';

/** Whose installers to wait for. */
export interface InstallersSpec {
  readonly client: Client;
  readonly namespace: string;
  readonly nodeName: string;
  readonly revision: string;
  /** Time between two looks; default 10 s. */
  readonly pollMs?: number;
  /** How long others may take to end, and the server to answer; default 60 s. */
  readonly waitMs?: number;
  /** A pause after the others ended: a container may outlive its pod's deletion. Default 30 s. */
  readonly settleMs?: number;
}

/** What the installer pods of a node mean for one of them. */
export type Standing =
  | { readonly kind: 'clear' }
  | { readonly kind: 'waiting'; readonly pods: readonly string[] }
  | { readonly kind: 'superseded'; readonly by: number }
  | { readonly kind: 'not-listed' };

/** The revision in an installer pod's name: the second part of `installer-<revision>-…`. Throws where there is none. */
export function installerRevision(name: string): number {
  const part = name.split('-')[1] ?? '';
  const revision = /^\d{1,10}$/.test(part) ? Number(part) : Number.NaN;
  if (!(revision <= 2_147_483_647))
    throw new StaticPodError(
      'BAD_CONTENT',
      `Pod ${name}`,
      'its name has no revision, expected installer-<revision>-<node>',
    );
  return revision;
}

/** Installer pods by their revisions, oldest first. */
export function byRevision(pods: readonly Pod[]): readonly Pod[] {
  return pods.toSorted((a, b) => installerRevision(a.metadata.name) - installerRevision(b.metadata.name));
}

/** Judges the installer pods of a node. Pods of the own revision do not matter; others must have ended. */
export function standing(pods: readonly Pod[], revision: string): Standing {
  const own = Number(revision);
  const others: string[] = [];
  let newest = -1;
  for (const { metadata, status } of pods) {
    const of = revisionOr(metadata.name, -1);
    newest = Math.max(newest, of);
    const statuses = status?.containerStatuses ?? [];
    if (of !== own && (statuses.length === 0 || !statuses.every(({ state }) => state?.terminated !== undefined)))
      others.push(metadata.name);
  }
  if (pods.length === 0) return { kind: 'not-listed' };
  if (newest > own) return { kind: 'superseded', by: newest };
  return others.length === 0 ? { kind: 'clear' } : { kind: 'waiting', pods: others };
}

/** Waits until the installers of other revisions on this node have ended, and fails where a newer one is there. */
export async function waitForInstallers(spec: InstallersSpec, env: Environment): Promise<void> {
  const { clock = systemClock, log, signal } = env;
  const { pollMs = 10_000, waitMs = 60_000, settleMs = 30_000 } = spec;
  const options = signal === undefined ? {} : { signal };
  const end = clock.now() + waitMs;
  for (;;) {
    const found = standing(await installersOf(spec, env, end), spec.revision);
    if (found.kind === 'clear') break;
    if (found.kind !== 'waiting') throw failure(spec, found);
    if (clock.now() + pollMs > end)
      throw new StaticPodError(
        'OTHERS_RUNNING',
        `node ${spec.nodeName}`,
        `${found.pods.join(', ')} did not end within ${waitMs} ms`,
      );
    log?.(`waiting for ${found.pods.join(', ')} to end`);
    await clock.sleep(pollMs, options);
  }
  if (settleMs > 0) await clock.sleep(settleMs, options);
  await assertNotSuperseded(spec, env, clock.now() + waitMs);
}

/** Fails where an installer of a newer revision has appeared on this node, or where there is none at all. `until`: when a server that does not answer is given up. */
export async function assertNotSuperseded(
  spec: InstallersSpec,
  env: Environment,
  until: number = Infinity,
): Promise<void> {
  const found = standing(await installersOf(spec, env, until), spec.revision);
  if (found.kind === 'superseded' || found.kind === 'not-listed') throw failure(spec, found);
}

function failure(
  { revision, nodeName }: InstallersSpec,
  found: Extract<Standing, { kind: 'superseded' | 'not-listed' }>,
): StaticPodError {
  return found.kind === 'superseded'
    ? new StaticPodError('SUPERSEDED', `revision ${revision}`, `revision ${found.by} is being installed on ${nodeName}`)
    : new StaticPodError('NOT_LISTED', `node ${nodeName}`, 'no installer pod is on it');
}

/** `until`: how long a server that does not answer is asked again. */
function installersOf(
  { client, namespace, nodeName }: InstallersSpec,
  env: Environment,
  until: number,
): Promise<readonly Pod[]> {
  const retry = { until, ...(env.clock && { clock: env.clock }), ...(env.signal && { signal: env.signal }) };
  return patiently(async (signal) => {
    const where = { namespace, labels: 'app=installer' };
    const pods = await Array.fromAsync(client.list(Pod, where, signal === undefined ? {} : { signal }));
    return pods.filter(({ metadata, spec }) => metadata.name.startsWith('installer-') && spec?.nodeName === nodeName);
  }, retry);
}

function revisionOr(name: string, none: number): number {
  try {
    return installerRevision(name);
  } catch {
    return none;
  }
}
