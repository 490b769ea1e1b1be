import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BootImage,
  BootImagePolicy,
  type BootImageStatus,
  bootImageName,
  ClusterOperator,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Lease,
  Machine,
  MachineSet,
  Namespace,
  Secret,
  Zone,
} from '@drydock/api';
import { createClient, isNotFound, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { connectSwitchboard, type Switchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import { parse, stringify } from 'yaml';
import { SHORT_LEASES } from '../../apps/drydock/src/process/operator-process.ts';
import { accountNamespace, apply, inNamespace, kindOf, manifestsOf } from './support/rbac-manifests.ts';
import {
  clusterTag,
  createCluster,
  installerTemplate,
  machineApi,
  machineSet,
  oldRelease,
  place,
  serverName,
} from './support/voyage-cluster.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = '/DC0/vm/harbour';
const leases = 'openshift-machine-config-operator';
const machines = 'machines';
const zone = { namespace: machines, name: 'zone-a' };
const markKey = { namespace: accountNamespace, name: 'drydock-mark-key' };

let sandbox: VCenterSandbox;
let client: KubeClient;
let switchboard: Switchboard;

before(async () => {
  sandbox = await startSandbox({ vcenter: true, crds: ['openshift', resolve(root, 'api/optional')] });
  await sandbox.installCrds([await earlierDefinition(), await prometheusDefinitions()]);
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  await switchboard.createTag(clusterTag);
  await switchboard.createFolder(folder);
  const at = { folder, cluster: place.computeCluster };
  await switchboard.createVm({ ...at, name: installerTemplate, productVersion: oldRelease, template: true });
  const { user, password } = sandbox.vcenter;
  const image = { release: oldRelease, location: 'https://mirror.invalid/rhcos.ova', sha256: '0'.repeat(64) };
  await createCluster(client, { user, password }, image);
  await client.create(MachineSet, machineSet({ name: 'worker', folder }));
  await client.create(Namespace, { metadata: { name: machines } });
  await client.create(Zone, {
    metadata: zone,
    spec: { managedVMs: { folderMoID: (await switchboard.createFolder(`${folder}/zone-a`)).moref } },
  } as Zone);
  await install();
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

/** The definition of an earlier release, which lacks two fields of the status. */
async function earlierDefinition(): Promise<string> {
  const definition = parse(await readFile(resolve(root, 'api/crds/drydock.dev_bootimages.yaml'), 'utf8')) as {
    readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Node } }[] };
  };
  for (const { schema } of definition.spec.versions) {
    const template = schema.openAPIV3Schema.properties?.['status']?.properties?.['template']?.properties;
    assert.ok(template?.['release'] !== undefined && template['retired'] !== undefined);
    delete template['release'];
    delete template['retired'];
  }
  const folder = resolve(sandbox.directory, 'earlier');
  await mkdir(folder);
  await writeFile(resolve(folder, 'bootimages.yaml'), stringify(definition));
  return folder;
}
/** The kinds of the Prometheus operator, of which nothing is known here but that they are there. */
async function prometheusDefinitions(): Promise<string> {
  const folder = resolve(sandbox.directory, 'prometheus');
  await mkdir(folder);
  for (const manifest of manifestsOf('../monitoring')) {
    const { kind, plural, group } = kindOf(manifest);
    if (group === '') continue;
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const definition = {
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      metadata: { name: `${plural}.${group}` },
      spec: {
        ...{ group, scope: 'Namespaced', names: { kind, plural, singular: kind.toLowerCase() } },
        versions: [{ name: manifest.apiVersion.split('/')[1], served: true, storage: true, schema }],
      },
    };
    await writeFile(resolve(folder, `${plural}.yaml`), stringify(definition));
  }
  return folder;
}

interface Node {
  readonly properties?: Record<string, Node>;
}

/** What is installed where somebody asks for it. */
const optional = ['../policies', '../monitoring', '../node', 'page'];

/** As docs/install.md says; there is nobody here who would make pods of the Deployment. */
async function install(): Promise<void> {
  // The namespace is there, with the Secret that a person makes before.
  await apply(
    client,
    manifestsOf('../operator').filter(({ kind }) => kind !== 'Namespace'),
  );
  await apply(client, inNamespace(manifestsOf('machines'), machines));
  for (const base of optional) await apply(client, manifestsOf(base));
}

const trusted = (): readonly string[] => [
  ...['--vcenter-url', `${serverName}=${sandbox.vcenter.url}`, '--vcenter-ca', sandbox.vcenter.ca],
];

function started(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [resolve(root, 'apps/drydock/bin/drydock.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: sandbox.kubeconfig, HOME: sandbox.directory },
  });
}

async function drydock(...args: readonly string[]) {
  const child = started(...args);
  const { stdout, stderr } = child;
  assert.ok(stdout !== null && stderr !== null);
  const [out, errors, [code]] = await Promise.all([text(stdout), text(stderr), once(child, 'exit')]);
  return { out, errors, code: code as number };
}

/** The operator with both roles, once it serves; `stop` waits until it is gone. */
async function operate(): Promise<{ readonly stop: (signal: NodeJS.Signals) => Promise<void> }> {
  const args = ['--port', '0', '--cache-dir', resolve(sandbox.directory, 'images'), ...trusted()];
  const child = started('operator', '--roles', 'boot-images,watch', ...SHORT_LEASES, ...args);
  const exited = once(child, 'exit');
  assert.ok(child.stderr !== null);
  child.stdout?.resume();
  const lines = createInterface({ input: child.stderr });
  await new Promise<void>((found, failed) => {
    lines.on('line', (line) => {
      if (line.includes('"port":')) found();
    });
    exited.then(() => failed(new Error('the operator ended before it served')), failed);
  });
  return {
    stop: async (signal) => {
      child.kill(signal);
      await exited;
    },
  };
}

async function eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const until = performance.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > until) assert.fail(`${what} did not come about within 60 s`);
    await sleep(50);
  }
}

