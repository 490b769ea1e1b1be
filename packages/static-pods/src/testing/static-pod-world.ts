import { ConfigMap, Secret } from '@drydock/api';
import { type MemoryCluster, memoryCluster } from '@drydock/kube/testing';
import type { InstallEnvironment } from '../install/install.ts';
import type { Notice } from '../revision/environment.ts';
import type { InstallSpec } from '../revision/install-spec.ts';
import { Node, Pod } from '../revision/pod.ts';

/** Namespace of the small world. */
export const NAMESPACE = 'some-ns';
/** Its node. */
export const NODE_NAME = 'master-0.example';

/** Base64 of text. */
export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** A pod's manifest in YAML, as an operator writes it. */
export function podYaml(name: string, extra = ''): string {
  return `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: ${NAMESPACE}
  labels:
    revision: "REVISION"
spec:
  containers:
    - name: main
      image: registry.example/main:1
      args: ["--node=NODE_NAME"]
${extra}`;
}

/** Puts a Secret into the cluster. */
export function putSecret(cluster: MemoryCluster, name: string, data: Readonly<Record<string, string>>): void {
  const encoded = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)]));
  cluster.put(Secret, { namespace: NAMESPACE, name }, { data: encoded });
}

/** Puts a ConfigMap into the cluster. */
export function putConfigMap(cluster: MemoryCluster, name: string, data: Readonly<Record<string, string>>): void {
  cluster.put(ConfigMap, { namespace: NAMESPACE, name }, { data });
}

/** A cluster with one small revision of kube-apiserver, its monitor's manifest, and a shared certificate. */
export function smallCluster(revision: number): MemoryCluster {
  const cluster = memoryCluster({ namespaces: [NAMESPACE] });
  cluster.put(Node, { name: NODE_NAME }, { status: { nodeInfo: { kubeletVersion: 'v1.34.1' } } });
  putSecret(cluster, `first-${revision}`, { 'one.crt': 'one' });
  putConfigMap(cluster, `config-${revision}`, { 'config.yaml': 'revision: REVISION' });
  putSecret(cluster, 'tls', { 'tls.crt': `crt of ${revision}`, 'tls.key': `key of ${revision}` });
  putConfigMap(cluster, `kube-apiserver-pod-${revision}`, {
    'pod.yaml': podYaml('kube-apiserver'),
    'kube-apiserver-startup-monitor-pod.yaml': podYaml('kube-apiserver-startup-monitor'),
  });
  return cluster;
}

/** Installs the small revision below `root`. */
export function smallSpec(revision: number, root = ''): InstallSpec {
  return {
    revision: String(revision),
    nodeName: NODE_NAME,
    namespace: NAMESPACE,
    pod: 'kube-apiserver-pod',
    sources: { secrets: ['first'], configmaps: ['config'] },
    certs: { secrets: ['tls'] },
    certDir: `${root}/certs`,
    resourceDir: `${root}/resources`,
    manifestDir: `${root}/manifests`,
  };
}

/** Puts an installer's pod onto the node. */
export function putInstaller(
  cluster: MemoryCluster,
  name: string,
  status?: Pod['status'],
  nodeName: string = NODE_NAME,
): void {
  cluster.put(
    Pod,
    { namespace: NAMESPACE, name },
    {
      metadata: { name, namespace: NAMESPACE, labels: { app: 'installer' } },
      spec: { nodeName, containers: [] },
      ...(status && { status }),
    },
  );
}

/** What an installation needs besides its work; what it says is in `notices`. */
export function installEnvironment(
  cluster: MemoryCluster,
): InstallEnvironment & { readonly notices: readonly Notice[] } {
  const notices: Notice[] = [];
  return { client: cluster.client(), installers: false, notify: (notice) => notices.push(notice), notices };
}
