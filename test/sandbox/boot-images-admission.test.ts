import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { Infrastructure, MachineConfiguration, type MachineManager } from '@drydock/api';
import { bootImageMetrics } from '@drydock/boot-images';
import {
  ApiError,
  createClient,
  type KubeClient,
  type KubeObject,
  kubeMetrics,
  loadKubeconfig,
  type Resource,
} from '@drydock/kube';
import { releaseMetrics } from '@drydock/release';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { watchMetrics } from '@drydock/vm-watch';
import { parse, parseAllDocuments } from 'yaml';
import { eventually } from './support/voyage.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');
const policy = (kind: string): Resource<KubeObject> => ({
  ...{ group: 'admissionregistration.k8s.io', version: 'v1', scope: 'Cluster' },
  ...{ kind, plural: kind === 'ValidatingAdmissionPolicy' ? 'validatingadmissionpolicies' : `${kind.toLowerCase()}s` },
});
const key = { name: 'cluster' };

let sandbox: Sandbox;
let client: KubeClient;

before(async () => {
  sandbox = await startSandbox({ crds: ['openshift'] });
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
});
after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

const manager = (resource: string, mode: string, more: object = {}): MachineManager =>
  ({ resource, apiGroup: 'machine.openshift.io', selection: { mode, ...more } }) as MachineManager;
const sets = (mode: string, more: object = {}): MachineManager => manager('machinesets', mode, more);
const planes = (mode: string): MachineManager => manager('controlplanemachinesets', mode);
const partial = { partial: { machineResourceSelector: { matchLabels: { update: 'true' } } } };

/** What the server says of a configuration; '' where it takes it. */
async function said(spec: object, name = 'cluster'): Promise<string> {
  try {
    const wanted = { metadata: { name }, spec: { managementState: 'Managed', ...spec } } as MachineConfiguration;
    await client.create(MachineConfiguration, wanted, { dryRun: true });
    return '';
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error.message;
  }
}

const managing = (...machineManagers: readonly MachineManager[]): object => ({
  managedBootImages: { machineManagers },
});

test('BI-V188 the definition refuses managers that nobody could read', async () => {
  for (const [managers, wanted] of [
    [[sets('All'), planes('All')], /^$/],
    [[sets('Partial', partial)], /^$/],
    [[sets('Partial')], /Partial is required when type is partial/],
    [[sets('All', partial)], /Partial is required when type is partial, and forbidden otherwise/],
    [
      [manager('controlplanemachinesets', 'Partial', partial)],
      /Only All or None selection mode is permitted for ControlPlaneMachineSets/,
    ],
    [[sets('All'), sets('None')], /Duplicate value/],
    [[{ ...sets('All'), apiGroup: 'cluster.x-k8s.io' }], /Unsupported value: "cluster\.x-k8s\.io"/],
    [Array.from({ length: 6 }, () => sets('All')), /must have at most 5 items/],
  ] as const)
    assert.match(await said(managing(...managers)), wanted, JSON.stringify(managers));
});

test('BI-V189 while the record of the oldest image is kept by passes, machine sets must stay managed', async () => {
  const made = await client.create(MachineConfiguration, {
    metadata: key,
    spec: { managementState: 'Managed', ...managing(sets('All')) },
  });
  const status = {
    observedGeneration: 1,
    managedBootImagesStatus: { machineManagers: [sets('All')] },
    bootImageSkewEnforcementStatus: { mode: 'Automatic', automatic: { ocpVersion: '4.21.0' } },
  } as const;
  await client.replaceStatus(MachineConfiguration, { ...made, status });
  const update = async (spec: object): Promise<string> => {
    const live = await client.get(MachineConfiguration, key);
    try {
      await client.replace(
        MachineConfiguration,
        { ...live, spec: { managementState: 'Managed', ...spec } },
        { dryRun: true },
      );
      return '';
    } catch (error) {
      assert.ok(error instanceof ApiError);
      return error.message;
    }
  };
  // The words are those of the release whose definition this is.
  for (const wanted of [managing(), managing(sets('None')), managing(sets('Partial', partial))])
    assert.match(await update(wanted), /when skew enforcement is in Automatic mode, /, JSON.stringify(wanted));
  assert.equal(await update(managing(sets('All'))), '');
  // The rules of this release look at the status alone: they let go once it says that a person keeps the record.
  const bootImageSkewEnforcement = { mode: 'Manual', manual: { mode: 'OCPVersion', ocpVersion: '4.21.0' } } as const;
  assert.equal(await update({ ...managing(sets('All')), bootImageSkewEnforcement }), '');
  const live = await client.get(MachineConfiguration, key);
  const kept = { ...live.status, bootImageSkewEnforcementStatus: bootImageSkewEnforcement };
  await client.replaceStatus(MachineConfiguration, { ...live, status: kept });
  for (const wanted of [managing(), managing(sets('None')), managing(sets('Partial', partial))])
    assert.equal(await update({ ...wanted, bootImageSkewEnforcement }), '', JSON.stringify(wanted));
  await client.delete(MachineConfiguration, key);
});

