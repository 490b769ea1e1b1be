import {
  BootImage,
  bootImageName,
  ClusterVersion,
  ConfigMap,
  Event,
  Infrastructure,
  Lease,
  Machine,
  MachineConfiguration,
  MachineSet,
  Payload,
} from '@drydock/api';
import { infrastructure, machineSet, managed, newRelease, oldRelease, stream } from '@drydock/boot-images/testing';
import type { KubeObject, Resource } from '@drydock/kube';
import {
  httpAnswer,
  type MemoryCluster,
  memoryCluster,
  misbehavingServer,
  type SeenRequest,
  sendJson,
  sendStatus,
} from '@drydock/kube/testing';

const machines = 'openshift-machine-api';
const leases = 'openshift-machine-config-operator';

/** A cluster behind a real server, and the flag that leads to it. */
export interface ServedCluster extends AsyncDisposable {
  readonly cluster: MemoryCluster;
  readonly flags: readonly string[];
  /** What was asked so far. */
  readonly requests: readonly SeenRequest[];
}

const KINDS: readonly Resource<KubeObject>[] = [
  ...[BootImage, MachineSet, Machine, ClusterVersion, Infrastructure, MachineConfiguration, Payload],
];

/** A cluster with one set for each name: stuck, current and left alone by turns; with machines, a leader, a release, Events. What has a name or a text is as long as `names` are. */
export async function smallCluster(names: readonly string[]): Promise<ServedCluster> {
  const cluster = memoryCluster({ namespaces: [machines, leases, 'openshift-config-managed'], resources: KINDS });
  const now = Date.now();
  const ago = (minutes: number): string => `${new Date(now - minutes * 60_000).toISOString().slice(0, 19)}Z`;
  const micro = (minutes: number): string => ago(minutes).replace('Z', '.000000Z');
  const put = <T extends KubeObject>(resource: Resource<T>, object: T): void => {
    const { namespace, name } = object.metadata;
    cluster.put(resource, namespace === undefined ? { name } : { namespace, name }, object);
  };
  const [older, newer] = [oldRelease, newRelease];
  put(Infrastructure, infrastructure());
  put(MachineConfiguration, {
    metadata: { name: 'cluster', generation: 1 },
    status: { observedGeneration: 1, managedBootImagesStatus: { machineManagers: managed('All') } },
  });
  for (const [at, name] of names.entries()) {
    const image = `${name}-rhcos-fd1-${older}-0123abcd`;
    const annotations = { 'drydock.dev/boot-image': 'Disabled' };
    put(MachineSet, machineSet(name, { template: image }, at % 3 === 2 ? { annotations } : {}));
    const phase = (['Blocked', 'Current', 'Skipped'] as const)[at % 3] ?? 'Current';
    const stuck = {
      ...{ reason: 'NoSpace', progress: `blocked: datastore ${name}-datastore has no space` },
      message: `datastore ${name}-datastore has 1.0 GiB free, and the image of ${newer} needs 16 GiB, of which 4 GiB must stay free`,
      nextStep: `free space on ${name}-datastore, or name another one in the failure domain of ${name}`,
    };
    put(BootImage, {
      metadata: { name: bootImageName('ms', name), namespace: machines },
      spec: { machineSet: { apiGroup: 'machine.openshift.io', kind: 'MachineSet', name } },
      status: {
        ...{ set: `ms/${name}`, platform: 'vsphere', phase, current: older, target: newer, since: ago(30) },
        progress: '-',
        ...(phase === 'Blocked' ? stuck : {}),
        template: { server: `${name}.vcenter.example`, name: image, release: older },
        history: [
          { id: 'b', image, release: older, by: 'release', since: ago(60) },
          { id: 'a', image: `${name}-first`, by: 'found', since: ago(600), until: ago(60), revertable: true },
        ],
      },
    });
    put(Machine, {
      metadata: {
        ...{ name: `${name}-x7k2p`, namespace: machines },
        labels: { 'machine.openshift.io/cluster-api-machineset': name },
      },
      spec: { providerSpec: { value: { template: `${name}-first` } } },
      status: { phase: 'Running', nodeRef: { name: `${name}-x7k2p.node.example` } },
    } as Machine);
    put(Event, {
      metadata: { name: `${name}-1`, namespace: machines },
      ...{ eventTime: micro(5), reason: 'Blocked', type: 'Warning', note: `no space on ${name}-datastore` },
      ...{ reportingController: 'drydock.dev/boot-images', action: 'Reconcile' },
      regarding: { kind: 'MachineSet', name, namespace: machines },
    } as Event);
  }
  put(ClusterVersion, {
    metadata: { name: 'version' },
    spec: { clusterID: 'c1' },
    status: {
      desired: { version: '4.22.0', image: 'registry.example/release@sha256:0' },
      history: [{ state: 'Completed', version: '4.22.0', startedTime: ago(90), completionTime: ago(60) }],
      conditions: [{ type: 'Failing', status: 'False', lastTransitionTime: ago(60) }],
    },
  } as unknown as ClusterVersion);
  put(Payload, {
    metadata: { name: names[0] ?? 'tools' },
    spec: { version: '1.2.0', image: 'registry.example/tools:1.2.0' },
    status: { version: '1.2.0', history: [{ version: '1.2.0', state: 'Completed', startedTime: ago(20) }] },
  } as unknown as Payload);
  put(Lease, {
    metadata: { name: 'drydock-boot-images', namespace: leases },
    spec: {
      ...{ holderIdentity: `${names[0] ?? 'pod'}-0`, leaseDurationSeconds: 3_600 },
      ...{ acquireTime: micro(120), renewTime: micro(0) },
    },
  });
  put(ConfigMap, { metadata: { name: 'coreos-bootimages', namespace: leases }, data: { stream } });
  const served = httpAnswer(cluster.wire());
  const host = await misbehavingServer((request, response, ...rest) => {
    if (request.path === '/apis') return sendJson(response, { groups: [] });
    // Whoever asks may do all.
    if (request.path.endsWith('/selfsubjectaccessreviews')) return sendJson(response, { status: { allowed: true } });
    if (request.path.endsWith('/selfsubjectreviews'))
      return sendJson(response, { status: { userInfo: { username: userOf(request) } } });
    // Of the verbs nobody does this, and it is what a refusal looks like.
    if (userOf(request) === 'nobody' && request.method !== 'GET')
      return sendStatus(response, 403, {
        reason: 'Forbidden',
        message: `leases is forbidden: User "nobody" cannot patch`,
      });
    return served(request, response, ...rest);
  });
  return {
    cluster,
    flags: ['--server', host.config.server],
    requests: host.requests,
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** As whom a request acts: whom it names, whose token it bears, else alice. */
function userOf({ headers }: SeenRequest): string {
  const { 'impersonate-user': named, authorization } = headers;
  const [, bearer] = /^Bearer (.*)$/.exec(String(authorization)) ?? [];
  return typeof named === 'string' ? named : (bearer ?? 'alice');
}
