import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readManifestFile } from '../../payload/manifest.ts';
import { backendsOf, healthOf } from './health.ts';

type Loose = Readonly<Record<string, unknown>>;

const manifestOf = (type: string) => {
  const [apiVersion, kind] = type.split(' ');
  const [manifest] = readManifestFile(
    '0000_10_a_1.yaml',
    JSON.stringify({ apiVersion, kind, metadata: { name: 'a' } }),
  );
  assert.ok(manifest !== undefined);
  return manifest;
};
const conditions = (...all: readonly (readonly [type: string, status: string, reason?: string])[]): Loose => ({
  status: { conditions: all.map(([type, status, reason = '']) => ({ type, status, reason })) },
});
const going = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

const CRD = 'apiextensions.k8s.io/v1 CustomResourceDefinition';
const DEPLOYMENT = 'apps/v1 Deployment';
const CASES: readonly (readonly [title: string, type: string, live: Loose, health: string])[] = [
  ['a definition is waited for until it is established', CRD, {}, 'waiting'],
  ['an established definition is well', CRD, conditions(['Established', 'True']), 'well'],
  [
    'a definition whose names are taken never will be',
    CRD,
    conditions(['NamesAccepted', 'False']),
    'failed UpdatePayloadResourceConflict',
  ],
  [
    'a Deployment that rolls out is not waited for',
    DEPLOYMENT,
    conditions(['Available', 'False'], ['Progressing', 'True']),
    'well',
  ],
  ['a Deployment without conditions is well', DEPLOYMENT, {}, 'well'],
  ['pods that cannot be made', DEPLOYMENT, conditions(['ReplicaFailure', 'True']), 'failed WorkloadNotProgressing'],
  [
    'neither available nor progressing',
    DEPLOYMENT,
    conditions(['Available', 'False'], ['Progressing', 'False']),
    'failed WorkloadNotAvailable',
  ],
  [
    'a deadline that passed',
    DEPLOYMENT,
    conditions(['Available', 'True'], ['Progressing', 'False', 'ProgressDeadlineExceeded']),
    'failed WorkloadNotProgressing',
  ],
  [
    'a Deployment that is paused and available',
    DEPLOYMENT,
    conditions(['Available', 'True'], ['Progressing', 'False']),
    'well',
  ],
  ['a Deployment that is being deleted', DEPLOYMENT, going, 'failed WorkloadNotAvailable'],
  ['a DaemonSet says nothing but that it goes', 'apps/v1 DaemonSet', { status: { numberUnavailable: 3 } }, 'well'],
  ['a DaemonSet that goes', 'apps/v1 DaemonSet', going, 'failed WorkloadNotAvailable'],
  [
    'a StatefulSet that nobody has seen',
    'apps/v1 StatefulSet',
    { metadata: { generation: 2 }, status: { observedGeneration: 1 } },
    'late',
  ],
  ['a StatefulSet of which nothing runs', 'apps/v1 StatefulSet', { spec: { replicas: 2 } }, 'late'],
  [
    'a StatefulSet of which something runs',
    'apps/v1 StatefulSet',
    { spec: { replicas: 2 }, status: { readyReplicas: 1 } },
    'well',
  ],
  ['a StatefulSet of nothing', 'apps/v1 StatefulSet', { spec: { replicas: 0 } }, 'well'],
  ['a Job that runs', 'batch/v1 Job', { status: { active: 1, failed: 1 } }, 'well'],
  ['a Job that succeeded after failures', 'batch/v1 Job', { status: { succeeded: 1, failed: 2 } }, 'well'],
  ['a Job that failed', 'batch/v1 Job', { status: { failed: 1 } }, 'failed JobFailed'],
  [
    'a Job whose image never came',
    'batch/v1 Job',
    conditions(['Failed', 'True', 'DeadlineExceeded']),
    'failed JobFailed',
  ],
  [
    'an APIService whose backend does not answer',
    'apiregistration.k8s.io/v1 APIService',
    conditions(['Available', 'False']),
    'late',
  ],
  ['an APIService that answers', 'apiregistration.k8s.io/v1 APIService', conditions(['Available', 'True']), 'well'],
  ['what has no health', 'v1 ConfigMap', {}, 'well'],
  ['a status that is none', DEPLOYMENT, { status: 'well' }, 'well'],
];

for (const [title, type, live, expected] of CASES)
  test(`health: ${title}`, () => {
    const health = healthOf(manifestOf(type), live as never, 'updating');
    const text = health.state === 'failed' ? `failed ${health.fault.reason}` : health.state;
    assert.equal(health.state === 'waiting' && health.late ? 'late' : text, expected);
    const first = healthOf(manifestOf(type), live as never, 'initializing');
    assert.equal(first.state, 'well', 'a first installation waits for none of them');
  });

test('health: the services that a webhook configuration leads to are told, each once; what leads elsewhere is not', () => {
  const to = (service: Loose | undefined) => ({
    clientConfig: service === undefined ? { url: 'https://x' } : { service },
  });
  const live = {
    webhooks: [
      to({ namespace: 'n', name: 'a' }),
      to({ namespace: 'n', name: 'a' }),
      to(undefined),
      to({ namespace: 'n', name: 'b' }),
      null,
    ],
  };
  const hooks = manifestOf('admissionregistration.k8s.io/v1 MutatingWebhookConfiguration');
  assert.deepEqual(
    backendsOf(hooks, live as never).map(({ name }) => name),
    ['a', 'b'],
  );
  assert.deepEqual(backendsOf(manifestOf('v1 ConfigMap'), live as never), []);
});