test('the policies refuse what the platform cannot do, with upstream’s words, and let everything else through', async () => {
  const asked = managing(sets('All'));
  const both = managing(sets('All'), planes('All'));
  assert.deepEqual(
    [await said(both), await said({}, 'other')],
    ['', ''],
    'negative control: nothing is refused without them',
  );
  const text = readFileSync(join(deploy, 'policies/policies.yaml'), 'utf8');
  for (const document of parseAllDocuments(text)) {
    const object = document.toJS() as KubeObject & { readonly kind: string };
    await client.create(policy(object.kind), object);
  }
  const refused = (spec: object, name?: string) => async () => (await said(spec, name)) !== '' || undefined;
  // There is no Infrastructure yet: without a platform nothing is let through.
  await eventually('the policies count', refused({}));
  await client.create(Infrastructure, { metadata: key, spec: {} } as Infrastructure);
  await eventually('the platform is looked at', async () => (await said({})) === '' || undefined);
  await eventually('the guard counts', refused({}, 'other'));
  assert.match(await said({}, 'other'), /The one MachineConfiguration that counts is named cluster/);

  const words = (platforms: string): RegExp =>
    new RegExp(`denied request: This feature is only supported on these platforms: ${platforms}[.”]`);
  for (const [type, workers, masters] of [
    ['BareMetal', false, false],
    ['VSphere', true, false],
    ['AWS', true, true],
    ['GCP', true, true],
    ['Azure', true, true],
    ['None', false, false],
  ] as const) {
    const live = await client.get(Infrastructure, key);
    const status = { ...live.status, platformStatus: { type } };
    await client.replaceStatus(Infrastructure, { ...live, status } as Infrastructure);
    const all = words('GCP, AWS, VSphere, Azure');
    const asExpected = (told: string, allowed: boolean, refusal: RegExp): boolean =>
      allowed ? told === '' : refusal.test(told);
    // The server follows parameters by a watch of its own, and each policy by its own time.
    await eventually(`${type} is seen by all policies`, async () => {
      const seen = { workers: await said(asked), masters: await said(both) };
      // Where both policies refuse, the server passes on the words of one of them, whichever it came to first.
      const masterWords = words(workers ? 'GCP, AWS, Azure' : 'GCP, AWS, (?:VSphere, )?Azure');
      return (asExpected(seen.workers, workers, all) && asExpected(seen.masters, masters, masterWords)) || undefined;
    });
    assert.equal(await said({}), '', type);
  }
});

test('BI-V204 every metric of an alert is one that the operator has, and the one of skew enforcement is upstream’s', async () => {
  const rules = parse(readFileSync(join(deploy, 'monitoring/alerts.yaml'), 'utf8')) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Readonly<Record<string, unknown>>[] }[] };
  };
  const { registry } = kubeMetrics();
  bootImageMetrics(registry);
  watchMetrics(registry);
  releaseMetrics(registry);
  const known = new Set((await registry.getMetricsAsJSON()).map(({ name }) => name));
  const alerts = rules.spec.groups.flatMap((group) => group.rules);
  assert.ok(alerts.length > 10);
  const page = readFileSync(join(deploy, '../docs/install.md'), 'utf8');
  for (const { alert, expr, annotations } of alerts) {
    const runbook = `docs/runbooks/${String(alert)}.md`;
    assert.equal((annotations as Readonly<Record<string, string>>)['runbook'], runbook);
    assert.ok(readFileSync(join(deploy, '..', runbook), 'utf8').startsWith(`# ${String(alert)}: `), runbook);
    const named = String(expr).match(/\b(?:drydock|mcc|payload)_\w+/g) ?? [];
    assert.ok(named.length > 0, String(alert));
    assert.ok(page.includes(`| \`${String(alert)}\` `), `docs/install.md does not have ${String(alert)}`);
    for (const name of named) assert.ok(known.has(name), `${String(alert)}: ${name}`);
  }
  const skew = alerts.find(({ alert }) => alert === 'MCCBootImageSkewEnforcementNone');
  assert.equal(skew?.['expr'], 'mcc_boot_image_skew_enforcement_none == 1');
  assert.equal(skew?.['for'], undefined);
  assert.deepEqual(skew?.['labels'], { severity: 'info', namespace: 'openshift-machine-config-operator' });
});
