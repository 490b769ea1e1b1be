import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion, MachineConfiguration, MachineSet } from '@drydock/api';
import fc from 'fast-check';
import { architectureOf, autoscalerLabelsAnnotation } from './architecture.ts';
import { aggregate, defaultConditions, degraded, upsertConditions } from './conditions.ts';
import { zeroCounters } from './counters.ts';
import { clusterStable } from './gates.ts';
import { convertStub } from './ignition.ts';
import { leafPatch, machineSetSpecPath, pointer } from './provider-spec.ts';
import { type ReflectInput, reflect } from './reflect.ts';
import { labelSelector, selectionOf } from './selection.ts';
import { parseStream } from './stream.ts';
import { infrastructure, managed, stub22, workspace } from './testing/fake-cluster.ts';
import {
  clusterVersionTrigger,
  goldenTrigger,
  inputTrigger,
  machineConfigurationTrigger,
  machineSetTrigger,
} from './triggers.ts';
import { compareReleases, rhelVersion } from './version.ts';
import { matchFailureDomain, mismatchText, workspaceOf } from './vsphere/failure-domain.ts';
import { isInstallerName } from './vsphere/names.ts';
import { resolveTemplate } from './vsphere/resolve.ts';

const version = (...states: readonly string[]): ClusterVersion => ({
  metadata: { name: 'version' },
  status: { history: states.map((state) => ({ state })) },
});

test('BI-V3 a Completed newest entry is stable', () => {
  assert.equal(clusterStable(version('Completed')), true);
  assert.equal(clusterStable(version('Partial', 'Completed')), false);
});

test('BI-V6 BI-V7 BI-V8 BI-V9 BI-V11 ClusterVersionStable marks the end of an upgrade only', () => {
  const event = (old: ClusterVersion, now: ClusterVersion): string | undefined => clusterVersionTrigger({ old, now });
  assert.equal(event(version('Partial'), version('Completed')), 'ClusterVersionStable');
  assert.equal(event(version(), version('Completed')), 'ClusterVersionStable');
  assert.equal(event(version('Partial', 'Completed'), version('Completed', 'Completed')), 'ClusterVersionStable');
  assert.equal(event(version('Completed'), version('Completed')), undefined);
  assert.equal(event(version('Completed'), version('Partial', 'Completed')), undefined);
});

test('BI-V16 BI-V17 BI-V19 only status that matters of the one MachineConfiguration is an event', () => {
  const mc = (
    status: NonNullable<MachineConfiguration['status']>,
    spec: object = {},
    name = 'cluster',
  ): MachineConfiguration => ({
    metadata: { name },
    spec,
    status,
  });
  const event = (old: MachineConfiguration, now: MachineConfiguration, skewGate = true): string | undefined =>
    machineConfigurationTrigger({ old, now }, { skewGate });
  assert.equal(event(mc({}), mc({}, { managedBootImages: { machineManagers: [] } })), undefined);
  assert.equal(
    event(mc({}), mc({ managedBootImagesStatus: { machineManagers: [] } })),
    'BootImageUpdateConfigurationUpdated',
  );
  const skew = mc({ bootImageSkewEnforcementStatus: { mode: 'None' } });
  assert.equal(event(mc({}), skew), 'BootImageUpdateConfigurationUpdated');
  assert.equal(event(mc({}), skew, false), undefined);
  assert.equal(event(mc({}), mc({ conditions: [{ type: 'a', status: 'True' }] })), undefined);
  assert.equal(machineConfigurationTrigger({ now: mc({}, {}, 'other') }, { skewGate: true }), undefined);
  assert.equal(machineConfigurationTrigger({ now: mc({}) }, { skewGate: true }), 'BootImageUpdateConfigurationAdded');
});

test('BI-V18 only new versions of the golden ConfigMap are events', () => {
  const cm = (name: string, resourceVersion: string): { metadata: { name: string; resourceVersion: string } } => ({
    metadata: { name, resourceVersion },
  });
  assert.equal(goldenTrigger({ old: cm('other-name', '1'), now: cm('other-name', '2') }), undefined);
  assert.equal(goldenTrigger({ old: cm('coreos-bootimages', '1'), now: cm('coreos-bootimages', '1') }), undefined);
  assert.equal(
    goldenTrigger({ old: cm('coreos-bootimages', '1'), now: cm('coreos-bootimages', '2') }),
    'BootImageConfigMapUpdated',
  );
  assert.equal(inputTrigger('VSphereCredentialsSecret', { old: cm('a', '1') }), 'VSphereCredentialsSecretDeleted');
});