const current = (): Promise<BootImageStatus> =>
  eventually('the current boot image', async () => {
    const key = { namespace: machineApi, name: bootImageName('ms', 'worker') };
    const found = await client.get(BootImage, key).catch(() => undefined);
    return found?.status?.phase === 'Current' ? found.status : undefined;
  });
const guarded = (): Promise<true> =>
  eventually('the finalizer of the zone', async () =>
    (await client.get(Zone, zone)).metadata.finalizers === undefined ? undefined : true,
  );

/** What an uninstallation leaves on purpose: of Drydock's Secrets, the one that people made. */
const STAYS = ['Namespace /drydock', 'Namespace /drydock-node', 'Secret drydock/drydock-mark-key'];

/** Everything in the cluster that bears our name, but for the ownership ledger, which stays. */
async function ours(): Promise<readonly string[]> {
  const kinds = new Set(['../operator', 'machines', ...optional].flatMap(manifestsOf).map(kindOf));
  const found: string[] = [];
  for (const kind of kinds)
    for await (const { metadata } of client.list(kind))
      if (metadata.name.startsWith('drydock')) found.push(`${kind.kind} ${metadata.namespace ?? ''}/${metadata.name}`);
  for (const kind of [Lease, ConfigMap])
    for await (const { metadata } of client.list(kind as typeof Lease, { namespace: leases }))
      if (metadata.name.startsWith('drydock')) found.push(`${kind.kind} ${metadata.name}`);
  for await (const crd of client.list(CustomResourceDefinition))
    if (crd.metadata.name.endsWith('.drydock.dev')) found.push(crd.metadata.name);
  return found.filter((one) => !one.includes('drydock-ownership-')).sort();
}

test('TRUTH-5 an upgrade: the next operator takes over at once, nothing is made again, and no status begins anew', async () => {
  const first = await operate();
  const before = await current();
  await guarded();
  assert.deepEqual([before.template?.name, before.template?.release], [installerTemplate, undefined]);
  await first.stop('SIGTERM');
  await sandbox.installCrds([resolve(root, 'api/crds')]);
  const began = performance.now();
  const second = await operate();
  await eventually('the next leader', async () => {
    const lease = await client.get(Lease, { namespace: leases, name: 'drydock-boot-images' });
    return lease.spec?.holderIdentity === '' ? undefined : true;
  });
  assert.ok(performance.now() - began < 14_000, 'it did not wait until a Lease ran out');
  const { since, template } = await eventually('what the earlier definition did not know', async () => {
    const now = await current();
    return now.template?.release === undefined ? undefined : now;
  });
  assert.deepEqual([since, template?.name, template?.release], [before.since, before.template?.name, oldRelease]);
  const refused = await drydock('uninstall', '--yes', '--dry-run', ...trusted());
  assert.equal(refused.code, 0);
  const there = await ours();
  assert.ok(there.length > 20, 'a dry run takes nothing off');
  for (const kind of [
    'ValidatingAdmissionPolicy ',
    'ValidatingAdmissionPolicyBinding ',
    'Service ',
    'DaemonSet ',
    'PodDisruptionBudget ',
    'ServiceMonitor ',
    'PrometheusRule ',
  ])
    assert.ok(
      there.some((one) => one.startsWith(kind)),
      kind,
    );
  await client.delete(Deployment, { namespace: accountNamespace, name: 'drydock' });
  const led = await drydock('uninstall', '--yes', ...trusted());
  assert.equal(led.code, 3, led.out);
  assert.match(led.errors, /leads the role boot-images since .* Stop that "drydock operator" first\./);
  assert.ok((await ours()).length > 20);
  await second.stop('SIGKILL');
});

