import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredState } from './objects.ts';

interface Recorded {
  readonly group: string;
  readonly plural: string;
  readonly object: {
    readonly metadata: {
      readonly name: string;
      readonly namespace?: string;
      readonly managedFields?: readonly object[];
    };
  };
}

/**
 * What a kube-apiserver creates before anybody asks: namespaces, the ClusterRoles and bindings of RBAC, priority classes, flow schemas.
 * `src/recording/record-server-objects.ts` records it.
 */
export function bootstrapState(now: Date, clientCa: string): StoredState {
  const text = readFileSync(join(import.meta.dirname, 'recorded/bootstrap-objects.json'), 'utf8');
  const time = `${now.toISOString().slice(0, 19)}Z`;
  const authentication: Recorded = {
    group: '',
    plural: 'configmaps',
    object: {
      ...{ kind: 'ConfigMap', apiVersion: 'v1', data: { 'client-ca-file': clientCa } },
      metadata: { name: 'extension-apiserver-authentication', namespace: 'kube-system' },
    },
  };
  const recorded = [...(JSON.parse(text) as readonly Recorded[]), authentication];
  const objects = recorded.map(({ group, plural, object }, at) => {
    const { name, namespace, managedFields = [], ...more } = object.metadata;
    const metadata = {
      ...{ name, ...(namespace === undefined ? {} : { namespace }), ...more },
      ...{ uid: randomUUID(), resourceVersion: String(at + 2), creationTimestamp: time },
      managedFields: managedFields.map((entry) => ({ ...entry, time })),
    };
    return { group, plural, namespace, name, object: { ...object, metadata } };
  });
  return { version: recorded.length + 1, objects };
}
