import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { type Api, type Credentials, createApi, kubeconfigText } from './api.ts';
import type { Binaries } from './binaries.ts';
import { type Authority, newSigningKey, type Subject } from './certificate.ts';
import { type ApiServerEra, ERA_PROGRAMS } from './era.ts';
import { freePorts } from './port.ts';
import { defineServer, type OwnedServer } from './server-process.ts';
import type { WorkDirectory } from './workdir.ts';
import type { WorkloadsOptions } from './workloads.ts';

/** etcd and kube-apiserver, defined but not started. */
export interface ControlPlane {
  readonly etcd: OwnedServer;
  readonly apiserver: OwnedServer;
  /** Starts both. */
  start(options: { readonly signal?: AbortSignal }): Promise<void>;
  /** As cluster administrator (system:masters). */
  readonly admin: Credentials;
  readonly api: Api;
  /** File with the key of the tokens of ServiceAccounts. */
  readonly signingKey: string;
  /** Writes a kubeconfig for any user and returns its path. */
  kubeconfigFor(subject: Subject): string;
  /** Another API server of an era on the same etcd, at an address of this machine, not started. */
  replica(era: ApiServerEra, address: string): Promise<ApiServerReplica>;
}

/** One more API server of a control plane. */
export interface ApiServerReplica {
  readonly apiserver: OwnedServer;
  /** Of its address, where it listens. */
  readonly port: number;
  readonly api: Api;
}

/** What a control plane is made of. */
export interface ControlPlaneSpec {
  readonly directory: WorkDirectory;
  readonly authority: Authority;
  readonly binaries: Binaries;
  /** Of the next start of the API server. */
  readonly era: () => ApiServerEra;
  /** Where they are there, controllers make the ServiceAccounts that pods are admitted with. */
  readonly workloads: WorkloadsOptions | undefined;
  /** Put after our own kube-apiserver flags, so that they win. */
  readonly apiserverFlags: readonly string[];
}

function etcdFlags(directory: WorkDirectory, client: string, peer: string): readonly string[] {
  return [
    '--name=sandbox',
    `--data-dir=${join(directory.path, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=sandbox=${peer}`,
    // Throw-away data: a power cut of the machine is not what the sandbox is for.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

function apiserverFlags(
  spec: ControlPlaneSpec,
  {
    address,
    port,
    etcd,
    signingKey,
  }: { readonly address: string; readonly port: number; readonly etcd: string; readonly signingKey: string },
): readonly string[] {
  const { directory, authority } = spec;
  const serving = authority.issueServer(['localhost', address, 'kubernetes.default.svc']);
  return [
    `--etcd-servers=${etcd}`,
    `--bind-address=${address}`,
    `--secure-port=${port}`,
    // Without these two it dies on a machine that has only a loopback interface.
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--cert-dir=${directory.path}`,
    `--tls-cert-file=${directory.write(`apiserver-${port}.crt`, serving.certificate)}`,
    `--tls-private-key-file=${directory.write(`apiserver-${port}.key`, serving.privateKey)}`,
    `--client-ca-file=${join(directory.path, 'ca.crt')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${signingKey}`,
    `--service-account-signing-key-file=${signingKey}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    // Without controllers nobody makes the default service accounts that it waits for.
    ...(spec.workloads ? [] : ['--disable-admission-plugins=ServiceAccount']),
    // Else SIGTERM takes a minute while one watch is open.
    '--shutdown-watch-termination-grace-period=1s',
  ];
}

/** Chooses ports, writes keys and certificates, and defines both servers. `ca.crt` must already be in the folder. */
export async function defineControlPlane(spec: ControlPlaneSpec): Promise<ControlPlane> {
  const { directory, authority, binaries } = spec;
  const [clientPort = 0, peerPort = 0, apiPort = 0] = await freePorts(3);
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  const url = `https://127.0.0.1:${apiPort}`;
  const credentialsFor = (subject: Subject): Credentials => ({
    url,
    ca: authority.certificate,
    ...authority.issueClient(subject),
  });
  const admin = credentialsFor({ user: 'sandbox-admin', groups: ['system:masters'] });
  const api = createApi(admin);
  mkdirSync(join(directory.path, 'etcd'), { mode: 0o700 });
  let kubeconfigs = 0;
  const etcdArgs = etcdFlags(directory, etcdUrl, `http://127.0.0.1:${peerPort}`);
  const signingKey = directory.write('service-account.key', newSigningKey());
  const apiserverArgs = apiserverFlags(spec, { address: '127.0.0.1', port: apiPort, etcd: etcdUrl, signingKey });
  const apiserverOf = (name: string, era: () => ApiServerEra, args: readonly string[], asked: Api): OwnedServer =>
    defineServer({
      name,
      directory,
      command: () => {
        const { binary, prefix } = binaries.apiserver(era());
        return { binary, args: [...prefix, ...args, ...ERA_PROGRAMS[era()].flags, ...spec.apiserverFlags] };
      },
      ready: async (_line, signal) => (await asked.call('GET', '/readyz', { signal })).status === 200,
      timeoutMs: 120_000,
    });
  const etcd = defineServer({
    name: 'etcd',
    directory,
    command: () => ({ binary: binaries.etcd.binary, args: [...binaries.etcd.prefix, ...etcdArgs] }),
    ready: async (_line, signal) => {
      const answer = await request(`${etcdUrl}/health`, { signal, reset: true });
      await answer.body.dump();
      return answer.statusCode === 200;
    },
  });
  const apiserver = apiserverOf('kube-apiserver', spec.era, apiserverArgs, api);
  return {
    ...{ admin, api, signingKey, etcd, apiserver },
    start: async (options) => {
      await etcd.start(options);
      await apiserver.start(options);
    },
    kubeconfigFor: (subject) =>
      directory.write(`kubeconfig-${kubeconfigs++}.yaml`, kubeconfigText(credentialsFor(subject), subject.user)),
    replica: async (era, address) => {
      const [port = 0] = await freePorts(1);
      const own = createApi({ ...admin, url: `https://${address}:${port}` });
      const args = apiserverFlags(spec, { address, port, etcd: etcdUrl, signingKey });
      return { port, api: own, apiserver: apiserverOf(`kube-apiserver-${port}`, () => era, args, own) };
    },
  };
}
