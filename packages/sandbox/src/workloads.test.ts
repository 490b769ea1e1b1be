import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Api, createApi } from './api.ts';
import { binaryPath } from './build.ts';
import type { ApiServerEra } from './era.ts';
import { startSandbox, type WorkloadsSandbox } from './sandbox.ts';

// Controllers take two minutes to build: they are asked for by name, or are there already.
const wanted = process.env['DRYDOCK_WORKLOADS'] === '1' || process.env['DRYDOCK_SOAK'] !== undefined;
const skip =
  wanted || existsSync(binaryPath('drydock-workloads'))
    ? false
    : 'needs kube-controller-manager and kube-scheduler, which take minutes to build: set DRYDOCK_WORKLOADS=1';
const eras: readonly ApiServerEra[] = wanted ? ['E0', 'E1', 'E2'] : ['E2'];
const DEADLINE_MS = 120_000;

const APPS = '/apis/apps/v1/namespaces/default';
const JOBS = '/apis/batch/v1/namespaces/default/jobs';

interface Live {
  readonly metadata?: { readonly generation?: number };
  readonly items?: readonly { readonly status?: { readonly phase?: string } }[];
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly numberAvailable?: number;
    readonly succeeded?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
  };
}

for (const era of eras) {
  suite(`workloads on a server of era ${era}`, { skip }, () => {
    let sandbox: WorkloadsSandbox;
    let api: Api;

    before(async () => {
      sandbox = await startSandbox({ workloads: { nodes: 2 }, era });
      api = createApi(sandbox.admin);
    });
    after(async () => {
      await api?.[Symbol.asyncDispose]();
      await sandbox?.[Symbol.asyncDispose]();
      assert.equal(sandbox.workloads.kubelet.pid, undefined);
    });

    const until = async (what: string, path: string, holds: (live: Live) => boolean): Promise<void> => {
      const deadline = performance.now() + DEADLINE_MS;
      for (;;) {
        const live = (await api.call('GET', path)).body as Live;
        if (holds(live)) return;
        if (performance.now() > deadline) assert.fail(`${what}: ${JSON.stringify(live.status)}`);
        await delay(100);
      }
    };
    const pod = (image: string, annotations: Readonly<Record<string, string>> = {}) => ({
      metadata: { labels: { app: 'shop' }, annotations },
      spec: { containers: [{ name: 'main', image }] },
    });
    const post = async (path: string, kind: string, name: string, spec: object): Promise<void> => {
      const apiVersion = path === JOBS ? 'batch/v1' : 'apps/v1';
      const { status, body } = await api.call('POST', path, { body: { apiVersion, kind, metadata: { name }, spec } });
      assert.equal(status, 201, JSON.stringify(body));
    };
    const image = async (next: string): Promise<void> => {
      const body = { spec: { template: pod(next) } };
      const type = 'application/merge-patch+json';
      assert.equal((await api.call('PATCH', `${APPS}/deployments/shop`, { body, type })).status, 200);
    };
    const rolledOut = ({ metadata, status }: Live): boolean =>
      status?.observedGeneration === metadata?.generation &&
      status?.replicas === 2 &&
      status.updatedReplicas === 2 &&
      status.availableReplicas === 2;

    test('a Deployment rolls out, an image that crashes passes its deadline, and it recovers', async () => {
      const spec = { replicas: 2, progressDeadlineSeconds: 2, selector: { matchLabels: { app: 'shop' } } };
      await post(`${APPS}/deployments`, 'Deployment', 'shop', { ...spec, template: pod('shop:1') });
      await until('the first roll-out', `${APPS}/deployments/shop`, rolledOut);
      await sandbox.workloads.rules([{ image: 'shop:2', pod: 'crash-loop' }]);
      await image('shop:2');
      await until('its deadline', `${APPS}/deployments/shop`, ({ status }) =>
        Boolean(status?.conditions?.some(({ reason }) => reason === 'ProgressDeadlineExceeded')),
      );
      await sandbox.workloads.rules([]);
      await until('it recovers', `${APPS}/deployments/shop`, rolledOut);
    });

    test('a DaemonSet has a pod on each node, a StatefulSet one after the other', async () => {
      const selector = { matchLabels: { app: 'shop' } };
      await post(`${APPS}/daemonsets`, 'DaemonSet', 'each', { selector, template: pod('each:1') });
      await post(`${APPS}/statefulsets`, 'StatefulSet', 'row', {
        ...{ selector, serviceName: 'row', replicas: 2 },
        template: pod('row:1'),
      });
      await until('each node', `${APPS}/daemonsets/each`, ({ status }) => status?.numberAvailable === 2);
      await until('the row', `${APPS}/statefulsets/row`, ({ status }) => status?.availableReplicas === 2);
    });

    test('a Job completes, one whose pods fail does not', async () => {
      const job = (annotations: Readonly<Record<string, string>>) => {
        const { metadata, spec } = pod('job:1', annotations);
        return { backoffLimit: 0, template: { metadata, spec: { ...spec, restartPolicy: 'Never' } } };
      };
      await post(JOBS, 'Job', 'good', job({}));
      await post(JOBS, 'Job', 'bad', job({ 'sandbox.drydock.dev/pod': 'fail' }));
      const ends =
        (how: string) =>
        ({ status }: Live): boolean =>
          Boolean(status?.conditions?.some((one) => one.type === how && one.status === 'True'));
      await until('it completes', `${JOBS}/good`, ends('Complete'));
      await until('it fails', `${JOBS}/bad`, ends('Failed'));
    });

    test('a behaviour that there is not is refused', async () => {
      await assert.rejects(sandbox.workloads.rules([{ pod: 'lazy' as never }]), /a pod cannot be "lazy"/);
    });
  });
}
