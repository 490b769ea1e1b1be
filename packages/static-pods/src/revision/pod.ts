import { createHash } from 'node:crypto';
import { wordText } from '@drydock/api/text';
import { readYamlDocument, YamlFlaw } from '@drydock/api/yaml';
import type { KubeObject, ObjectMeta, Resource } from '@drydock/kube';
import { StaticPodError } from '../errors.ts';

/** v1 Pod, as far as this package reads it; everything else is kept as it is. */
export interface Pod extends KubeObject {
  readonly metadata: ObjectMeta & { readonly [key: string]: unknown };
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly unknown[];
    readonly [key: string]: unknown;
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly state?: { readonly terminated?: unknown } }[];
  };
}

/** The kind Pod. */
export const Pod: Resource<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' };

/** v1 Node, as far as this package reads it. */
export interface Node extends KubeObject {
  readonly status?: { readonly nodeInfo?: { readonly kubeletVersion?: string } };
}

/** The kind Node. */
export const Node: Resource<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', scope: 'Cluster' };

/** Edits a pod before it is written; gets a copy of its own. */
export type PodMutation = (pod: Pod) => Pod;

/**
 * Reads a pod from YAML or JSON, by YAML 1.1's rules as Kubernetes does (`0644` is octal, `yes` is true). `where` is for messages. Fails with `BAD_CONTENT`.
 */
export function decodePod(bytes: Uint8Array, where: string): Pod {
  const bad = (why: string): StaticPodError => new StaticPodError('BAD_CONTENT', where, why);
  let pod: unknown;
  try {
    pod = readYamlDocument(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw bad(`it does not parse: ${error instanceof YamlFlaw ? error.message : 'it is not UTF-8'}`);
  }
  if (!isRecord(pod)) throw bad('it is empty or no object, expected a pod');
  if (pod['kind'] !== undefined && pod['kind'] !== 'Pod')
    throw bad(`its kind is ${wordText(pod['kind'])}, expected Pod`);
  const { metadata, spec } = pod;
  if (!isRecord(metadata) || typeof metadata['name'] !== 'string' || metadata['name'] === '')
    throw bad('it has no metadata.name');
  if (!isRecord(spec) || !Array.isArray(spec['containers'])) throw bad('it has no spec.containers');
  return { apiVersion: 'v1', kind: 'Pod', ...pod } as unknown as Pod;
}

/** The text of a manifest: JSON, whatever its name says; kubelet reads both. */
export function encodePod(pod: Pod): Uint8Array {
  return Buffer.from(JSON.stringify(pod), 'utf8');
}

/** Whether a kubelet is older than 1.23.0 and needs a uid in a static pod's manifest. A version that cannot be read needs none. */
export function needsUid(kubeletVersion: string): boolean {
  const match = /^v?(\d+)\.(\d+)\.(\d+)(-)?/.exec(kubeletVersion);
  if (match === null) return false;
  const [major, minor, patch] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (major !== 1) return major < 1;
  if (minor !== 23) return minor < 23;
  return patch === 0 && match[4] === '-';
}

/** The pod with a uid that follows from its content: another content is another pod to kubelet, the same content is the same. */
export function withContentUid(pod: Pod): Pod {
  const bare = withoutUid(pod);
  const hex = createHash('sha256').update(encodePod(bare)).digest('hex');
  const uid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-9${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  return { ...bare, metadata: { ...bare.metadata, uid } };
}

/** The pod without a uid: newer kubelets make their own. */
export function withoutUid(pod: Pod): Pod {
  const { uid: _, ...metadata } = pod.metadata;
  return { ...pod, metadata: metadata as Pod['metadata'] };
}

/** The revision that a pod's label `revision` names. Fails with `BAD_CONTENT` where there is none or it is no number. */
export function revisionOfPod(pod: Pod, where: string): number {
  const label: unknown = pod.metadata.labels?.['revision'];
  if (label === undefined) throw new StaticPodError('BAD_CONTENT', where, 'it has no label revision');
  const revision = typeof label === 'string' && /^\d{1,9}$/.test(label) ? Number(label) : Number.NaN;
  if (Number.isNaN(revision))
    throw new StaticPodError('BAD_CONTENT', where, `its label revision is ${wordText(label)}, expected a number`);
  return revision;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
