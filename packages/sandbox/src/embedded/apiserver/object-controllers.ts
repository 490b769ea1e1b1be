import {
  inTime,
  type JsonObject,
  listOf,
  metadataOf,
  nameOf,
  objectOf,
  type ServedKind,
  type Server,
  type Steps,
  type Store,
  type StoredEvent,
  storeId,
} from '@drydock/kube/testing/api-server';
import type { UserInfo } from './contract.ts';

// What kube-controller-manager does for all objects, and no API server by itself: garbage collection by owner references, the end of namespaces, and what every
// namespace gets at its birth.

/** What the controllers need of their server. */
export interface ControllersHost {
  readonly store: Store;
  readonly kinds: readonly ServedKind[];
  readonly server: () => Server;
  /** PEM text that each namespace gets as ConfigMap `kube-root-ca.crt`. */
  readonly rootCa: string;
}

const GARBAGE_COLLECTOR: UserInfo = {
  username: 'system:serviceaccount:kube-system:generic-garbage-collector',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
};
const NAMESPACE_CONTROLLER: UserInfo = {
  ...GARBAGE_COLLECTOR,
  username: 'system:serviceaccount:kube-system:namespace-controller',
};

const FOREGROUND = 'foregroundDeletion';
const ORPHAN = 'orphan';

interface Place {
  readonly kind: ServedKind;
  readonly id: string;
}

interface Owner {
  readonly uid: string;
  readonly blocks: boolean;
}

function ownersOf(object: JsonObject | undefined): readonly Owner[] {
  return listOf(metadataOf(object ?? {})['ownerReferences'])
    .map(objectOf)
    .map(({ uid, blockOwnerDeletion }) => ({ uid: String(uid), blocks: blockOwnerDeletion === true }));
}

