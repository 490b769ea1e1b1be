import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  BootImage,
  BootImagePolicy,
  ClusterOperator,
  ClusterVersion,
  ConfigMap,
  ControlPlaneMachineSet,
  Deployment,
  FeatureGate,
  Infrastructure,
  Machine,
  MachineConfig,
  MachineConfigPool,
  MachineConfiguration,
  MachineSet,
  Provisioning,
  Secret,
} from '@drydock/api';
import {
  type Client,
  type Key,
  type KubeClient,
  type KubeObject,
  keyOf,
  keyText,
  type Resource,
  systemClock,
} from '@drydock/kube';
import { type ClusterCall, type MemoryCluster, memoryCluster } from '@drydock/kube/testing';
import { parse } from 'yaml';

/** Objects by `plural namespace/name`, live. */
export interface FakeObjects extends Iterable<readonly [id: string, object: KubeObject]> {
  delete(id: string): void;
}

/** A client of the in-memory cluster that keeps an account of its writes. */
export interface FakeClient extends Client, Pick<KubeClient, 'raw'> {
  readonly cluster: MemoryCluster;
  readonly objects: FakeObjects;
  /** Every write that was tried and not refused, `verb plural key`. */
  readonly writes: string[];
  /** Throws for a write, to play a server that refuses. */
  refuse: ((write: string) => Error | undefined) | undefined;
  /** Lays out an object past every rule. */
  readonly put: <T extends KubeObject>(resource: Resource<T>, object: T) => void;
  /** What `raw` answers. */
  answer: unknown;
  readonly peek: <T extends KubeObject>(resource: Resource<T>, key: Key) => T | undefined;
}

/** OpenShift's kinds; their schemas are not ours to repeat here, the sandbox has them. */
const OPEN: readonly Resource<KubeObject>[] = [
  ClusterOperator,
  ClusterVersion,
  ControlPlaneMachineSet,
  FeatureGate,
  Infrastructure,
  Machine,
  MachineConfig,
  MachineConfigPool,
  MachineConfiguration,
  MachineSet,
  Provisioning,
];
const KINDS: readonly Resource<KubeObject>[] = [...OPEN, BootImage, BootImagePolicy, ConfigMap, Deployment, Secret];
const NAMESPACES = ['openshift-machine-api', 'openshift-machine-config-operator', 'openshift-config-managed'];

/** Definitions of our own kinds. */
export const ourCrds: readonly unknown[] = ['bootimages', 'bootimagepolicies'].map((plural) =>
  parse(readFileSync(fileURLToPath(import.meta.resolve(`@drydock/api/crds/drydock.dev_${plural}.yaml`)), 'utf8')),
);

/** An empty server, by this clock, with boot images' kinds; our own by their CRDs. */
export function fakeClient(date: () => Date = () => new Date()): FakeClient {
  const cluster = memoryCluster({
    clock: { ...systemClock, date },
    crds: ourCrds,
    resources: OPEN,
    namespaces: NAMESPACES,
  });
  const writes: string[] = [];
  // Every question of a pass looks through them, and most come without a change in between.
  let known: { readonly version: number; readonly objects: readonly (readonly [id: string, object: KubeObject])[] } = {
    version: -1,
    objects: [],
  };
  const client: FakeClient = {
    ...cluster.client(),
    cluster,
    objects: {
      *[Symbol.iterator]() {
        if (known.version !== cluster.version) {
          const objects = Object.entries(cluster.snapshot());
          known = {
            version: cluster.version,
            objects: objects.map(([id, object]) => [id.replace(/\.\S*/, ''), object] as const),
          };
        }
        yield* known.objects;
      },
      delete: (id) => {
        const [plural, key = ''] = id.split(' ');
        const resource = KINDS.find((one) => one.plural === plural);
        if (resource === undefined) throw new TypeError(`the fake server does not serve ${plural}`);
        const slash = key.indexOf('/');
        const name = key.slice(slash + 1);
        cluster.put(resource, slash < 0 ? { name } : { namespace: key.slice(0, slash), name }, undefined);
      },
    },
    writes,
    refuse: undefined,
    answer: undefined,
    raw: async () => client.answer,
    put: (resource, object) => cluster.put(resource, keyOf(object), object),
    peek: (resource, key) => cluster.peek(resource, key),
  };
  cluster.onCall = (call, phase, { mutates }) => {
    if (!mutates || phase === 'after') return;
    const write = textOf(call);
    const refused = client.refuse?.(write);
    if (refused !== undefined) throw refused;
    writes.push(write);
  };
  return client;
}

const VERBS: Partial<Record<ClusterCall['verb'], string>> = { replaceStatus: 'status', mergePatch: 'merge' };

function textOf({ verb, resource, key }: ClusterCall): string {
  return `${VERBS[verb] ?? verb} ${resource.split('.')[0]} ${key === undefined ? '' : keyText(key)}`;
}
