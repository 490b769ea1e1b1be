import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BootImage,
  ClusterVersion,
  ConfigMap,
  ControlPlaneMachineSet,
  Deployment,
  Infrastructure,
  MachineConfiguration,
  MachineSet,
  Namespace,
  Secret,
} from '@drydock/api';
import {
  type BootImageMetrics,
  bootImageMetrics,
  bootImagesRole,
  degradedType,
  upstreamController,
} from '@drydock/boot-images';
import {
  computed,
  fakeStore,
  infrastructure,
  machineSet,
  newRelease,
  oldRelease,
  published,
  stream,
} from '@drydock/boot-images/testing';
import {
  createCache,
  createClient,
  isInvalid,
  isNotFound,
  type KubeClient,
  kubeMetrics,
  loadKubeconfig,
  type Operator,
  run,
  statusWriter,
} from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { pino } from 'pino';
import { createPlane, manageBoth, planeKey, planeStubText } from './support/control-plane.ts';

let sandbox: Sandbox;
let client: KubeClient;

before(async () => {
  sandbox = await startSandbox({
    crds: ['openshift', resolve(import.meta.dirname, '../../api/crds/drydock.dev_bootimages.yaml')],
  });
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
});

after(async () => {
  await client[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

const manager = (mode: string, more: object = {}): object => ({
  resource: 'machinesets',
  apiGroup: 'machine.openshift.io',
  selection: { mode },
  ...more,
});

const refused: readonly (readonly [string, readonly object[]])[] = [
  ['Partial without its block', [manager('Partial')]],
  [
    'All with a partial block',
    [manager('All', { selection: { mode: 'All', partial: { machineResourceSelector: {} } } })],
  ],
  ['two managers for one resource', [manager('All'), manager('None')]],
  ['another apiGroup', [manager('All', { apiGroup: 'cluster.x-k8s.io' })]],
  ['six managers', ['a', 'b', 'c', 'd', 'e', 'f'].map((resource) => manager('All', { resource }))],
  [
    'Partial for control plane sets',
    [
      manager('Partial', {
        resource: 'controlplanemachinesets',
        selection: { mode: 'Partial', partial: { machineResourceSelector: {} } },
      }),
    ],
  ],
];

for (const [what, machineManagers] of refused) {
  test(`BI-V188 the CRD refuses ${what}`, async () => {
    const wanted = {
      apiVersion: 'operator.openshift.io/v1',
      kind: 'MachineConfiguration',
      metadata: { name: 'cluster' },
      spec: { managementState: 'Managed', managedBootImages: { machineManagers } },
    } as unknown as MachineConfiguration;
    await assert.rejects(client.create(MachineConfiguration, wanted), isInvalid);
  });
}

test('BI-V188 the message for control plane sets says what is permitted, and a valid list is accepted', async () => {
  const create = (machineManagers: readonly object[]): Promise<MachineConfiguration> =>
    client.create(
      MachineConfiguration,
      {
        apiVersion: 'operator.openshift.io/v1',
        kind: 'MachineConfiguration',
        metadata: { name: 'cluster' },
        spec: { managementState: 'Managed', managedBootImages: { machineManagers } },
      } as unknown as MachineConfiguration,
      {},
    );
  await assert.rejects(
    create([
      manager('Partial', {
        resource: 'controlplanemachinesets',
        selection: { mode: 'Partial', partial: { machineResourceSelector: {} } },
      }),
    ]),
    /Only All or None selection mode is permitted for ControlPlaneMachineSets/,
  );
  await assert.rejects(
    create(['a', 'b', 'c', 'd', 'e', 'f'].map((resource) => manager('All', { resource }))),
    /machineManagers: Too many: 6: must have at most 5 items/,
  );
  await create([manager('All')]);
  await client.delete(MachineConfiguration, { name: 'cluster' });
});

/** One set on the old release, and everything that a pass reads; no MachineConfiguration. */
async function createCluster(): Promise<void> {
  for (const name of ['openshift-machine-api', 'openshift-machine-config-operator']) {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  const { status, ...infra } = infrastructure();
  await client.create(Infrastructure, { apiVersion: 'config.openshift.io/v1', kind: 'Infrastructure', ...infra });
  const writer = statusWriter({ client, resource: Infrastructure });
  await writer.write({ name: 'cluster' }, () => ({
    ...status,
    infrastructureTopology: 'HighlyAvailable',
    controlPlaneTopology: 'HighlyAvailable',
  }));
  await client.create(ClusterVersion, {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    metadata: { name: 'version' },
    spec: { clusterID: '0b9a6f4e-6c7d-4d6e-8f8a-000000000001' },
  });
  const time = '2026-08-02T00:00:00Z';
  await statusWriter({ client, resource: ClusterVersion }).write(
    { name: 'version' },
    () =>
      ({
        desired: { version: '4.22.0', image: 'i' },
        history: [
          {
            state: 'Completed',
            version: '4.22.0',
            image: 'i',
            startedTime: time,
            completionTime: time,
            verified: false,
          },
        ],
        observedGeneration: 1,
        versionHash: 'h',
        availableUpdates: null,
      }) as never,
  );
  const text = (value: string): string => Buffer.from(value).toString('base64');
  await client.create(ConfigMap, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream },
  });
  await client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'kube-system', name: 'vsphere-creds' },
    data: { 'vc1.username': text('u'), 'vc1.password': text('p') },
  });
  await client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'openshift-machine-api', name: 'worker-user-data' },
    data: { userData: text('{"ignition":{"version":"3.4.0"}}') },
  });
  await client.create(MachineSet, {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'MachineSet',
    ...machineSet('wk-a'),
  });
}