test('machine set events follow four fields and nothing else', () => {
  const set = (labels: Record<string, string>, replicas: number): MachineSet => ({
    metadata: { name: 'a', labels },
    spec: { replicas },
  });
  assert.equal(machineSetTrigger({ old: set({}, 1), now: set({}, 2) }), undefined);
  assert.equal(machineSetTrigger({ old: set({}, 1), now: set({ a: 'b' }, 1) }), 'MAPIMachineSetUpdated');
  assert.equal(machineSetTrigger({ old: set({}, 1) }), 'MAPIMachineSetDeleted');
});

test('BI-V23 BI-V24 an empty selector selects everything, an absent one nothing', () => {
  assert.equal(selectionOf(managed('Partial', {}), 'machinesets').includes({}), true);
  assert.equal(selectionOf(managed('Partial'), 'machinesets').includes({}), false);
});

test('label selectors: NotIn is the complement of In', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y')),
      fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { minLength: 1 }),
      (labels, values) => {
        const match = (operator: string): boolean =>
          labelSelector({ matchExpressions: [{ key: 'a', operator, values }] })(labels);
        assert.notEqual(match('In'), match('NotIn'));
      },
    ),
  );
});

test('BI-V36 BI-V37 BI-V38 BI-V39 BI-V43 BI-V46 the first arch entry decides, else the fallback', () => {
  const of = (annotation: string | undefined, clusterArchitecture?: string): string => {
    const annotations = annotation === undefined ? {} : { [autoscalerLabelsAnnotation]: annotation };
    const result = architectureOf({ name: 's', annotations, clusterArchitecture, fallback: 'ppc64le' });
    return result.kind === 'known' ? result.architecture : result.message;
  };
  assert.equal(of('kubernetes.io/arch=amd64'), 'x86_64');
  assert.equal(of('kubernetes.io/arch=amd64', 'Multi'), 'x86_64');
  assert.equal(of('kubernetes.io/arch=amd64,topology.ebs.csi.aws.com/zone=eu-central-1a'), 'x86_64');
  assert.equal(of('topology.ebs.csi.aws.com/zone=eu-central-1a,kubernetes.io/arch=arm64'), 'aarch64');
  assert.equal(of('a=b, kubernetes.io/arch=s390x,c=d'), 's390x');
  assert.equal(of(undefined), 'ppc64le');
  assert.equal(of('kubernetes.io/arch=arm64,kubernetes.io/arch=amd64'), 'aarch64');
  assert.equal(of('kubernetes.io/arch=toString'), 'invalid architecture value found in annotation: toString');
});

test('BI-V42 an annotation without an arch entry is an error, an empty one too', () => {
  for (const annotation of ['a=b', '']) {
    const result = architectureOf({
      name: 's',
      annotations: { [autoscalerLabelsAnnotation]: annotation },
      clusterArchitecture: undefined,
      fallback: 'x86_64',
    });
    assert.deepEqual(result, {
      kind: 'invalid',
      message: `kubernetes.io/arch label not found in annotation: ${annotation}`,
    });
  }
});

test('BI-V54 a fresh MachineConfiguration gets both condition types with reason NA', () => {
  const conditions = defaultConditions(new Date(0));
  assert.deepEqual(
    conditions.map((c) => [c.type, c.status, c.reason]),
    [
      ['BootImageUpdateProgressing', 'False', 'NA'],
      ['BootImageUpdateDegraded', 'False', 'NA'],
    ],
  );
  assert.ok(conditions[1]?.message?.endsWith('| 0 CAPI MachineDeployments'));
  assert.equal(upsertConditions([{ type: 'Other', status: 'True' }], conditions, new Date(0)).length, 3);
});

