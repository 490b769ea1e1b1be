import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { BootImage, BootImagePolicy, MachineConfiguration, VirtualMachine } from '@drydock/api';
import { machineApiNamespace } from '@drydock/boot-images';
import { type Key, keyText, type PolicyRule } from '@drydock/kube';
import { parseAllDocuments } from 'yaml';
import { statusKeepingRules } from '../../apps/drydock/src/status-keeping.ts';
import { projectedRoots } from '../../packages/boot-images/src/cloud/credentials.ts';
import { cloudConfigs } from '../../packages/boot-images/src/observe/cloud-config.ts';
import { credentialSecrets, ownCredentials } from '../../packages/boot-images/src/observe/credential-secrets.ts';
import { accountNamespace, kindOf, type Manifest, manifestsOf } from './support/rbac-manifests.ts';

const root = resolve(import.meta.dirname, '../..');
const kustomizations = ['.', 'machines', 'stand-in', 'control-plane', 'managed-stub', 'canary'];
/** Roles of what is installed by request, for the account of boot images. */
const onRequest: ReadonlySet<string> = new Set([
  ...['drydock-stand-in', 'drydock-control-plane', 'drydock-managed-stub', 'drydock-canary'],
]);
const manifests = kustomizations.flatMap(manifestsOf);
/** By request, where Cluster API is. */
const clusterApiCanary = manifestsOf('cluster-api-canary');
/** For pods on nodes, in a namespace of their own; a component, which is read as a list of documents. */
const onNodes = [
  ...manifestsOf('../node'),
  ...parseAllDocuments(readFileSync(join(root, 'deploy/node/install/rights.yaml'), 'utf8')).map(
    (document) => document.toJS() as Manifest,
  ),
];
/** By request, for an account of its own. */
const release = [...manifestsOf('release'), ...manifestsOf('release/cluster-version')];

const VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'create', 'patch', 'update']);
/** Everything that may be written, as `<resource>.<group>`. */
const WRITTEN: ReadonlySet<string> = new Set([
  'machineconfigurations.operator.openshift.io',
  'machineconfigurations/status.operator.openshift.io',
  'clusteroperators.config.openshift.io',
  'clusteroperators/status.config.openshift.io',
  'machinesets.machine.openshift.io',
  'machines.machine.openshift.io',
  'controlplanemachinesets.machine.openshift.io',
  'bootimages.drydock.dev',
  'bootimages/status.drydock.dev',
  'bootimagepolicies/status.drydock.dev',
  'payloads/status.drydock.dev',
  'zones.topology.tanzu.vmware.com',
  'virtualmachines/status.vmoperator.vmware.com',
  'events.events.k8s.io',
  'leases.coordination.k8s.io',
  'configmaps.',
  'secrets.',
]);
/** What is written in places that are not ours alone goes by name, but for creation, which RBAC cannot limit to one. */
const NAMED: ReadonlySet<string> = new Set([
  'secrets',
  'configmaps',
  'leases',
  'deployments',
  'customresourcedefinitions',
  'clusteroperators',
]);

/** What a rule must never hold. */
function offences(rule: PolicyRule, namespace: string | undefined): readonly string[] {
  const { apiGroups, resources, verbs, resourceNames = [], ...more } = rule;
  // A verdict that nobody renews would stop upgrades for ever: it goes, by its name.
  const own = resources.join() === 'clusteroperators' && resourceNames.join() === 'drydock';
  // A canary goes by its name, which RBAC cannot know: it is made and deleted in one rule, and nothing else is.
  const canary = resources.join() === 'machines' && verbs.join() === 'get,create,delete';
  // What kept the pin of a set that is gone goes with the pin: an owner that does not exist would take it too early.
  const pinned = resources.join() === 'bootimages' && verbs.join() === 'patch,delete';
  // An old stub goes by its name, one image later.
  const oldStub = resources.join() === 'secrets' && resourceNames.every((name) => name.endsWith('-ignition-2'));
  const deletes = own || canary || pinned || (oldStub && resourceNames.length > 0);
  const wrong = verbs
    .filter((verb) => !VERBS.has(verb) && !(deletes && verb === 'delete'))
    .map((verb) => `verb ${verb}`);
  const writes = verbs.some((verb) => !['get', 'list', 'watch'].includes(verb));
  if (Object.keys(more).length > 0) wrong.push(`fields ${Object.keys(more).join()}`);
  if (resourceNames.some((name) => name.includes('*'))) wrong.push('a name with a star');
  for (const [group, resource] of apiGroups.flatMap((one) => resources.map((two) => [one, two] as const))) {
    const whole = `${resource}.${group}`;
    if (whole.includes('*')) wrong.push(`wildcard ${whole}`);
    if (writes && !WRITTEN.has(whole)) wrong.push(`writes ${whole}`);
    if (resource === 'machines' && writes && !canary) wrong.push(`writes ${whole}`);
    if (resource.startsWith('pods') || group.startsWith('rbac.')) wrong.push(`touches ${whole}`);
    const creates = verbs.every((verb) => verb === 'create') && resource !== 'secrets';
    if (NAMED.has(resource) && resourceNames.length === 0 && !creates) wrong.push(`${whole} without a name`);
    if (resource === 'secrets' && namespace === undefined) wrong.push('secrets of all namespaces');
    if (resource === 'secrets' && verbs.some((verb) => verb === 'create' || verb === 'patch'))
      wrong.push('makes secrets');
  }
  return wrong;
}

