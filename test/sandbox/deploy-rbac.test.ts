import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  BootImage,
  BootImagePolicy,
  bootImageName,
  ClusterOperator,
  Deployment,
  MachineConfiguration,
  MachineSet,
  Secret,
  VirtualMachine,
  Zone,
} from '@drydock/api';
import { goldenNamespace, upstreamController } from '@drydock/boot-images';
import { ledgerName } from '@drydock/crd';
import type { ApiCall } from './support/audit-log.ts';
import { superfluous, uncovered, unusedParts } from './support/rbac-coverage.ts';
import { type Grant, grantsTo, kindOf, permits } from './support/rbac-manifests.ts';
import {
  disownLedgers,
  machinesNamespace,
  type RbacVoyage,
  startRbacVoyage,
  type Told,
  userOf,
  withoutField,
} from './support/rbac-voyage.ts';
import { eventually } from './support/voyage.ts';
import {
  base64,
  credentials,
  installerTemplate,
  machineApi,
  oldRelease,
  serverName,
} from './support/voyage-cluster.ts';

const roles = ['drydock-boot-images', 'drydock-watch'] as const;
const both = 'drydock';
const set = 'wk-a';
const vm = { namespace: machinesNamespace, name: 'vm' };
const policy = { name: 'gold' };
const zoneFolder = '/DC0/vm/zone';

const verdict = { name: 'drydock' };
const ownLabels = { 'app.kubernetes.io/managed-by': 'drydock' };
const podLabels = { app: 'machine-config-controller' };
const idle = {
  replicas: 0,
  selector: { matchLabels: podLabels },
  template: { metadata: { labels: podLabels }, spec: { containers: [{ name: 'c', image: 'example.test/c' }] } },
};

let rbac: RbacVoyage;

before(async () => {
  rbac = await startRbacVoyage(async () => {
    await power();
    await rbac.voyage.touch(set);
  });
});
after(() => rbac?.[Symbol.asyncDispose]());

let on = false;
/** Turns the machine on, or off again. */
async function power(): Promise<void> {
  on = !on;
  await rbac.voyage.switchboard.powerVm(`${zoneFolder}/${vm.name}`, on);
}
const callsOf = (account: string): readonly ApiCall[] =>
  rbac.audit.calls().filter(({ user }) => user === userOf(account));
const refused = (account: string): readonly ApiCall[] => callsOf(account).filter(({ code }) => code === 403);

/** What a person says of the record of the oldest image. */
async function skew(bootImageSkewEnforcement: object | null): Promise<void> {
  const patch = { spec: { bootImageSkewEnforcement } };
  await rbac.voyage.client.mergePatch(MachineConfiguration, { name: 'cluster' }, patch as object);
}

async function upgradeable(): Promise<string> {
  const { status } = await rbac.voyage.client.get(ClusterOperator, verdict);
  const found = status?.conditions?.find(({ type }) => type === 'Upgradeable');
  return `${found?.status} ${found?.reason}`;
}

async function hasVerdict(): Promise<boolean> {
  const found = await Array.fromAsync(rbac.voyage.client.list(ClusterOperator));
  return found.some(({ metadata }) => metadata.name === verdict.name);
}

/** Waits until the object shows the power that the machine has. */
async function mirrored(): Promise<void> {
  const power = on ? 'PoweredOn' : 'PoweredOff';
  const status = async () => (await rbac.voyage.client.get(VirtualMachine, vm)).status;
  await eventually(power, async () => (await status())?.powerState === power || undefined);
}

/** One Event about an object of each kind whose status is written. */
function ofEach(reason: string, times: number): readonly Told[] {
  return [
    { namespace: 'default', reason, about: 'cluster', times },
    { namespace: machineApi, reason, about: bootImageName('ms', set), times },
    { namespace: machinesNamespace, reason, about: vm.name, times },
    { namespace: 'default', reason, about: policy.name, times },
  ];
}

/** Puts one wrong password after another into the Secret until both roles have changed the notes of refused logins; then the right one. */
async function wrongPasswords(): Promise<void> {
  const { client, sandbox } = rbac.voyage;
  const put = (password: string): Promise<unknown> =>
    client.mergePatch(Secret, credentials, { data: { [`${serverName}.password`]: base64(password) } });
  const changes = ({ verb, resource, name }: ApiCall): boolean =>
    `${verb} ${resource} ${name}` === 'update configmaps drydock-logins';
  let looks = 0;
  await eventually('both note refused logins', async () => {
    if (looks % 50 === 0) await put(`wrong ${looks}`);
    looks += 1;
    return roles.every((role) => callsOf(role).some(changes)) || undefined;
  });
  await put(sandbox.vcenter.password);
}