/** Starts the controllers; they act some time after each change. Disposing stops them. */
export function startObjectControllers({ store, kinds, server, rootCa }: ControllersHost): Disposable {
  /** By uid: who is there, and who names it as an owner. */
  const living = new Map<string, Place>();
  const dependents = new Map<string, Map<string, Place>>();
  const queue: Place[] = [];
  let working = false;
  let stopped = false;

  const keyOf = ({ kind, id }: Place): string => `${kind.group}/${kind.plural} ${id}`;
  const get = ({ kind, id }: Place): JsonObject | undefined => store.get(kind, id);
  const core = (plural: string): ServedKind | undefined =>
    kinds.find((one) => one.group === '' && one.plural === plural);

  function index({ kind, id, old, now }: Pick<StoredEvent, 'kind' | 'id' | 'old' | 'now'>): void {
    const place = { kind, id };
    const uid = String(metadataOf(now ?? old ?? {})['uid']);
    if (now === undefined) living.delete(uid);
    else living.set(uid, place);
    for (const owner of ownersOf(old)) dependents.get(owner.uid)?.delete(keyOf(place));
    for (const owner of ownersOf(now)) {
      const known = dependents.get(owner.uid) ?? new Map<string, Place>();
      known.set(keyOf(place), place);
      dependents.set(owner.uid, known);
    }
  }

  const dependentsOf = (object: JsonObject): readonly Place[] => [
    ...(dependents.get(String(metadataOf(object)['uid'])) ?? new Map<string, Place>()).values(),
  ];

  function changed(event: Pick<StoredEvent, 'kind' | 'id' | 'old' | 'now'>): void {
    index(event);
    const { kind, id, old, now } = event;
    queue.push({ kind, id });
    if (now === undefined && old !== undefined) {
      // Those who named it, and those it named: they may wait for it.
      queue.push(...dependentsOf(old));
      for (const { uid } of ownersOf(old)) {
        const owner = living.get(uid);
        if (owner !== undefined) queue.push(owner);
      }
    }
    const { namespace } = metadataOf(now ?? old ?? {});
    const spaces = core('namespaces');
    if (now === undefined && typeof namespace === 'string' && spaces !== undefined) {
      queue.push({ kind: spaces, id: storeId(undefined, namespace) });
    }
    if (!working) start();
  }

  function start(): void {
    working = true;
    setImmediate(() => {
      drain()
        .catch((error: unknown) => {
          // A bug of ours: it must be seen, and it must not end the process.
          process.emitWarning(error instanceof Error ? error : String(error));
        })
        .finally(() => {
          working = false;
          if (queue.length > 0 && !stopped) start();
        });
    });
  }

  async function drain(): Promise<void> {
    for (let place = queue.shift(); place !== undefined && !stopped; place = queue.shift()) await reconcile(place);
  }

  const run = <T>(steps: Steps<T>): Promise<T> => inTime(steps);

  function pathOf({ kind }: Place, object: JsonObject): string {
    const version = kind.versions[0] ?? '';
    const { namespace } = metadataOf(object);
    const root = kind.group === '' ? `/api/${version}` : `/apis/${kind.group}/${version}`;
    const space = kind.namespaced ? `/namespaces/${encodeURIComponent(String(namespace))}` : '';
    return `${root}${space}/${kind.plural}/${encodeURIComponent(nameOf(object))}`;
  }

  async function remove(place: Place, object: JsonObject, user: UserInfo, policy = 'Background'): Promise<void> {
    const { uid } = metadataOf(object);
    const body = { propagationPolicy: policy, preconditions: { uid } };
    await run(
      server().steps({ method: 'DELETE', path: pathOf(place, object), body, agent: 'kube-controller-manager', user }),
    );
  }

  async function patch(place: Place, object: JsonObject, metadata: JsonObject): Promise<void> {
    const { uid, resourceVersion } = metadataOf(object);
    const body = { metadata: { uid, resourceVersion, ...metadata } };
    const contentType = 'application/merge-patch+json';
    const user = GARBAGE_COLLECTOR;
    await run(
      server().steps({
        method: 'PATCH',
        path: pathOf(place, object),
        body,
        contentType,
        agent: 'kube-controller-manager',
        user,
      }),
    );
  }

  async function reconcile(place: Place): Promise<void> {
    const object = get(place);
    if (object === undefined) return;
    if (place.kind === core('namespaces')) await reconcileNamespace(place, object);
    const { deletionTimestamp, finalizers } = metadataOf(object);
    const held = listOf(finalizers);
    if (deletionTimestamp !== undefined && held.includes(ORPHAN)) {
      for (const one of dependentsOf(object)) await orphan(one, object);
      await patch(place, object, { finalizers: held.filter((name) => name !== ORPHAN) });
      return;
    }
    if (deletionTimestamp !== undefined && held.includes(FOREGROUND)) {
      await endForeground(place, object, held);
      return;
    }
    await collect(place, object);
  }

  async function orphan(place: Place, owner: JsonObject): Promise<void> {
    const object = get(place);
    if (object === undefined) return;
    const { uid } = metadataOf(owner);
    const left = listOf(metadataOf(object)['ownerReferences']).filter((one) => objectOf(one)['uid'] !== uid);
    await patch(place, object, { ownerReferences: left });
  }

  /** The dependents go first; then the owner, once none that blocks it is left. */
  async function endForeground(place: Place, object: JsonObject, held: readonly unknown[]): Promise<void> {
    const { uid } = metadataOf(object);
    let blocked = false;
    for (const one of dependentsOf(object)) {
      const dependent = get(one);
      if (dependent === undefined) continue;
      const owners = ownersOf(dependent);
      if (owners.some((owner) => owner.uid === uid && owner.blocks)) blocked = true;
      const others = owners.some((owner) => owner.uid !== uid && living.has(owner.uid));
      const marked = metadataOf(dependent)['deletionTimestamp'] !== undefined;
      if (!others && !marked) await remove(one, dependent, GARBAGE_COLLECTOR, 'Foreground');
    }
    const waits = blocked && dependentsOf(object).some((one) => get(one) !== undefined);
    const now = get(place);
    if (!waits && now !== undefined)
      await patch(place, now, { finalizers: held.filter((name) => name !== FOREGROUND) });
  }

  /** What has owners, and none of them is left, goes. */
  async function collect(place: Place, object: JsonObject): Promise<void> {
    const owners = ownersOf(object);
    const { deletionTimestamp } = metadataOf(object);
    if (owners.length === 0 || deletionTimestamp !== undefined) return;
    if (owners.some(({ uid }) => living.has(uid))) return;
    await remove(place, object, GARBAGE_COLLECTOR);
  }

  async function reconcileNamespace(place: Place, object: JsonObject): Promise<void> {
    const name = nameOf(object);
    const ending = metadataOf(object)['deletionTimestamp'] !== undefined;
    if (!ending) {
      await furnish(name);
      return;
    }
    let left = 0;
    for (const kind of kinds.filter((one) => one.namespaced)) {
      for (const [id, inside] of store.list(kind)) {
        if (metadataOf(inside)['namespace'] !== name) continue;
        if (metadataOf(inside)['deletionTimestamp'] === undefined)
          await remove({ kind, id }, inside, NAMESPACE_CONTROLLER);
        if (store.get(kind, id) !== undefined) left += 1;
      }
    }
    const now = get(place);
    if (left > 0 || now === undefined || listOf(metadataOf(now)['finalizers']).length > 0) return;
    store.remove(place.kind, place.id);
  }

  /** The default ServiceAccount, and the CA that pods trust. */
  async function furnish(namespace: string): Promise<void> {
    const objects = [
      { plural: 'serviceaccounts', name: 'default', body: {} },
      {
        plural: 'configmaps',
        name: 'kube-root-ca.crt',
        body: {
          metadata: {
            annotations: {
              'kubernetes.io/description':
                'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.',
            },
          },
          data: { 'ca.crt': rootCa },
        },
      },
    ];
    for (const { plural, name, body } of objects) {
      const kind = core(plural);
      if (kind === undefined || store.get(kind, storeId(namespace, name)) !== undefined) continue;
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${plural}`;
      const whole = { ...body, metadata: { ...objectOf((body as JsonObject)['metadata']), name } };
      await run(
        server().steps({
          method: 'POST',
          path,
          body: whole,
          agent: 'kube-controller-manager',
          user: NAMESPACE_CONTROLLER,
        }),
      );
    }
  }

  for (const [kind, id, now] of store.all()) index({ kind, id, now });
  for (const [kind, id] of store.all()) queue.push({ kind, id });
  if (queue.length > 0) start();
  const subscription = store.subscribe(changed);
  return {
    [Symbol.dispose]: () => {
      stopped = true;
      subscription[Symbol.dispose]();
    },
  };
}
