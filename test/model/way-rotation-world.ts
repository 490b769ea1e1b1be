import { BootImage, BootImagePolicy } from '@drydock/api';
import { bootImageMetrics, type ClusterApiRole, clusterApiRole } from '@drydock/boot-images';
import {
  bootstrapRef,
  CAPI_KINDS,
  type CapiMachineActor,
  capiCluster,
  capiKind,
  capiMachineActor,
  capiObject,
  fakeStore,
  kubeadmTemplate,
  machineDeployment,
  type RotatedMachineFate,
  rolloutActor,
  templateRef,
} from '@drydock/boot-images/testing';
import { type Client, type KubeClient, type KubeObject, kubeMetrics, type Resource, systemClock } from '@drydock/kube';
import type { MemoryCluster, MemoryKubeClient } from '@drydock/kube/testing';
import { type RotationLedger, rotationLedger } from './way-rotation-ledger.ts';

/** A mistake that must be found: in what a process writes with, or in what it is made of. */
export interface RotationMistake {
  readonly client?: (client: Client) => Client;
  readonly retain?: number;
}

/** A cluster of Cluster API in memory, with whatever processes a model runs on it. */
export interface RotationWorld {
  readonly strategy: 'OnDelete' | 'RollingUpdate';
  readonly cluster: MemoryCluster;
  readonly actor: CapiMachineActor;
  readonly ledger: RotationLedger;
  /** What becomes of machines of an image, where they do not boot. */
  readonly fates: Map<string, RotatedMachineFate>;
  readonly done: Set<string>;
  /** The image that the policy asks for. */
  wanted: string;
  now: number;
}

/** A process with its watches. */
export interface RotationProcess extends AsyncDisposable {
  readonly client: MemoryKubeClient;
  readonly role: ClusterApiRole;
}

export const NAMES: readonly string[] = ['worker-a', 'worker-b'];
export const namespace = 'ns';
const BEGIN = Date.UTC(2026, 7, 2);
const GRACE_MS = 600_000;
/** What a person made besides, and may point a set at. */
export const BIGGER = 'bigger';
const noWord = (): void => undefined;
const silent = { debug: noWord, info: noWord, warn: noWord, error: noWord, child: () => silent } as never;
const KINDS: readonly Resource<KubeObject>[] = [...Object.values(CAPI_KINDS), BootImage, BootImagePolicy];

/** Two sets that start alike, of which the cluster has another image than the installer's by now, and is to have a third. */
export async function rotationWorld(strategy: RotationWorld['strategy']): Promise<RotationWorld> {
  const world = emptyWorld(strategy, BEGIN);
  const { cluster, ledger } = world;
  const put = (one: KubeObject): void =>
    cluster.put(capiKind(one.kind ?? ''), { namespace, name: one.metadata.name }, one);
  put(capiObject('Cluster', 'c1', {}));
  put(kubeadmTemplate('boot'));
  for (const name of [...NAMES, BIGGER])
    put(
      capiObject('AWSMachineTemplate', name, {
        template: { spec: { ami: { id: 'old' }, instanceType: name === BIGGER ? 'big' : 'small' } },
      }),
    );
  for (const name of NAMES)
    put(
      machineDeployment(name, name, {
        infrastructureRef: templateRef(name, 'AWSMachineTemplate'),
        ...{ bootstrap: bootstrapRef('boot'), failureDomain: 'fd', strategy: { type: strategy } },
      }),
    );
  rollOut(world);
  wantImage(world, 'r1', false);
  ledger.watch();
  await operate(world);
  wantImage(world, 'r2', true);
  return world;
}

/** A world that goes on by itself from where this one is. */
export function copyRotation(from: RotationWorld): RotationWorld {
  const world = emptyWorld(from.strategy, from.now);
  for (const [id, one] of Object.entries(from.cluster.snapshot())) {
    const resource = KINDS.find(({ plural, group }) => id.startsWith(`${plural}.${group} `));
    const { namespace: of, name } = one.metadata;
    if (resource !== undefined) world.cluster.put(resource, of === undefined ? { name } : { namespace: of, name }, one);
  }
  world.wanted = from.wanted;
  for (const [image, fate] of from.fates) world.fates.set(image, fate);
  for (const deed of from.done) world.done.add(deed);
  world.ledger.take(from.ledger);
  world.ledger.watch();
  return world;
}

/** Everything that a later process depends on, as text. */
export function stateOfRotation({ cluster, ledger, fates, done, wanted, now }: RotationWorld): string {
  const objects = Object.entries(cluster.snapshot()).filter(([id]) => !/^(?:events|namespaces)/.test(id));
  const said = [objects, [...fates], [...done].toSorted(), wanted, ledger.state(), now];
  const text = JSON.stringify(said, (key, value: unknown) => (key === 'resourceVersion' ? undefined : value));
  const identities = new Map<string, string>();
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (uuid) => {
    const known = identities.get(uuid) ?? `#${identities.size}`;
    identities.set(uuid, known);
    return known;
  });
}

