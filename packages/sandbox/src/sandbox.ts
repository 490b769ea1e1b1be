import type { Credentials } from './api.ts';
import { type Backend, backendOf, needsRealServers } from './backend.ts';
import { noteBackend } from './backend-log.ts';
import { findBinaries } from './binaries.ts';
import { build, type GoServer } from './build.ts';
import { createAuthority, type Subject } from './certificate.ts';
import { type ControlPlane, defineControlPlane } from './control-plane.ts';
import { crdSetName, installCrds, type ServedKind, warm } from './crd-install.ts';
import { defineEmbeddedPlane } from './embedded/embedded-plane.ts';
import { defineEmbeddedWorkloads } from './embedded/embedded-workloads.ts';
import { defineEmbeddedVCenter } from './embedded/vcenter/embedded-vcenter.ts';
import type { ApiServerEra } from './era.ts';
import { SandboxError } from './errors.ts';
import { guardExit } from './exit-guard.ts';
import type { OwnedServer, Server } from './server-process.ts';
import { defineVCenter, type VCenterEndpoint, type VCenterOptions } from './vcenter.ts';
import { createWorkDirectory, killRecorded, sweep } from './workdir.ts';
import { defineWorkloads, type Workloads, type WorkloadsOptions } from './workloads.ts';

/** What `startSandbox` starts. */
export interface SandboxOptions {
  /**
   * `embedded`: servers in TypeScript that start in a fraction of a second; `real`: kube-apiserver, etcd and govmomi's simulator, which
   * are built with Go the first time. Where this is left out, the variable SERVERS decides; without it, `embedded`.
   */
  readonly backend?: Backend;
  /** A simulated vCenter beside the API server; none by default. */
  readonly vcenter?: boolean | VCenterOptions;
  /** False: the vCenter alone is started, in a fraction of the time; nothing answers at `server`. Default true. */
  readonly kubernetes?: boolean;
  /**
   * Controllers, a scheduler and nodes whose pods do nothing, so that Deployments roll out; none by default. With the real back end, they
   * are built the first time they are asked for (minutes), and are those of 1.34 in every era; the embedded one simulates them.
   */
  readonly workloads?: boolean | WorkloadsOptions;
  /** CRDs to install: `openshift` (the newest set), a set such as `openshift-4.17`, files or folders. */
  readonly crds?: readonly string[];
  /** How the API server treats what was illegal before; `E2`, the current one, by default. */
  readonly era?: ApiServerEra;
  /** Further kube-apiserver flags; they win over the sandbox's own. */
  readonly apiserverFlags?: readonly string[];
  /** Receives the steps of a first build; stderr by default. */
  readonly log?: (line: string) => void;
  /** Ends the start, not the running sandbox. */
  readonly signal?: AbortSignal;
}

