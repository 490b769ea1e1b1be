import { ClusterVersion, Namespace, Payload } from '@drydock/api';
import { type CallOptions, isForbidden, isNotFound, type KubeClient, systemClock } from '@drydock/kube';
import type { ApplyPlan, ApplyWish, Manifest } from '@drydock/release';
import { shell } from '../template/next-command.ts';
import { type AudienceFlags, readPayload, type SeenPayload } from './payload-source.ts';

/** A payload that is read, what is wished of it, and what would be done now. */
export interface Planned {
  readonly seen: SeenPayload;
  readonly wish: ApplyWish;
  readonly plan: ApplyPlan;
  /** Digest of the manifests that are for the cluster. */
  readonly manifests: string;
  /** Uid of the Namespace kube-system; '' where it may not be read. */
  readonly cluster: string;
}

/** What is wished of a payload, wherever it is. */
export interface PlanWish {
  readonly payload: string;
  readonly mode: ApplyWish['mode'];
  readonly owner: string;
  readonly leaseNamespace: string;
}

/** Reads a payload and says what applying it would do. It only reads. Rejects with `ReleaseError`, `UsageError` and `ApiError`. */
export async function plannedNow(
  { payload: name, mode, owner, leaseNamespace }: PlanWish,
  client: KubeClient,
  flags: AudienceFlags,
  signal: AbortSignal,
): Promise<Planned> {
  const { configMapInventory, manifestsDigest, planPayload, versionHash } = await import('@drydock/release');
  const seen = await readPayload(name, flags, signal);
  const { payload, included, digest } = seen;
  const wish: ApplyWish = {
    payload: { version: payload.metadata.version, image: digest ?? name, hash: versionHash(included) },
    ...{ manifests: included, mode, attempt: 0 },
    owner: { name: owner, waitsForRollouts: owner.startsWith('Payload ') },
  };
  const inventory = configMapInventory({ client, namespace: leaseNamespace });
  const plan = await planPayload(wish, { client, inventory, signal });
  const manifests: readonly Manifest[] = included;
  return { seen, wish, plan, manifests: manifestsDigest(manifests), cluster: await clusterOf(client, { signal }) };
}

async function clusterOf(client: KubeClient, call: CallOptions): Promise<string> {
  try {
    return (await client.get(Namespace, { name: 'kube-system' }, call)).metadata.uid ?? '';
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return '';
    throw error;
  }
}

/** Who undoes what is applied for an owner, as a sentence: whoever manages ClusterVersion, or the object itself that wants another release. Rejects with `ApiError`. */
export async function standsAgainst(
  { owner, version }: ApplyPlan,
  { image }: { readonly image: string | undefined },
  client: KubeClient,
  call: CallOptions,
): Promise<{ readonly why: string; readonly next: string } | undefined> {
  const [, kind, name] = /^(Payload|ClusterVersion) (\S+)$/.exec(owner) ?? [];
  if (kind === undefined || name === undefined) return undefined;
  if (kind === 'ClusterVersion') {
    const { upstreamManager } = await import('@drydock/release');
    const other = await upstreamManager(client, systemClock)(call);
    if (other !== undefined)
      return { why: `${owner} has a manager: ${other}`, next: shell`oc adm upgrade --to ${version}` };
  }
  const wanted = await wantedBy(kind, name, client, call);
  if (wanted === undefined) return undefined;
  const same = wanted.image === undefined ? wanted.version === version : digestIn(wanted.image) === image;
  if (same) return undefined;
  const what = wanted.image ?? wanted.version ?? 'another release';
  return {
    why: `${owner} wants ${what}, which whoever leads releases would bring again`,
    next:
      kind === 'Payload'
        ? shell`kubectl edit payloads.drydock.dev ${name}`
        : shell`kubectl edit clusterversions.config.openshift.io ${name}`,
  };
}

interface Wanted {
  readonly image?: string | undefined;
  readonly version?: string | undefined;
}

/** The release that an object wants; undefined where there is no such object, or it wants none. */
async function wantedBy(
  kind: string,
  name: string,
  client: KubeClient,
  call: CallOptions,
): Promise<Wanted | undefined> {
  try {
    const wanted: Wanted | undefined =
      kind === 'Payload'
        ? (await client.get(Payload, { name }, call)).spec
        : (await client.get(ClusterVersion, { name }, call)).spec?.desiredUpdate;
    return wanted?.image === undefined && wanted?.version === undefined ? undefined : wanted;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function digestIn(image: string): string | undefined {
  return /@(sha256:[0-9a-f]{64})$/.exec(image)?.[1];
}