const rolesOf = (all: readonly Manifest[]): readonly Manifest[] => all.filter(({ rules }) => rules !== undefined);

test('no rule has a wildcard, deletes, escalates, touches pods, or reads Secrets that it does not name', () => {
  for (const { kind, metadata, rules = [] } of rolesOf(manifests)) {
    // Without a namespace: that of `kubectl apply --namespace`.
    const namespace = kind === 'ClusterRole' ? undefined : (metadata.namespace ?? 'machines');
    for (const rule of rules)
      assert.deepEqual(offences(rule, namespace), [], `${kind} ${metadata.name}: ${JSON.stringify(rule)}`);
  }
});

test('OWN-18 for a canary of Cluster API machines are made and deleted, what belongs to them is made, and no more', () => {
  const wrong = rolesOf(clusterApiCanary).flatMap(({ rules = [] }) =>
    rules.flatMap((rule) => offences(rule, undefined)),
  );
  assert.deepEqual(wrong, [
    'writes machines.cluster.x-k8s.io',
    ...['kubeadm', 'rke2', 'kthrees', 'eks'].map((of) => `writes ${of}configs.bootstrap.cluster.x-k8s.io`),
    ...['vsphere', 'aws', 'azure', 'gcp'].map((of) => `writes ${of}machines.infrastructure.cluster.x-k8s.io`),
  ]);
});

