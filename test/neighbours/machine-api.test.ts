import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { BootImagePolicy, type BootImageStatus, Machine, MachineSet } from '@drydock/api';
import { MACHINE_SCENARIOS, type MachineFate, type MachineRig, playMachine } from '@drydock/boot-images/testing';
import { isNotFound } from '@drydock/kube';
import type { ActiveRule } from '@drydock/sandbox';
import { apply, manifestsOf } from '../sandbox/support/rbac-manifests.ts';
import { type Operator, type RbacVoyage, startRbacVoyage, userOf } from '../sandbox/support/rbac-voyage.ts';
import { eventually } from '../sandbox/support/voyage.ts';
import { installerTemplate, machineApi, oldRelease } from '../sandbox/support/voyage-cluster.ts';
import { type GuestFate, type Kubelets, startKubelets } from './support/kubelets.ts';
import { createTemplate, type MachineApi, skipNeighbours, startMachineApi, workingSet } from './support/machine-api.ts';

const skip = skipNeighbours;
const set = 'wk-a';
const account = 'drydock-boot-images';
const folder = '/DC0/vm/harbour';

let rbac: RbacVoyage;
let controllers: MachineApi;
let kubelets: Kubelets;
let operator: Operator;
const stack = new AsyncDisposableStack();

before(async () => {
  if (skip !== false) return;
  rbac = stack.use(await startRbacVoyage(async () => undefined));
  const { voyage } = rbac;
  await voyage.switchboard.setOptions({ guestData: true });
  await createTemplate(voyage.switchboard, { folder, name: installerTemplate, productVersion: oldRelease });
  controllers = stack.use(await startMachineApi(voyage.sandbox, voyage.client));
  kubelets = stack.use(startKubelets(voyage.client, voyage.switchboard));
});
after(() => stack.disposeAsync());

const GUESTS: Readonly<Partial<Record<MachineFate, GuestFate>>> = {
  'never-boots': 'never joins',
  'wrong-image': 'never joins',
  'no-node': 'never joins',
  'kubelet-not-ready': 'joins, and is not ready',
  'node-lost': 'joins, and goes',
};

/** The real controllers. What stands in their way goes with the rig. */
function rig(): MachineRig & AsyncDisposable {
  const { client, switchboard } = rbac.voyage;
  const rules: ActiveRule[] = [];
  return {
    client,
    create: async ({ name, fate, templates, labels }) => {
      const template = `made-for-${name}`;
      for (let count = 0; count < templates; count += 1)
        await createTemplate(switchboard, { folder: `/DC0/vm/elsewhere/${name}-${count}`, name: template });
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
            ...{ on: 'PowerOnMultiVM_Task', do: 'fault' },
            fault: { name: 'NoCompatibleHost', message: 'no host is left for it' },
          }),
        );
      kubelets.fate(new RegExp(`^${name}$`), GUESTS[fate] ?? 'joins');
      await switchboard.setOptions({ guestData: fate !== 'never-boots' && fate !== 'wrong-image' });
      const { spec } = workingSet('any', fate === 'invalid' ? '/DC0/vm/nowhere' : folder, 0).spec?.template ?? {};
      const value = { ...spec?.providerSpec?.value, template };
      await client.create(Machine, {
        metadata: { namespace: machineApi, name, labels },
        spec: { ...spec, providerSpec: { value } },
      } as Machine);
    },
    until: async (what, look, seen) => {
      await using _nudges = nudging();
      return eventually(what, look, () => [seen(), controllers.log()]);
    },
    [Symbol.asyncDispose]: async () => {
      for (const rule of rules) await rule.remove();
      await switchboard.setOptions({ guestData: true });
    },
  };
}

