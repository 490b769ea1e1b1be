import assert from 'node:assert/strict';
import { test } from 'node:test';
import { equal, type JsonObject, jsonText } from '@drydock/crd';
import type { KubeObject } from '@drydock/kube';
import { parseExact } from '@drydock/kube/testing';
import { assertLinear } from '@drydock/model';
import fc from 'fast-check';
import { type Manifest, readManifestFile } from '../payload/manifest.ts';
import type { InventoryEntry } from './inventory/entry.ts';
import { asJson, digestOf } from './json.ts';
import { contentDigest, contentMark, isSettled, stepFor } from './step.ts';

type Loose = Record<string, unknown>;

const manifestOf = (object: Loose): Manifest => {
  const [manifest] = readManifestFile('0000_10_a_1.yaml', JSON.stringify(object));
  assert.ok(manifest !== undefined);
  return manifest;
};
const objectOf = (type: string, content: Loose = {}, metadata: Loose = {}): Loose => {
  const [apiVersion, kind] = type.split(' ');
  return { apiVersion, kind, metadata: { name: 'a', namespace: 'n', ...metadata }, ...content };
};
const SERVERS = { uid: 'u1', resourceVersion: '7' };
const liveOf = (type: string, content: Loose = {}, metadata: Loose = {}): KubeObject =>
  objectOf(type, content, { ...SERVERS, ...metadata }) as unknown as KubeObject;

/** What a step changes: `nothing`, or the places with what they become. */
const changesOf = (
  wanted: Loose,
  live: KubeObject,
  known?: InventoryEntry,
  mode: 'updating' | 'reconciling' = 'updating',
) => {
  const step = stepFor(manifestOf(wanted), live, known, mode);
  if (step.action !== 'update') return step.action;
  return Object.fromEntries(step.differences.map(({ path, is }) => [path, is === undefined ? null : JSON.parse(is)]));
};

const pod = (content: Loose, spec: Loose = {}): Loose => ({
  spec: {
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', ...content }], ...spec } },
  },
});
const containerAt = 'spec.template.spec.containers[0]';
const DEPLOYMENT = 'apps/v1 Deployment';
const CRD = 'apiextensions.k8s.io/v1 CustomResourceDefinition';

interface Vector {
  readonly title: string;
  readonly type: string;
  readonly wanted?: Loose;
  readonly live?: Loose;
  readonly labels?: readonly [wanted: Loose, live: Loose];
  readonly expected: string | Loose;
}

