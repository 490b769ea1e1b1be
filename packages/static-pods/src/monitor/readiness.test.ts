import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { memoryCluster, virtualClock } from '@drydock/kube/testing';
import { Pod } from '../revision/pod.ts';
import { askAddress, askCommand, askPod, askServer, type ReadinessSpec } from './readiness.ts';

const NAMESPACE = 'openshift-kube-apiserver';
const WATCHED = { namespace: NAMESPACE, name: 'kube-apiserver', revision: 8 };

/** A server and its mirror pod. `answer` sees each path that is asked. */
function world(answer: (path: string) => void = () => undefined) {
  const cluster = memoryCluster({ namespaces: [NAMESPACE] });
  const clock = virtualClock();
  const asked: string[] = [];
  const client = {
    ...cluster.client(),
    raw: async ({ path }: { readonly path: string }): Promise<unknown> => {
      asked.push(path);
      answer(path);
      return 'ok';
    },
  };
  const mirror = (revision: string, status: string): void =>
    cluster.put(
      Pod,
      { namespace: NAMESPACE, name: 'kube-apiserver-master-0' },
      {
        metadata: { name: 'kube-apiserver-master-0', namespace: NAMESPACE, labels: { revision } },
        spec: { containers: [] },
        status: { conditions: [{ type: 'Ready', status }] },
      },
    );
  const spec: ReadinessSpec = { client, nodeName: 'master-0', clock };
  const ready = async () => {
    const answered = askServer(spec)(WATCHED);
    await clock.advance(20_000);
    return answered;
  };
  return { asked, mirror, ready, spec };
}

test("SAFE-16 a server that answers is not ready while the mirror pod is of the revision before: it is the old one's answer", async () => {
  const w = world();
  w.mirror('7', 'True');
  const { ready, reason } = await w.ready();
  assert.deepEqual([ready, reason, w.asked], [false, 'UnexpectedRevision', []]);
});

test('SAFE-16 ready: the pod of the revision, etcd, health, three answers of /readyz without the checks that wait for others, and Ready', async () => {
  const w = world();
  w.mirror('8', 'False');
  assert.equal((await w.ready()).reason, 'PodNotReady');
  w.mirror('8', 'True');
  w.asked.length = 0;
  assert.equal((await w.ready()).ready, true);
  assert.deepEqual(
    w.asked.map((path) => path.split('?')[0]),
    ['/healthz/etcd', '/healthz', '/readyz', '/readyz', '/readyz'],
  );
  for (const path of w.asked.slice(1)) {
    const { searchParams } = new URL(path, 'https://localhost');
    assert.equal(searchParams.getAll('exclude').length, 4);
    assert.ok(searchParams.getAll('exclude').includes('poststarthook/openshift.io-oauth-apiserver-reachable'));
  }
});

test('SAFE-16 one answer of /readyz is not enough, and no pod is no readiness', async () => {
  let left = 1;
  const w = world((path) => {
    if (path.startsWith('/readyz') && left-- <= 0) throw new Error('etcd failed');
  });
  assert.equal((await w.ready()).reason, 'PodNotFound');
  w.mirror('8', 'True');
  const { ready, reason, message } = await w.ready();
  assert.deepEqual([ready, reason, message], [false, 'NotReady', '/readyz: etcd failed']);
});

test('FIND-14: other targets are ready when their mirror pod is, and what was named answers; a revision before is not asked', async () => {
  let status = 500;
  let questions = 0;
  const server = createServer((_, response) => {
    questions += 1;
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const w = world();
    const { port } = server.address() as AddressInfo;
    const pod = askPod(w.spec);
    const address = askAddress(w.spec, new URL(`http://127.0.0.1:${port}/health`));
    const command = (script: string) => askCommand(w.spec, [process.execPath, '-e', script])(WATCHED);
    w.mirror('7', 'True');
    assert.equal((await pod(WATCHED)).reason, 'UnexpectedRevision');
    assert.equal((await address(WATCHED)).reason, 'UnexpectedRevision');
    assert.equal(questions, 0);
    w.mirror('8', 'False');
    assert.equal((await pod(WATCHED)).reason, 'PodNotReady');
    w.mirror('8', 'True');
    assert.equal((await pod(WATCHED)).ready, true);
    const failed = await address(WATCHED);
    assert.deepEqual([failed.ready, failed.reason], [false, 'ProbeFailed']);
    assert.match(failed.message, /\/health: it answers 500/);
    status = 302;
    assert.equal((await address(WATCHED)).ready, true);
    assert.equal((await command('process.exit(3)')).reason, 'ProbeFailed');
    assert.equal((await command('')).ready, true);
    assert.deepEqual(w.asked, [], 'nothing of kube-apiserver is asked');
  } finally {
    server.close();
  }
});