test('the release manager may act in the name of accounts that are named, write and delete ConfigMaps in the namespace of Drydock, and no more', () => {
  const wrong = rolesOf(release).flatMap(({ kind, metadata, rules = [] }) =>
    rules.flatMap((rule) => {
      const named = rule.verbs.includes('impersonate') ? ` ${rule.resources.join()} ${rule.resourceNames?.join()}` : '';
      const namespace = kind === 'ClusterRole' ? undefined : metadata.namespace;
      return offences(rule, namespace).map((what) => `${kind} ${namespace}/${metadata.name}: ${what}${named}`);
    }),
  );
  assert.deepEqual(wrong, [
    'Role drydock/drydock-release: verb delete',
    'Role drydock/drydock-release: configmaps. without a name',
    'Role drydock/drydock-release-accounts: verb impersonate serviceaccounts drydock-payloads',
    'Role drydock/drydock-release-accounts: writes serviceaccounts. serviceaccounts drydock-payloads',
    'ClusterRole undefined/drydock-release-cluster-version: writes clusterversions/status.config.openshift.io',
    'ClusterRole undefined/drydock-release-cluster-version: clusteroperators.config.openshift.io without a name',
    'Role openshift-config-managed/drydock-release-cluster-version: configmaps. without a name',
    'Role drydock/drydock-release-cluster-version: verb impersonate serviceaccounts drydock-cluster-version',
    'Role drydock/drydock-release-cluster-version: writes serviceaccounts. serviceaccounts drydock-cluster-version',
  ]);
  for (const { metadata, subjects = [] } of release.filter(({ roleRef }) => roleRef !== undefined))
    assert.deepEqual(
      subjects.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`),
      [`ServiceAccount ${accountNamespace}/drydock-release`],
      metadata.name,
    );
});

test('a rule that has any of that is seen', () => {
  const rule = (group: string, resource: string, ...verbs: readonly string[]): PolicyRule => ({
    ...{ apiGroups: [group], resources: [resource], verbs },
  });
  for (const [bad, namespace] of [
    [rule('*', 'configmaps', 'create'), 'n'],
    [rule('', '*', 'list'), 'n'],
    [rule('drydock.dev', 'bootimages', '*'), 'n'],
    [rule('drydock.dev', 'bootimages', 'delete'), 'n'],
    [rule('', 'pods', 'create'), 'n'],
    [rule('', 'pods/exec', 'get'), 'n'],
    [rule('', 'users', 'impersonate'), undefined],
    [rule('rbac.authorization.k8s.io', 'roles', 'bind', 'escalate'), 'n'],
    [rule('rbac.authorization.k8s.io', 'roles', 'list'), 'n'],
    [rule('', 'secrets', 'list', 'watch'), 'kube-system'],
    [rule('', 'secrets', 'list', 'watch'), undefined],
    [rule('', 'secrets', 'create'), machineApiNamespace],
    [rule('', 'secrets', 'list', 'watch'), machineApiNamespace],
    [{ ...rule('', 'secrets', 'get'), resourceNames: ['*'] }, machineApiNamespace],
    [rule('', 'configmaps', 'create', 'update'), 'n'],
    [rule('machine.openshift.io', 'machines', 'patch'), 'n'],
    [rule('apiextensions.k8s.io', 'customresourcedefinitions', 'list', 'watch'), undefined],
  ] as const)
    assert.notDeepEqual(offences(bad, namespace), [], JSON.stringify(bad));
});

test('each role is bound, and only to ServiceAccounts of ours', () => {
  const accounts = manifests.filter(({ kind }) => kind === 'ServiceAccount');
  assert.deepEqual(accounts.map(({ metadata }) => metadata.name).sort(), [
    'drydock',
    'drydock-boot-images',
    'drydock-watch',
  ]);
  for (const { metadata } of accounts) assert.equal(metadata.namespace, accountNamespace);
  const subjects = new Set(accounts.map(({ metadata: { name } }) => `ServiceAccount ${accountNamespace}/${name}`));
  const bindings = manifests.filter(({ roleRef }) => roleRef !== undefined);
  for (const { metadata, subjects: bound = [] } of bindings) {
    assert.ok(bound.length > 0, metadata.name);
    for (const { kind, name, namespace } of bound) assert.ok(subjects.has(`${kind} ${namespace}/${name}`), name);
  }
  for (const { kind, metadata } of rolesOf(manifests)) {
    const to = bindings.filter(
      ({ metadata: of, roleRef }) =>
        roleRef?.kind === kind && roleRef.name === metadata.name && of.namespace === metadata.namespace,
    );
    // The role's own ServiceAccount, and the one for both.
    const names = to.flatMap(({ subjects: bound = [] }) => bound.map(({ name }) => name));
    const own = onRequest.has(metadata.name) ? 'drydock-boot-images' : metadata.name;
    assert.deepEqual(names.sort(), ['drydock', own].sort(), `${kind} ${metadata.namespace}/${metadata.name}`);
  }
});

test('the ledgers that a role writes are the ones that its rules name', () => {
  const rulesOf = (name: string): readonly PolicyRule[] =>
    manifests.flatMap(({ metadata, rules = [] }) =>
      metadata.name === name && metadata.namespace === 'openshift-machine-config-operator' ? rules : [],
    );
  for (const [name, kinds] of [
    ['drydock-boot-images', [MachineConfiguration, BootImage, BootImagePolicy]],
    ['drydock-watch', [VirtualMachine]],
  ] as const) {
    const wanted = statusKeepingRules(kinds as never);
    const found = rulesOf(name).map((rule) => JSON.stringify(sorted(rule)));
    for (const rule of wanted)
      assert.ok(found.includes(JSON.stringify(sorted(rule))), `${name}: ${JSON.stringify(rule)}`);
  }
});

test('docs/install.md has a row for each rule', () => {
  // Cells are padded.
  const page = readFileSync(join(root, 'docs/install.md'), 'utf8').replaceAll(/ {2,}/g, ' ');
  let rows = 0;
  for (const { kind, metadata, rules = [] } of rolesOf([...manifests, ...release, ...onNodes])) {
    for (const { apiGroups, resources, verbs } of rules) {
      const where = kind === 'ClusterRole' ? 'everywhere' : (metadata.namespace ?? 'machines');
      const named = resources.map((one) => `\`${[one, ...apiGroups.filter((group) => group !== '')].join('.')}\``);
      const row = `| ${where} | ${verbs.join(' ')} | ${named.join(' ')} |`;
      assert.ok(page.includes(row), `${metadata.name}: ${row}`);
      rows += 1;
    }
  }
  assert.equal(
    page.split('\n').filter((line) => /^\| [a-z-]+ \| (get|list|create|patch|update|impersonate|use)/.test(line))
      .length,
    rows,
  );
});

