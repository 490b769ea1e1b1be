import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectSwitchboard, startSandbox, type VCenterEndpoint, type VCenterModel } from '@drydock/sandbox';
import type { Placement, TemplateWish } from '@drydock/templates';
import { connectVCenter, type VCenter } from '@drydock/vsphere';

/** A simulated vCenter of its own, and a temp directory; both go with it. */
export interface Rig extends AsyncDisposable {
  readonly endpoint: VCenterEndpoint;
  readonly switchboard: ReturnType<typeof connectSwitchboard>;
  readonly scratch: string;
}

/** Name of a tag that every rig has. */
export const TAG = 'bench';

/** Starts a rig. Only the vCenter runs: the API server would take its share of the machine. */
export async function startRig(model: VCenterModel, signal: AbortSignal): Promise<Rig> {
  await using stack = new AsyncDisposableStack();
  const scratch = await mkdtemp(join(tmpdir(), 'drydock-bench-'));
  stack.defer(() => rm(scratch, { recursive: true, force: true }));
  const sandbox = stack.use(await startSandbox({ vcenter: { model }, signal }));
  await Promise.all([sandbox.apiserver.kill(), sandbox.etcd.kill()]);
  const endpoint = sandbox.vcenter ?? never();
  const switchboard = connectSwitchboard(endpoint.switchboard);
  await switchboard.createTag({ category: TAG, name: TAG }, { signal });
  const owned = stack.move();
  return { endpoint, switchboard, scratch, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** A client of a simulated vCenter, with a session of its own. */
export function connect(endpoint: VCenterEndpoint): VCenter {
  return connectVCenter({
    url: endpoint.url,
    credentials: async () => ({ user: endpoint.user, password: endpoint.password }),
    tls: { ca: readFileSync(endpoint.ca, 'utf8') },
  });
}

/** A wish for a template in a folder and cluster of the simulator's first datacenter. */
export function wishFor(
  server: string,
  folder: string,
  image: TemplateWish['image'],
  change: Partial<TemplateWish> & { readonly domain?: number } = {},
): TemplateWish {
  const { domain = 0, ...rest } = change;
  const cluster = `/DC0/host/DC0_C${domain}`;
  const placement: Placement = {
    server,
    failureDomain: `domain-${domain}`,
    datacenter: '/DC0',
    folder,
    datastore: '/DC0/datastore/LocalDS_0',
    resourcePool: `${cluster}/Resources`,
    computeCluster: cluster,
    networks: ['/DC0/network/VM Network'],
  };
  return {
    cluster: 'bench',
    base: 'bench',
    image,
    placement,
    tagName: TAG,
    tagIds: [],
    holder: `bench-${process.pid}`,
    ...rest,
  };
}

function never(): never {
  throw new TypeError('the sandbox was started without a vCenter');
}
