import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Payload } from '@drydock/api';
import { isNotFound, type KubeClient, type KubeObject, type Resource } from '@drydock/kube';
import { backendOf } from '@drydock/sandbox';
import { eventually } from './support/kube-kinds.ts';
import { accountNamespace } from './support/rbac-manifests.ts';
import { type ReleaseRig, startReleaseRig } from './support/release-rig.ts';

const shop = 'shop';
const account = { namespace: accountNamespace, name: 'drydock-payloads' };
const JOB: Resource<KubeObject> = { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', scope: 'Namespaced' };

let rig: ReleaseRig;
let client: KubeClient;

const podOf = (name: string, behaviour?: string) => ({
  metadata: {
    labels: { app: name },
    ...(behaviour === undefined ? {} : { annotations: { 'sandbox.drydock.dev/pod': behaviour } }),
  },
  spec: { containers: [{ name, image: `${name}:1` }], restartPolicy: name === 'web' ? 'Always' : 'Never' },
});
const web = (behaviour?: string) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: shop } },
  spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: podOf('web', behaviour) },
});
const migrate = {
  ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'migrate', namespace: shop } },
  spec: { template: podOf('migrate') },
};
const release = (version: string, behaviour?: string): Promise<string> =>
  rig.registry.release(version, { '0000_10_a_1.yaml': migrate, '0000_20_a_1.yaml': web(behaviour) }, rig.signer);
const head = async (): Promise<string> => {
  const { status } = await client.get(Payload, { name: 'shop' });
  const [first] = status?.history ?? [];
  return `${first?.version} ${first?.state}`;
};

// Real controllers take two minutes to build.
const isThere =
  backendOf() === 'embedded' || ['DRYDOCK_WORKLOADS', 'DRYDOCK_SOAK'].some((name) => process.env[name] === '1');
const skip = isThere
  ? false
  : 'needs kube-controller-manager and kube-scheduler, which take minutes to build: set DRYDOCK_WORKLOADS=1';

suite('rollouts of a Payload', { skip }, () => {
  before(async () => {
    rig = await startReleaseRig({ kustomizations: ['release'], namespaces: [shop], workloads: true });
    ({ client } = rig);
    const verbs = ['get', 'list', 'watch', 'create', 'update', 'delete'];
    const rules = [
      { apiGroups: ['apps'], resources: ['deployments'], verbs },
      { apiGroups: ['batch'], resources: ['jobs'], verbs },
    ];
    await rig.grant(shop, rules, { namespace: shop, account });
  });
  after(() => rig?.[Symbol.asyncDispose]());

  test('REL-3 REL-6 a Payload is complete when its pods are ready, and a Job that was removed is not made again', async () => {
    await using running = await rig.operator();
    await client.create(Payload, {
      metadata: { name: 'shop' },
      spec: {
        image: await release('1.0.0', 'never-ready'),
        serviceAccount: account,
        verify: { keyRings: [{ name: 'ours', keys: rig.signer.publicKey }], stores: [rig.registry.store] },
      },
    });
    await eventually('it says what it waits for', async () => {
      const { status } = await client.get(Payload, { name: 'shop' });
      return (
        status?.waiting?.some(
          ({ object, why }) => object.includes('web') && why === '0 of 2 replicas are available',
        ) === true
      );
    });
    assert.equal(await head(), '1.0.0 Partial');
    const { status } = await client.get(Payload, { name: 'shop' });
    assert.equal(status?.conditions?.find(({ type }) => type === 'Progressing')?.status, 'True');

    await client.mergePatch(Payload, { name: 'shop' }, { spec: { image: await release('1.0.1') } });
    await eventually('it is complete', async () => (await head()) === '1.0.1 Completed');
    const key = { namespace: shop, name: 'migrate' };
    await client.delete(JOB, key);
    const passes = await running.passes('payloads');
    await client.mergePatch(Payload, { name: 'shop' }, { spec: { acceptedRisks: ['another'] } });
    await eventually('it is held', async () => (await running.passes('payloads')) > passes);
    await assert.rejects(client.get(JOB, key), isNotFound);
  });
});
