import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Namespace } from '@drydock/api';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type AuditedCall, auditTrail } from '@drydock/release/testing';
import { type RunningNeighbour, scratchFolder, startNeighbour, startSandbox } from '@drydock/sandbox';
import { eventually } from '../../sandbox/support/kube-kinds.ts';
import { accountNamespace } from '../../sandbox/support/rbac-manifests.ts';
import { userOf } from '../../sandbox/support/rbac-voyage.ts';
import { type ReleaseOperator, startReleaseRig } from '../../sandbox/support/release-rig.ts';
import type { ComparedRelease } from './compared-releases.ts';

/** A manager of ClusterVersion in a cluster of its own, with controllers that really roll out. */
export interface ComparedManager extends AsyncDisposable {
  /** As an administrator. */
  readonly client: KubeClient;
  /** The image of a release, by its version; the same for both managers. */
  readonly images: ReadonlyMap<string, string>;
  /** Has it run as it does once this release is wanted. */
  runs(version: string): Promise<void>;
  stop(): Promise<void>;
  /** Resolves when it has gone through everything once since it was started last. */
  lookedThrough(): Promise<void>;
  /** Writes that were taken so far, in its names. */
  writes(): readonly AuditedCall[];
}

const OPENSHIFT = ['openshift-cluster-version', 'openshift-config', 'openshift-config-managed'];
const CRDS = ['openshift-4.14', 'cluster-version-operator'];
const account = { namespace: accountNamespace, name: 'drydock-cluster-version' };

/** `drydock operator` as it is deployed for ClusterVersion. */
export async function startOurs(releases: readonly ComparedRelease[]): Promise<ComparedManager> {
  await using starting = new AsyncDisposableStack();
  const trail = auditTrail(starting.use(scratchFolder()).path);
  const rig = starting.use(
    await startReleaseRig({
      kustomizations: ['release', 'release/cluster-version'],
      namespaces: OPENSHIFT,
      crds: CRDS,
      ...{ workloads: process.env['NOWL'] === undefined, audit: trail },
    }),
  );
  await rig.client.raw({
    method: 'POST',
    path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    body: {
      metadata: { name: account.name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  });
  const images = new Map<string, string>();
  for (const { version, files } of releases)
    images.set(version, await rig.registry.release(version, files, rig.signer));
  const ring = join(rig.sandbox.directory, 'ours.asc');
  writeFileSync(ring, rig.signer.publicKey);
  const users = [userOf('drydock-release'), userOf(account.name)];
  let running: ReleaseOperator | undefined;
  const stop = async (): Promise<void> => {
    await running?.[Symbol.asyncDispose]();
    running = undefined;
  };
  starting.defer(stop);
  const resources = starting.move();
  return {
    ...{ client: rig.client, images, stop },
    // It goes from one release to the next without a restart.
    runs: async () => {
      const flags = ['--release-keyring', ring, '--release-store', rig.registry.store];
      running ??= await rig.operator('one', ['--release-account', `${account.namespace}/${account.name}`, ...flags]);
    },
    lookedThrough: () =>
      eventually('Drydock has looked through its release', async () => {
        return (await running?.passes('cluster-versions')) !== 0;
      }),
    writes: () => trail.calls().filter(taken(users)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** OpenShift's own: of each release another process, which has it as a folder, as its Deployment is replaced in an update. */
export async function startUpstream(
  releases: readonly ComparedRelease[],
  images: ReadonlyMap<string, string>,
): Promise<ComparedManager> {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(scratchFolder()).path;
  const trail = auditTrail(folder);
  const sandbox = starting.use(await startSandbox({ crds: CRDS, apiserverFlags: [...trail.flags], workloads: true }));
  const client = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  for (const name of OPENSHIFT) await client.create(Namespace, { metadata: { name } });
  const user = 'cluster-version-operator';
  const kubeconfig = sandbox.kubeconfigFor({ user, groups: ['system:masters'] });
  for (const { version, files } of releases)
    for (const [path, text] of Object.entries(files)) {
      const file = resolve(folder, version, path);
      mkdirSync(dirname(file), { recursive: true });
      mkdirSync(resolve(folder, version, 'manifests'), { recursive: true });
      writeFileSync(file, text);
    }
  let running: RunningNeighbour | undefined;
  const stop = async (): Promise<void> => {
    await running?.[Symbol.asyncDispose]();
    running = undefined;
  };
  starting.defer(stop);
  const resources = starting.move();
  return {
    ...{ client, images, stop },
    runs: async (version) => {
      await stop();
      running = await startNeighbour('cluster-version-operator', {
        kubeconfig,
        flags: [`--release-image=${images.get(version)}`],
        env: { PAYLOAD_OVERRIDE: join(folder, version) },
      });
    },
    lookedThrough: () =>
      eventually('cluster-version-operator has looked through its release', () =>
        (running?.log() ?? '').includes('Result of work: []'),
      ),
    writes: () => trail.calls().filter(taken([user])),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function taken(users: readonly string[]): (call: AuditedCall) => boolean {
  return ({ code, dryRun, user }) => users.includes(user) && !dryRun && code >= 200 && code < 300;
}