const setKey = { namespace: 'openshift-machine-api', name: 'wk-a' };

const store = fakeStore({ [computed]: { version: oldRelease } });

interface Role extends Operator {
  readonly scrape: () => Promise<string>;
  /** Resolves after a pass of its own: what the objects say may be of an operator before. */
  readonly passed: () => Promise<void>;
}

/** The role on the real API server, with the templates of a folder in memory. */
async function startRole(warnings: string[] = []): Promise<Role> {
  const metrics = kubeMetrics();
  const counted: BootImageMetrics = bootImageMetrics(metrics.registry);
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  const role = bootImagesRole({
    client,
    store,
    leader: { identity: 'me', holderIsLive: () => true, assertHeld: () => undefined },
    log,
    architecture: 'x86_64',
    metrics: counted,
  });
  const signal = new AbortController().signal;
  const operator = await run({ client, ...role, log, signal, metrics, http: { port: 0, host: '127.0.0.1' } });
  const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${operator.port}/metrics`)).text();
  const pass = /^controller_runtime_reconcile_total\{controller="boot-images",result="\w+"\} [1-9]/m;
  return {
    ...operator,
    scrape,
    passed: () =>
      eventually('a pass', async () => (pass.test(await scrape()) ? true : undefined)).then(() => undefined),
  };
}

async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined>,
  seen: () => unknown = () => undefined,
): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) assert.fail(`${what} did not happen within 60 s: ${String(seen())}`);
    await sleep(25);
  }
}

/** Waits until the BootImage of the set is in a phase. */
function inPhase(phase: string, name: string = 'ms-wk-a'): Promise<NonNullable<BootImage['status']>> {
  return eventually(`phase ${phase}`, async () => {
    const image = await client.get(BootImage, { ...setKey, name }).catch(() => undefined);
    return image?.status?.phase === phase ? image.status : undefined;
  });
}

const template = async (): Promise<unknown> =>
  (await client.get(MachineSet, setKey)).spec?.template?.spec?.providerSpec?.value?.['template'];

test('beside an upstream machine-config-controller nothing but BootImages is written; they say who acts, and that it is no trouble', async () => {
  await createCluster();
  const pod = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await client.create(Deployment, {
    metadata: upstreamController,
    spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template: pod },
  } as Deployment);
  const before = await client.get(MachineSet, setKey);
  const warnings: string[] = [];
  await using operator = await startRole(warnings);
  const status = await inPhase('Skipped');
  const named = /machine-config-operator\/machine-config-controller manages boot images/;
  assert.match(status.message ?? '', named);
  assert.deepEqual(
    [status.reason, status.progress, status.current, status.target],
    ['LeftToUpstream', 'skipped: left to upstream', oldRelease, newRelease],
  );
  assert.match(warnings.join(''), named);
  assert.match(await operator.scrape(), /drydock_bootimage_info\{set="ms\/wk-a",.*,phase="Skipped"\} 1/);
  assert.deepEqual(await client.get(MachineSet, setKey), before);
  await assert.rejects(client.get(MachineConfiguration, { name: 'cluster' }), isNotFound);
});

test('BI-V173 once it is gone: opt-in reflected, set switched, BootImage current, conditions clear', async () => {
  const warnings: string[] = [];
  await using operator = await startRole(warnings);
  // The objects say so since the operator before.
  await eventually('its own look', async () => /nothing is changed here/.test(warnings.join('')) || undefined);
  await client.delete(Deployment, upstreamController);
  const status = await inPhase('Current');
  assert.deepEqual([status.current, status.revertTo], [newRelease, oldRelease]);
  assert.equal(await template(), published);
  const set = await client.get(MachineSet, setKey);
  assert.deepEqual(set.spec?.template?.spec?.providerSpec?.value?.['unknownField'], { kept: 1 });
  await operator[Symbol.asyncDispose]();
  const mc = await client.get(MachineConfiguration, { name: 'cluster' });
  assert.deepEqual(
    mc.status?.conditions?.filter((c) => c.type.startsWith('BootImageUpdate')).map((c) => c.status),
    ['False', 'False'],
  );
});

test('BI-V122 the control plane on vSphere is left alone, and its BootImage says why', async () => {
  await using operator = await startRole();
  await operator.passed();
  const spec = (await client.get(MachineSet, setKey)).spec?.template?.spec?.providerSpec?.value ?? {};
  const plane = await createPlane(client, { platform: 'VSphere', vsphere: [{ name: 'fd1' }] }, spec);
  await manageBoth(client);
  const status = await inPhase('Skipped', 'cpms-cluster');
  assert.deepEqual([status.reason, status.progress], ['PlatformUnsupported', 'skipped: control plane on VSphere']);
  assert.match(status.message ?? '', /on vSphere its templates are those of the failure domains in infrastructure/);
  assert.deepEqual(await plane.template(), plane.with(spec));
  assert.match(await planeStubText(client), /"version":"2\.2\.0"/);
  await client.delete(ControlPlaneMachineSet, planeKey);
});

test('metrics tell what each set boots from, how long the steps took, and who else changes images', async () => {
  await using operator = await startRole();
  const current = `drydock_bootimage_info{set="ms/wk-a",platform="vsphere",current="${newRelease}",target="${newRelease}",phase="Current"} 1`;
  // Only a set that this operator has seen can change under its eyes.
  await operator.passed();
  await using other = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }), {
    userAgent: 'argocd-controller/3',
  });
  const path = '/spec/template/spec/providerSpec/value/template';
  await other.patch(MachineSet, setKey, [{ op: 'replace', path, value: computed }]);
  const lines = [
    current,
    'drydock_bootimage_operation_seconds_count{step="Switching"} 1',
    'drydock_bootimage_foreign_writes_total{manager="argocd-controller"} 1',
    'drydock_bootimage_template_absent_observed_total 0',
    'drydock_bootimage_status_write_rejected_total 0',
  ];
  let text = '';
  await eventually(
    'what the metrics should tell',
    async () => {
      text = await operator.scrape();
      return lines.every((line) => text.includes(`\n${line}\n`)) || undefined;
    },
    () => text,
  );
  assert.equal(await template(), published);
});

test('a BootImage that somebody deletes is there again, as it was, without anything else happening', async () => {
  await using operator = await startRole();
  await operator.passed();
  const key = { ...setKey, name: 'ms-wk-a' };
  const old = await client.get(BootImage, key);
  await client.delete(BootImage, key);
  const made = await eventually('another BootImage', async () => {
    const image = await client.get(BootImage, key).catch(() => undefined);
    return image?.metadata.uid !== old.metadata.uid && image?.status?.phase !== undefined ? image : undefined;
  });
  assert.deepEqual([made.status?.phase, made.status?.current], ['Current', newRelease]);
  assert.deepEqual(made.metadata.ownerReferences, old.metadata.ownerReferences);
});

test('BI-V161 a user-data Secret that is missing is told, and taken up at once when it comes', async () => {
  await using operator = await startRole();
  await operator.passed();
  const causes = new Set<string | undefined>();
  await using configurations = createCache({ client, resource: MachineConfiguration });
  configurations.subscribe(({ now }) => {
    causes.add(now?.status?.conditions?.find(({ type }) => type === degradedType)?.reason);
  });
  const text = Buffer.from('{"ignition":{"version":"3.4.0"}}').toString('base64');
  const set = machineSet('wk-b', { userDataSecret: { name: 'later' } });
  await client.create(MachineSet, { apiVersion: 'machine.openshift.io/v1beta1', kind: 'MachineSet', ...set });
  const reason = async (wanted: string): Promise<void> => {
    await eventually(wanted, async () => {
      const image = await client.get(BootImage, { ...setKey, name: 'ms-wk-b' }).catch(() => undefined);
      return image?.status?.reason === wanted || undefined;
    });
  };
  await reason('UserDataUnreadable');
  const metadata = { namespace: 'openshift-machine-api', name: 'later' };
  await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data: { userData: text } });
  await reason('UpToDate');
  // The Secret did it, and no timer.
  await eventually(
    'the cause',
    async () => causes.has('UserDataSecretAdded') || undefined,
    () => [...causes],
  );
});
