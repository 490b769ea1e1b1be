import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { BootImagePolicy } from '@drydock/api';
import {
  partOf,
  playRotatedMachine,
  ROTATED_MACHINE_SCENARIOS,
  type RotatedMachineFate,
  type RotatedMachineRig,
  rotatedParts,
} from '@drydock/boot-images/testing';
import { apiVersionOf } from '@drydock/kube';
import type { ActiveRule } from '@drydock/sandbox';
import { apply, manifestsOf } from '../sandbox/support/rbac-manifests.ts';
import {
  type CapiObject,
  capi,
  imageFolder,
  type RotationWorld,
  startRotationWorld,
  team,
} from '../sandbox/support/rotation-world.ts';
import { eventually } from '../sandbox/support/voyage.ts';
import {
  type ClusterApi,
  configs,
  createFleet,
  machines,
  startBootstrap,
  startClusterApi,
} from './support/cluster-api.ts';
import { type GuestFate, type Kubelets, startKubelets } from './support/kubelets.ts';
import { createTemplate, skipNeighbours } from './support/machine-api.ts';

const skip = skipNeighbours;
const stack = new AsyncDisposableStack();
let world: RotationWorld;
let managers: ClusterApi;
let kubelets: Kubelets;

before(async () => {
  if (skip !== false) return;
  world = stack.use(await startRotationWorld());
  await world.switchboard.setOptions({ guestData: true });
  await createTemplate(world.switchboard, { folder: imageFolder, name: 'by-hand' });
  managers = stack.use(await startClusterApi(world));
  kubelets = stack.use(startKubelets(world.client, world.switchboard));
  stack.use(startBootstrap(world.client));
  await apply(world.client, manifestsOf('cluster-api-canary'));
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

const GUESTS: Readonly<Partial<Record<RotatedMachineFate, GuestFate>>> = {
  'never-boots': 'never joins',
  'no-node': 'never joins',
  'kubelet-not-ready': 'joins, and is not ready',
  'node-lost': 'joins, and goes',
};

/** The real controllers. What stands in their way goes with the rig. */
function rig(fleet: CapiObject): RotatedMachineRig & AsyncDisposable {
  const { client, switchboard } = world;
  const rules: ActiveRule[] = [];
  return {
    ...{ client, namespace: team, machines, parts: [configs.config, capi.machine] },
    create: async ({ name, group, fate, templates }) => {
      const image = `made-for-${name}`;
      for (let count = 0; count < templates; count += 1)
        await createTemplate(switchboard, { folder: `/DC0/vm/elsewhere/${name}-${count}`, name: image });
      if (fate === 'quota')
        rules.push(
          await switchboard.rule({
            ...{ on: 'CloneVM_Task', do: 'task', delayMs: 0 },
            fault: {
              name: 'InsufficientResourcesFault',
              message: 'The operation exceeds the quota of the resource pool.',
            },
          }),
        );
      if (fate === 'no-power')
        rules.push(
          await switchboard.rule({
            ...{ on: 'PowerOn*', do: 'fault' },
            fault: { name: 'NoCompatibleHost', message: 'no host is left for it' },
          }),
        );
      kubelets.fate(new RegExp(`^${name}$`), GUESTS[fate] ?? 'joins');
      await switchboard.setOptions({ guestData: fate !== 'never-boots' });
      const typed = (resource: typeof machines, one: CapiObject): CapiObject => ({
        ...{ apiVersion: apiVersionOf(resource), kind: resource.kind },
        ...one,
      });
      const config = typed(configs.template, await client.get(configs.template, { namespace: team, name: 'boot' }));
      const template = typed(capi.template, await client.get(capi.template, { namespace: team, name: 'tried' }));
      const parts = rotatedParts(fleet, template, { config, group, image, version: machines.version });
      const machine = await client.create(machines, parts.machine);
      for (const part of parts.others)
        await client.create(
          part.kind === configs.config.kind ? configs.config : capi.machine,
          partOf(part, { ...parts.machine, ...machine }),
        );
    },
    // After a task that failed the provider does nothing for a minute, not even take the machine away.
    until: async (what, look, seen) => eventually(what, look, () => [seen(), managers.log()], 180_000),
    [Symbol.asyncDispose]: async () => {
      for (const rule of rules) await rule.remove();
      await switchboard.setOptions({ guestData: true });
    },
  };
}

let tried: CapiObject | undefined;

/** A deployment without machines that starts them by kubeadm. */
async function triedFleet(): Promise<CapiObject> {
  if (tried !== undefined) return tried;
  await world.client.create(configs.template, {
    metadata: { namespace: team, name: 'boot' },
    spec: { template: { spec: { joinConfiguration: { nodeRegistration: { name: 'node' } } } } },
  });
  tried = await createFleet(world.client, 'tried', { replicas: 0, strategy: 'OnDelete', config: 'boot' });
  return tried;
}

suite('OWN-18 the real controllers of Cluster API and of its vSphere provider', { skip }, () => {
  // It would take off canaries that no set waits for.
  before(() => world.kill());
  for (const scenario of ROTATED_MACHINE_SCENARIOS)
    test(`OWN-18 ${scenario.name}`, async () => {
      await using real = rig(await triedFleet());
      await playRotatedMachine(real, scenario, randomBytes(6).toString('hex'));
    });
});

test('OWN-18 a canary of Cluster API is cloned by its provider, becomes a node with a taint and goes, and then the deployment is rotated; one whose guest never joins stops the next image', {
  skip,
}, async () => {
  await triedFleet();
  world.start();
  const policy = { name: 'kubernetes' };
  const canary = { mode: 'Machine', timeout: '45s' };
  await world.client.mergePatch(BootImagePolicy, policy, { spec: { canary } } as object);
  const image = await world.image();
  const seen: CapiObject[] = [];
  const watching = watchCanaries(seen);
  await world.catalogue(image);
  await world.current('tried', image);
  const status = await world.status('tried', 'its canary has passed', (one) => one.canary?.verdict === 'Passed');
  await watching[Symbol.asyncDispose]();
  assert.deepEqual(new Set(seen.map(({ metadata }) => metadata.name)), new Set([status.canary?.machine]));
  for (const { metadata } of seen)
    assert.equal(metadata.ownerReferences?.some(({ controller }) => controller === true) ?? false, false);
  await gone(status.canary?.machine ?? '');

  kubelets.fate(/^drydock-canary-/, 'never joins');
  const reference = await world.reference('tried');
  await world.catalogue(await world.image());
  const failed = await world.status('tried', 'its canary failed', ({ reason }) => reason === 'CanaryFailed');
  assert.match(
    failed.message ?? '',
    /was no node that is ready .*; vcenter vc\.example says: poweredOn, VMware Tools running/,
  );
  assert.equal(await world.reference('tried'), reference, 'nothing is patched');
  await gone(failed.canary?.machine ?? '');
  const refused = (await world.log()).split('\n').filter((line) => line.includes('Forbidden'));
  assert.deepEqual(refused, []);
});

function watchCanaries(seen: CapiObject[]): AsyncDisposable {
  const ends = new AbortController();
  const running = (async () => {
    while (!ends.signal.aborted) {
      for (const one of await Array.fromAsync(world.client.list(machines, { namespace: team })))
        if (one.metadata.name.startsWith('drydock-canary-')) seen.push(one);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      ends.abort();
      await running;
    },
  };
}

/** With its virtual machine and all that it referred to. */
async function gone(name: string): Promise<void> {
  for (const resource of [machines, configs.config, capi.machine])
    await eventually(
      `${resource.kind} ${name} is gone`,
      async () => {
        const all = await Array.fromAsync(world.client.list(resource, { namespace: team }));
        return all.every(({ metadata }) => metadata.name !== name) || undefined;
      },
      () => managers.log(),
    );
  assert.deepEqual(
    (await world.switchboard.vms()).filter((vm) => vm.name === name),
    [],
  );
}
