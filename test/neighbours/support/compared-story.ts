import { ClusterVersion, ConfigMap, Deployment } from '@drydock/api';
import type { JsonObject } from '@drydock/crd';
import { ifFound, type KubeClient, type KubeObject, type Resource } from '@drydock/kube';
import { idText, loadPayload, type Manifest, type ObjectId } from '@drydock/release';
import { eventually } from '../../sandbox/support/kube-kinds.ts';
import { type Observed, pluralOf, type Stage } from './compared-facts.ts';
import type { ComparedManager } from './compared-managers.ts';
import { type ComparedRelease, SHOP, WANTED } from './compared-releases.ts';

const KEY = { name: 'version' };
const CLUSTER_OPERATOR: Resource<KubeObject> = {
  group: 'config.openshift.io',
  version: 'v1',
  kind: 'ClusterOperator',
  plural: 'clusteroperators',
  scope: 'Cluster',
};
/** What stands against another minor only for a while, as either calls it. */
const PASSING = [
  ...['UpgradeableAdminAckRequired', 'UpgradeableClusterVersionUpdating'],
  ...['UpgradeableDeletesInProgress', 'UpgradeableResourceDeletionInProgress'],
];
const named = (name: string) => ({ namespace: SHOP, name });

/** Everything that either release names, once each; of a file that both have as the newer one has it. */
export function manifestsIn(releases: readonly ComparedRelease[]): readonly Manifest[] {
  const manifests = releases.flatMap(
    ({ version, files }) => loadPayload({ name: version, files: new Map(Object.entries(files)) }).manifests,
  );
  return [...new Map(manifests.map((manifest) => [idText(manifest.id), manifest])).values()];
}

/** Has a manager install the older release, go to the newer one, and come back to what people did meanwhile; looks at what it made of each. */
export async function played(
  manager: ComparedManager,
  [older, newer]: readonly [ComparedRelease, ComparedRelease],
): Promise<ReadonlyMap<Stage, Observed>> {
  const { client, images } = manager;
  const manifests = manifestsIn([older, newer]);
  const stages = new Map<Stage, Omit<Observed, 'allWrites'>>();
  let told = 0;
  const look = async (stage: Stage): Promise<void> => {
    const writes = manager.writes();
    const objects = new Map<ObjectId, JsonObject | undefined>();
    for (const { id, version } of manifests) objects.set(id, await liveOf(client, id, version));
    const wish = (await client.get(ClusterVersion, KEY)) as unknown as JsonObject;
    stages.set(stage, { objects, wish, writes: writes.slice(told) });
    told = writes.length;
  };
  const desiredUpdate = ({ version }: ComparedRelease) => ({ version, image: images.get(version) ?? '' });
  await using _operator = operatorOf(client);
  // Else what nobody has asked yet counts as not acknowledged.
  await client.create(ConfigMap, { metadata: { namespace: 'openshift-config-managed', name: 'admin-gates' } });
  await client.create(ConfigMap, { metadata: { namespace: 'openshift-config', name: 'admin-acks' } });
  await client.create(ClusterVersion, {
    metadata: KEY,
    spec: { ...WANTED, desiredUpdate: desiredUpdate(older) },
  } as unknown as ClusterVersion);
  await manager.runs(older.version);
  await isThere(client, older.version, true);
  await look('install');

  await client.mergePatch(ClusterVersion, KEY, { spec: { desiredUpdate: desiredUpdate(newer) } } as object);
  await manager.runs(newer.version);
  await isThere(client, newer.version, false);
  await look('update');

  await manager.stop();
  told = manager.writes().length;
  await meddle(client);
  await manager.runs(newer.version);
  await manager.lookedThrough();
  await isThere(client, newer.version, false);
  await look('hold');
  const allWrites = manager.writes();
  return new Map([...stages].map(([stage, observed]) => [stage, { ...observed, allWrites }]));
}

async function liveOf(client: KubeClient, id: ObjectId, version: string): Promise<JsonObject | undefined> {
  const { group, kind, namespace, name } = id;
  const scope = namespace === '' ? 'Cluster' : 'Namespaced';
  const resource: Resource<KubeObject> = { group, version, kind, plural: pluralOf(kind), scope };
  const key = namespace === '' ? { name } : { namespace, name };
  return (await ifFound(client.get(resource, key))) as unknown as JsonObject | undefined;
}