/** An older definition of each kind whose status is written, until disposal. */
async function rollBack(): Promise<AsyncDisposableStack> {
  const rollback = new AsyncDisposableStack();
  const { client } = rbac.voyage;
  rollback.use(await withoutField(client, 'machineconfigurations.operator.openshift.io', 'managedBootImagesStatus'));
  rollback.use(await withoutField(client, 'bootimages.drydock.dev', 'platform'));
  rollback.use(await withoutField(client, 'bootimagepolicies.drydock.dev', 'selected'));
  rollback.use(await withoutField(client, 'virtualmachines.vmoperator.vmware.com', 'nodeName'));
  return rollback;
}

test('two processes, each with the rights of its role alone, do all that they can do without one refusal', async () => {
  const { voyage } = rbac;
  const { client, switchboard } = voyage;
  await voyage.createSet({ name: set, folder: await voyage.folder('harbour') });
  await using operators = new AsyncDisposableStack();
  // The verdict of a role that nobody leads.
  await client.create(ClusterOperator, { metadata: { ...verdict, labels: ownLabels }, spec: {} });
  operators.use(await rbac.operator('watch', 'drydock-watch'));
  await eventually('nobody is held up', async () => !(await hasVerdict()) || undefined);
  operators.use(await rbac.operator('boot-images', 'drydock-boot-images'));
  await eventually('a verdict', async () => (await hasVerdict()) || undefined);
  await voyage.current(set, oldRelease);
  // BI-V203: what a person says of the images stops upgrades, until nobody keeps the record.
  const manual = { mode: 'OCPVersion', ocpVersion: '4.10.0' };
  await skew({ mode: 'Manual', manual });
  await eventually(
    'upgrades stop',
    async () => (await upgradeable()) === 'False ClusterBootImageSkewError' || undefined,
  );
  await skew({ mode: 'None', manual: null });
  await eventually('upgrades go on', async () => (await upgradeable()) === 'True AsExpected' || undefined);
  await skew(null);

  // A whole update, with a stub that is converted and a BootImage that somebody deletes.
  await voyage.forget(set);
  const image = await voyage.image('9.8.20260802-0');
  await voyage.release(image);
  await voyage.current(set, image.release);
  await voyage.event(set, 'Switched');
  const template = await voyage.template(set);
  const other = { spec: { template: { spec: { providerSpec: { value: { template: installerTemplate } } } } } };
  await client.mergePatch(MachineSet, { namespace: machineApi, name: set }, other as object);
  await eventually('the set points back', async () => (await voyage.template(set)) === template || undefined);

  // A pin that has lapsed is taken off; what says something of a set that is not there any more goes.
  const story = { namespace: machineApi, name: bootImageName('ms', set) };
  const pin = { release: image.release, until: '2026-01-01T00:00:00Z' };
  await client.mergePatch(BootImage, story, { spec: { pin } });
  const pinned = async (): Promise<boolean> => (await client.get(BootImage, story)).spec?.pin !== undefined;
  await eventually('the pin is taken off', async () => !(await pinned()) || undefined);
  const gone = { namespace: machineApi, name: bootImageName('ms', 'gone') };
  const machineSet = { apiGroup: 'machine.openshift.io', kind: 'MachineSet', name: 'gone' };
  await client.create(BootImage, { metadata: { ...gone, labels: ownLabels }, spec: { machineSet } });
  const there = async (): Promise<boolean> =>
    (await Array.fromAsync(client.list(BootImage, { namespace: machineApi }))).some(
      ({ metadata }) => metadata.name === gone.name,
    );
  await eventually('what speaks of no set goes', async () => !(await there()) || undefined);

  const { moref } = await switchboard.createFolder(zoneFolder);
  const labelled = { 'vmservice.namespacedName': `${vm.namespace}/${vm.name}` };
  await switchboard.createVm({ name: vm.name, folder: zoneFolder, extraConfig: labelled });
  await client.create(VirtualMachine, { metadata: vm });
  await client.create(Zone, { metadata: { ...vm, name: 'zone' }, spec: { managedVMs: { folderMoID: moref } } });
  await mirrored();
  // Somebody writes to the object all the time, until a status meets a conflict and is computed anew.
  let writes = 0;
  await eventually('a conflict', async () => {
    writes += 1;
    if (writes % 10 === 0) await power();
    await client.mergePatch(VirtualMachine, vm, { metadata: { annotations: { writes: String(writes) } } });
    return (
      callsOf('drydock-watch').some(({ verb, resource }) => `${verb} ${resource}` === 'get virtualmachines') ||
      undefined
    );
  });

  // The same of a policy, of which somebody says something new all the time.
  await client.create(BootImagePolicy, { metadata: policy, spec: {} });
  let words = 0;
  await eventually('a conflict about the policy', async () => {
    words += 1;
    await client.mergePatch(BootImagePolicy, policy, { spec: { retention: { keep: 2 + (words % 2) } } } as object);
    const read = ({ verb, resource }: ApiCall): boolean => `${verb} ${resource}` === 'get bootimagepolicies';
    return callsOf('drydock-boot-images').some(read) || undefined;
  });

  // Definitions are rolled back and come again, twice: ledgers are made, tidied up, and Events become series.
  for (const times of [1, 2]) {
    await using rollback = await rollBack();
    await rbac.told(...ofEach('StatusDegraded', times));
    if (times === 2) operators.use(await disownLedgers(client, goldenNamespace));
    await rollback.disposeAsync();
    if (times === 1) await rbac.told(...ofEach('StatusRestored', 1));
  }
  await rbac.told(
    ...['bootimages.drydock.dev', 'bootimagepolicies.drydock.dev', 'virtualmachines.vmoperator.vmware.com'].map(
      (name) => {
        const [plural = '', ...group] = name.split('.');
        const about = ledgerName({ plural, group: group.join('.') });
        return { namespace: goldenNamespace, reason: 'LedgerProblem', about, times: 2 };
      },
    ),
  );
  await wrongPasswords();
  const says = ({ verb, resource, name }: ApiCall): boolean =>
    `${verb} ${resource} ${name}` === 'update configmaps drydock-vcenters';
  // It is told once a minute.
  const told = async (): Promise<true | undefined> => callsOf('drydock-boot-images').some(says) || undefined;
  await eventually('how the vCenter is', told, () => undefined, 180_000);
  // Somebody else manages boot images from now on.
  await client.create(Deployment, { metadata: upstreamController, spec: idle } as Deployment);
  await eventually('the verdict is taken off', async () => !(await hasVerdict()) || undefined);
  await client.delete(Deployment, upstreamController);
  await operators.disposeAsync();
  assert.deepEqual(roles.flatMap(refused), []);
});

