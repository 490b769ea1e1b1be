import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  BootImage,
  type BootImageStatus,
  bootImageName,
  ConfigMap,
  MachineConfiguration,
  MachineSet,
  Namespace,
  Secret,
} from '@drydock/api';
import { degradedType, goldenName, goldenNamespace } from '@drydock/boot-images';
import type { CloudServer } from '@drydock/boot-images/testing';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type Sandbox, scratchFolder, startSandbox } from '@drydock/sandbox';
import { parseAllDocuments } from 'yaml';
import { type Process, startProcess } from './operator-process.ts';
import { accountNamespace, apply, type Manifest, manifestsOf } from './rbac-manifests.ts';
import { eventually } from './voyage.ts';
import { base64, type ClusterSpec, createPlatform, machineApi } from './voyage-cluster.ts';

/** What a voyage on a cloud is made of. */
export interface CloudVoyageSpec extends ClusterSpec {
  /** Its hosts are reached through its proxy. */
  readonly cloud: CloudServer;
  /** Data of the Secret that the cloud credential operator would make. */
  readonly credentials: Readonly<Record<string, string>>;
  /** What of `deploy/rbac` is installed besides the rights of boot images. */
  readonly rights?: readonly string[];
  /** Nobody trusts the cloud's authority but by what the cluster keeps of the cloud, which a test brings; else the environment does. */
  readonly distrusted?: boolean;
  /** What the operator is told besides. */
  readonly flags?: readonly string[];
}