const VECTORS: readonly Vector[] = [
  {
    title: 'labels are added and overwritten, never removed',
    type: 'v1 Namespace',
    labels: [
      { a: '1', b: '2' },
      { b: '0', theirs: 'x' },
    ],
    expected: { 'metadata.labels.a': '1', 'metadata.labels.b': '2' },
  },
  {
    title: 'of a Namespace nothing but metadata is looked at',
    type: 'v1 Namespace',
    wanted: { spec: { finalizers: ['x'] } },
    live: { spec: { finalizers: ['kubernetes'] } },
    expected: 'nothing',
  },
  {
    title: 'keys of a ConfigMap are added; those of others stay',
    type: 'v1 ConfigMap',
    wanted: { data: { a: '1' } },
    live: { data: { theirs: 'x' } },
    expected: { 'data.a': '1' },
  },
  {
    title: 'binary keys of a ConfigMap likewise',
    type: 'v1 ConfigMap',
    wanted: { binaryData: { a: 'AQ==' } },
    live: { data: { theirs: 'x' }, binaryData: { a: 'AA==' } },
    expected: { 'binaryData.a': 'AQ==' },
  },
  {
    title: "the tokens of a ServiceAccount are the cluster's",
    type: 'v1 ServiceAccount',
    wanted: { imagePullSecrets: [{ name: 'mine' }] },
    live: { imagePullSecrets: [{ name: 'theirs' }], secrets: [{ name: 's' }] },
    expected: 'nothing',
  },
  {
    title: 'a generic kind has at the top what the manifest has; its status is as it was found',
    type: 'config.openshift.io/v1 Thing',
    wanted: { spec: { a: 1 }, status: { x: 1 } },
    live: { spec: { a: 2, more: true }, status: { y: 1 } },
    expected: { 'spec.a': 1, 'spec.more': null },
  },
  {
    title: 'a field at the top of a generic kind that the manifest does not have stays',
    type: 'config.openshift.io/v1 Thing',
    wanted: { spec: { a: 1 } },
    live: { spec: { a: 1 }, data: { x: 1 } },
    expected: 'nothing',
  },
  {
    title: 'the rules of a role are replaced',
    type: 'rbac.authorization.k8s.io/v1 Role',
    wanted: { rules: [{ verbs: ['get'] }] },
    live: { rules: [{ verbs: ['get'] }, { verbs: ['*'] }] },
    expected: { rules: [{ verbs: ['get'] }] },
  },
  {
    title: "the rules of an aggregated role are the server's",
    type: 'rbac.authorization.k8s.io/v1 ClusterRole',
    wanted: { aggregationRule: { x: 1 }, rules: [] },
    live: { aggregationRule: { x: 1 }, rules: [{ verbs: ['get'] }] },
    expected: 'nothing',
  },
  {
    title: 'the group of a roleRef is known',
    type: 'rbac.authorization.k8s.io/v1 RoleBinding',
    wanted: { roleRef: { kind: 'Role', name: 'r' } },
    live: { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' } },
    expected: 'nothing',
  },
  {
    title: 'subjects are replaced',
    type: 'rbac.authorization.k8s.io/v1 RoleBinding',
    wanted: { subjects: [{ kind: 'User', name: 'u' }] },
    live: { subjects: [{ kind: 'User', name: 'v', apiGroup: 'rbac.authorization.k8s.io' }] },
    expected: { 'subjects[0].apiGroup': null, 'subjects[0].name': 'u' },
  },
  {
    title: 'a Service keeps its address and its node ports',
    type: 'v1 Service',
    wanted: { spec: { clusterIP: 'None', ports: [{ name: 'p', port: 80 }], selector: { a: '1' } } },
    live: {
      spec: {
        clusterIP: '10.0.0.1',
        clusterIPs: ['10.0.0.1'],
        type: 'NodePort',
        ports: [{ name: 'p', port: 80, protocol: 'TCP', targetPort: 80, nodePort: 30000 }],
        selector: { a: '1' },
      },
    },
    expected: 'nothing',
  },
  {
    title: 'the selector of a Service is replaced, its ports that are unknown go',
    type: 'v1 Service',
    wanted: { spec: { ports: [{ name: 'p', port: 81 }], selector: { a: '1' } } },
    live: {
      spec: {
        ports: [
          { name: 'p', port: 80, protocol: 'TCP', targetPort: 80 },
          { name: 'q', port: 9 },
        ],
        selector: { a: '1', b: '2' },
      },
    },
    expected: { 'spec.ports': [{ name: 'p', port: 81, protocol: 'TCP', targetPort: 80 }], 'spec.selector.b': null },
  },
  {
    title: 'what the server puts into a Deployment is no difference',
    type: DEPLOYMENT,
    wanted: pod(
      {
        image: 'i',
        command: [],
        env: [{ name: 'E', valueFrom: { fieldRef: { fieldPath: 'f' } } }],
        ports: [{ containerPort: 80 }],
        livenessProbe: { httpGet: { port: 80 } },
      },
      { hostNetwork: false, volumes: [{ name: 'v', secret: { secretName: 's' } }] },
    ),
    live: {
      spec: {
        replicas: 3,
        strategy: { type: 'RollingUpdate' },
        template: {
          metadata: { labels: { app: 'a' }, creationTimestamp: null },
          spec: {
            containers: [
              {
                name: 'c',
                image: 'i',
                imagePullPolicy: 'IfNotPresent',
                terminationMessagePath: '/dev/termination-log',
                terminationMessagePolicy: 'File',
                resources: {},
                env: [{ name: 'E', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'f' } } }],
                ports: [{ containerPort: 80, protocol: 'TCP' }],
                livenessProbe: {
                  httpGet: { port: 80, scheme: 'HTTP', path: '/' },
                  timeoutSeconds: 1,
                  periodSeconds: 10,
                  successThreshold: 1,
                  failureThreshold: 3,
                },
              },
            ],
            restartPolicy: 'Always',
            dnsPolicy: 'ClusterFirst',
            volumes: [{ name: 'v', secret: { secretName: 's', defaultMode: 420 } }],
          },
        },
      },
    },
    expected: 'nothing',
  },
  {
    title: 'containers are matched by name; those that are unknown go',
    type: DEPLOYMENT,
    wanted: pod({ image: 'new' }),
    live: {
      spec: {
        template: {
          metadata: { labels: { app: 'a' } },
          spec: { containers: [{ name: 'theirs' }, { name: 'c', image: 'old', imagePullPolicy: 'Always' }] },
        },
      },
    },
    expected: { 'spec.template.spec.containers': [{ name: 'c', image: 'new', imagePullPolicy: 'Always' }] },
  },
  {
    title: 'env, mounts and ports are what the manifest says',
    type: DEPLOYMENT,
    wanted: pod({ env: [{ name: 'A', value: '1' }] }),
    live: pod({ env: [{ name: 'A', value: '0' }], volumeMounts: [{ mountPath: '/x' }], ports: [{ containerPort: 1 }] }),
    expected: {
      [`${containerAt}.env[0].value`]: '1',
      [`${containerAt}.ports`]: null,
      [`${containerAt}.volumeMounts`]: null,
    },
  },
  {
    title: 'a probe that the manifest does not have goes',
    type: DEPLOYMENT,
    wanted: pod({}),
    live: pod({ readinessProbe: { exec: {} } }),
    expected: { [`${containerAt}.readinessProbe`]: null },
  },
  {
    title: 'affinity and security context are replaced when they are specified, kept when not',
    type: DEPLOYMENT,
    wanted: pod({}, { securityContext: { runAsUser: 1 } }),
    live: pod({}, { affinity: { x: 1 }, securityContext: { runAsUser: 2, fsGroup: 3 } }),
    expected: { 'spec.template.spec.securityContext.fsGroup': null, 'spec.template.spec.securityContext.runAsUser': 1 },
  },
  {
    title: 'node selectors are added',
    type: DEPLOYMENT,
    wanted: pod({}, { nodeSelector: { a: '1' } }),
    live: pod({}, { nodeSelector: { theirs: 'x' } }),
    expected: { 'spec.template.spec.nodeSelector.a': '1' },
  },
  {
    title: 'replicas are honoured where the manifest says them',
    type: DEPLOYMENT,
    wanted: { spec: { replicas: 1 } },
    live: { spec: { replicas: 5 } },
    expected: { 'spec.replicas': 1 },
  },
  {
    title: 'replicas stay where it does not',
    type: DEPLOYMENT,
    wanted: { spec: {} },
    live: { spec: { replicas: 5 } },
    expected: 'nothing',
  },
  {
    title: 'volumes that are unknown go',
    type: 'apps/v1 DaemonSet',
    wanted: pod({}, { volumes: [{ name: 'v', configMap: { name: 'm' } }] }),
    live: pod({}, { volumes: [{ name: 'w' }, { name: 'v', configMap: { name: 'm', defaultMode: 420 } }] }),
    expected: { 'spec.template.spec.volumes': [{ name: 'v', configMap: { name: 'm', defaultMode: 420 } }] },
  },
  {
    title: 'a Job is only created',
    type: 'batch/v1 Job',
    wanted: { spec: { selector: { x: 1 } } },
    live: { spec: {} },
    expected: 'nothing',
  },
  {
    title: 'webhooks keep what the server puts in',
    type: 'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration',
    wanted: { webhooks: [{ name: 'w', rules: [{ operations: ['*'] }] }] },
    live: {
      webhooks: [
        {
          name: 'w',
          failurePolicy: 'Fail',
          matchPolicy: 'Equivalent',
          namespaceSelector: {},
          objectSelector: {},
          timeoutSeconds: 10,
          rules: [{ operations: ['*'], scope: '*' }],
        },
      ],
    },
    expected: 'nothing',
  },
  {
    title: 'a selector that the manifest dropped goes',
    type: 'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration',
    wanted: { webhooks: [{ name: 'w' }] },
    live: { webhooks: [{ name: 'w', namespaceSelector: { matchLabels: { x: 'y' } } }] },
    expected: { 'webhooks[0].namespaceSelector': null },
  },
  {
    title: "the status of a ClusterOperator is its operator's",
    type: 'config.openshift.io/v1 ClusterOperator',
    wanted: { spec: { x: 1 } },
    live: { spec: {} },
    labels: [{ a: '1' }, {}],
    expected: 'nothing',
  },
];