/** A running sandbox. Disposing it ends all servers and removes all files. */
export interface Sandbox extends AsyncDisposable {
  /** Kubeconfig of a cluster administrator, with everything embedded. */
  readonly kubeconfig: string;
  /** `https://127.0.0.1:<port>`. */
  readonly server: string;
  /** A cluster administrator's credentials as PEM texts, for clients that read no kubeconfig. */
  readonly admin: Credentials;
  /** PEM file of the one CA behind all servers. */
  readonly ca: string;
  /** The temp folder with the servers' logs (`<name>.log`); it goes with the sandbox. */
  readonly directory: string;
  readonly backend: Backend;
  /** The embedded back end has none: its methods reject. */
  readonly etcd: Server;
  /** Its `start` also warms each installed kind, so that no test meets the first 429. */
  readonly apiserver: Server;
  /** Of the API server as it runs, or as it will start. */
  readonly era: ApiServerEra;
  readonly vcenter?: VCenterEndpoint;
  readonly workloads?: Workloads;
  /** Kubeconfig for another user (CN) with groups (O); RBAC decides what it may. */
  kubeconfigFor(subject: Subject): string;
  /**
   * Kills the API server and starts that of another era on the same etcd, as an update or rollback of the control plane does. Where its
   * binary is not there yet, it is built first, while the old one still serves.
   */
  switchEra(era: ApiServerEra, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Starts one more API server, of any era, on the same etcd, with the same users, at an address of this machine (`127.0.0.1` by default, which no EndpointSlice can name). It ends with the sandbox, or
   * when it is killed.
   */
  startReplica(
    era: ApiServerEra,
    options?: { readonly address?: string; readonly signal?: AbortSignal },
  ): Promise<{ readonly apiserver: Server; readonly port: number }>;
  /** Installs more CRDs, or replaces installed ones. A set that is not there yet is copied from its module first. */
  installCrds(sources: readonly string[], options?: { readonly signal?: AbortSignal }): Promise<void>;
}

/** A sandbox whose Deployments roll out. */
export interface WorkloadsSandbox extends Sandbox {
  readonly workloads: Workloads;
}

/** A sandbox that has a vCenter. */
export interface VCenterSandbox extends Sandbox {
  readonly vcenter: VCenterEndpoint;
}

const optional = (signal: AbortSignal | undefined): { readonly signal?: AbortSignal } =>
  signal === undefined ? {} : { signal };

/** The sets among CRD sources, which are copied from their modules where they are not there yet. */
function setsOf(sources: readonly string[]): readonly string[] {
  return sources.map(crdSetName).filter((name) => name !== undefined);
}

function prepare(options: SandboxOptions, backend: Backend, vcenter: boolean): Promise<void> {
  const servers: GoServer[] = [
    ...(options.kubernetes === false || backend === 'embedded' ? [] : findBinaries().needed(options.era ?? 'E2')),
    ...(vcenter && backend === 'real' ? (['drydock-vcenter'] as const) : []),
    ...(options.workloads && backend === 'real' ? (['drydock-workloads'] as const) : []),
  ];
  const crds = setsOf(options.crds ?? []);
  const log = options.log === undefined ? {} : { log: options.log };
  return build({ servers, crds, ...log, ...optional(options.signal) });
}

function withWarmStart(plane: ControlPlane, kinds: () => readonly ServedKind[]): Server {
  const { apiserver, api } = plane;
  const start: Server['start'] = async (options = {}) => {
    await apiserver.start(options);
    await warm(api, kinds(), options.signal ?? new AbortController().signal);
  };
  return {
    name: apiserver.name,
    get pid() {
      return apiserver.pid;
    },
    kill: (signal) => apiserver.kill(signal),
    start,
    restart: async (options = {}) => {
      await apiserver.kill(options.with);
      await start(options);
    },
  };
}

/**
 * Starts an API server and, if wanted, a simulated vCenter on free loopback ports with a fresh CA, and waits until each answers. With
 * the real back end, the first call on a machine builds the servers (minutes; it says so); later ones take seconds.
 *
 * Files and processes end with the sandbox, with this process, and on SIGINT, SIGTERM and SIGHUP. What a SIGKILL
 * leaves in the temp folder the next start sweeps.
 */
export function startSandbox(
  options: SandboxOptions & { readonly vcenter: true | VCenterOptions },
): Promise<VCenterSandbox>;
export function startSandbox(
  options: SandboxOptions & { readonly workloads: true | WorkloadsOptions },
): Promise<WorkloadsSandbox>;
export function startSandbox(options?: SandboxOptions): Promise<Sandbox>;
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const wanted = options.vcenter === true ? {} : options.vcenter || undefined;
  const backend = options.backend ?? backendOf();
  await prepare(options, backend, wanted !== undefined);
  noteBackend(backend);
  sweep();
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(options, backend, wanted);
    } catch (error) {
      // Most likely somebody took a port between our choice and the server's bind: choose again.
      if (attempt === 3 || !(error instanceof SandboxError) || error.code !== 'ServerExited') throw error;
    }
  }
}