/** Each rule under `deploy`, with the folder of `deploy/rbac` or `deploy` that brings it. */
const allRules = globSync('deploy/{rbac,clouds,page}/**/*.yaml', { cwd: root }).flatMap((file) =>
  parseAllDocuments(readFileSync(join(root, file), 'utf8'))
    .map((document) => document.toJS() as Manifest)
    .flatMap(({ rules = [] }) =>
      rules.map((rule) => ({ folder: dirname(file).replace(/^deploy\/(rbac\/)?/, ''), rule })),
    ),
);

const changes = ({ resources, verbs }: PolicyRule, kinds: readonly string[]): boolean =>
  resources.some((one) => kinds.includes(one)) &&
  verbs.some((verb) => !['get', 'list', 'watch', 'impersonate'].includes(verb));
const WORKLOADS = ['pods', 'deployments', 'daemonsets', 'statefulsets', 'replicasets', 'jobs', 'cronjobs'];
const TOKENS = 'serviceaccounts/token';
const CLUSTER = ['nodes', 'namespaces', 'serviceaccounts', 'customresourcedefinitions'];

/** How each sentence under "What it never may do" begins, and whether a rule breaks it. */
const NEVER: Readonly<Record<string, (rule: PolicyRule, folder: string) => boolean>> = {
  'Use a wildcard': (rule) => Object.values(rule).flat().join().includes('*'),
  'Create, change, delete or enter pods': (rule) =>
    changes(rule, WORKLOADS) || rule.resources.some((one) => one.startsWith('pods/')),
  'Change or delete a node': (rule) => {
    // A subresource counts, too, except tokens: whoever requests one acts as the ServiceAccount, see below.
    const resources = rule.resources.filter((one) => one !== TOKENS).map((one) => one.split('/')[0] ?? '');
    const rbac = rule.apiGroups.includes('rbac.authorization.k8s.io') ? resources : [];
    return changes({ ...rule, resources }, [...CLUSTER, ...rbac]);
  },
  'Create or patch a Secret': ({ resources, verbs, resourceNames = [] }) => {
    const may = ['get', 'list', 'watch', 'update'];
    const oldStub = resourceNames.every((name) => name.endsWith('-ignition-2'));
    return (
      resources.includes('secrets') &&
      (resourceNames.length === 0 || verbs.some((verb) => !may.includes(verb) && !(oldStub && verb === 'delete')))
    );
  },
  'Change what the cluster is asked to be': (rule, folder) =>
    changes(rule, ['clusterversions', 'infrastructures']) ||
    (folder !== 'stand-in' &&
      changes(rule, ['configmaps']) &&
      rule.resourceNames?.includes('coreos-bootimages') === true),
  'Act as a user or a group': ({ resources, verbs, resourceNames = [] }) =>
    resourceNames.length === 0
      ? verbs.includes('impersonate') || resources.includes(TOKENS)
      : verbs.includes('impersonate') && resources.join() !== 'serviceaccounts',
};

test('FIND-7: docs/install.md says what no rule allows, and lists all that may be deleted or impersonated', () => {
  const page = readFileSync(join(root, 'docs/install.md'), 'utf8').replaceAll(/ {2,}/g, ' ');
  const section = page.slice(page.indexOf('## What it never may do'));
  const sentences = section.split('\n').filter((line) => line.startsWith('- '));
  assert.ok(allRules.length > 60, `only ${allRules.length} rules were seen`);
  for (const sentence of sentences) {
    const [, breaks] = Object.entries(NEVER).find(([begin]) => sentence.startsWith(`- ${begin}`)) ?? [];
    assert.ok(breaks !== undefined, `nothing checks: ${sentence}`);
    const broken = allRules.filter(({ rule, folder }) => breaks(rule, folder));
    assert.deepEqual(broken, [], sentence);
  }
  assert.equal(sentences.length, Object.keys(NEVER).length);
  const rows = section.split('\n').filter((line) => /^\| `[a-z/-]+` \| (delete|impersonate|create) /.test(line));
  const rights = allRules.flatMap(({ folder, rule: { apiGroups, resources, verbs, resourceNames = [] } }) =>
    verbs
      .filter(
        (verb) => !['get', 'list', 'watch', 'create', 'update', 'patch'].includes(verb) || resources.includes(TOKENS),
      )
      .map((verb) => {
        const what = resources.map((one) => `\`${[one, ...apiGroups.filter((group) => group !== '')].join('.')}\``);
        const names = resourceNames.map((name) => ` \`${name}\``).join();
        return `| \`${folder}\` | ${verb} | ${what.join(', ')} |${names} |`;
      }),
  );
  assert.deepEqual(
    rights.filter((row) => !rows.some((line) => line.startsWith(row))),
    [],
  );
  assert.equal(rows.length, rights.length);
});

