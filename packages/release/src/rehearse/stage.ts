import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CustomResourceDefinition, Namespace } from '@drydock/api';
import type { Era } from '@drydock/crd';
import {
  type Cache,
  createCache,
  createClient,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type Resource,
} from '@drydock/kube';
import { type AuditTrail, auditTrail } from './audit.ts';
import { type Guard, startGuard } from './guard.ts';
import { type Managers, managersOf } from './managers.ts';
import { type OperatorActor, operatorActor, operatorUser, type WriterKind } from './operator-actor.ts';
import type { Pace } from './pace.ts';
import { playedPods, type RollOuts, runningImages } from './played-pods.ts';
import type { RehearsalCluster, RehearsalPorts } from './ports.ts';
import { NAMESPACE, type RehearsedRelease, type ReleaseParts, rehearsedReleases } from './rehearsed-release.ts';
import { type ReleaseRegistry, startReleaseRegistry } from './release-registry.ts';
import { type RehearsedFace, type Subject, subjectOf } from './subject.ts';

/** Where the manager keeps what it knows. */
export const MANAGER_NAMESPACE = 'drydock';
/** In whose name a release is applied, as an API server knows it. */
export const ACCOUNT: { readonly namespace: string; readonly name: string } = {
  namespace: MANAGER_NAMESPACE,
  name: 'drydock-payloads',
};
/** See {@link ACCOUNT}. */
export const ACCOUNT_USER: string = `system:serviceaccount:${ACCOUNT.namespace}:${ACCOUNT.name}`;
/** ms that a real manager gives writers once their release is back. */
const WRITERS_MS = 30_000;
/** Some rounds of an operator, on a machine that others use, too. */
const LEAST_PATIENCE_S = 5;

/** What one cell of a rehearsal is played on. */
export interface Stage extends AsyncDisposable {
  readonly audit: AuditTrail;
  /** Name and version of the API server that it began with, such as `kube-apiserver v1.34.4`. */
  readonly server: string;
  /** Of an administrator. */
  readonly client: KubeClient;
  readonly definitions: Cache<CustomResourceDefinition>;
  readonly older: RehearsedRelease;
  readonly newer: RehearsedRelease;
  readonly components: readonly string[];
  /** References with digest. */
  readonly images: { readonly older: string; readonly newer: string };
  readonly rollOuts: RollOuts;
  /** A client in the name of a user. */
  clientOf(user: string): Promise<KubeClient>;
  /** Operators of all components, of this kind; those of before end. */
  act(writer: WriterKind): Promise<readonly OperatorActor[]>;
  readonly actors: readonly OperatorActor[];
  readonly managers: Managers;
  readonly subject: Subject;
  /** Of the API server as it is now. */
  readonly era: Era;
  /** Kills the API server and starts one of the next era; resolves to it. */
  switchServers(): Promise<Era>;
}

/** What a stage is set with. */
export interface StageWish {
  readonly era: Era;
  readonly workloads: boolean;
  readonly older: ReleaseParts;
  readonly newer: ReleaseParts;
  readonly face: RehearsedFace;
  /** How many managers run. */
  readonly managers: number;
}

/** Which servers come after which: a control plane goes back in the middle of a way back, or, from the oldest kind, forward. */
const NEXT: Readonly<Record<Era, Era>> = { E0: 'E2', E1: 'E0', E2: 'E1' };

