import assert from 'node:assert/strict';
import { ConfigMap, Deployment, Secret } from '@drydock/api';
import { ApiError, isNotFound, type KubeClient, type KubeObject } from '@drydock/kube';
import { configMapInventory } from '../apply/inventory/config-maps.ts';
import { findOrphans, removeOrphan } from '../apply/orphans.ts';
import type { ApplyWish } from '../apply/wish.ts';
import {
  type ApplyCluster,
  applyOn,
  configMapOf,
  fresh,
  type Loose,
  manifestsOf,
  widgetDefinition,
  wishOf,
} from './apply-cluster.ts';

/** When the process ends, or a connection, in calls of its client. */
export interface Kill {
  /** Number of the call, from 0. */
  readonly at: number;
  /** Before the server acted, or after it did, its answer lost. */
  readonly phase: 'before' | 'after';
  /** Only the connection is cut, and the process goes on. */
  readonly lives?: true;
}

/** What happened on a voyage. */
export interface Voyage {
  /** Calls of the update; where it was killed, until then. */
  readonly calls: number;
}

class Killed extends Error {
  override readonly name = 'Killed';
}

/** A client whose process ends at a call: nothing it asks for after that reaches the server. */
function mortal(client: KubeClient, kill: Kill | undefined, count: { calls: number }): KubeClient {
  let dead = false;
  const guarded = async <R>(call: () => Promise<R>): Promise<R> => {
    if (dead) throw new Killed('the process is over');
    const number = count.calls;
    count.calls += 1;
    if (number !== kill?.at) return call();
    dead = kill.lives !== true;
    if (kill.phase === 'after') await call().catch(() => undefined);
    if (!dead) throw new ApiError({ code: 'Connection', action: 'ask the server', said: 'the connection was cut' });
    throw new Killed('the process ends here');
  };
  const methods = ['get', 'create', 'replace', 'replaceStatus', 'delete', 'raw'] as const;
  const wrapped = Object.fromEntries(
    methods.map((method) => [
      method,
      (...args: readonly unknown[]) =>
        guarded(() => (client[method] as (...of: readonly unknown[]) => Promise<unknown>)(...args)),
    ]),
  );
  return {
    ...client,
    ...wrapped,
    list: async function* list(...args: Parameters<KubeClient['list']>) {
      yield* await guarded(() => Array.fromAsync(client.list(...args)));
    },
  } as KubeClient;
}

/**
 * From one release to the next, killed on the way, and then on or back; the administrator has been at work before. At the end nothing of any release is wanted any more, and what is left must be exactly what the administrator
 * did: so nothing that the applier wrote was unknown to it, and nothing that others wrote was claimed.
 */
export async function applyVoyage(
  cluster: ApplyCluster,
  { kill, back }: { readonly kill?: Kill; readonly back: boolean },
): Promise<Voyage> {
  const { namespace } = cluster;
  const names = { mine: fresh(), adopted: fresh(), secret: fresh(), work: fresh(), going: fresh() };
  const { crd, kind } = widgetDefinition(`${fresh()}.example.com`);
  const releases = releasesOf(namespace, names, crd, kind.group);
  const owner = `Payload ${fresh()}`;
  const wish = (version: '1.0.0' | '2.0.0' | '3.0.0'): ApplyWish =>
    wishOf(manifestsOf(...releases[version]), { owner, version });
  await using admin = cluster.client('administrator');

  await admin.create(ConfigMap, configMapOf(namespace, names.adopted, { same: '1', theirs: 'x' }) as never);
  await finish(cluster, wish('1.0.0'));
  await admin.mergePatch(ConfigMap, { namespace, name: names.mine }, { data: { theirs: 'x' } });
  await admin.mergePatch(Secret, { namespace, name: names.secret }, { data: { token: 'dGhlaXJz' } });

  const count = { calls: 0 };
  {
    await using client = cluster.client('manager');
    const process = mortal(client, kill, count);
    const ports = { client: process, inventory: configMapInventory({ client: process, namespace }) };
    await applyOn(cluster, wish('2.0.0'), ports).catch((error: unknown) => {
      // An attempt that cannot read its inventory applies nothing.
      if (!(error instanceof Killed) && !(error instanceof ApiError)) throw error;
    });
  }
  const target = back ? '1.0.0' : '2.0.0';
  await finish(cluster, wish(target));
  const { metadata, data } = await admin.get(ConfigMap, { namespace, name: names.mine });
  const expected = back
    ? { data: { both: '1', old: '1', theirs: 'x' }, labels: { both: '1' } }
    : { data: { both: '2', fresh: '1', theirs: 'x' }, labels: { both: '1', fresh: '1' } };
  assert.deepEqual({ data, labels: metadata.labels }, expected);
  const secret = await admin.get(Secret, { namespace, name: names.secret });
  assert.equal(secret.data?.['token'], 'dGhlaXJz', 'what is only created stays as it was edited');
  if (!back) assert.equal(await there(admin, { namespace, name: names.going }), false);

  await finish(cluster, wish('3.0.0'));
  assert.deepEqual((await admin.get(ConfigMap, { namespace, name: names.mine })).data, { theirs: 'x' });
  await removeAll(cluster, wish('3.0.0'));
  const { data: left } = await admin.get(ConfigMap, { namespace, name: names.adopted });
  assert.deepEqual(left, { same: '1', theirs: 'x' }, 'what was there before is as it was');
  for (const name of [names.secret, names.going]) assert.equal(await there(admin, { namespace, name }), false, name);
  await assert.rejects(admin.get(Deployment, { namespace, name: names.work }), isNotFound);
  await removeAll(cluster, { ...wish('3.0.0'), manifests: [] });
  assert.equal(await there(admin, { namespace, name: names.mine }), false);
  return count;
}