async function launch(options: SandboxOptions, backend: Backend, wanted: VCenterOptions | undefined): Promise<Sandbox> {
  const directory = createWorkDirectory();
  const servers: OwnedServer[] = [];
  const disarm = guardExit(() => {
    for (const server of servers) server.killNow();
    killRecorded(directory.path);
    directory.remove();
  });
  await using starting = new AsyncDisposableStack();
  starting.defer(disarm);
  starting.defer(() => directory.remove());
  starting.defer(async () => {
    await Promise.all(servers.map((server) => server.kill()));
  });

  const authority = createAuthority('drydock sandbox');
  const ca = directory.write('ca.crt', authority.certificate);
  const binaries = findBinaries();
  let era = options.era ?? 'E2';
  const wantedWorkloads = options.workloads === true ? {} : options.workloads || undefined;
  const define = backend === 'embedded' ? defineEmbeddedPlane : defineControlPlane;
  const plane = await define({
    directory,
    authority,
    binaries,
    era: () => era,
    workloads: wantedWorkloads,
    apiserverFlags: options.apiserverFlags ?? [],
  });
  starting.use(plane.api);
  const defineSimulator = backend === 'embedded' ? defineEmbeddedVCenter : defineVCenter;
  const simulator = wanted === undefined ? undefined : await defineSimulator(directory, authority, ca, wanted);
  const kubeconfig = plane.kubeconfigFor({ user: 'sandbox-admin', groups: ['system:masters'] });
  const workloads =
    wantedWorkloads === undefined
      ? undefined
      : backend === 'embedded'
        ? defineEmbeddedWorkloads(plane.api)
        : defineWorkloads({
            ...{ directory, kubeconfig, api: plane.api, signingKey: plane.signingKey, era: () => era },
            options: wantedWorkloads,
          });
  servers.push(
    plane.apiserver,
    ...(backend === 'embedded' ? [] : [plane.etcd]),
    ...(simulator === undefined ? [] : [simulator.server]),
  );
  servers.push(...(workloads?.owned ?? []));

  const kinds = new Map<string, ServedKind>();
  const install = async (sources: readonly string[], signal = new AbortController().signal): Promise<void> => {
    for (const kind of await installCrds(plane.api, sources, signal)) kinds.set(kind.listPath, kind);
  };
  const startPlane = async (): Promise<void> => {
    await plane.start(optional(options.signal));
    await Promise.all([install(options.crds ?? [], options.signal), workloads?.start(optional(options.signal))]);
  };
  const plain = options.kubernetes === false;
  await Promise.all([plain ? undefined : startPlane(), simulator?.server.start(optional(options.signal))]);

  const apiserver = withWarmStart(plane, () => [...kinds.values()]);
  const running = starting.move();
  const log = options.log === undefined ? {} : { log: options.log };
  return {
    kubeconfig,
    server: plane.admin.url,
    admin: plane.admin,
    ca,
    directory: directory.path,
    backend,
    etcd: plane.etcd,
    apiserver,
    get era() {
      return era;
    },
    switchEra: async (next, { signal } = {}) => {
      const servers = backend === 'embedded' ? [] : binaries.needed(next);
      await build({ servers, crds: [], ...log, ...optional(signal) });
      era = next;
      await apiserver.restart(optional(signal));
    },
    startReplica: async (of, { address = '127.0.0.1', signal } = {}) => {
      if (backend === 'embedded') throw needsRealServers('second API server on the same data');
      await build({ servers: binaries.needed(of), crds: [], ...log, ...optional(signal) });
      const replica = await plane.replica(of, address);
      running.use(replica.api);
      servers.push(replica.apiserver);
      await replica.apiserver.start(optional(signal));
      return { apiserver: replica.apiserver, port: replica.port };
    },
    ...(simulator === undefined ? {} : { vcenter: simulator.endpoint() }),
    ...(workloads === undefined ? {} : { workloads }),
    kubeconfigFor: (subject) => plane.kubeconfigFor(subject),
    installCrds: async (sources, { signal } = {}) => {
      await build({ servers: [], crds: setsOf(sources), ...log, ...optional(signal) });
      await install(sources, signal);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
