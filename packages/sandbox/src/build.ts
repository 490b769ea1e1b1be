import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockBuild } from './build-lock.ts';
import { archivedCrds, copyCrds, crdsReady } from './crd-copy.ts';
import type { CrdSet } from './crd-set.ts';
import { CRD_SETS, findCrdSet } from './crd-sets.ts';
import { SandboxError } from './errors.ts';
import { checkGo, goBuild } from './go-tool.ts';
import { cacheDirectory, GO_DIRECTORY } from './paths.ts';

/** A server that is built from `go/<name>`. */
export type GoServer =
  | 'drydock-apiserver'
  | 'drydock-apiserver-1.32'
  | 'drydock-vcenter'
  | 'drydock-workloads'
  | Neighbour
  | Tool;

/** A program of upstream that is built from a module in `go/neighbours`, for tests that ask for it. */
export type Neighbour =
  | 'machine-config-controller'
  | 'machine-api-vsphere'
  | 'machine-api-machineset'
  | 'machine-api-nodelink'
  | 'cluster-api'
  | 'cluster-api-provider-vsphere'
  | 'cluster-version-operator';

/** A program that people install and watch Drydock and a vCenter with, built the same way. */
export type Tool = 'govc' | 'helm' | 'kubectl' | 'kustomize' | 'promtool';

/** What to build; by default the API server and the vCenter. The older API server, workloads, neighbours and tools are built when they are asked for. */
export interface BuildOptions {
  readonly servers?: readonly GoServer[];
  /** Names of CRD sets. */
  readonly crds?: readonly string[];
  /** Receives one line per step; by default it is written to stderr. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

interface Source {
  readonly ldflags: string;
  readonly what: string;
  readonly expected: string;
  /** Its folder in `go/`; its name by default. */
  readonly module?: string;
  /** What is built there; an own main package by default, else the one of upstream that the module has as a tool. */
  readonly program?: string;
}

const MACHINE_API = {
  ...{ module: 'neighbours/machine-api', ldflags: '' },
  program: 'github.com/openshift/machine-api-operator/cmd',
};

const SERVERS: Readonly<Record<GoServer, Source>> = {
  'drydock-apiserver': {
    // Without it /version has no release, and clients refuse the server.
    ldflags: '-X k8s.io/component-base/version.gitVersion=v1.34.4',
    what: 'kube-apiserver 1.34.4 and etcd 3.6.4',
    expected: '3 min, and 1.5 GB of downloads and build cache',
  },
  'drydock-apiserver-1.32': {
    ldflags: '-X k8s.io/component-base/version.gitVersion=v1.32.13',
    what: 'kube-apiserver 1.32.13',
    expected: '3 min more, and 1 GB of downloads and build cache',
  },
  'drydock-vcenter': { ldflags: '', what: 'the vCenter simulator', expected: '40 s' },
  'drydock-workloads': {
    ldflags: '-X k8s.io/component-base/version.gitVersion=v1.34.4',
    what: 'kube-controller-manager and kube-scheduler 1.34.4, and a kubelet that runs nothing',
    expected: '2 min beside a built API server',
  },
  'machine-config-controller': {
    module: 'neighbours/machine-config-controller',
    ldflags: '',
    what: "machine-config-operator's boot image controller",
    expected: '4 min, and 1.5 GB of downloads and build cache',
  },
  'machine-api-vsphere': {
    ...{ ...MACHINE_API, program: `${MACHINE_API.program}/vsphere` },
    what: "machine-api-operator's controller of vSphere machines",
    expected: '4 min, and 1.5 GB of downloads and build cache',
  },
  'machine-api-machineset': {
    ...{ ...MACHINE_API, program: `${MACHINE_API.program}/machineset` },
    what: "machine-api-operator's controller of machine sets",
    expected: '10 s more',
  },
  'machine-api-nodelink': {
    ...{ ...MACHINE_API, program: `${MACHINE_API.program}/nodelink-controller` },
    what: "machine-api-operator's controller that tells which node a machine is",
    expected: '5 s more',
  },
  'cluster-api': {
    ...{ module: 'neighbours/cluster-api', ldflags: '', program: 'sigs.k8s.io/cluster-api/core' },
    what: "Cluster API's core manager",
    expected: '4 min, and 1.5 GB of downloads and build cache',
  },
  'cluster-api-provider-vsphere': {
    module: 'neighbours/cluster-api-provider-vsphere',
    ...{ ldflags: '', program: 'sigs.k8s.io/cluster-api-provider-vsphere' },
    what: "Cluster API's vSphere provider",
    expected: '3 min, and 1 GB of downloads and build cache',
  },
  'cluster-version-operator': {
    ...{ module: 'neighbours/cluster-version-operator', ldflags: '' },
    program: 'github.com/openshift/cluster-version-operator/cmd',
    what: "OpenShift's cluster-version-operator of 4.11",
    expected: '2 min, and 500 MB of downloads and build cache',
  },
  govc: {
    ...{ module: 'neighbours/govc', ldflags: '' },
    what: 'govc, with which people look at a vCenter',
    expected: '1 min',
  },
  helm: {
    ...{ module: 'neighbours/helm', ldflags: '', program: 'helm.sh/helm/v3/cmd/helm' },
    what: 'helm, which installs the chart',
    expected: '1 min, and 1 GB of downloads and build cache',
  },
  kubectl: {
    ...{ module: 'neighbours/kubectl', program: 'k8s.io/kubernetes/cmd/kubectl' },
    ldflags: '-X k8s.io/component-base/version.gitVersion=v1.34.4 -X k8s.io/client-go/pkg/version.gitVersion=v1.34.4',
    what: 'kubectl 1.34.4, which people speak to an API server with',
    expected: '1 min beside a built API server',
  },
  kustomize: {
    ...{ module: 'neighbours/kustomize', ldflags: '', program: 'sigs.k8s.io/kustomize/kustomize/v5' },
    what: 'kustomize, which plays components',
    expected: '20 s',
  },
  promtool: {
    ...{ module: 'neighbours/promtool', ldflags: '', program: 'github.com/prometheus/prometheus/cmd/promtool' },
    what: 'promtool, which evaluates alerts',
    expected: '4 min, and 2 GB of downloads and build cache',
  },
};