test('BI-V56 a failure of control plane sets is not masked by clean machine sets', () => {
  const counters = { ...zeroCounters, ControlPlaneMachineSets: { total: 1, reconciled: 0, skipped: 0, errored: 1 } };
  const condition = degraded({ counters, errors: ['error syncing ControlPlaneMachineSet cluster: x'], reason: 'R' });
  assert.equal(condition.status, 'True');
  assert.ok(condition.message?.includes('| 1 Degraded ControlPlaneMachineSets |'));
});

test('lastTransitionTime moves with the status alone, and nothing changed is the same array', () => {
  const first = upsertConditions([], [{ type: 'A', status: 'True', reason: 'r', message: 'm' }], new Date(0));
  const second = upsertConditions(first, [{ type: 'A', status: 'True', reason: 'r', message: 'n' }], new Date(9000));
  assert.equal(second[0]?.lastTransitionTime, '1970-01-01T00:00:00Z');
  assert.equal(
    upsertConditions(second, [{ type: 'A', status: 'True', reason: 'r', message: 'n' }], new Date(9000)),
    second,
  );
  assert.equal(
    upsertConditions(second, [{ type: 'A', status: 'False' }], new Date(9000))[0]?.lastTransitionTime,
    '1970-01-01T00:00:09Z',
  );
  assert.equal(aggregate(['a', 'a']), 'a');
});

test('BI-V128 BI-V129 vmGroup, resource pool and datastore decide the failure domain', () => {
  const find = (change: object): string | undefined => {
    const place = workspaceOf({ workspace: { ...workspace, ...change } });
    return place && matchFailureDomain(place, infrastructure())?.name;
  };
  assert.equal(find({}), 'fd1');
  assert.equal(find({ vmGroup: 'g1' }), undefined);
  assert.equal(find({ resourcePool: '/dc1/host/c/Resources/' }), 'fd1');
  assert.equal(find({ datastore: 'ds1' }), undefined);
  const place = workspaceOf({ workspace: { ...workspace, vmGroup: 'g1' } });
  assert.ok(place && mismatchText(place).includes(', vmGroup: g1)'));
});

test('BI-V153 a newer template is kept by default, and replaced by policy', () => {
  const state = { kind: 'present', name: 't', version: '9.8.20260802-0', isTemplate: true, ours: true } as const;
  const facts = {
    set: 's',
    reference: 't',
    referenced: state,
    computed: { kind: 'absent' },
    computedName: 'c',
    installerName: false,
    release: '418.94.202511191518-0',
  } as const;
  assert.equal(resolveTemplate({ ...facts, downgrade: 'keep' }).kind, 'skip');
  assert.equal(resolveTemplate({ ...facts, downgrade: 'replace' }).kind, 'publish');
});

test('releases compare by RHEL version, date and build, across the legacy form', () => {
  const sign = (a: string, b: string): number | undefined => {
    const order = compareReleases(a, b);
    return order === undefined ? undefined : Math.sign(order);
  };
  assert.equal(sign('418.94.202511191518-0', '9.6.20260512-0'), -1);
  assert.equal(sign('412.810.202301010000-0', '413.92.202305021736-0'), -1);
  assert.equal(sign('9.8.20260428-1', '9.8.20260428-0'), 1);
  assert.equal(sign('9.8.20260428-0', '9.8.20260428-0'), 0);
  assert.equal(sign('9.8', '9.8.20260428-0'), undefined);
  assert.deepEqual(['412.810.202301010000-0', '418.94.202511191518-0', '9.6.20260512-0'].map(rhelVersion), [
    '8.10',
    '9.4',
    '9.6',
  ]);
});

test('installer names of all ages are recognised', () => {
  const domain = {
    name: 'fd1',
    region: 'r',
    zone: 'z',
    server: 'v',
    topology: { datacenter: '', computeCluster: '', datastore: '' },
  };
  const names = ['i-rhcos-fd1', 'i-rhcos', 'i-rhcos-r-z', 'i-rhcos-fd2', 'mine'];
  assert.deepEqual(
    names.map((name) => isInstallerName(name, 'i', domain)),
    [true, true, true, false, false],
  );
});

