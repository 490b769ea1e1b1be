import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bootImageName } from '@drydock/api';
import { worldNow } from '@drydock/boot-images';
import {
  capiCluster,
  capiKind,
  capiObject,
  machineDeployment,
  putPolicy,
  type RunningCapiRole,
  runCapiRole,
  saidOfDeployment,
  servingCapi,
  templateRef,
} from '@drydock/boot-images/testing';
import type { KubeClient } from '@drydock/kube';
import { until } from '@drydock/kube/testing';
import { pageState } from '@drydock/page';
import { clusterStandings } from '../cluster-standings.ts';
import { explainClusterApi } from '../explain/cluster-api.ts';
import { pageWorld } from './world.ts';

const leaseNamespace = 'drydock';
const signal = new AbortController().signal;
const catalogue = (image: string) => ({ catalogue: [{ version: 'v1.34.2', image }] });

/** Deployments that have an old image, by a policy with a pace; of the first the template is not there once it is to move. */
async function fleet(stack: AsyncDisposableStack, names: readonly string[]) {
  const cluster = capiCluster();
  const put = (one: ReturnType<typeof capiObject>): void =>
    cluster.put(capiKind(one.kind ?? ''), { namespace: 'ns', name: one.metadata.name }, one);
  put(capiObject('Cluster', 'c1', {}));
  for (const name of names) {
    put(capiObject('AWSMachineTemplate', name, { template: { spec: { ami: { id: 'old' }, sshKeyName: name } } }));
    put(machineDeployment(name, name, { infrastructureRef: templateRef(name, 'AWSMachineTemplate') }));
  }
  putPolicy(cluster, { image: catalogue('old'), pace: { setsAtATime: 1 } });
  const role: RunningCapiRole = stack.use(await runCapiRole(cluster));
  await until('all have the old image', () =>
    names.every((name) => saidOfDeployment(cluster, name)?.current === 'old'),
  );
  return { cluster, role, put };
}

type Words = Readonly<Record<'phase' | 'reason' | 'message' | 'nextStep' | 'target', string>>;

/** What each surface says of each set, by its name. */
async function said(client: KubeClient): Promise<Readonly<Record<'status' | 'page' | 'explain', Map<string, Words>>>> {
  const words = (of: Partial<Words>): Words => {
    const { phase = '', reason = '', message = '', nextStep = '', target = '' } = of;
    return { phase, reason, message, nextStep, target };
  };
  const { images, unread, leader } = await clusterStandings(client, { leaseNamespace }, signal);
  assert.deepEqual(unread, []);
  const status = new Map(images.map((one) => [one.status?.set ?? '', words(one.status ?? {})]));
  const { sections } = pageState(await pageWorld(client, { leaseNamespace }, signal));
  const page = new Map(sections.sets.map((row) => [row.set, words(row)]));
  const world = await worldNow(client, { signal, credentials: 'unread' });
  const explained = await explainClusterApi(client, [], { world, leader, signal });
  const phases: Readonly<Record<string, string>> = { none: 'Current', wait: 'Pending', blocked: 'Blocked' };
  const explain = new Map(
    explained.map(({ set, step, why, nextStep = '', target = '' }) => {
      const id = set.slice(set.indexOf('/') + 1);
      const reason = status.get(id)?.reason ?? '';
      return [id, { phase: phases[step] ?? step, reason, message: why, nextStep, target }];
    }),
  );
  return { status, page, explain };
}

test('OWN-18 sets that wait for their turn are written to three times, the wait is told by every surface alike, and follows who is before them', async () => {
  await using stack = new AsyncDisposableStack();
  const names = ['set-a', 'set-b', 'set-c', 'set-d'];
  const { cluster, role, put } = await fleet(stack, names);
  const client = servingCapi(cluster.client());
  const template = capiKind('AWSMachineTemplate');
  const [first] = [cluster.peek(template, { namespace: 'ns', name: 'set-a' })];
  cluster.put(template, { namespace: 'ns', name: 'set-a' }, undefined);
  const before = role.writes.length;
  putPolicy(cluster, { image: catalogue('new'), pace: { setsAtATime: 1 } }, 2);
  await until('the first cannot move', () => saidOfDeployment(cluster, 'set-a')?.reason === 'TemplateMissing');
  const all = await said(client);
  for (const surface of [all.page, all.explain]) assert.deepEqual(surface, all.status);
  // So do metrics.
  const counted = Array.from(role.role.told(), ({ status }) => status?.phase ?? '');
  assert.deepEqual(
    counted.toSorted((a, b) => a.localeCompare(b)),
    ['Blocked', 'Pending', 'Pending', 'Pending'],
  );
  const waits = all.status.get('capi-md/set-c');
  assert.deepEqual([waits?.phase, waits?.reason, waits?.target], ['Pending', 'WaitsForTurn', 'new']);
  assert.match(
    waits?.message ?? '',
    /^machinedeployment ns\/set-c is not begun before machinedeployment ns\/set-a is done/,
  );

  put(first ?? assert.fail('it was there'));
  // What is missing is looked for again by time; a change of the deployment is work at once.
  const own = cluster.peek(capiKind('MachineDeployment'), { namespace: 'ns', name: 'set-a' });
  put({ ...own, metadata: { ...(own?.metadata ?? { name: 'set-a' }), annotations: { looked: 'again' } } });
  await until('all have the new image', () =>
    names.every((name) => saidOfDeployment(cluster, name)?.current === 'new'),
  );
  const writes = (name: string): readonly string[] =>
    role.writes.slice(before).filter((write) => write.includes(name) || write.includes(bootImageName('capi-md', name)));
  for (const name of names.slice(1)) assert.equal(writes(name).length, 3, writes(name).join('\n'));
  const end = await said(client);
  for (const surface of [end.page, end.explain]) assert.deepEqual(surface, end.status);
  assert.deepEqual(
    [...end.status.values()].map(({ phase }) => phase),
    names.map(() => 'Current'),
  );
});