/** A cluster on a real API server and a cloud, with `drydock operator` as a process that has the rights of `deploy` alone. */
export interface CloudVoyage extends AsyncDisposable {
  readonly client: KubeClient;
  /** File of a cluster administrator. */
  readonly kubeconfig: string;
  /** All that the operator has logged. */
  readonly log: () => string;
  readonly pid: number;
  /** Waits until a line of the log is so. */
  readonly logged: (line: RegExp) => Promise<void>;
  /** Does something as another program. */
  readonly as: <T>(userAgent: string, work: (client: KubeClient) => Promise<T>) => Promise<T>;
  readonly createSet: (set: MachineSet) => Promise<void>;
  /** `spec.template.spec.providerSpec.value`. */
  readonly spec: (set: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Another release. */
  readonly release: (golden: Readonly<Record<string, string>>) => Promise<void>;
  /** Waits until what the operator says of a set, or of `cpms/NAME`, is as wanted. */
  readonly status: (
    set: string,
    what: string,
    wanted: (status: BootImageStatus) => boolean,
  ) => Promise<BootImageStatus>;
  /** Waits until Degraded is so and its message contains the text. */
  readonly degraded: (status: 'True' | 'False', text?: string) => Promise<void>;
  /** `drydock …` of a person: exit code and output. */
  readonly drydock: (...args: readonly string[]) => Promise<{ readonly code: number; readonly out: string }>;
}

const root = resolve(import.meta.dirname, '../../..');
const drydock = join(root, 'apps/drydock/bin/drydock.js');
const account = 'drydock-boot-images';

/** `STATUS REASON: message` of the condition Verified. */
export function verifiedIn({ conditions = [] }: BootImageStatus): string {
  const { status, reason, message } = conditions.find(({ type }) => type === 'Verified') ?? {};
  return `${status} ${reason}: ${message}`;
}

/** Starts everything. */
export async function startCloudVoyage(spec: CloudVoyageSpec): Promise<CloudVoyage> {
  await using starting = new AsyncDisposableStack();
  const sandbox = starting.use(await startSandbox({ crds: ['openshift', join(root, 'api/crds')] }));
  const client = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const files = starting.use(scratchFolder()).path;
  await createPlatform(client, spec);
  const granted = [
    'credentials/secret.yaml',
    ...(spec.distrusted === true ? ['aws-authorities/cloud-config.yaml'] : []),
  ];
  if (spec.distrusted === true) await client.create(Namespace, { metadata: { name: 'openshift-config-managed' } });
  const rights = granted.flatMap((file) =>
    parseAllDocuments(readFileSync(join(root, 'deploy/clouds', file), 'utf8')).map(
      (document) => document.toJS() as Manifest,
    ),
  );
  await apply(client, [...['boot-images', ...(spec.rights ?? [])].flatMap(manifestsOf), ...rights]);
  const metadata = { namespace: accountNamespace, name: 'drydock-cloud-credentials' };
  const data = Object.fromEntries(Object.entries(spec.credentials).map(([key, value]) => [key, base64(value)]));
  await client.create(Secret, { metadata, data });

  const ca = join(files, 'ca.pem');
  writeFileSync(ca, spec.cloud.ca);
  const trusted = spec.distrusted === true ? {} : { NODE_EXTRA_CA_CERTS: ca };
  const env = { HTTPS_PROXY: spec.cloud.proxy, ...trusted };
  const operator = starting.use(await startOperator(sandbox, client, files, { ...env, ...containerEnv() }, spec.flags));
  const resources = starting.move();
  const log = (): string => readFileSync(join(files, 'log'), 'utf8');
  const key = (name: string) => ({ namespace: machineApi, name });
  return {
    client,
    kubeconfig: sandbox.kubeconfig,
    log,
    logged: async (line) => void (await eventually(String(line), async () => line.test(log()) || undefined)),
    as: async (userAgent, work) => {
      await using other = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }), { userAgent });
      return await work(other);
    },
    pid: operator.pid,
    createSet: async (set) => void (await client.create(MachineSet, set)),
    spec: async (set) => (await client.get(MachineSet, key(set))).spec?.template?.spec?.providerSpec?.value ?? {},
    release: async (golden) =>
      void (await client.mergePatch(ConfigMap, { namespace: goldenNamespace, name: goldenName }, { data: golden })),
    status: (set, what, wanted) => {
      let seen: BootImageStatus | undefined;
      const image = set.startsWith('cpms/') ? bootImageName('cpms', set.slice(5)) : bootImageName('ms', set);
      const look = async (): Promise<BootImageStatus | undefined> => {
        seen = (await client.get(BootImage, key(image)).catch(() => undefined))?.status;
        return seen !== undefined && wanted(seen) ? seen : undefined;
      };
      return eventually(`${set}: ${what}`, look, () => seen);
    },
    degraded: async (wanted, said = '') => {
      let seen: unknown;
      await eventually(
        `${degradedType} ${wanted} with "${said}"`,
        async () => {
          const { conditions } = (await client.get(MachineConfiguration, { name: 'cluster' })).status ?? {};
          const condition = conditions?.find(({ type }) => type === degradedType);
          seen = condition;
          return (condition?.status === wanted && condition.message?.includes(said) === true) || undefined;
        },
        () => seen,
      );
    },
    drydock: async (...args) => {
      const child = spawn(process.execPath, [drydock, ...args, '--kubeconfig', sandbox.kubeconfig], {
        env: { ...process.env, ...env, NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      return { code: code as number, out: `${out}${errors}` };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** What the container of `deploy` has in its environment, but for its own authorities. */
function containerEnv(): Readonly<Record<string, string>> {
  const { spec } = manifestsOf('../operator').find(({ kind }) => kind === 'Deployment') as unknown as {
    readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
  };
  const env = spec.template.spec.containers[0]?.env ?? [];
  return Object.fromEntries(
    env.filter(({ name }) => name !== 'NODE_EXTRA_CA_CERTS').map(({ name, value }) => [name, value]),
  );
}

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

async function startOperator(
  sandbox: Sandbox,
  client: KubeClient,
  files: string,
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<Process> {
  const path = `/api/v1/namespaces/${accountNamespace}/serviceaccounts/${account}/token`;
  const { status } = (await client.raw({ method: 'POST', path, body: { spec: { expirationSeconds: 3600 } } })) as {
    readonly status: { readonly token: string };
  };
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    contexts: [{ name: 'c', context: { cluster: 's', user: 'u' } }],
    clusters: [{ name: 's', cluster: { server: sandbox.server, 'certificate-authority': sandbox.ca } }],
    users: [{ name: 'u', user: { token: status.token } }],
  };
  const file = join(files, 'kubeconfig');
  writeFileSync(file, JSON.stringify(kubeconfig), { mode: 0o600 });
  return startProcess(
    drydock,
    [
      ...['operator', '--port', '0', '--kubeconfig', file, '--cache-dir', join(files, 'cache')],
      ...['--log-level', 'debug', ...flags],
    ],
    { sandbox: sandbox.directory, log: join(files, 'log'), env },
  );
}
