import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BootImagePolicy } from '@drydock/api';
import {
  type CapiObject,
  capi,
  imageFolder,
  type RotationWorld,
  startRotationWorld,
  team,
} from '../sandbox/support/rotation-world.ts';
import { eventually } from '../sandbox/support/voyage.ts';
import { type ClusterApi, createFleet, startClusterApi } from './support/cluster-api.ts';
import { startKubelets } from './support/kubelets.ts';
import { createTemplate, skipNeighbours } from './support/machine-api.ts';

const skip = skipNeighbours;
const stack = new AsyncDisposableStack();
let world: RotationWorld;
let managers: ClusterApi;

before(async () => {
  if (skip !== false) return;
  world = stack.use(await startRotationWorld());
  await world.switchboard.setOptions({ guestData: true });
  await createTemplate(world.switchboard, { folder: imageFolder, name: 'by-hand' });
  managers = stack.use(await startClusterApi(world));
  stack.use(startKubelets(world.client, world.switchboard));
  world.start();
});
after(() => stack.disposeAsync());

/** Template of the vCenter that an infrastructure machine is cloned from. */
const clonedFrom = (machine: CapiObject): unknown => machine.spec?.['template'];

/** Infrastructure machines of a deployment. */
async function machinesOf(name: string): Promise<readonly CapiObject[]> {
  const all = await Array.fromAsync(world.client.list(capi.machine, { namespace: team }));
  return all.filter(({ metadata }) => metadata.labels?.['cluster.x-k8s.io/deployment-name'] === name);
}

/** Waits until so many machines of a deployment, and no more, are nodes that are available, all cloned from one template. */
async function available(name: string, count: number, template: unknown): Promise<readonly CapiObject[]> {
  let seen: unknown;
  return eventually(
    `${count} machines of ${name} are available`,
    async () => {
      const { metadata, status = {} } = (await world.client.get(capi.deployment, {
        ...{ namespace: team, name },
      })) as CapiObject & { readonly status?: Readonly<Record<string, unknown>> };
      const machines = await machinesOf(name);
      seen = [status, machines.map((one) => [one.metadata.name, clonedFrom(one)])];
      const counts = ['replicas', 'availableReplicas', 'upToDateReplicas'].map((key) => status[key]);
      const settled = status['observedGeneration'] === metadata.generation && counts.every((one) => one === count);
      const follow = machines.length === count && machines.every((one) => clonedFrom(one) === template);
      return settled && follow ? machines : undefined;
    },
    () => [seen, managers.log()],
  );
}

const scale = async (name: string, replicas: number): Promise<void> =>
  void (await world.client.mergePatch(capi.deployment, { namespace: team, name }, { spec: { replicas } }));

test('OWN-18 a rotation is rolled out by Cluster API from the template that Drydock published, and not before a policy allows it', {
  skip,
}, async () => {
  await createFleet(world.client, 'fleet', { replicas: 2, strategy: 'RollingUpdate' });
  await available('fleet', 2, 'by-hand');
  const image = await world.image();
  await world.catalogue(image);
  const refused = await world.status('fleet', 'refused', ({ reason }) => reason === 'RolloutNotAllowed');
  assert.equal(refused.progress, 'skipped: would roll 2 nodes');
  await world.client.mergePatch(
    BootImagePolicy,
    { name: 'kubernetes' },
    { spec: { clusterAPI: { rollout: 'Allow' } } },
  );
  await world.current('fleet', image);
  const { template } = await world.machineSpec('fleet');
  const copy = await world.reference('fleet');
  const after = await available('fleet', 2, template);
  assert.deepEqual(
    after.map(({ metadata }) => metadata.annotations?.['cluster.x-k8s.io/cloned-from-name']),
    [copy, copy],
  );
  const vms = (await world.switchboard.vms({ folder: imageFolder })).filter(({ isTemplate }) => !isTemplate);
  assert.deepEqual(
    vms.map(({ name, power }) => `${name} ${power}`).toSorted(),
    after.map(({ metadata }) => `${metadata.name} poweredOn`).toSorted(),
    'the machines before are gone',
  );
  // Clones inherit extraConfig: none of the machines is taken for a template.
  await world.template('fleet');
  assert.equal(
    (await world.switchboard.vms({ folder: imageFolder })).some(({ name }) => name === template),
    true,
  );
});

test('OWN-18 a template that is gone is reported by the provider; Drydock makes it anew, and the machine is cloned', {
  skip,
}, async () => {
  const { template } = await world.machineSpec('fleet');
  const copy = await world.reference('fleet');
  await world.kill();
  await world.switchboard.destroyVm(`${imageFolder}/${String(template)}`);
  await scale('fleet', 3);
  let seen: unknown;
  await eventually(
    'the provider says that it cannot clone',
    async () => {
      const said = (await machinesOf('fleet')).map((one) => JSON.stringify((one as { status?: unknown }).status));
      seen = said;
      return said.some((text) => text?.includes('CloningFailed') && text.includes(String(template))) || undefined;
    },
    () => [seen, managers.log()],
  );
  world.start();
  await eventually(
    'it is there again',
    async () =>
      (await world.switchboard.vms({ folder: imageFolder })).some(({ name }) => name === template) || undefined,
    () => world.log(),
  );
  await available('fleet', 3, template);
  assert.equal(await world.reference('fleet'), copy, 'nothing was rolled for it');
});

test('OWN-18 a deployment with strategy OnDelete is pointed at the copy without a node being rolled; its next machine comes from there', {
  skip,
}, async () => {
  await world.kill();
  await createFleet(world.client, 'careful', { replicas: 1, strategy: 'OnDelete' });
  const [only] = await available('careful', 1, 'by-hand');
  const image = await world.image();
  await world.catalogue(image);
  world.start();
  await world.current('careful', image);
  const { template } = await world.machineSpec('careful');
  await scale('careful', 2);
  let seen: unknown;
  const both = await eventually(
    'a second machine',
    async () => {
      const machines = await machinesOf('careful');
      seen = machines;
      return machines.length === 2 ? machines : undefined;
    },
    () => seen,
  );
  assert.ok(both.some(({ metadata }) => metadata.uid === only?.metadata.uid));
  const second = both.find(({ metadata }) => metadata.uid !== only?.metadata.uid);
  assert.equal(clonedFrom(second as CapiObject), template);
});