for (const { title, type, wanted, live, labels, expected } of VECTORS)
  test(`merge: ${title}`, () => {
    const [want, is] = labels ?? [];
    const changes = changesOf(
      objectOf(type, wanted, want === undefined ? {} : { labels: want }),
      liveOf(type, live, is === undefined ? {} : { labels: is }),
    );
    assert.deepEqual(changes, expected);
  });

test('merge: what was merged once is as it should be: a second look changes nothing', () => {
  for (const { title, type, wanted, live, labels } of VECTORS) {
    const [want, is] = labels ?? [];
    const manifest = manifestOf(objectOf(type, wanted, want === undefined ? {} : { labels: want }));
    const step = stepFor(
      manifest,
      liveOf(type, live, is === undefined ? {} : { labels: is }),
      undefined,
      'reconciling',
    );
    if (step.action !== 'update') continue;
    const again = stepFor(manifest, step.object as unknown as KubeObject, undefined, 'reconciling');
    assert.equal(again.action, 'nothing', title);
  }
});

test('RB-R11 what is only created is left alone once it is there; a deletion is asked for in an update, and nowhere else', () => {
  const annotated = (annotation: string, value = 'true') =>
    objectOf('v1 ConfigMap', { data: { a: '1' } }, { annotations: { [`release.openshift.io/${annotation}`]: value } });
  const edited = liveOf('v1 ConfigMap', { data: { a: 'edited' } });
  assert.equal(stepFor(manifestOf(annotated('create-only')), edited, undefined, 'updating').action, 'nothing');
  assert.equal(stepFor(manifestOf(annotated('create-only')), undefined, undefined, 'updating').action, 'create');
  const gone = manifestOf(annotated('delete'));
  assert.throws(
    () => stepFor(manifestOf(annotated('delete', 'True')), edited, undefined, 'updating'),
    /0000_10_a_1\.yaml:1/,
  );
  const inMode = (mode: 'reconciling' | 'updating' | 'initializing') => stepFor(gone, edited, undefined, mode);
  assert.deepEqual([inMode('reconciling').action, inMode('initializing').action], ['nothing', 'nothing']);
  assert.deepEqual(inMode('updating'), { action: 'delete', uid: 'u1', pending: false, losesData: false });
  assert.deepEqual(stepFor(gone, undefined, undefined, 'updating'), { action: 'nothing', why: 'it is gone' });
  const held = liveOf('v1 ConfigMap', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  assert.equal(stepFor(gone, held, undefined, 'reconciling').action, 'delete', 'what is held is seen by every process');
});

test('RB-R13 a definition keeps the authority that a controller puts in, and defaulted names are no difference', () => {
  const definition = (webhook: Loose, more: Loose = {}) => ({
    spec: {
      group: 'g.io',
      names: { kind: 'Foo', plural: 'foos', ...more },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', required: [] } } },
      ],
      conversion: { strategy: 'Webhook', webhook: { clientConfig: webhook } },
    },
  });
  const injected = { annotations: { 'service.beta.openshift.io/inject-cabundle': 'true' } };
  const wanted = objectOf(CRD, definition({ service: { name: 's' } }), injected);
  const stored = definition({ service: { name: 's' }, caBundle: 'QQ==' }, { singular: 'foo', listKind: 'FooList' });
  stored.spec.versions = [
    { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } as never },
  ];
  assert.equal(changesOf(wanted, liveOf(CRD, stored, injected)), 'nothing');
  assert.deepEqual(
    changesOf(objectOf(CRD, definition({ service: { name: 's' } })), liveOf(CRD, stored)),
    { 'spec.conversion.webhook.clientConfig.caBundle': null },
    'without the annotation it is the manifest that says it',
  );
});

