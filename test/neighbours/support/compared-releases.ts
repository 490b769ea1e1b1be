import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crdFolder } from '@drydock/sandbox';
import { stringify } from 'yaml';
import { releaseFiles } from '../../sandbox/support/release-registry.ts';

type Loose = Readonly<Record<string, unknown>>;

/** A release that both managers are given, as the same files. */
export interface ComparedRelease {
  readonly version: string;
  /** By their paths in the payload. */
  readonly files: Readonly<Record<string, string>>;
}

/** Where everything is that has a namespace. */
export const SHOP = 'shop';
/** Both are of one minor: none of the two asks for more then. */
export const VERSIONS = ['4.14.0', '4.14.1'] as const;
/** What a ClusterVersion says besides the release that it wants. */
export const WANTED: Loose = {
  clusterID: '6b0d6f0c-2f7b-4b0e-9d7e-0c5c2c9d3c11',
  capabilities: { baselineCapabilitySet: 'None', additionalEnabledCapabilities: ['marketplace'] },
  overrides: [{ group: '', kind: 'ConfigMap', namespace: SHOP, name: 'unmanaged', unmanaged: true }],
};

const INCLUDED = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
const RBAC = 'rbac.authorization.k8s.io/v1';
const ABOUT = { url: 'https://example.com/errata', 'io.openshift.upgrades.graph.release.channels': 'stable-4.14,fast' };

interface Meta {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

function object(type: string, name: string, more: Loose = {}, { annotations = {}, labels }: Meta = {}): Loose {
  const [apiVersion = '', kind = ''] = type.split(' ');
  const namespace = CLUSTER_WIDE.has(kind) ? {} : { namespace: SHOP };
  const metadata = { name, ...namespace, annotations: { ...INCLUDED, ...annotations }, ...(labels && { labels }) };
  return { apiVersion, kind, metadata, ...more };
}

const CLUSTER_WIDE = new Set([
  ...['Namespace', 'ClusterRole', 'ClusterRoleBinding', 'CustomResourceDefinition', 'MachineConfigPool'],
  ...['PriorityClass', 'ClusterOperator'],
]);

const configMap = (name: string, data: Loose, meta: Meta = {}): Loose => object('v1 ConfigMap', name, { data }, meta);

/** A workload with what a pod says; in the newer release with less. */
function workload(kind: string, name: string, newer: boolean, spec: Loose = {}, template: Loose = {}): Loose {
  const labels = { app: name };
  const version = VERSIONS[newer ? 1 : 0];
  const container = {
    name: 'main',
    image: `shop.example.com/${name}:${version}`,
    env: [{ name: 'RELEASE_VERSION', value: version }, ...(newer ? [] : [{ name: 'LEGACY', value: 'yes' }])],
    ports: [{ name: 'https', containerPort: 8443 }],
    resources: { requests: { cpu: '10m', memory: '50Mi' } },
    volumeMounts: [{ name: 'settings', mountPath: '/settings' }],
  };
  const sidecar = { name: 'sidecar', image: 'shop.example.com/sidecar:1' };
  const annotations = newer ? {} : { 'shop.example.com/legacy': 'yes' };
  return object(
    `apps/v1 ${kind}`,
    name,
    {
      spec: {
        selector: { matchLabels: labels },
        ...spec,
        template: {
          metadata: { labels, ...(newer ? {} : { annotations }) },
          spec: {
            serviceAccountName: 'operator',
            terminationGracePeriodSeconds: 1,
            containers: [container, ...(newer ? [] : [sidecar])],
            volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
            ...template,
          },
        },
      },
    },
    { labels: newer ? { app: name } : { app: name, legacy: 'yes' } },
  );
}

function job(name: string): Loose {
  const containers = [{ name: 'main', image: 'shop.example.com/migrate:1' }];
  return object('batch/v1 Job', name, { spec: { template: { spec: { restartPolicy: 'Never', containers } } } });
}

const rules = (verbs: readonly string[]): Loose => ({ rules: [{ apiGroups: [''], resources: ['configmaps'], verbs }] });
const bound = (kind: string, name: string): Loose => ({
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
  subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace: SHOP }],
});
const capability = (name: string): Meta => ({ annotations: { 'capability.openshift.io/name': name } });

