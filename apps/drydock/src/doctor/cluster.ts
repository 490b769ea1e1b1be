import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BootImage, BootImagePolicy, CustomResourceDefinition, Deployment } from '@drydock/api';
import { isServed, upstreamRefusal, type World } from '@drydock/boot-images';
import { diff, type Json, readCrd, readCrds } from '@drydock/crd';
import { type Client, isForbidden, type KubeClient } from '@drydock/kube';
import { leftShadows } from '@drydock/preflight';
import { missingKinds, vmOperator, vmOperatorRefusal } from '@drydock/vm-watch';
import type { Worlds } from '../cluster-api-part.ts';
import { shell } from '../template/next-command.ts';
import type { Line } from './finding.ts';

const OURS = join(import.meta.dirname, '../../../../api/crds');

/** Whether the API server answers, as what, and to whom. */
export async function serverLine(client: Pick<KubeClient, 'raw'>, signal: AbortSignal): Promise<Line> {
  const name = 'api server';
  const started = performance.now();
  try {
    const version = (await client.raw({ path: '/version' }, { signal })) as { readonly gitVersion?: unknown };
    const took = Math.round(performance.now() - started);
    return {
      name,
      state: 'ok',
      detail: `${String(version.gitVersion)} answered in ${took} ms${await asWhom(client, signal)}`,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { name, state: 'FAIL', detail: error instanceof Error ? error.message : String(error) };
  }
}

/** Servers before 1.28 do not tell. */
async function asWhom(client: Pick<KubeClient, 'raw'>, signal: AbortSignal): Promise<string> {
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    const { status } = (await client.raw({ method: 'POST', path, body }, { signal })) as {
      readonly status?: { readonly userInfo?: { readonly username?: string } };
    };
    return ` to ${status?.userInfo?.username ?? 'somebody'}`;
  } catch {
    signal.throwIfAborted();
    return '';
  }
}

/** Whether this is a cluster that boot images are managed in, and who manages them. */
export function openshiftLines(world: World, worlds: Pick<Worlds, 'clusterApi'>): readonly Line[] {
  const version = world.clusterVersion();
  const platform = world.infrastructure()?.status?.platformStatus?.type;
  if ((version === undefined || platform === undefined) && worlds.clusterApi !== undefined)
    return [
      {
        name: 'cluster api',
        state: 'ok',
        detail: 'this is no OpenShift cluster: sets of Cluster API are looked after',
      },
    ];
  if (version === undefined || platform === undefined) {
    const detail = 'this is no OpenShift cluster: the role boot-images has nothing to do here';
    return [{ name: 'openshift', state: 'warn', detail }];
  }
  const [newest] = version.status?.history ?? [];
  const moving = newest?.state === 'Completed' ? '' : ', an upgrade is under way: boot images wait for it';
  const served = isServed(world);
  const refusal = upstreamRefusal(world.upstream());
  return [
    {
      name: 'openshift',
      state: served ? 'ok' : 'warn',
      detail: `${newest?.version ?? 'no release'} on ${platform}${served ? moving : ', which is not served yet'}`,
    },
    refusal === undefined
      ? { name: 'boot images', state: 'ok', detail: 'no upstream controller manages them: Drydock acts' }
      : { name: 'boot images', state: 'ok', detail: `${refusal}: they are left to it, and Drydock reads and explains` },
  ];
}

/** Which folder of `deploy` fits this cluster: the other one stops half-way at namespaces that are not there. */
export function installationLine({ openshift, clusterApi }: Pick<Worlds, 'openshift' | 'clusterApi'>): Line {
  const name = 'installation';
  if (openshift && clusterApi !== undefined)
    return {
      name,
      state: 'ok',
      detail: 'deploy/operator fits this cluster, and deploy/rbac/cluster-api for Cluster API',
    };
  if (openshift) return { name, state: 'ok', detail: 'deploy/operator fits this cluster' };
  return { name, state: 'ok', detail: 'deploy/cluster-api fits this cluster (Helm: cluster: ClusterAPI)' };
}

