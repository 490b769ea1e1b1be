import assert from 'node:assert/strict';
import { type Pod, StaticPodError } from '@drydock/static-pods';
import { decodePod, encodePod, revisionOfPod } from '../../../packages/static-pods/src/revision/pod.ts';
import { substitute } from '../../../packages/static-pods/src/revision/substitute.ts';
import { type Format, growing, type Hostile, pieces, SECRET } from '../format.ts';

/** Manifests of static pods; what is in their environment and arguments may be secret. */
export const pods: Format<Pod> = {
  name: 'static-pod manifests',
  examples: [
    `apiVersion: v1\nkind: Pod\nmetadata:\n  name: kube-apiserver\n  labels: {revision: "7"}\nspec:\n  hostNetwork: true\n  containers:\n  - name: a\n    args: ["--token=${SECRET}"]\n    env: [{name: A, value: ${SECRET}}]\n`,
    `{"metadata":{"name":"a","labels":{"revision":"12"},"annotations":{"x":"${SECRET}"}},"spec":{"containers":[{"name":"b","securityContext":{"runAsUser":0},"ports":[{"containerPort":6443}]}],"volumes":[]}}`,
  ],
  pieces: [
    ': ',
    '- ',
    '&a ',
    '*a',
    '!t ',
    '"',
    "'",
    '{',
    '}',
    '[',
    ']',
    '\n',
    '\n  ',
    '---\n',
    'kind: List',
    'metadata:',
    'spec:',
    'containers:',
    'revision: 7',
    '~',
  ],
  nest: ['[', ']'],
  read: (bytes) => {
    const pod = decodePod(bytes, 'configmap a');
    try {
      revisionOfPod(pod, 'configmap a');
    } catch (error) {
      if (!(error instanceof StaticPodError) || error.message.length > 2_000) throw error;
    }
    return pod;
  },
  refuses: (error) => error instanceof StaticPodError && error.code === 'BAD_CONTENT',
  check: (pod) => {
    assert.equal(typeof pod.metadata.name, 'string');
    // As kubelet will read it.
    assert.deepEqual(decodePod(encodePod(pod), 'again'), JSON.parse(JSON.stringify(pod)));
  },
};

const spec = 'metadata: {name: a}\nspec: {containers: []}\n';
const inputs: Readonly<Record<string, (size: number) => Buffer>> = {
  fields: (size) => Buffer.from(`${spec}${pieces(size, (n) => `k${n}: 1\n`)}`),
  environment: (size) => Buffer.from(`${spec}env:\n${pieces(size, () => '- {name: A, value: "$(B)"}\n')}`),
  placeholders: (size) => Buffer.from(`${spec}${pieces(size, () => 'REVISION NODE_NAME ')}`),
};

export const podGrowth: readonly Hostile[] = [
  ...growing('a pod', inputs, { limit: 2 ** 19, read: (bytes) => decodePod(bytes, 'configmap a') }),
  ...growing('placeholders', inputs, {
    limit: 2 ** 20,
    read: (bytes) => substitute(bytes, { revision: '7', nodeName: 'master-0' }),
  }),
];