/** An old stub goes an image and an hour later: `FIND-9` of packages/boot-images has the call. */
const LATER = /^delete secrets of .*: get,update,delete secrets\. worker-user-data-ignition-2$/;

test('each call is permitted by a rule, and each rule, each verb in it and each name is needed by a call', () => {
  for (const account of roles) {
    const calls = callsOf(account);
    const grants = grantsTo(account, rbac.manifests);
    assert.ok(calls.length > 50, `${calls.length} calls of ${account}`);
    assert.deepEqual(uncovered(calls, grants), [], `without a rule of ${account}`);
    assert.deepEqual(superfluous(calls, grants), [], `${account} has more than it needs`);
    const unused = (of: readonly Grant[]) => unusedParts(calls, of).filter((part) => !LATER.test(part));
    assert.deepEqual(unused(grants), [], `${account} has more than it needs`);

    // What one rule less, one more, and a verb too many would look like.
    const [first, ...rest] = grants as [Grant, ...Grant[]];
    const { verbs } = first.rule;
    assert.notDeepEqual(uncovered(calls, rest), []);
    const more = { role: 'more', rule: { apiGroups: [''], resources: ['configmaps'], verbs: ['delete'] } };
    assert.equal(superfluous(calls, [...grants, more]).length, 1);
    const longer = { ...first, rule: { ...first.rule, verbs: [...verbs, 'delete'] } };
    assert.equal(unused([longer, ...rest]).length, first.rule.resources.length);
  }
});