/** Our kinds: there, served, and able to hold what this version writes. */
export async function definitionLines(client: Pick<Client, 'list'>, signal: AbortSignal): Promise<readonly Line[]> {
  return [await definitionLine(client, BootImage, signal), await definitionLine(client, BootImagePolicy, signal)];
}

async function definitionLine(
  client: Pick<Client, 'list'>,
  { plural, group }: Pick<typeof BootImage, 'plural' | 'group'>,
  signal: AbortSignal,
): Promise<Line> {
  const crdName = `${plural}.${group}`;
  const file = join(OURS, `${group}_${plural}.yaml`);
  const name = 'definition';
  const next = 'kubectl apply -f api/crds';
  const live = await definition(client, crdName, signal);
  if (live === undefined) {
    // Without it there are no policies, and everything is as it was before there were any.
    const state = plural === BootImage.plural ? 'FAIL' : 'warn';
    return { name, state, detail: `${crdName} is not installed`, next };
  }
  const established = live.status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True');
  if (established !== true)
    return { name, state: 'FAIL', detail: `${crdName} is not served`, next: shell`kubectl describe crd ${crdName}` };
  const [ours] = readCrds(readFileSync(file, 'utf8'), file);
  const { steps } = diff(ours, readCrd(live as unknown as Json, 'the cluster'));
  const less = steps.filter(({ effect }) => effect !== 'widens');
  const [first] = less;
  if (first === undefined) return { name, state: 'ok', detail: `${crdName} holds all that this version writes` };
  const detail = `${crdName} is another one than this version's in ${less.length} places, such as ${first.path || 'itself'}: ${first.what}`;
  return { name, state: 'warn', detail, next };
}

/** The kinds of the role watch, and who writes their status. */
export async function watchLine(
  client: Pick<Client, 'list'> & Pick<KubeClient, 'get'>,
  signal: AbortSignal,
): Promise<Line> {
  const name = 'watched kinds';
  const missing = await missingKinds(client, signal);
  if (missing.length > 0)
    return { name, state: 'skip', detail: `${missing.join(' and ')} are not served: the role watch waits for them` };
  const { namespace, name: deployment } = vmOperator;
  const [there] = await Array.fromAsync(
    client.list(Deployment, { namespace, fields: `metadata.name=${deployment}` }, { signal }),
  );
  const refusal = vmOperatorRefusal(there, await definition(client, 'virtualmachines.vmoperator.vmware.com', signal));
  if (refusal === undefined)
    return { name, state: 'ok', detail: 'Zones and VirtualMachines are served, and Drydock writes their status' };
  return { name, state: 'warn', detail: `${refusal}: Drydock does not` };
}

/** What a killed `crd preflight --server-probe` left behind, or a running one needs. */
export async function shadowLine(client: Pick<KubeClient, 'list'>, signal: AbortSignal): Promise<Line> {
  const name = 'probes';
  try {
    const left = await leftShadows(client, { signal });
    if (left.length === 0) return { name, state: 'ok', detail: 'no definition of a probe is left' };
    const detail = `definitions of probes are left, the oldest of ${left.map(({ created }) => created).sort()[0]}: ${left.length}`;
    return { name, state: 'warn', detail, next: 'drydock crd doctor' };
  } catch (error) {
    // Whoever may not list definitions cannot have left one.
    if (!isForbidden(error)) throw error;
    return { name, state: 'skip', detail: 'definitions may not be listed' };
  }
}

async function definition(
  client: Pick<Client, 'list'>,
  name: string,
  signal: AbortSignal,
): Promise<CustomResourceDefinition | undefined> {
  const [found] = await Array.fromAsync(
    client.list(CustomResourceDefinition, { fields: `metadata.name=${name}` }, { signal }),
  );
  return found;
}