/** What is in each release by file; a text is a file as it is. The numbers are runlevels, the words after them components. */
function manifestsOf(newer: boolean): Readonly<Record<string, Loose | string>> {
  const version = VERSIONS[newer ? 1 : 0];
  const definition = (file: string, set: string): string => readFileSync(join(crdFolder(set), file), 'utf8');
  const pools = newer
    ? definition('0000_80_machine-config_01_machineconfigpools.crd.yaml', 'openshift-4.21')
    : definition('0000_80_machine-config_01_machineconfigpools-Default.crd.yaml', 'openshift-4.17');
  const gone = { 'release.openshift.io/delete': 'true' };
  return {
    'manifests/0000_00_cluster-version-operator_00_about.yaml':
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: about\n  namespace: ${SHOP}\n  annotations:\n` +
      `    include.release.openshift.io/self-managed-high-availability: "true"\n` +
      'data:\n  image: "{{.ReleaseImage}}"\n',
    '0000_00_shop_00_namespace.yaml': object(
      'v1 Namespace',
      SHOP,
      {},
      { labels: { team: 'shop', ...(newer ? {} : { legacy: 'yes' }) } },
    ),
    '0000_05_shop_01_account.yaml': object('v1 ServiceAccount', 'operator'),
    '0000_05_shop_02_role.yaml': object(`${RBAC} Role`, 'operator', rules(newer ? ['get'] : ['get', 'list'])),
    '0000_05_shop_03_binding.yaml': object(`${RBAC} RoleBinding`, 'operator', bound('Role', 'operator')),
    '0000_05_shop_04_clusterrole.yaml': object(`${RBAC} ClusterRole`, 'shop', rules(newer ? ['get'] : ['watch'])),
    '0000_05_shop_05_clusterbinding.yaml': object(`${RBAC} ClusterRoleBinding`, 'shop', bound('ClusterRole', 'shop')),
    '0000_10_machine-config_01_pools.yaml': pools,
    '0000_10_machine-config_02_configs.yaml': definition(
      '0000_80_machine-config_01_machineconfigs.crd.yaml',
      'openshift-4.17',
    ),
    '0000_15_machine-config_01_pool.yaml': object('machineconfiguration.openshift.io/v1 MachineConfigPool', 'shop', {
      spec: { paused: false, ...(newer ? { maxUnavailable: 2 } : {}) },
    }),
    '0000_20_shop_01_settings.yaml': object(
      'v1 ConfigMap',
      'settings',
      {
        data: newer ? { mode: 'new' } : { mode: 'old', legacy: 'yes' },
        binaryData: { logo: newer ? 'Ag==' : 'AQ==' },
      },
      newer
        ? { labels: { app: 'shop' }, annotations: { note: 'new' } }
        : { labels: { app: 'shop', legacy: 'yes' }, annotations: { note: 'old', legacy: 'yes' } },
    ),
    '0000_20_shop_02_once.yaml': configMap(
      'once',
      { version },
      { annotations: { 'release.openshift.io/create-only': 'true' } },
    ),
    '0000_20_shop_03_retired.yaml': newer
      ? configMap('retired', {}, { annotations: gone })
      : configMap('retired', { version }),
    '0000_20_shop_04_secret.yaml': object('v1 Secret', 'login', { stringData: { user: `shop-${version}` } }),
    '0000_20_shop_05_unmanaged.yaml': configMap('unmanaged', { version }),
    '0000_20_shop_06_marketplace.yaml': configMap('marketplace', { version }, capability('marketplace')),
    '0000_20_shop_07_baremetal.yaml': configMap('baremetal', { version }, capability('baremetal')),
    '0000_20_shop_08_both.yaml': configMap('both', { version }, capability('marketplace+baremetal')),
    '0000_20_shop_09_unheard-of.yaml': configMap('unheard-of', { version }, capability('Teleport')),
    '0000_20_shop_10_gate.yaml': configMap(
      'gate',
      { version },
      { annotations: { 'release.openshift.io/feature-gate': 'TechPreviewNoUpgrade' } },
    ),
    '0000_20_shop_11_nobody.yaml': configMap(
      'nobody',
      { version },
      { annotations: { 'include.release.openshift.io/self-managed-high-availability': 'no' } },
    ),
    '0000_20_shop_12_left.yaml': newer ? configMap('arrived', { version }) : configMap('left', { version }),
    '0000_30_shop_01_deployment.yaml': workload('Deployment', 'operator', newer),
    '0000_30_shop_02_service.yaml': object('v1 Service', 'operator', {
      spec: { ports: [{ name: 'https', port: newer ? 444 : 443, targetPort: 'https' }], selector: { app: 'operator' } },
    }),
    '0000_30_shop_03_daemonset.yaml': workload('DaemonSet', 'agent', newer),
    '0000_30_shop_09_clusteroperator.yaml': object('config.openshift.io/v1 ClusterOperator', 'shop', {
      spec: {},
      status: {
        versions: [{ name: 'operator', version }],
        relatedObjects: [{ group: '', resource: 'namespaces', name: SHOP }],
      },
    }),
    '0000_30_store_01_statefulset.yaml': workload('StatefulSet', 'store', newer, { serviceName: 'store', replicas: 1 }),
    '0000_30_store_02_priority.yaml': object(
      'scheduling.k8s.io/v1 PriorityClass',
      'shop',
      { value: 1000 },
      { annotations: { note: newer ? 'new' : 'old' } },
    ),
    '0000_50_shop_01_job.yaml': job('migrate'),
    ...(newer ? { '0000_50_shop_02_job.yaml': job('migrate-again') } : {}),
    '0000_70_store_01_last.yaml': configMap('last', { version }),
  };
}

/** The two releases: the newer one takes labels, keys, containers and objects of the older one away, and changes others. */
export function comparedReleases(): readonly [older: ComparedRelease, newer: ComparedRelease] {
  const of = (newer: boolean): ComparedRelease => {
    const version = VERSIONS[newer ? 1 : 0];
    const manifests = Object.entries(manifestsOf(newer));
    // They are read as YAML 1.1: a label may be `yes`.
    const texts = manifests.map(
      ([file, one]) => [file, typeof one === 'string' ? one : stringify(one, { compat: 'yaml-1.1' })] as const,
    );
    const files = releaseFiles(version, Object.fromEntries(texts), ABOUT);
    return { version, files };
  };
  return [of(false), of(true)];
}