test('the API server judges each of these calls as the rules are read here, for each account', async () => {
  const asked = rbac.audit
    .calls()
    .map(({ verb, group, resource, namespace, name }) => ({ verb, group, resource, namespace, name }));
  const distinct = new Map(asked.map((call) => [JSON.stringify(call), call]));
  const never = [
    { verb: 'list', group: '', resource: 'secrets', namespace: 'kube-system', name: '' },
    { verb: 'get', group: '', resource: 'secrets', namespace: machineApi, name: 'cloud-credentials' },
    { verb: 'update', group: '', resource: 'secrets', namespace: machineApi, name: 'master-user-data' },
    { verb: 'update', group: '', resource: 'configmaps', namespace: goldenNamespace, name: 'coreos-bootimages' },
    { verb: 'create', group: '', resource: 'pods', namespace: machineApi, name: '' },
    { verb: 'delete', group: 'machine.openshift.io', resource: 'machines', namespace: machineApi, name: 'm' },
    { verb: 'update', group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', namespace: '', name: 'c' },
    { verb: 'create', group: '', resource: 'serviceaccounts/token', namespace: 'drydock', name: both },
    {
      verb: 'bind',
      group: 'rbac.authorization.k8s.io',
      resource: 'clusterroles',
      namespace: '',
      name: 'cluster-admin',
    },
    { verb: 'impersonate', group: '', resource: 'users', namespace: '', name: 'sandbox-admin' },
  ];
  const differing: unknown[] = [];
  const verdicts = { true: 0, false: 0 };
  for (const account of [...roles, both, 'nobody']) {
    const grants = grantsTo(account, rbac.manifests);
    for (const call of [...distinct.values(), ...never]) {
      const [here, there] = [grants.some((grant) => permits(grant, call)), await rbac.may(account, call)];
      verdicts[`${there}`] += 1;
      if (here !== there) differing.push({ account, call, here, there });
      if (never.includes(call)) assert.equal(there, false, `${account} may ${JSON.stringify(call)}`);
    }
  }
  assert.deepEqual(differing, []);
  assert.ok(verdicts.true > 150 && verdicts.false > 150, JSON.stringify(verdicts));
});

test('one process with both roles notices a template that is destroyed by hand, updates, mirrors a machine, and is never refused', async () => {
  const { voyage } = rbac;
  const folder = '/DC0/vm/harbour';
  const [name, inventory] = [await voyage.template(set), await voyage.inventory(folder)];
  await using operator = await rbac.operator('boot-images,watch', both);
  // When the watch has looked at a set, it knows the name of each template in its folder.
  const looked = /controller_runtime_reconcile_total\{controller="template-watch",result="success"\} [1-9]/;
  await eventually('the watch', async () => looked.test(await operator.served('metrics')) || undefined);
  await voyage.switchboard.destroyVm(`${folder}/${name}`);
  await voyage.event(set, 'TemplateChanged', `template ${name} was destroyed`);
  const repaired = async () => (await voyage.inventory(folder)).get(await voyage.template(set));
  await eventually('another template', async () => {
    const made = await repaired();
    return (made?.isTemplate === true && made.moref !== inventory.get(name)?.moref) || undefined;
  });
  const next = await voyage.image('9.9.20261101-0');
  await voyage.release(next);
  await voyage.current(set, next.release);
  for (const _ of ['turned', 'and back']) {
    await power();
    await mirrored();
  }
  assert.match(await operator.served('readyz?verbose'), /readyz check passed/);
  await operator[Symbol.asyncDispose]();
  assert.deepEqual(refused(both), []);
  assert.deepEqual(uncovered(callsOf(both), grantsTo(both, rbac.manifests)), []);
  assert.ok(callsOf(both).length > 50);
});

test('a rule that is missing is named in the readiness and in the log, and is taken up when it comes', async () => {
  const { client } = rbac.voyage;
  const role = rbac.manifests.find(
    ({ kind, metadata }) => kind === 'Role' && metadata.name === roles[0] && metadata.namespace === goldenNamespace,
  );
  assert.ok(role);
  const isGolden = ({ resourceNames = [] }: Grant['rule']): boolean => resourceNames.includes('coreos-bootimages');
  const put = (rules: readonly Grant['rule'][] | undefined): Promise<unknown> =>
    client.mergePatch(kindOf(role), { namespace: goldenNamespace, name: roles[0] }, { rules } as object);
  await put(role.rules?.filter((rule) => !isGolden(rule)));
  const call = {
    verb: 'list',
    group: '',
    resource: 'configmaps',
    namespace: goldenNamespace,
    name: 'coreos-bootimages',
  };
  await eventually('the right is gone', async () => !(await rbac.may(roles[0], call)) || undefined);

  await using operator = await rbac.operator('boot-images', roles[0]);
  const sentence =
    /configmaps "coreos-bootimages" is forbidden: User "system:serviceaccount:drydock:drydock-boot-images" cannot \w+ resource "configmaps" in API group "" in the namespace "openshift-machine-config-operator"/;
  const ready = (): Promise<string> => operator.served('readyz?verbose');
  await eventually(
    'the sentence',
    async () => sentence.test(await ready()) || undefined,
    () => operator.log(),
  );
  assert.match(await ready(), /\[-\]cache-golden failed: not synced/);
  assert.match(operator.log().replaceAll('\\"', '"'), sentence);
  assert.match(operator.log(), /Grant the verb on this resource/);
  const denied = refused(roles[0]);
  assert.ok(denied.length > 0);
  assert.deepEqual(
    [...new Set(denied.map(({ resource, name }) => `${resource} ${name}`))],
    ['configmaps coreos-bootimages'],
  );

  await put(role.rules);
  await eventually(
    'readiness',
    async () => (await ready()).includes('readyz check passed') || undefined,
    () => operator.log(),
  );
});