test('BI-V166 BI-V167 user data of a wrong shape is an error with a text, never a crash', () => {
  const said = (text: string): string => {
    try {
      return convertStub(text, 'n').kind;
    } catch (error) {
      return (error as Error).message;
    }
  };
  for (const text of ['{"ignition":{"version":3}}', '[]', '"x"', 'null', '{"ignition":[]}']) {
    assert.match(said(text), /^failed to find version field in ignition \(user data secret n\): /);
  }
  assert.match(said('{'), /^failed to unmarshal decoded user-data to json \(secret n\): .*t$/s);
  assert.match(said('{}'), /parsing Ignition config failed: invalid version\. Supported spec versions: 2\.2,3\.0/);
  assert.equal(said('{"ignition":{"version":"3.0.0"}}'), 'current');
});

test('a hand-made spec 2 config is carried over, and what spec 3 cannot say is refused by name', () => {
  const convert = (more: object): Record<string, unknown> => {
    const result = convertStub(JSON.stringify({ ...(JSON.parse(stub22) as object), ...more }), 'n');
    return result.kind === 'converted' ? (JSON.parse(result.text) as Record<string, unknown>) : {};
  };
  const files = [
    { filesystem: 'root', path: '/a', contents: { source: 'data:,1' } },
    { filesystem: 'root', path: '/a', contents: { source: 'data:,2' } },
  ];
  assert.deepEqual(convert({ storage: { files } })['storage'], {
    files: [{ path: '/a', overwrite: true, contents: { source: 'data:,2' } }],
  });
  assert.deepEqual(convert({ passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['k'] }] } })['passwd'], {
    users: [{ name: 'core', sshAuthorizedKeys: ['k'] }],
  });
  assert.throws(() => convert({ networkd: { units: [{}] } }), /converting ignition stub failed: networkd/);
  assert.throws(() => convert({ passwd: { users: [{ name: 'joe' }] } }), /only core is supported/);
  assert.equal(convert({})['networkd'], undefined);
});

test('a patch touches the leaf alone and tests its old value; JSON pointers are escaped', () => {
  const path = '/spec/template/spec/providerSpec/value/template';
  assert.deepEqual(leafPatch(machineSetSpecPath, [{ path: ['template'], from: 'a', to: 'b' }]), [
    { op: 'test', path, value: 'a' },
    { op: 'replace', path, value: 'b' },
  ]);
  assert.deepEqual(leafPatch(machineSetSpecPath, [{ path: ['template'], from: undefined, to: 'b' }]), [
    { op: 'add', path, value: 'b' },
  ]);
  assert.equal(pointer(['a/b', '~', 0]), '/a~1b/~0/0');
});

test('streams with missing maps read as empty, other text is an error', () => {
  assert.equal(parseStream('{}').release('x86_64', 'vmware'), undefined);
  assert.equal(parseStream('{"architectures":{"constructor":1}}').release('constructor', 'vmware'), undefined);
  for (const text of [undefined, '[]', '1'])
    assert.throws(() => parseStream(text), /failed to parse CoreOS stream metadata: /);
});

const input: ReflectInput = { spec: undefined, status: undefined, platform: 'VSphere', cpmsGate: true };

test('BI-V173 BI-V183 a fresh vSphere cluster is opted in to machine sets alone', () => {
  assert.deepEqual(reflect(input), { managers: managed('All'), optIn: true });
});

test('BI-V174 BI-V176 a manager in spec is copied and is no opt-in', () => {
  assert.deepEqual(reflect({ ...input, spec: managed('All') }), { managers: managed('All'), optIn: false });
  const partial = managed('Partial', { matchLabels: { a: 'b' } });
  assert.deepEqual(reflect({ ...input, spec: partial, status: managed('All') }), { managers: partial, optIn: false });
});

test('BI-V177 an explicit empty list stays an empty list', () => {
  assert.deepEqual(reflect({ ...input, spec: [], status: managed('All') }), { managers: [], optIn: false });
});

test('BI-V178 an unsupported platform leaves status alone', () => {
  assert.deepEqual(reflect({ ...input, platform: 'BareMetal' }), { managers: undefined, optIn: false });
});

test('BI-V184 None left by an older default becomes All and is an opt-in', () => {
  assert.deepEqual(reflect({ ...input, status: managed('None') }), { managers: managed('All'), optIn: true });
  assert.equal(reflect({ ...input, status: managed('All') }).optIn, false);
});
