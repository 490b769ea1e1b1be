import { ConfigMap, Secret } from '@drydock/api';
import { type FsOps, replaceSymlinkDurable } from '@drydock/durable';
import type { Content } from '@drydock/durable/testing';
import { memoryCluster } from '@drydock/kube/testing';
import { install, type MonitorOutcome, monitorStartup, prune, syncCerts } from '@drydock/static-pods';

// One small static pod on a node, and everything that writes it. `root` holds `res`, `man` and `certs`.

const namespace = 'n';

/** The pod's manifest as an operator writes it. */
function pod(name: string, revision: number): string {
  const metadata = { name, labels: { revision: String(revision) } };
  return JSON.stringify({ kind: 'Pod', metadata, spec: { containers: [] } });
}

/** A manifest as the installer writes it. */
export function compact(revision: number, name = 'p'): string {
  return JSON.stringify({ apiVersion: 'v1', ...(JSON.parse(pod(name, revision)) as object) });
}

/** What a revision's directory holds. */
export function revisionContent(revision: number): Content {
  const manifests = { 'p-pod.yaml': compact(revision), 'p-startup-monitor-pod.yaml': compact(revision, 'm') };
  return { configmaps: { config: { a: `a${revision}` } }, ...manifests };
}

/** The files of a certificate: a pair that belongs together. */
export function pairContent(certificate: number): Content {
  return { crt: `pair ${certificate}`, key: `pair ${certificate}` };
}

/** What the cluster has: one revision, the certificate, and whether the optional trust exists. */
export interface World {
  readonly revision: number;
  readonly certificate: number;
  readonly trust?: boolean;
  /** Of the revision's configuration. */
  readonly text?: string;
}

function clusterOf({ revision, certificate, trust = false, text = `a${revision}` }: World) {
  const cluster = memoryCluster({ namespaces: [namespace] });
  cluster.put(ConfigMap, { namespace, name: `config-${revision}` }, { data: { a: text } });
  const pods = { 'pod.yaml': pod('p', revision), 'p-startup-monitor-pod.yaml': pod('m', revision) };
  cluster.put(ConfigMap, { namespace, name: `p-pod-${revision}` }, { data: pods });
  const half = Buffer.from(`pair ${certificate}`).toString('base64');
  cluster.put(Secret, { namespace, name: 'tls' }, { data: { crt: half, key: half } });
  if (trust) cluster.put(ConfigMap, { namespace, name: 'trust' }, { data: { ca: `ca ${certificate}` } });
  return cluster;
}

/** `drydock node install`. */
export async function installOn(ops: FsOps, root: string, world: World): Promise<void> {
  await install(
    {
      revision: String(world.revision),
      nodeName: 'node',
      namespace,
      pod: 'p-pod',
      sources: { configmaps: ['config'] },
      certs: { secrets: ['tls'] },
      certDir: `${root}/certs`,
      resourceDir: `${root}/res`,
      manifestDir: `${root}/man`,
      lockFile: `${root}/lock`,
    },
    { client: clusterOf(world).client(), ops, installers: false },
  );
}

/** One pass of `drydock node cert-sync`. */
export async function syncOn(ops: FsOps, root: string, world: World): Promise<void> {
  const cluster = clusterOf(world);
  await syncCerts(
    {
      namespace,
      dir: `${root}/certs`,
      secrets: [{ name: 'tls' }],
      configmaps: [{ name: 'trust', optional: true }],
    },
    {
      client: cluster.client(),
      ops,
      cached: (kind, name) =>
        kind === 'secrets' ? cluster.peek(Secret, { namespace, name }) : cluster.peek(ConfigMap, { namespace, name }),
    },
  );
}

/** `drydock node prune`: all up to a revision. */
export async function pruneOn(ops: FsOps, root: string, upTo: number): Promise<void> {
  const spec = { resourceDir: `${root}/res`, staticPod: 'p-pod', maxEligibleRevision: upTo, protectedRevisions: [] };
  await prune(spec, { ops });
}

/** `drydock node startup-monitor` whose time is over at its second look. */
export function monitorOn(ops: FsOps, root: string, revision: number, ready: boolean): Promise<MonitorOutcome> {
  const spec = { resourceDir: `${root}/res`, manifestDir: `${root}/man`, lockFile: `${root}/lock` };
  const answer = { ready, reason: 'Test', message: 'says the test' };
  return monitorStartup(
    { ...spec, revision, target: 'p', nodeName: 'node', timeoutMs: 1, pollMs: 1 },
    { ops, ready: async () => answer },
  );
}

/** Where the last-known-good link leads. */
export function linkTo(revision: number): string {
  return `p-pod-${revision}/p-pod.yaml`;
}

/** Marks a revision as good. */
export async function linkOn(ops: FsOps, root: string, revision: number): Promise<void> {
  await replaceSymlinkDurable(`${root}/res/p-last-known-good`, linkTo(revision), { ops });
}