/** Starts servers, the registry with both releases, and the manager; nothing is applied yet. */
export async function setStage(
  wish: StageWish,
  ports: RehearsalPorts,
  pace: Pace,
  signal: AbortSignal,
): Promise<Stage> {
  await using starting = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'drydock-rehearsal-'));
  starting.defer(() => rmSync(folder, { recursive: true, force: true }));
  const audit = auditTrail(folder);
  const { workloads } = wish;
  let { era } = wish;
  const cluster = starting.use(await ports.startCluster({ era, workloads, apiserverFlags: audit.flags, signal }));
  const clients = new Map<string, Promise<KubeClient>>();
  starting.defer(async () => {
    for (const one of clients.values()) await (await one)[Symbol.asyncDispose]();
  });
  const clientOf = (user: string): Promise<KubeClient> => {
    const known = clients.get(user);
    if (known !== undefined) return known;
    // Rights are not what a rehearsal is about.
    const kubeconfig = cluster.kubeconfigFor({ user, groups: ['system:masters'] });
    const made = loadKubeconfig({ kubeconfig }).then((config) => createClient(config));
    clients.set(user, made);
    return made;
  };
  const client = await clientOf('rehearsal');
  await bootstrap(client);
  const { gitVersion } = (await client.raw({ path: '/version' }, { signal })) as { readonly gitVersion: string };
  const definitions = starting.use(
    createCache({
      client,
      resource: CustomResourceDefinition as Resource<CustomResourceDefinition>,
      onError: () => undefined,
    }),
  );
  await definitions.synced;

  let images: ReadonlyMap<string, string> = new Map();
  const running = (): ReadonlyMap<string, string> => images;
  const guard: Guard = starting.use(await startGuard(ports.issueServer(), wish.newer.version, running));
  const { older, newer, components } = rehearsedReleases(wish.older, wish.newer, guard.address);
  const registry: ReleaseRegistry = starting.use(await startReleaseRegistry());
  const references = { older: await registry.put(older), newer: await registry.put(newer) };

  const looking = new AbortController();
  const look = pace.repeat(
    'looks at operators',
    async () => {
      images = await runningImages(client, NAMESPACE, looking.signal);
    },
    looking.signal,
  );
  starting.defer(async () => {
    looking.abort();
    await look;
  });
  const rollOuts = starting.use(podsOf(cluster, client, pace));

  let actors: readonly OperatorActor[] = [];
  const dismissActors = async (): Promise<void> => {
    await Promise.all(actors.map((one) => one[Symbol.asyncDispose]()));
    actors = [];
  };
  starting.defer(dismissActors);
  const operators = new Map<string, KubeClient>();
  for (const name of components)
    for (const { version } of [older, newer])
      operators.set(`${name} ${version}`, await clientOf(operatorUser(name, version)));
  const operatorClient = (component: string, version: string): KubeClient => {
    const found = operators.get(`${component} ${version}`);
    if (found === undefined) throw new TypeError(`no operator ${component} of ${version} was hired`);
    return found;
  };

  const subject = subjectOf(wish.face, { client, account: ACCOUNT, older, pace });
  const patience = Math.max(LEAST_PATIENCE_S, Math.round(pace.scaled(WRITERS_MS) / 1_000));
  const flags = ['--registry-plain', registry.host, '--writer-patience', `${patience}`, ...subject.flags];
  const managers = managersOf(wish.managers, { ports, cluster, client, namespace: MANAGER_NAMESPACE, flags });
  starting.use(managers);
  const resources = starting.move();
  return {
    ...{ audit, client, definitions, older, newer, components, images: references, rollOuts, clientOf },
    ...{ managers, subject, server: `kube-apiserver ${gitVersion}` },
    get actors() {
      return actors;
    },
    act: async (writer) => {
      await dismissActors();
      actors = components.map((component) =>
        operatorActor({
          ...{ component, writer, running, pace, releases: [older, newer], namespace: MANAGER_NAMESPACE },
          managed: subject.key,
          clientOf: operatorClient,
          definitions: definitions as Cache<KubeObject>,
        }),
      );
      return actors;
    },
    get era() {
      return era;
    },
    switchServers: async () => {
      era = NEXT[era];
      await cluster.switchEra(era);
      return era;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function podsOf(cluster: RehearsalCluster, client: KubeClient, pace: Pace): RollOuts {
  const { podRules } = cluster;
  if (podRules === undefined) return playedPods(client, pace);
  return {
    hold: (held) => podRules([...held].map((image) => ({ image, pod: 'never-ready' as const }))),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function bootstrap(client: KubeClient): Promise<void> {
  await client.create(Namespace, { metadata: { name: MANAGER_NAMESPACE } });
  const api = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  const body = {
    metadata: { name: 'rehearsal' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', ...ACCOUNT }],
  };
  await client.raw({ method: 'POST', path: api, body });
}