/** Controllers look again after half a minute; whoever writes to a machine has them look at once. */
function nudging(more: () => Promise<void> = async () => undefined): AsyncDisposable {
  const { client } = rbac.voyage;
  const ends = new AbortController();
  const running = (async () => {
    for (let count = 0; !ends.signal.aborted; count += 1) {
      const machines = await Array.fromAsync(client.list(Machine, { namespace: machineApi }));
      for (const { metadata } of machines)
        await client
          .mergePatch(
            Machine,
            { namespace: machineApi, name: metadata.name },
            {
              metadata: { annotations: { nudged: String(count) } },
            },
          )
          .catch(() => undefined);
      await more();
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      ends.abort();
      await running;
    },
  };
}

suite("Machine API's own controllers pass the table of the played ones", { skip }, () => {
  for (const scenario of MACHINE_SCENARIOS)
    test(`OWN-18 ${scenario.name}`, async () => {
      await using real = rig();
      await playMachine(real, scenario);
    });
});

const key = { namespace: machineApi, name: set };
const canaries = async (): Promise<readonly Machine[]> =>
  (await Array.fromAsync(rbac.voyage.client.list(Machine, { namespace: machineApi }))).filter(({ metadata }) =>
    metadata.name.startsWith('drydock-canary-'),
  );

/** Waits until the BootImage is as wanted; what nobody watches is looked at when the set is touched. */
async function status(what: string, wanted: (status: BootImageStatus) => boolean): Promise<BootImageStatus> {
  await using _nudges = nudging(() => rbac.voyage.touch(set));
  return rbac.voyage.status(set, what, wanted);
}

/** Machines of the set that run. */
async function running(count: number): Promise<readonly Machine[]> {
  await using _nudges = nudging();
  let seen: readonly Machine[] = [];
  return eventually(
    `${count} machines of ${set} run`,
    async () => {
      const all = await Array.fromAsync(rbac.voyage.client.list(Machine, { namespace: machineApi }));
      seen = all.filter(({ metadata }) => metadata.ownerReferences?.some(({ name }) => name === set));
      const up = seen.filter(({ status: is }) => is?.phase === 'Running');
      return seen.length === count && up.length === count ? seen : undefined;
    },
    () => [seen.map(({ metadata, status: is }) => [metadata.name, is]), controllers.log()],
  );
}

const templateOf = (machine: Machine): unknown => machine.spec?.providerSpec?.value?.['template'];

suite('canaries that upstream makes, beside the operator as it is deployed', { skip }, () => {
  before(async () => {
    const { client } = rbac.voyage;
    await client.create(MachineSet, workingSet(set, folder, 1));
    await apply(client, manifestsOf('canary'));
    await client.create(BootImagePolicy, {
      metadata: { name: 'gold' },
      spec: { canary: { mode: 'Machine', timeout: '2m' } },
    });
    operator = stack.use(await rbac.operator('boot-images', account));
    await rbac.voyage.current(set, oldRelease);
  });

  test('OWN-18 a canary is cloned from the new image, becomes a node and goes; then the set is patched, and its next machine comes from there', async () => {
    const { voyage } = rbac;
    const [first] = await running(1);
    const image = await voyage.image('9.8.20260802-0');
    await voyage.release(image);
    await status('a canary', ({ reason }) => reason === 'Canary');
    const done = await status('moved', ({ phase, current }) => phase === 'Current' && current === image.release);
    assert.equal(done.canary?.verdict, 'Passed');
    assert.match(done.canary?.message ?? '', /became node drydock-canary-[0-9a-f]{12}, which is ready/);
    await eventually('no canary', async () => (await canaries()).length === 0 || undefined, canaries);
    const published = await voyage.template(set);
    assert.match(published, new RegExp(image.release));
    const [same] = await running(1);
    assert.deepEqual(
      [same?.metadata.uid, templateOf(same ?? ({} as Machine))],
      [first?.metadata.uid, installerTemplate],
    );
    await voyage.client.mergePatch(MachineSet, key, { spec: { replicas: 2 } });
    const all = await running(2);
    assert.deepEqual(all.map((one) => String(templateOf(one))).toSorted(), [installerTemplate, published].toSorted());
    const vms = (await voyage.inventory(folder)).keys();
    assert.deepEqual(
      [...vms].filter((name) => name.startsWith('drydock-canary-')),
      [],
    );
  });

  test('OWN-18 a canary is tried on by the next operator when the one that made it dies: one machine, and none is left', async () => {
    const { voyage, audit } = rbac;
    const creations = (): number =>
      audit
        .calls()
        .filter(({ user, verb, resource }) => user === userOf(account) && `${verb} ${resource}` === 'create machines')
        .length;
    const made = creations();
    kubelets.fate(/^drydock-canary-/, 'never joins');
    const image = await voyage.image('9.8.20261001-0');
    await voyage.release(image);
    const [canary] = await eventually('a canary', async () => {
      const all = await canaries();
      return all.length > 0 ? all : undefined;
    });
    assert.deepEqual(canary?.metadata.ownerReferences ?? [], [], 'no set has taken it');
    await operator.crash();
    operator = stack.use(await rbac.operator('boot-images', account));
    kubelets.fate(/^drydock-canary-/, 'joins');
    const done = await status('moved', ({ phase, current }) => phase === 'Current' && current === image.release);
    assert.equal(done.canary?.verdict, 'Passed');
    await eventually('no canary', async () => (await canaries()).length === 0 || undefined, canaries);
    assert.equal(creations(), made + 1);
  });

  test('OWN-18 a canary of an image whose guest never speaks ends CanaryFailed: nothing is patched, and the set makes its machines from the image before', async () => {
    const { voyage } = rbac;
    kubelets.fate(/^drydock-canary-/, 'never joins');
    await voyage.client.mergePatch(BootImagePolicy, { name: 'gold' }, { spec: { canary: { timeout: '30s' } } });
    const before = await voyage.template(set);
    await voyage.switchboard.setOptions({ guestData: false });
    await voyage.release(await voyage.image('9.9.20261101-0'));
    const failed = await status('failed', ({ reason }) => reason === 'CanaryFailed');
    assert.match(
      failed.message ?? '',
      /no node that is ready after .*phase Provisioned, instance poweredOn, no node; vcenter \S+ says: poweredOn, VMware Tools not running, no address/,
    );
    await voyage.switchboard.setOptions({ guestData: true });
    await eventually('no canary', async () => (await canaries()).length === 0 || undefined, canaries);
    assert.equal(await voyage.template(set), before);
    await voyage.client.mergePatch(MachineSet, key, { spec: { replicas: 3 } });
    const all = await running(3);
    assert.equal(all.filter((one) => templateOf(one) === before).length, 1);
  });

  test('OWN-18 a canary of an image whose disk has outgrown the set ends in the words of Machine API at once', async () => {
    const { voyage } = rbac;
    const before = await voyage.template(set);
    const path = '/spec/template/spec/providerSpec/value/diskGiB';
    await voyage.client.patch(MachineSet, key, [{ op: 'replace', path, value: 8 }]);
    await voyage.release(await voyage.image('9.9.20261201-0'));
    const failed = await status(
      'failed',
      ({ reason, message }) => reason === 'CanaryFailed' && message?.includes('9.9.20261201-0') === true,
    );
    assert.match(failed.message ?? '', /phase Failed, error InvalidConfiguration: can't resize template disk down/);
    assert.equal(await voyage.template(set), before);
  });

  test('OWN-18 negative control: a machine with the labels of the set is taken by it, and counts', async () => {
    const { client } = rbac.voyage;
    const { spec } = await client.get(MachineSet, key);
    const careless = { namespace: machineApi, name: 'careless' };
    const template = { ...spec?.template?.spec?.providerSpec?.value, template: installerTemplate };
    await client.create(Machine, {
      metadata: { ...careless, labels: spec?.template?.metadata?.labels ?? {} },
      spec: { providerSpec: { value: template } },
    } as Machine);
    // One machine too many: where it is the one that goes, that is over within moments.
    const fate = await eventually('it is counted', async () => {
      const found = await client.get(Machine, careless).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      return found === undefined ? 'gone' : found.metadata.ownerReferences?.[0]?.name;
    });
    assert.ok(fate === set || fate === 'gone', fate);
    await running(spec?.replicas ?? 0);
  });
});