const entryOf = (more: Partial<InventoryEntry>): InventoryEntry => ({
  id: { group: '', kind: 'ConfigMap', namespace: 'n', name: 'a' },
  version: 'v1',
  file: 'f',
  releases: ['2'],
  uid: 'u1',
  made: true,
  written: {},
  ...more,
});

test('where the server made the live object of this very manifest, what it filled in is no difference; an edit is', () => {
  const wanted = objectOf('g.io/v1 Thing', { spec: { a: 1 } });
  const stored = liveOf('g.io/v1 Thing', { spec: { a: 1, filled: 'in' } });
  assert.deepEqual(changesOf(wanted, stored), { 'spec.filled': null });
  const settled = {
    manifest: contentDigest(manifestOf(wanted).object),
    content: contentDigest(stored as unknown as JsonObject),
  };
  assert.equal(changesOf(wanted, stored, entryOf({ settled })), 'nothing');
  const edited = liveOf('g.io/v1 Thing', { spec: { a: 1, filled: 'in', more: true } });
  assert.deepEqual(changesOf(wanted, edited, entryOf({ settled })), { 'spec.filled': null, 'spec.more': null });
  const newer = objectOf('g.io/v1 Thing', { spec: { a: 2 } });
  assert.deepEqual(changesOf(newer, stored, entryOf({ settled })), { 'spec.a': 2, 'spec.filled': null });
});