/** All programs of upstream that can be built. */
export const NEIGHBOURS: readonly Neighbour[] = [
  ...(['machine-config-controller', 'machine-api-vsphere', 'machine-api-machineset', 'machine-api-nodelink'] as const),
  ...(['cluster-api', 'cluster-api-provider-vsphere', 'cluster-version-operator'] as const),
];

/** All tools that can be built. */
export const TOOLS: readonly Tool[] = ['govc', 'helm', 'kubectl', 'kustomize', 'promtool'];

/** Where the binary of the present sources is, whether it is built or not. */
export function binaryPath(server: GoServer): string {
  const directory = sourcesOf(server);
  const { ldflags } = SERVERS[server];
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${ldflags}\n`);
  const sources = globSync(['go.mod', 'go.sum', '**/*.go'], { cwd: directory }).filter((n) => !n.endsWith('_test.go'));
  for (const name of sources.sort()) {
    const content = readFileSync(join(directory, name));
    hash.update(`${name} ${content.length}\n`).update(content);
  }
  return join(cacheDirectory(), 'bin', `${server}-${hash.digest('hex').slice(0, 12)}`);
}

function sourcesOf(server: GoServer): string {
  return join(GO_DIRECTORY, SERVERS[server].module ?? server);
}

const seconds = (since: number): string => {
  const all = Math.round((Date.now() - since) / 1000);
  return all < 60 ? `${all} s` : `${Math.floor(all / 60)} min ${all % 60} s`;
};

type Log = (line: string) => void;

async function buildServer(server: GoServer, log: Log, signal: AbortSignal | undefined): Promise<void> {
  const target = binaryPath(server);
  if (existsSync(target)) return;
  const { ldflags, what, expected, program } = SERVERS[server];
  const bin = join(cacheDirectory(), 'bin');
  mkdirSync(bin, { recursive: true });
  const started = Date.now();
  log(`sandbox: building ${server} (${what}); the first time takes about ${expected}`);
  const clock = setInterval(() => log(`sandbox: still building ${server}, ${seconds(started)} so far`), 20_000);
  const unfinished = `${target}.unfinished.${process.pid}`;
  try {
    await goBuild(sourcesOf(server), unfinished, { ldflags, ...(program === undefined ? {} : { program }) }, signal);
    renameSync(unfinished, target);
  } finally {
    clearInterval(clock);
    rmSync(unfinished, { force: true });
  }
  // Binaries of older sources: nobody can ask for them again, and running ones do not need the name.
  for (const name of readdirSync(bin)) {
    if (isBinaryOf(server, name) && join(bin, name) !== target) rmSync(join(bin, name), { force: true });
  }
  log(`sandbox: built ${server} in ${seconds(started)}`);
}

/** Whether a file is a binary of this server, finished or not; names of others may begin with its name. */
export function isBinaryOf(server: GoServer, name: string): boolean {
  return name.startsWith(server) && /^-[0-9a-f]{12}(\.unfinished\.\d+)?$/.test(name.slice(server.length));
}

function chosenSets(names: readonly string[] | undefined): readonly CrdSet[] {
  return (names ?? CRD_SETS.map(({ name }) => name)).map((name) => {
    const found = findCrdSet(name);
    if (found !== undefined) return found;
    const known = CRD_SETS.map((set) => set.name).join(', ');
    throw new SandboxError('BadInput', `There is no CRD set "${name}"; use one of ${known}, or a path.`);
  });
}

/**
 * Builds what is missing and returns at once when nothing is. Builds of several processes wait for each other; one
 * that dies lets the next go on. Nothing half-built is ever visible: each file is published by rename.
 */
export async function build(options: BuildOptions = {}): Promise<void> {
  const servers = options.servers ?? ['drydock-apiserver', 'drydock-vcenter'];
  const sets = chosenSets(options.crds);
  const complete = (): boolean => servers.every((name) => existsSync(binaryPath(name))) && sets.every(crdsReady);
  if (complete()) return;
  const { signal, log = (line) => process.stderr.write(`${line}\n`) } = options;
  using _lock = await lockBuild(join(cacheDirectory(), 'build.lock'), {
    onWait: (pid) => log(`sandbox: process ${pid} is building already, waiting for it`),
    ...(signal === undefined ? {} : { signal }),
  });
  if (complete()) return;
  if (
    servers.some((name) => !existsSync(binaryPath(name))) ||
    !sets.every((set) => crdsReady(set) || archivedCrds(set) !== undefined)
  )
    log(`sandbox: found Go ${await checkGo(GO_DIRECTORY, signal)}`);
  for (const set of sets) await copyCrds(set, log, signal);
  for (const server of servers) await buildServer(server, log, signal);
}