const kubectl = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' }).status === 0;

test('kubectl reads the kustomizations as the tests here do', { skip: kubectl ? false : 'there is no kubectl' }, () => {
  for (const name of [...kustomizations, 'release', 'release/cluster-version', '../operator']) {
    const text = execFileSync('kubectl', ['kustomize', join(root, 'deploy/rbac', name)], { encoding: 'utf8' });
    const read = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
    const byName = (all: readonly Manifest[]) => new Map(all.map((one) => [idOf(one), one]));
    assert.deepEqual(byName(read), byName(manifestsOf(name)));
  }
});

test('FIND-22: deploy/cluster-api needs no namespace of OpenShift, and its Deployment has the account whose rights it brings', {
  skip: kubectl ? false : 'there is no kubectl',
}, () => {
  const text = execFileSync('kubectl', ['kustomize', join(root, 'deploy/cluster-api')], { encoding: 'utf8' });
  const all = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
  const named = (kind: string): readonly Manifest[] => all.filter((one) => one.kind === kind);
  assert.deepEqual(
    named('Namespace').map(({ metadata }) => metadata.name),
    [accountNamespace],
  );
  for (const { kind, metadata } of all) assert.ok((metadata.namespace ?? accountNamespace) === accountNamespace, kind);
  const [deployment] = named('Deployment') as readonly (Manifest & {
    readonly spec: { readonly template: { readonly spec: { readonly serviceAccountName: string } } };
  })[];
  const account = deployment?.spec.template.spec.serviceAccountName;
  assert.ok(named('ServiceAccount').some(({ metadata }) => metadata.name === account));
  const bound = all.filter(({ subjects = [] }) => subjects.some(({ name }) => name === account));
  assert.deepEqual(bound.map(({ kind }) => kind).sort(), ['ClusterRoleBinding', 'RoleBinding']);
  const operator = manifestsOf('../operator').find(({ kind }) => kind === 'Deployment');
  const container = (one: unknown): { readonly args: readonly string[] } | undefined =>
    (one as { spec: { template: { spec: { containers: { args: string[] }[] } } } }).spec.template.spec.containers[0];
  assert.deepEqual(container(deployment)?.args, [
    ...['operator', '--roles=boot-images'],
    ...(container(operator)?.args.slice(2) ?? []),
    `--lease-namespace=${accountNamespace}`,
  ]);
});

const clouds = globSync('*/credentials-request.yaml', { cwd: join(root, 'deploy/clouds') }).map(dirname);

