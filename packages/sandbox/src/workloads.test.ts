import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Api, createApi } from './api.ts';
import { backendOf } from './backend.ts';
import { binaryPath } from './build.ts';
import type { ApiServerEra } from './era.ts';
import { startSandbox, type WorkloadsSandbox } from './sandbox.ts';

// Controllers take two minutes to build: they are asked for by name, or are there already.
const wanted = process.env['DRYDOCK_WORKLOADS'] === '1' || process.env['DRYDOCK_SOAK'] !== undefined;
const embedded = backendOf() === 'embedded';
const skip =
  embedded || wanted || existsSync(binaryPath('drydock-workloads'))
    ? false
    : 'needs kube-controller-manager and kube-scheduler, which take minutes to build: set DRYDOCK_WORKLOADS=1';
const eras: readonly ApiServerEra[] = wanted ? ['E0', 'E1', 'E2'] : ['E2'];
const DEADLINE_MS = 120_000;

const APPS = '/apis/apps/v1/namespaces/default';
const JOBS = '/apis/batch/v1/namespaces/default/jobs';

interface Live {
  readonly code?: number;
  readonly metadata?: { readonly generation?: number; readonly name?: string };
  readonly items?: readonly Live[];
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly numberAvailable?: number;
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
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

    test('a DaemonSet has a pod on each node', async () => {
      const selector = { matchLabels: { app: 'shop' } };
      await post(`${APPS}/daemonsets`, 'DaemonSet', 'each', { selector, template: pod('each:1') });
      await until('each node', `${APPS}/daemonsets/each`, ({ status }) => status?.numberAvailable === 2);
    });

    test('a StatefulSet has its pods one after the other; the simulator refuses it', async () => {
      const spec = {
        selector: { matchLabels: { app: 'shop' } },
        serviceName: 'row',
        replicas: 2,
        template: pod('row:1'),
      };
      if (embedded) {
        const body = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'row' }, spec };
        const answer = await api.call('POST', `${APPS}/statefulsets`, { body });
        assert.equal(answer.status, 501);
        assert.match(JSON.stringify(answer.body), /does not have StatefulSets/);
        return;
      }
      await post(`${APPS}/statefulsets`, 'StatefulSet', 'row', spec);
      await until('the row', `${APPS}/statefulsets/row`, ({ status }) => status?.availableReplicas === 2);
    });

    test('a Deployment is scaled, and a budget holds an eviction back', async () => {
      const labels = { app: 'held' };
      await post(`${APPS}/deployments`, 'Deployment', 'held', {
        ...{ replicas: 1, selector: { matchLabels: labels } },
        template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'held:1' }] } },
      });
      const replicas = (count: number) => (live: Live) =>
        live.status?.observedGeneration === live.metadata?.generation && live.status?.availableReplicas === count;
      await until('one pod', `${APPS}/deployments/held`, replicas(1));
      const scale = { body: { spec: { replicas: 2 } }, type: 'application/merge-patch+json' } as const;
      assert.equal((await api.call('PATCH', `${APPS}/deployments/held/scale`, scale)).status, 200);
      await until('two pods', `${APPS}/deployments/held`, replicas(2));
      const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
      const budget = {
        ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'held' } },
        spec: { minAvailable: 2, selector: { matchLabels: labels } },
      };
      assert.equal((await api.call('POST', budgets, { body: budget })).status, 201);
      const counted = (allowed: number) => (live: Live) =>
        live.status?.observedGeneration === live.metadata?.generation && live.status?.disruptionsAllowed === allowed;
      await until('the budget', `${budgets}/held`, (live) => counted(0)(live) && live.status?.currentHealthy === 2);
      const [first] =
        ((await api.call('GET', '/api/v1/namespaces/default/pods?labelSelector=app%3Dheld')).body as Live).items ?? [];
      const name = first?.metadata?.name ?? assert.fail('no pod');
      const evict = () =>
        api.call('POST', `/api/v1/namespaces/default/pods/${name}/eviction`, {
          body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
        });
      assert.equal((await evict()).status, 429);
      const patch = { body: { spec: { minAvailable: 1 } }, type: 'application/merge-patch+json' } as const;
      assert.equal((await api.call('PATCH', `${budgets}/held`, patch)).status, 200);
      await until('the smaller budget', `${budgets}/held`, counted(1));
      assert.equal((await evict()).status, 201);
      await until('the next pod', `${APPS}/deployments/held`, replicas(2));
      await until('the end of the old one', `/api/v1/namespaces/default/pods/${name}`, ({ code }) => code === 404);
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