test('an object of another controller is refused with its name; one that is being deleted is waited for', () => {
  const controlled = liveOf(
    'v1 ConfigMap',
    {},
    { ownerReferences: [{ kind: 'Payload', name: 'other', uid: 'x', controller: true }] },
  );
  const wanted = manifestOf(objectOf('v1 ConfigMap', { data: { a: '1' } }));
  assert.deepEqual(stepFor(wanted, controlled, undefined, 'updating'), {
    action: 'refuse',
    reason: 'ResourceClaimed',
    why: 'Payload other controls it',
  });
  const going = liveOf('v1 ConfigMap', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  assert.equal(stepFor(wanted, going, undefined, 'updating').action, 'wait');
});

test('a Secret is told by its fields, never by their values', () => {
  const step = stepFor(
    manifestOf(objectOf('v1 Secret', { data: { a: 'bmV3' } })),
    liveOf('v1 Secret', { data: { a: 'b2xk' } }),
    undefined,
    'updating',
  );
  assert.ok(step.action === 'update');
  assert.deepEqual(step.differences, [{ path: 'data.a', was: '(not shown)', is: '(not shown)' }]);
});

test('hostile objects are refused or merged, and never lose a field: names of what every object inherits, lists that are none, depth', () => {
  let deep: Loose = {};
  for (let level = 0; level < 5_000; level += 1) deep = { a: deep };
  const wanted = objectOf('v1 ConfigMap', { data: { constructor: 'x', ['__proto__x']: 'y' } });
  assert.equal(
    stepFor(manifestOf(wanted), liveOf('v1 ConfigMap', { data: deep }), undefined, 'updating').action,
    'refuse',
  );
  assert.deepEqual(changesOf(wanted, liveOf('v1 ConfigMap', { data: { toString: 'z' } })), {
    'data.__proto__x': 'y',
    'data.constructor': 'x',
  });
  for (const data of [null, 'text', [1], 7]) {
    const step = stepFor(manifestOf(wanted), liveOf('v1 ConfigMap', { data }), undefined, 'updating');
    assert.ok(step.action === 'update' && equal(step.object['data'], wanted['data'] as JsonObject));
  }
  const spec = { template: { spec: { containers: [null, 'x', { name: 'c' }, { name: 'c' }] } } };
  assert.ok(
    stepFor(manifestOf(objectOf(DEPLOYMENT, pod({ image: 'i' }))), liveOf(DEPLOYMENT, { spec }), undefined, 'updating')
      .action === 'update',
  );
});

test('merging costs what it weighs, however many keys there are, ours or not', async () => {
  const mapOf = (size: number, value: string) =>
    Object.fromEntries(Array.from({ length: size }, (_, index) => [`k${index}`, value]));
  const digests = (size: number) => mapOf(size, digestOf('x'));
  await assertLinear({
    name: 'a ConfigMap of which every key changes, and one of which every key goes',
    input: (size) => {
      const keys = Math.ceil(size / 16);
      return {
        live: liveOf('v1 ConfigMap', { data: mapOf(keys, 'x') }),
        wanted: manifestOf(objectOf('v1 ConfigMap', { data: mapOf(keys, 'y') })),
        ours: entryOf({ written: { data: digests(keys) } }),
      };
    },
    read: ({ live, wanted, ours }) => {
      assert.equal(stepFor(wanted, live, undefined, 'updating').action, 'update');
      const step = stepFor(manifestOf(objectOf('v1 ConfigMap', { data: {} })), live, ours, 'updating');
      assert.ok(step.action === 'update' && step.object['data'] === undefined);
    },
    limit: 2 ** 18,
  });
});

test('integers of 64 bits are compared digit by digit: the same is no change, the next one is, and is written as it is', () => {
  const kind = 'example.com/v1 Widget';
  const textOf = (value: bigint): string => jsonText(objectOf(kind, { spec: { list: [{ value }], value } }));
  const wanted = (value: bigint): Manifest => readManifestFile('0000_10_a_1.yaml', textOf(value))[0] ?? assert.fail();
  const live = (value: bigint): KubeObject =>
    parseExact(jsonText({ ...objectOf(kind, { spec: { list: [{ value }], value } }, SERVERS) })) as KubeObject;
  const integer = fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 2n }),
    fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
    // JavaScript writes the nearest number with these very digits, and it is another one.
    fc.constant(2_083_259_695_397_857_300n),
  );
  fc.assert(
    fc.property(integer, (value) => {
      assert.equal(stepFor(wanted(value), live(value), undefined, 'updating').action, 'nothing');
      const step = stepFor(wanted(value + 1n), live(value), undefined, 'updating');
      assert.equal(step.action, 'update');
      if (step.action !== 'update') return;
      assert.ok(jsonText(step.object).includes(`"value":${value + 1n}}`));
      assert.deepEqual(
        step.differences.map(({ was, is }) => [was, is]),
        [
          [`${value}`, `${value + 1n}`],
          [`${value}`, `${value + 1n}`],
        ],
      );
      const digests = [live(value), live(value + 1n)].map((one) => contentDigest(asJson(one)));
      assert.notEqual(digests[0], digests[1]);
      assert.equal(contentDigest(wanted(value).object), digests[0]);
    }),
  );
});

