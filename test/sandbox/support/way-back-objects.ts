import type { KubeObject, Resource } from '@drydock/kube';

/** Namespace of what the releases bring. */
export const shop = 'shop';

/** A ConfigMap of a release. */
export const configMap = (name: string, data: object): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: shop },
  data,
});
/** Widgets, as the newer release has them or the older one. */
export const widgets = (newer: boolean): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.shop.example.com' },
  spec: {
    group: 'shop.example.com',
    scope: 'Cluster',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { size: { type: 'integer' }, ...(newer ? { extra: { type: 'string' } } : {}) },
              },
              status: {
                type: 'object',
                properties: {
                  phase: { type: 'string', enum: ['Ready', ...(newer ? ['Draining'] : [])] },
                  ...(newer ? { note: { type: 'string' } } : {}),
                },
              },
            },
          },
        },
      },
    ],
  },
});
/** See {@link widgets}. */
export const WIDGET: Resource<KubeObject> = {
  group: 'shop.example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Cluster',
};
/** A workload that only the newer release brings. */
export const worker: object = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'worker', namespace: shop, labels: { app: 'worker' } },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'worker' } },
    template: { metadata: { labels: { app: 'worker' } }, spec: { containers: [{ name: 'c', image: 'worker:1' }] } },
  },
};
/** Refuses that the worker goes, since nobody answers for it. */
export const hook: object = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'shop' },
  webhooks: [
    {
      name: 'worker.shop.example.com',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
      timeoutSeconds: 1,
      clientConfig: { url: 'https://127.0.0.1:1/worker' },
      objectSelector: { matchLabels: { app: 'worker' } },
      rules: [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['DELETE'], resources: ['deployments'] }],
    },
  ],
};