test('on each cloud the operator asks for rights to read alone, and reads the Secrets that it watches, by their names', () => {
  assert.ok(clouds.length > 0);
  const files = globSync('deploy/clouds/**/*.yaml', { cwd: root }).map((file) =>
    parseAllDocuments(readFileSync(join(root, file), 'utf8')).map((document) => document.toJS() as Manifest),
  );
  const of = (resource: string, keys: (platform: string) => readonly Key[]) =>
    ['GCP', 'AWS', 'Azure'].flatMap(keys).map((key) => `${resource} ${keyText(key)}`);
  const watched = new Set([...of('secrets', credentialSecrets), ...of('configmaps', cloudConfigs)]);
  for (const file of files)
    for (const { metadata, rules = [] } of rolesOf(file)) {
      for (const rule of rules) {
        assert.deepEqual(offences(rule, metadata.namespace), [], metadata.name);
        assert.deepEqual(rule.verbs, ['list', 'watch']);
        const [resource = ''] = rule.resources;
        const names = (rule.resourceNames ?? []).map((name) => `${resource} ${metadata.namespace}/${name}`);
        assert.ok(names.length > 0);
        for (const name of names) assert.ok(watched.has(name), name);
      }
      // Of two clouds one is installed, so that their components may call a role the same.
      const bound = file.filter(({ kind, roleRef }) => kind === 'RoleBinding' && roleRef?.name === metadata.name);
      assert.deepEqual(
        bound.flatMap(({ subjects = [] }) => subjects.map(({ name, namespace }) => `${namespace}/${name}`)),
        ['drydock/drydock', 'drydock/drydock-boot-images'],
      );
    }
  const all = files.flat();
  const requests = all.filter(({ kind }) => kind === 'CredentialsRequest') as unknown as readonly (Manifest & {
    readonly spec: { readonly secretRef: Key; readonly cloudTokenPath: string; readonly providerSpec: object };
  })[];
  assert.equal(requests.length, clouds.length);
  for (const { spec } of requests) {
    assert.deepEqual(spec.secretRef, ownCredentials);
    assert.ok(projectedRoots.some((path) => spec.cloudTokenPath.startsWith(`${path}/`)));
    const asked =
      JSON.stringify(spec.providerSpec).match(/"[a-z.]+\.[a-z]+\.[a-z]+"|"[a-z0-9]+:\w+"|"Microsoft[^"]+"/gi) ?? [];
    assert.ok(asked.length > 0);
    for (const right of asked) assert.match(right, /\.get"$|:Describe\w+"$|\/read"$|cloudcredential\.openshift\.io/);
  }
});

test('the components of clouds fit the installation', { skip: kubectl ? false : 'there is no kubectl' }, () => {
  const folder = mkdtempSync(join(root, 'deploy/.kustomize-'));
  try {
    for (const cloud of clouds) {
      const beside = globSync(`${cloud}-{sts,workload-identity}`, { cwd: join(root, 'deploy/clouds') });
      const components = [cloud, ...beside].map((one) => `../clouds/${one}`).join(', ');
      const text = `apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../operator]\ncomponents: [${components}]\n`;
      writeFileSync(join(folder, 'kustomization.yaml'), text);
      const made = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
      const all = parseAllDocuments(made).map((document) => document.toJS() as Manifest);
      const request = all.find(({ kind }) => kind === 'CredentialsRequest') as unknown as {
        readonly spec: { readonly cloudTokenPath: string; readonly providerSpec: object };
      };
      // In place of keys.
      const identity = Object.keys(request.spec.providerSpec).filter((key) => /^(?:sts|azure)/.test(key));
      assert.deepEqual(identity.toSorted(), IDENTITY[cloud] ?? [], cloud);
      // Where the Secret says that the token is, the kubelet puts it.
      const pod = (all.find(({ kind }) => kind === 'Deployment') as unknown as { readonly spec: PodTemplate }).spec
        .template.spec;
      const mount = pod.containers[0]?.volumeMounts.find(({ name }) => name === 'cloud-token');
      const volume = pod.volumes.find(({ name }) => name === 'cloud-token');
      const [source] = volume?.projected?.sources ?? [];
      assert.equal(`${mount?.mountPath}/${source?.serviceAccountToken.path}`, request.spec.cloudTokenPath);
      assert.notEqual(source?.serviceAccountToken.audience ?? '', '');
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** What a cluster without keys needs in its CredentialsRequest (cloud credential operator, AWSProviderSpec and AzureProviderSpec). */
const IDENTITY: Readonly<Record<string, readonly string[]>> = {
  aws: ['stsIAMRoleARN'],
  azure: ['azureClientID', 'azureRegion', 'azureSubscriptionID', 'azureTenantID'],
};

interface PodTemplate {
  readonly template: {
    readonly spec: {
      readonly containers: readonly {
        readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
      }[];
      readonly volumes: readonly {
        readonly name: string;
        readonly projected?: {
          readonly sources: readonly {
            readonly serviceAccountToken: { readonly path: string; readonly audience: string };
          }[];
        };
      }[];
    };
  };
}

function idOf(one: Manifest): string {
  return `${kindOf(one).plural} ${one.metadata.namespace}/${one.metadata.name}`;
}

function sorted({ apiGroups, resources, resourceNames = [], verbs }: PolicyRule): PolicyRule {
  const lists = { apiGroups, resources, resourceNames, verbs };
  return Object.fromEntries(
    Object.entries(lists).map(([key, list]) => [key, list.toSorted()]),
  ) as unknown as PolicyRule;
}
