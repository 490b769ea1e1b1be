import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import {
  BootImage,
  BootImagePolicy,
  ClusterVersion,
  CustomResourceDefinition,
  Deployment,
  Lease,
  Machine,
  MachineConfiguration,
  MachineSet,
  Secret,
} from '@drydock/api';
import { type ClusterPlan, upstreamController } from '@drydock/boot-images';
import { createClient, type KubeClient, loadKubeconfig, statusWriter } from '@drydock/kube';
import { connectSwitchboard, type Switchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import { writeTestOva } from '@drydock/templates/testing';
import { clusterLedger } from '../../apps/drydock/src/ownership-ledger.ts';
import { accountNamespace, apply, manifestsOf } from './support/rbac-manifests.ts';
import {
  clusterTag,
  createCluster,
  installerTemplate,
  machineSet,
  oldRelease,
  place,
  serverName,
} from './support/voyage-cluster.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = '/DC0/vm/harbour';
const newRelease = '9.8.20260802-0';

let sandbox: VCenterSandbox;
let client: KubeClient;
let switchboard: Switchboard;

before(async () => {
  sandbox = await startSandbox({ vcenter: true, crds: ['openshift', resolve(root, 'api/crds')] });
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  await switchboard.createTag(clusterTag);
  await switchboard.createFolder(folder);
  const at = { folder, cluster: place.computeCluster };
  await switchboard.createVm({ ...at, name: installerTemplate, productVersion: oldRelease, template: true });
  const { user, password } = sandbox.vcenter;
  const image = { release: newRelease, location: 'https://mirror.invalid/rhcos.ova', sha256: '0'.repeat(64) };
  await createCluster(client, { user, password }, image);
  await client.create(MachineSet, machineSet({ name: 'worker', folder }));
  await client.create(MachineSet, machineSet({ name: 'owned', folder, owner: 'pool' }));
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

const drydock = (...args: readonly string[]): Promise<Ended> => drydockWith({}, ...args);

async function drydockWith(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [resolve(root, 'apps/drydock/bin/drydock.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: sandbox.kubeconfig, HOME: sandbox.directory, ...env },
  });
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return { code, out, errors };
}

const trusted = (): readonly string[] => [
  ...['--vcenter-url', `${serverName}=${sandbox.vcenter.url}`],
  ...['--vcenter-ca', sandbox.vcenter.ca],
];

interface Check {
  readonly area: string;
  readonly name: string;
  readonly state: string;
  readonly detail: string;
  readonly next?: string;
}

/** `drydock doctor` and the states of its checks, by area and name. */
async function doctor(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly states: Map<string, Check> }> {
  const { code, errors, out } = await drydock('doctor', '-o', 'json', ...args);
  assert.equal(errors, '');
  const { checks } = JSON.parse(out) as { readonly checks: readonly Check[] };
  return { code, states: new Map(checks.map((check) => [`${check.area}: ${check.name}`, check])) };
}

const notOk = (states: ReadonlyMap<string, Check>): readonly string[] =>
  [...states].filter(([, { state }]) => state !== 'ok').map(([which, { state }]) => `${which} ${state}`);

/** MachineConfiguration as an operator would have reflected it. */
async function reflect(): Promise<void> {
  const managers = [{ resource: 'machinesets', apiGroup: 'machine.openshift.io', selection: { mode: 'All' } }];
  await statusWriter({ client, resource: MachineConfiguration }).write(
    { name: 'cluster' },
    (live) =>
      ({
        ...live.status,
        observedGeneration: live.metadata.generation,
        managedBootImagesStatus: { machineManagers: managers },
      }) as never,
  );
}

test('a cluster without an operator: what is there is ok, what waits says for what; nothing is written and nobody stays logged in', async () => {
  const { code, states } = await doctor(...trusted());
  assert.equal(code, 0);
  assert.deepEqual(notOk(states), [
    'operator: boot-images warn',
    'machine sets: ms/owned warn',
    'machine sets: ms/worker warn',
  ]);
  assert.equal(
    states.get('machine sets: ms/worker')?.next,
    'start the operator, which reflects spec into status: drydock operator',
  );
  assert.match(states.get('rights: boot-images')?.detail ?? '', /^all \d\d rights of the role are granted$/);
  const places = [...states.keys()].filter((which) => which.startsWith('place fd1'));
  assert.ok(places.length >= 6, places.join());

  await reflect();
  const said = await drydock('explain', ...trusted());
  assert.equal(said.code, 0, said.errors);
  assert.match(said.out, /ms\/owned: left alone\n/);
  assert.match(said.out, /ms\/worker: an image is made\n/);
  assert.match(said.out, new RegExp(`start from ${installerTemplate} on ${serverName}, release ${oldRelease}`));
  assert.match(said.out, /operator {3}has said nothing of it/);

  const planned = await drydock('image', 'plan', 'worker', ...trusted());
  assert.equal(planned.code, 6, planned.errors);
  assert.match(
    planned.out,
    /^2 steps for release \S+:\n {2}1\. image \S+ as \S+ in \S+ on \S+, for ms\/worker\n {7}download https?:/m,
  );
  assert.match(planned.out, /\n {7}ImportVApp "\S+"\n {7}Upload "\S+"\n/);
  assert.match(
    planned.out,
    new RegExp(`\n {2}2\\. ms/worker: ${oldRelease} → .*\n {7}template - ${installerTemplate}\n {7}template \\+ `),
  );
  const all = await drydock('image', 'plan', '-o', 'json', ...trusted());
  const { steps, rest } = JSON.parse(all.out) as ClusterPlan;
  assert.deepEqual(
    [steps.map(({ kind }) => kind), rest.map(({ set, step }) => `${set} ${step}`)],
    [['image', 'point'], ['ms/owned skip']],
  );

  assert.deepEqual(await Array.fromAsync(client.list(BootImage)), []);
  assert.deepEqual(await Array.fromAsync(client.list(Lease, { namespace: upstreamController.namespace })), []);
  assert.deepEqual((await switchboard.sessions()).sessions, []);
});

test('what is wrong fails with its next step: a privilege, a tag, a right, a definition', async () => {
  const catalogue = [{ version: newRelease, contentLibraryItem: 'Images/rhcos', sha256: 'a'.repeat(64) }];
  const elsewhere = { failureDomains: ['nowhere'], image: { catalogue } };
  await client.create(BootImagePolicy, { metadata: { name: 'libraries' }, spec: elsewhere });
  await switchboard.denyPrivileges(['VirtualMachine.Provisioning.MarkAsTemplate', 'ContentLibrary.DownloadSession']);
  const denied = await doctor(...trusted());
  await switchboard.denyPrivileges([]);
  await client.delete(BootImagePolicy, { name: 'libraries' });
  assert.equal(denied.code, 3);
  assert.deepEqual(notOk(denied.states), [
    'operator: boot-images warn',
    `vcenter ${serverName}: content libraries FAIL`,
    `place fd1 on ${serverName}: privileges FAIL`,
  ]);

  const untrusted = await doctor('--vcenter-url', `${serverName}=${sandbox.vcenter.url}`);
  assert.deepEqual(notOk(untrusted.states), [
    'operator: boot-images warn',
    'machine sets: ms/worker skip',
    `vcenter ${serverName}: login FAIL`,
  ]);

  const names = { plural: 'left', kind: 'Left' };
  const version = { name: 'v1', served: false, storage: true, schema: { openAPIV3Schema: { type: 'object' } } };
  const left = await client.create(CustomResourceDefinition, {
    metadata: { name: 'left.shadow.drydock.dev', labels: { 'drydock.dev/shadow': 'killed' } },
    spec: { group: 'shadow.drydock.dev', scope: 'Cluster', names, versions: [version] },
  } as unknown as CustomResourceDefinition);
  const swept = (await doctor(...trusted())).states.get('cluster: probes');
  assert.deepEqual([swept?.state, swept?.next], ['warn', 'drydock crd doctor']);
  await client.delete(CustomResourceDefinition, { name: left.metadata.name });

  const stranger = await doctor('--as', 'jane', ...trusted());
  assert.equal(stranger.code, 3);
  assert.equal(stranger.states.get('rights: boot-images')?.state, 'FAIL');
  assert.match(stranger.states.get('operator: statuses')?.detail ?? '', /could not be looked at: .*forbidden/);
  assert.equal((await drydock('explain', 'worker', '--as', 'jane', ...trusted())).code, 1);
});

test('OWN-3 doctor says when the mark key is missing, has no usable key, or an old one is still needed, with the command that mends it', async () => {
  const at = { namespace: 'drydock', name: 'drydock-mark-key' };
  const line = async () => (await doctor(...trusted())).states.get('operator: mark key');
  const { data = {} } = await client.get(Secret, at);
  const old = data['k1'] ?? '';
  assert.match((await line())?.detail ?? '', /^[0-9a-f]{12} \(k1\) signs new codes$/);
  await client.mergePatch(Secret, at, {
    data: { current: 'azI=', k2: Buffer.from('n'.repeat(64)).toString('base64') },
  });
  assert.match((await line())?.detail ?? '', /^[0-9a-f]{12} \(k2\) signs new codes; [0-9a-f]{12} \(k1\) still counts$/);
  await client.mergePatch(Secret, at, { data: { current: null, k1: null, k2: 'c2hvcnQ=' } });
  const unusable = await line();
  assert.deepEqual(
    [unusable?.state, /the key k2 has 5 bytes, and 32 are needed/.test(unusable?.detail ?? '')],
    ['FAIL', true],
  );
  assert.match(unusable?.next ?? '', /^kubectl patch secret drydock-mark-key -n drydock /);
  await client.delete(Secret, at);
  const missing = await line();
  assert.equal(missing?.state, 'warn');
  assert.match(missing?.next ?? '', /^kubectl create secret generic drydock-mark-key -n drydock /);
  await client.create(Secret, { metadata: at, data: { current: 'azE=', k1: old } });
  assert.equal((await line())?.state, 'ok');
});

test('KEEP-3: the command that revokes the key of an operator is printed and not run; run by a person it puts a new key in its place', async () => {
  const at = { namespace: 'drydock', name: 'drydock-mark-key' };
  const { data = {} } = await client.get(Secret, at);
  const revoke = (id: string) => drydock('template', 'mark-key', 'revoke', id, '--kubeconfig', sandbox.kubeconfig);
  const { code, out, errors } = await revoke('k1');
  assert.equal(code, 0, errors);
  assert.deepEqual((await client.get(Secret, at)).data, data);
  const [, patch = ''] = /^kubectl patch secret drydock-mark-key -n drydock -p '(\{.*\})'\n$/.exec(out) ?? [];
  await client.mergePatch(
    Secret,
    at,
    JSON.parse(patch.replace("'$(openssl rand -hex 32)'", 'n'.repeat(64))) as Parameters<typeof client.mergePatch>[2],
  );
  const { states } = await doctor(...trusted());
  assert.match(states.get('operator: mark key')?.detail ?? '', /^[0-9a-f]{12} \(key-2\) signs new codes$/);
  const unknown = await revoke('k1');
  assert.deepEqual([unknown.code, /it has [0-9a-f]{12} \(key-2\)/.test(unknown.errors)], [2, true]);
  await client.delete(Secret, at);
  await client.create(Secret, { metadata: at, data });
});

test('with the rights of the operator, and no others, everything can be looked at', async () => {
  await apply(client, manifestsOf('boot-images'));
  const as = ['--as', `system:serviceaccount:${accountNamespace}:drydock-boot-images`];
  const { code, states } = await doctor(...as, ...trusted());
  // Not even the right to look for what a probe left, which takes all definitions, or at the ClusterOperators of others.
  const lines = ['cluster: probes skip', 'operator: boot-images warn', 'operator: upgrades skip'];
  assert.deepEqual([code, notOk(states)], [0, lines]);
});

test('SAFE-17 beside upstream the sets are its own, and that is no trouble; a set that is not there, and a server that is not there, are told', async () => {
  const { namespace, name } = upstreamController;
  const labels = { app: name };
  const container = { name, image: 'registry.example/mco' };
  await client.create(Deployment, {
    metadata: { namespace, name },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
  } as Deployment);
  const { code, states } = await doctor(...trusted());
  assert.equal(code, 0);
  assert.equal(states.get('cluster: boot images')?.state, 'ok');
  assert.match(states.get('machine sets: ms/worker')?.detail ?? '', /^left to upstream; new machines start from 9\.6/);
  const left = await drydock('explain', 'ms/worker', '-o', 'json', ...trusted());
  assert.equal(left.code, 0);
  const [explained] = JSON.parse(left.out) as readonly [{ readonly step: string; readonly current: string }];
  assert.deepEqual([explained.step, explained.current], ['skip', oldRelease]);
  const status = await drydock('status');
  assert.match(status.out, /^Nobody has led boot images yet/);
  assert.match(status.out, /\nms\/worker .* Skipped .* left to upstream\n/);
  assert.equal(status.errors, '', 'nothing is stuck');

  const missing = await drydock('explain', 'nobody', ...trusted());
  assert.equal(missing.code, 2);
  assert.match(missing.errors, /there is no machine set nobody; there are ms\/owned, ms\/worker\n/);
  const dead = await drydock('doctor', '--server', 'https://127.0.0.1:1');
  assert.equal(dead.code, 3);
  assert.match(dead.out, /^cluster\nFAIL {2}api server {2}.*did not answer.*\n\n1 check failed\.\n$/);
});

test("OWN-4 gc of a cluster's templates keeps all of them until the cluster is asked; then what a machine set or a machine names stays, the rest goes", async () => {
  const owner = (await client.get(ClusterVersion, { name: 'version' })).spec?.clusterID ?? assert.fail();
  const { url, user, password, ca } = sandbox.vcenter;
  const where = ['--folder', folder, '--cluster', 'DC0_C0', '--network', 'VM Network', '--owner', owner];
  const env = {
    ...{ GOVC_URL: url, GOVC_USERNAME: user, GOVC_PASSWORD: password, GOVC_TLS_CA_CERTS: ca },
    DRYDOCK_MARK_KEY: `k1:${'0123456789abcdef'.repeat(4)}`,
  };
  const template = (verb: string, ...args: readonly string[]) => drydockWith(env, 'template', verb, ...where, ...args);
  const names: string[] = [];
  for (const seed of [1, 2, 3]) {
    const ova = resolve(sandbox.directory, `base-${seed}.ova`);
    await writeTestOva(ova, { version: `9.6.${seed}`, diskBytes: 1 << 20, seed });
    const { code, out, errors } = await template('publish', ova, '--name', 'base');
    assert.equal(code, 0, errors);
    names.push(out.trim());
  }
  const [bySet = '', byMachine = '', free = ''] = names;
  const there = async () =>
    (await switchboard.templates()).map(({ name }) => name).filter((name) => names.includes(name));
  const value = (name: string) => ({ spec: { providerSpec: { value: { template: name } } } });
  const worker = { namespace: 'openshift-machine-api', name: 'worker' };
  await client.mergePatch(MachineSet, worker, { spec: { template: value(bySet) } });
  const { spec } = await client.get(MachineSet, worker);
  const { providerSpec } = spec?.template?.spec ?? {};
  const machine = { ...providerSpec?.value, template: byMachine };
  await client.create(Machine, {
    metadata: { namespace: worker.namespace, name: 'worker-1' },
    spec: { providerSpec: { value: machine } },
  });

  const gc = (...args: readonly string[]) => template('gc', '--yes', '--grace', '0', '--keep', '0', ...args);
  const blind = await gc();
  assert.equal(blind.code, 0, blind.errors);
  for (const name of names)
    assert.match(blind.out, new RegExp(`^${name} +stays +it is unknown whether something uses it`, 'm'));
  const unreachable = resolve(sandbox.directory, 'unreachable.kubeconfig');
  const config = await readFile(sandbox.kubeconfig, 'utf8');
  await writeFile(unreachable, config.replaceAll(/https:\/\/[^\s"]+/g, 'https://127.0.0.1:1'), { mode: 0o600 });
  assert.notEqual((await gc('--kubeconfig', unreachable)).code, 0);
  const another = await gc('--kubeconfig', sandbox.kubeconfig, '--owner', owner.replace(/^./, 'f'));
  assert.equal(another.code, 3, another.errors);
  assert.match(another.errors, new RegExp(`the cluster that was asked is ${owner}, and the templates belong to f`));
  assert.deepEqual(await there(), names, 'whoever cannot be asked protects everything');

  const asked = await gc('--kubeconfig', sandbox.kubeconfig);
  assert.equal(asked.code, 0, asked.errors);
  assert.match(asked.out, new RegExp(`^${bySet} +stays +used by machineset worker`, 'm'));
  assert.match(asked.out, new RegExp(`^${byMachine} +stays +used by machine worker-1`, 'm'));
  assert.match(asked.out, new RegExp(`^${free} +removed +nothing uses it`, 'm'));
  assert.deepEqual(await there(), [bySet, byMachine]);

  // The cluster has another key, and no ledger of them: the next machine of the set starts from what nothing proves.
  await clusterLedger(client, upstreamController.namespace).change('vm.0', () => '{"stage":"of a later version"}');
  const unproven = (await drydock('doctor', ...trusted())).out;
  assert.match(unproven, /warn +ownership ledger +ConfigMaps .*: the value of vm\.0 cannot be read/);
  assert.match(
    unproven,
    new RegExp(
      `${bySet} is unproven, kept and never pointed at: .*; machineset worker refers to it\n` +
        ` +next: drydock template adopt ${bySet} --folder ${folder} --owner ${owner} --mark-key FILE`,
    ),
  );
});