type Names = Readonly<Record<'mine' | 'adopted' | 'secret' | 'work' | 'going', string>>;

function releasesOf(namespace: string, names: Names, crd: Loose, group: string) {
  const going = (annotations: Loose) => configMapOf(namespace, names.going, { a: '1' }, { annotations });
  const work = (image: string, spec: Loose): Loose => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: names.work, namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'a' } },
      template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image }], ...spec } },
    },
  });
  const secret: Loose = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: names.secret, namespace, annotations: { 'release.openshift.io/create-only': 'true' } },
    data: { token: 'b3Vycw==' },
  };
  const widget: Loose = {
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    metadata: { name: 'w', namespace },
    spec: { color: 'red' },
  };
  return {
    '1.0.0': [
      configMapOf(namespace, names.mine, { both: '1', old: '1' }, { labels: { both: '1' } }),
      configMapOf(namespace, names.adopted, { same: '1' }),
      secret,
      work('image:1', {}),
      going({}),
    ],
    '2.0.0': [
      configMapOf(namespace, names.mine, { both: '2', fresh: '1' }, { labels: { both: '1', fresh: '1' } }),
      configMapOf(namespace, names.adopted, { same: '1', ours: '1' }, { labels: { ours: '1' } }),
      secret,
      crd,
      widget,
      work('image:2', { nodeSelector: { fresh: '1' }, hostPID: true }),
      going({ 'release.openshift.io/delete': 'true' }),
    ],
    '3.0.0': [configMapOf(namespace, names.mine, {})],
  } as const;
}

async function finish(cluster: ApplyCluster, wish: ApplyWish): Promise<void> {
  const outcome = await applyOn(cluster, wish);
  assert.deepEqual([outcome.errors.map(({ message }) => message), outcome.complete], [[], true]);
}

async function removeAll(cluster: ApplyCluster, { manifests, owner }: ApplyWish): Promise<void> {
  await using client = cluster.client('manager');
  const { signal } = new AbortController();
  for (let left = 1; left > 0; ) {
    const inventory = await configMapInventory({ client, namespace: cluster.namespace }).open(owner, signal);
    const ports = { client, inventory, owner, signal };
    const orphans = await findOrphans(manifests, ports);
    left = 0;
    for (const orphan of orphans) if (!(await removeOrphan(orphan, ports))) left += 1;
    await inventory.flush();
  }
}

async function there(client: KubeClient, key: { readonly namespace: string; readonly name: string }): Promise<boolean> {
  for (const kind of [ConfigMap, Secret]) {
    const found: KubeObject | undefined = await client.get(kind as typeof ConfigMap, key).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (found !== undefined) return true;
  }
  return false;
}