/** Another process, once its watches know everything. */
export async function rotationProcess(world: RotationWorld, mistake: RotationMistake = {}): Promise<RotationProcess> {
  const own = world.cluster.client();
  const through = mistake.client?.(own) ?? own;
  const client: KubeClient = {
    ...own,
    ...through,
    raw: async (request, call) =>
      request.path.endsWith('/selfsubjectaccessreviews') ? { status: { allowed: true } } : own.raw(request, call),
  };
  const role = clusterApiRole({
    ...{ client, log: silent, owner: 'cluster-uid', store: fakeStore(), metrics: bootImageMetrics() },
    served: { of: (_, kind) => CAPI_KINDS[kind], openshift: false, fingerprint: '' },
    leader: { identity: 'us', holderIsLive: () => true, assertHeld: () => undefined },
    ...{ now: () => new Date(world.now), elapsed: () => world.now, retain: mistake.retain ?? 1, graceMs: GRACE_MS },
  });
  const caches = Object.values(role.caches);
  await Promise.all(caches.map(({ synced }) => synced));
  return {
    ...{ client: own, role },
    [Symbol.asyncDispose]: async () => {
      own.kill();
      for (const cache of caches) await cache[Symbol.asyncDispose]();
    },
  };
}

/** The operator, until it has nothing to do for a while: rotations, canaries that nobody waits for, pins and collections, as its controllers would have their turns. */
export async function operate(
  world: RotationWorld,
  process?: RotationProcess,
  mistake?: RotationMistake,
): Promise<void> {
  await using own = process === undefined ? await rotationProcess(world, mistake) : undefined;
  const { role, client } = process ?? (own as RotationProcess);
  world.ledger.operators.add(client);
  const ends = new AbortController();
  const beside = role.controllers.filter(({ name }) => /-(?:canaries|pins)$/.test(name));
  const running = beside.map((one) => one.run({ log: silent, metrics: kubeMetrics(), signal: ends.signal }));
  const { signal } = ends;
  const bounds = { mayPublish: noWord, mayTry: noWord, mayWrite: noWord, isOwn: () => false };
  try {
    for (let quiet = 0, rounds = 0; quiet < 2; rounds += 1) {
      if (rounds > 60) throw new Error('the operator does not come to an end');
      if (world.actor.adopted.length > 0) throw new Error('a set counts the machine of a canary');
      const before = world.cluster.version;
      await told(world);
      for (const name of NAMES) {
        await role.work(`${namespace}/capi-md/${name}`, { signal, bounds });
        await told(world);
      }
      await role.collections?.templates(namespace, { signal });
      for (let round = 0; round < 20 && (await world.actor.round()); round += 1);
      rollOut(world);
      await told(world);
      await world.ledger.look();
      // A canary has its time.
      quiet = world.cluster.version === before && !tries(world) ? quiet + 1 : 0;
      world.now += tries(world) ? 300_000 : GRACE_MS + 1_000;
    }
  } finally {
    ends.abort();
    await Promise.allSettled(running);
  }
}

/** Watches have told of everything that was written. */
async function told({ cluster }: RotationWorld): Promise<void> {
  for (let quiet = 0, version = cluster.version; quiet < 4; ) {
    await new Promise((resolve) => void setImmediate(resolve));
    quiet = cluster.version === version ? quiet + 1 : 0;
    version = cluster.version;
  }
}

function tries({ cluster }: RotationWorld): boolean {
  return Object.keys(cluster.snapshot()).some((id) => id.startsWith('machines.'));
}

/** Cluster API makes revisions and machines of what the sets name. */
function rollOut({ cluster, strategy, ledger }: RotationWorld): void {
  ledger.begin('person', new Map());
  rolloutActor(cluster, strategy === 'OnDelete' ? 1 : 0, 'AWS');
}

/** The policy asks for another image. */
export function wantImage(world: RotationWorld, image: string, canary = true): void {
  world.wanted = image;
  const spec = {
    ...(canary ? { canary: { mode: 'Machine' } } : {}),
    ...{ clusterAPI: { rollout: 'Allow' }, image: { catalogue: [{ version: 'v1.34.2', image }] } },
  };
  const metadata = { name: 'gold', uid: 'p', generation: Number(image.slice(1)) };
  world.cluster.put(BootImagePolicy, { name: 'gold' }, { metadata, spec } as never);
}

function emptyWorld(strategy: RotationWorld['strategy'], now: number): RotationWorld {
  let made: RotationWorld | undefined;
  const cluster = capiCluster({ clock: { ...systemClock, date: () => new Date(made?.now ?? now) } });
  const fates = new Map<string, RotatedMachineFate>();
  const ledger = rotationLedger(cluster, () => world);
  const actor = capiMachineActor({
    client: cluster.client(),
    templates: () => 1,
    fate: ({ metadata: { name } }) => fates.get(ledger.imageOfMachine(name) ?? '') ?? 'boots',
  });
  const world: RotationWorld = {
    ...{ strategy, cluster, actor, ledger, fates, done: new Set<string>(), wanted: 'r1', now },
  };
  made = world;
  return world;
}