/** Waits until a release is recorded as complete, with all that comes later. */
async function isThere(client: KubeClient, version: string, isFirst: boolean): Promise<void> {
  await eventually(
    `${version} is complete`,
    async () => {
      const { metadata, status } = await client.get(ClusterVersion, KEY);
      const conditions = status?.conditions ?? [];
      const is = (type: string): string | undefined => conditions.find((one) => one.type === type)?.status;
      const wayBack = conditions.find(({ type }) => type === 'Rollbackable');
      const [head] = status?.history ?? [];
      return (
        head?.version === version &&
        head.state === 'Completed' &&
        status?.observedGeneration === metadata.generation &&
        is('Progressing') === 'False' &&
        is('Failing') === 'False' &&
        // Overrides stand against it, and nothing else, which is found by a look of its own.
        is('Upgradeable') === 'False' &&
        PASSING.every((type) => is(type) === undefined) &&
        (wayBack === undefined
          ? is('RetrievedUpdates') !== undefined
          : (wayBack.reason === 'NoReleaseBefore') === isFirst)
      );
    },
    600,
  );
}

/** What people do while nobody looks. */
async function meddle(client: KubeClient): Promise<void> {
  const merge = (resource: Resource<KubeObject>, name: string, patch: object): Promise<unknown> =>
    client.mergePatch(resource, resource.scope === 'Cluster' ? { name } : named(name), patch);
  const of = (group: string, kind: string, scope: 'Cluster' | 'Namespaced' = 'Namespaced'): Resource<KubeObject> => ({
    ...{ group, kind, scope, version: 'v1' },
    plural: pluralOf(kind),
  });
  const mine = { labels: { mine: 'yes' }, annotations: { mine: 'yes' } };
  await merge(ConfigMap as never, 'settings', { metadata: mine, data: { mode: 'mine', more: 'mine' } });
  await merge(ConfigMap as never, 'once', { data: { version: 'mine' } });
  await client.delete(ConfigMap, named('last'));
  await client.create(ConfigMap, { metadata: named('retired'), data: { mine: 'yes' } });
  await merge(Deployment as never, 'operator', {
    spec: { replicas: 2, template: { metadata: { annotations: { mine: 'yes' } } } },
  });
  await client.raw({
    method: 'PATCH',
    path: `/apis/apps/v1/namespaces/${SHOP}/daemonsets/agent`,
    contentType: 'application/json-patch+json',
    body: [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'shop.example.com/agent:mine' }],
  });
  await merge(of('', 'Service'), 'operator', { spec: { selector: { app: 'mine' } } });
  await merge(of('rbac.authorization.k8s.io', 'Role'), 'operator', { rules: [] });
  await merge(of('machineconfiguration.openshift.io', 'MachineConfigPool', 'Cluster'), 'shop', {
    metadata: mine,
    spec: { paused: true },
  });
}

/** The operator that the release brings: it says of itself which release its Deployment runs, once that is rolled out. */
function operatorOf(client: KubeClient): AsyncDisposable {
  const stop = new AbortController();
  const say = async (): Promise<void> => {
    const deployment = await ifFound(client.get(Deployment, named('operator')));
    const operator = await ifFound(client.get(CLUSTER_OPERATOR, { name: 'shop' }));
    const { spec, status } = (deployment ?? {}) as unknown as {
      readonly spec?: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
      readonly status?: { readonly updatedReplicas?: number };
    };
    const version = spec?.template.spec.containers
      .flatMap(({ env = [] }) => env)
      .find(({ name }) => name === 'RELEASE_VERSION')?.value;
    const said = (operator as { readonly status?: { readonly versions?: readonly { readonly version: string }[] } })
      ?.status?.versions?.[0]?.version;
    if (operator === undefined || version === undefined || said === version || (status?.updatedReplicas ?? 0) < 1)
      return;
    const lastTransitionTime = new Date().toISOString();
    const conditions = Object.entries({ Available: 'True', Progressing: 'False', Degraded: 'False' }).map(
      ([type, is]) => ({ type, status: is, lastTransitionTime }),
    );
    await client.raw({
      method: 'PATCH',
      path: '/apis/config.openshift.io/v1/clusteroperators/shop/status',
      contentType: 'application/merge-patch+json',
      body: { status: { versions: [{ name: 'operator', version }], conditions } },
    });
  };
  const ended = (async () => {
    while (!stop.signal.aborted) {
      await say();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  // Whoever waits for it says what did not happen.
  ended.catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await ended;
    },
  };
}

interface Container {
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}