test('TRUTH-5 uninstall takes off what is ours, says what stays, and nothing hangs', async () => {
  // The watch was killed: nobody lets go of the zone.
  await client.delete(Zone, zone);
  assert.notEqual((await client.get(Zone, zone)).metadata.deletionTimestamp, undefined, 'kubectl delete zone hangs');
  const canary = { namespace: machineApi, name: 'drydock-canary-0123456789ab' };
  const others = ['drydock-canary-of-mine', 'drydock-canary-ba9876543210'];
  const labels = { 'app.kubernetes.io/managed-by': 'drydock', 'drydock.dev/canary': '0123456789ab' };
  for (const name of [canary.name, ...others])
    await client.create(Machine, { metadata: { namespace: machineApi, name, labels }, spec: {} });
  const policy = { metadata: { name: 'mine', annotations: { team: 'a' } }, spec: { priority: 3 } } as BootImagePolicy;
  await client.create(BootImagePolicy, policy);
  const file = resolve(sandbox.directory, 'objects.yaml');
  const asked = await drydock('uninstall', ...trusted());
  assert.match(
    asked.out,
    /machines that try an image, .*\n {5}Machine openshift-machine-api\/drydock-canary-0123456789ab\n/,
  );
  assert.ok(asked.code === 5 || asked.code === 3, asked.out);
  await eventually('the end of the Leases of the dead', async () => {
    for await (const { spec } of client.list(Lease, { namespace: leases }))
      if (Date.parse(spec?.renewTime ?? '') + 1000 * (spec?.leaseDurationSeconds ?? 0) > Date.now()) return undefined;
    return true;
  });
  const { code, out, errors } = await drydock('uninstall', '--yes', '--export', file, ...trusted());
  assert.equal(code, 0, errors);
  assert.match(out, /What people wrote, .* exported to .*:\n {2}- BootImagePolicy mine\n/);
  assert.match(out, /What people wrote is kept in .*objects\.yaml: kubectl apply -f brings it back\n/);
  const exported = parse(await readFile(file, 'utf8')) as BootImagePolicy;
  assert.deepEqual([exported.metadata, exported.spec?.priority], [policy.metadata, 3]);
  assert.match(out, /ClusterOperator drydock is taken off\n/);
  assert.match(out, /finalizer of Zone machines\/zone-a is taken off\n/);
  const machines = await Array.fromAsync(client.list(Machine, { namespace: machineApi }));
  assert.deepEqual(machines.map(({ metadata }) => metadata.name).toSorted(), others.toSorted(), 'a canary is left');
  assert.deepEqual(await Array.fromAsync(client.list(ClusterOperator)), []);
  assert.match(out, /What stays:\n/);
  assert.match(out, /Secret drydock\/drydock-mark-key: it proves which templates are Drydock's/);
  assert.match(out, /Nothing of Drydock is left in the cluster, but for what stays\.\n$/);
  await assert.rejects(client.get(Zone, zone), isNotFound);
  await client.get(Secret, markKey);
  const definition = { name: `${BootImage.plural}.${BootImage.group}` };
  await eventually('the end of the definition', async () =>
    client.get(CustomResourceDefinition, definition).then(
      () => undefined,
      () => true,
    ),
  );
  assert.deepEqual(await ours(), STAYS);
  assert.equal((await client.get(MachineSet, { namespace: machineApi, name: 'worker' })).metadata.name, 'worker');
  const names = (await switchboard.templates()).map(({ name }) => name);
  assert.deepEqual(names, [installerTemplate], 'what is in vCenter stays');
  const again = await drydock('uninstall', '--yes', ...trusted());
  assert.equal(again.code, 0);
  assert.match(again.out, /^There is nothing of Drydock in this cluster\.\n/);
});

test('TRUTH-5 what was uninstalled can be installed again, and goes on with the templates that stayed', async () => {
  await sandbox.installCrds([resolve(root, 'api/crds')]);
  await install();
  await client.create(Zone, {
    metadata: zone,
    spec: { managedVMs: { folderMoID: (await switchboard.createFolder(`${folder}/zone-b`)).moref } },
  } as Zone);
  const operator = await operate();
  const { template } = await current();
  assert.deepEqual([template?.name, template?.release], [installerTemplate, oldRelease]);
  await guarded();
  const names = (await switchboard.templates()).map(({ name }) => name);
  assert.deepEqual(names, [installerTemplate], 'nothing is made anew');
  await operator.stop('SIGTERM');
  await client.delete(Deployment, { namespace: accountNamespace, name: 'drydock' });
  const { code, errors } = await drydock('uninstall', '--yes', ...trusted());
  assert.equal(code, 0, errors);
  assert.deepEqual(await ours(), STAYS);
});