test('the digest of what was written is the same in every version of the product: inventories hold it', () => {
  const value = {
    b: [1, 'x', null],
    a: { z: true, ä: 1.5 },
    absent: undefined,
    wide: 2n ** 60n,
  } as unknown as JsonObject;
  assert.equal(digestOf(value), 'n2CW6YaKQbExFL6D');
  const many: JsonObject = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`key-${at}`, 'v']));
  const turned: JsonObject = Object.fromEntries(Object.entries(many).toReversed());
  assert.equal(digestOf(many), digestOf(turned));
  assert.notEqual(contentDigest({ spec: value, data: many }), contentDigest({ data: value, spec: many }));
  for (const _ of ['worked out', 'known']) assert.equal(digestOf('x'), 'KA7s_Wo0VS5CCzDh');
});

test('values have one digest exactly where they are equal, and the content of an object has another one after each change', () => {
  const field = fc.constantFrom('spec', 'data', 'a', 'b');
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, true, 0, 1, '', 'x', '0', 'null', 2n ** 60n),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(field, tie('tree'), { maxKeys: 3 }),
    ),
  }));
  const object = fc.dictionary(field, tree, { maxKeys: 4 }) as fc.Arbitrary<JsonObject>;
  fc.assert(
    fc.property(object, object, (one, other) => {
      assert.equal(digestOf(structuredClone(one)), digestOf(one));
      assert.equal(contentDigest(structuredClone(one)), contentDigest(one));
      assert.equal(digestOf(one) === digestOf(other), equal(one, other));
      if (!equal(one, other)) assert.notEqual(contentDigest(one), contentDigest(other));
    }),
    { numRuns: 2_000 },
  );
});

test('what is nested deeper than the stack is digested all the same, and in a moment', () => {
  let deep: JsonObject = {};
  for (let level = 0; level < 200_000; level += 1) deep = { deep };
  assert.equal(typeof contentDigest({ spec: deep }), 'string');
});

test('of a definition its generation stands for what the server made of it: nobody needs its schema to see that nothing changed', () => {
  const kind = 'apiextensions.k8s.io/v1 CustomResourceDefinition';
  const manifest = manifestOf(objectOf(kind, { spec: { group: 'g.io' } }));
  const live = (generation: number, spec?: JsonObject) =>
    liveOf(kind, spec === undefined ? {} : { spec }, { generation });
  const entry = (generation: number) =>
    entryOf({
      settled: {
        manifest: contentDigest(manifest.object),
        content: contentMark(manifest, live(generation, { group: 'g.io', scope: 'x' }) as unknown as JsonObject),
      },
    });
  const isIt = (one: KubeObject, generation: number) =>
    isSettled(manifest, one as unknown as JsonObject, entry(generation));
  assert.deepEqual([isIt(live(3), 3), isIt(live(4), 3), isIt(live(3), 4)], [true, false, false]);
  const thing = manifestOf(objectOf('g.io/v1 Thing', { spec: {} }));
  const other = liveOf('g.io/v1 Thing', { spec: {} }, { generation: 3 }) as unknown as JsonObject;
  assert.equal(contentMark(thing, other), contentDigest(other), 'of others a generation says less');
});
