import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject, Resource } from '@drydock/kube';
import type { Sandbox } from '@drydock/sandbox';

/** The kind of the operator. */
export const StaticPodOperator: Resource<StaticPodOperator> = {
  group: 'operator.openshift.io',
  version: 'v1',
  kind: 'KubeAPIServer',
  plural: 'kubeapiservers',
  scope: 'Cluster',
};

/** The operator as the monitor sees it. */
export interface StaticPodOperator extends KubeObject {
  readonly status?: {
    readonly nodeStatuses?: readonly { readonly nodeName: string; readonly [key: string]: unknown }[];
    readonly readyReplicas?: number;
  };
}

/** The part of the operator's kind that the monitor touches, with upstream's rule that a revision only grows. */
export async function installStaticPodOperator(sandbox: Pick<Sandbox, 'installCrds'>): Promise<void> {
  const revision = { type: 'integer', format: 'int32' };
  const grows = { rule: 'self >= oldSelf', message: 'must only increase' };
  const nodeStatus = {
    type: 'object',
    required: ['nodeName'],
    properties: {
      nodeName: { type: 'string' },
      currentRevision: { ...revision, 'x-kubernetes-validations': [grows] },
      targetRevision: revision,
      lastFailedReason: { type: 'string' },
    },
  };
  const status = {
    type: 'object',
    properties: {
      readyReplicas: revision,
      nodeStatuses: {
        type: 'array',
        items: nodeStatus,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['nodeName'],
      },
    },
  };
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'kubeapiservers.operator.openshift.io' },
    spec: {
      group: 'operator.openshift.io',
      scope: 'Cluster',
      names: { kind: 'KubeAPIServer', plural: 'kubeapiservers' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { status } } },
        },
      ],
    },
  };
  const folder = await mkdtemp(join(tmpdir(), 'drydock-crd-'));
  try {
    await writeFile(join(folder, 'operator.json'), JSON.stringify(crd));
    await sandbox.installCrds([join(folder, 'operator.json')]);
  } finally {
    await rm(folder, { recursive: true });
  }
}
