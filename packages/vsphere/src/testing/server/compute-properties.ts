import { escapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { keyRef, type Place } from '../inventory.ts';
import { ENTITY, type PlaceProperties, unset } from './folder-properties.ts';
import { ALLOCATION } from './machine-details.ts';
import { childrenOf, hostReaches, machinesWhere } from './place-queries.ts';
import type { VCenterWorld } from './vcenter-world.ts';
import { type Data, data, long, oneOf, refs, type Value } from './vim-values.ts';

/** The hardware of each host. */
const MHZ = 2294;
const CORES = 2;
const MEMORY = 4 * 2 ** 30;
const MODEL = { vendor: 'VMware, Inc.', model: 'VMware Virtual Platform' };
const PRODUCT = data('AboutInfo', {
  ...{ name: 'VMware ESXi', fullName: 'VMware ESXi 6.5.0 build-5969303', vendor: 'VMware, Inc.', version: '6.5.0' },
  ...{ build: '5969303', osType: 'vmnix-x86', productLineId: 'embeddedEsx', apiType: 'HostAgent', apiVersion: '6.5' },
});

/** A UUID that follows from the moref, so that it is unique. */
export function uuidOf({ value }: MoRef): string {
  return `dcf7fb3c-0000-4000-8000-${value.replaceAll(/\D/g, '').padStart(12, '0')}`;
}

const childrenOfType = (world: VCenterWorld, { ref }: Place, wanted: string): MoRef[] =>
  childrenOf(world, ref).filter(({ type }) => type === wanted);

/** The datastores or networks of the hosts of a cluster. */
const reached =
  (of: 'datastores' | 'networks') =>
  (world: VCenterWorld, place: Place): Value => {
    const hosts = childrenOfType(world, place, 'HostSystem');
    const keys = new Set(hosts.flatMap((host) => hostReaches(world, refKey(host), of).map(refKey)));
    return refs([...keys].map(keyRef));
  };

const CLUSTER_CONFIG: Data['fields'] = {
  dasConfig: data('ClusterDasConfigInfo', { enabled: false }),
  drsConfig: data('ClusterDrsConfigInfo', { enabled: true, defaultVmBehavior: 'fullyAutomated' }),
};

export const CLUSTER: PlaceProperties = {
  ...ENTITY,
  host: (world, place) => refs(childrenOfType(world, place, 'HostSystem')),
  resourcePool: (world, place) => childrenOfType(world, place, 'ResourcePool')[0],
  datastore: reached('datastores'),
  network: reached('networks'),
  environmentBrowser: (_, { ref }) => ({ type: 'EnvironmentBrowser', value: `envbrowser-${ref.value}` }),
  summary: (world, place) => {
    const hosts = childrenOfType(world, place, 'HostSystem').length;
    const [cpu, cores, memory] = [hosts * CORES * MHZ, hosts * CORES, hosts * MEMORY];
    return data('ClusterComputeResourceSummary', {
      ...{ totalCpu: cpu, totalMemory: long(memory), numCpuCores: cores, numCpuThreads: cores, effectiveCpu: cpu },
      ...{ effectiveMemory: long(memory / 2 ** 20), numHosts: hosts, numEffectiveHosts: hosts, overallStatus: 'green' },
    });
  },
  configuration: () => data('ClusterConfigInfo', CLUSTER_CONFIG),
  configurationEx: () => data('ClusterConfigInfoEx', CLUSTER_CONFIG),
};

export const POOL: PlaceProperties = {
  ...ENTITY,
  owner: (world, { ref }) => {
    let at: string | undefined = refKey(ref);
    while (at !== undefined && !at.includes('ComputeResource:')) at = world.state.places.get(at)?.parent;
    return at === undefined ? undefined : keyRef(at);
  },
  resourcePool: (world, { ref }) => refs(childrenOf(world, ref)),
  vm: (world, { ref }) => refs(machinesWhere(world, (machine) => world.details(machine).pool === refKey(ref))),
  config: () => data('ResourceConfigSpec', { cpuAllocation: ALLOCATION, memoryAllocation: ALLOCATION }),
  runtime: () => data('ResourcePoolRuntimeInfo', { overallStatus: 'green' }),
  summary: (_, { name }) => data('ResourcePoolSummary', { name: escapeName(name) }),
};

function hostRuntime(world: VCenterWorld, { ref }: Place): Data | undefined {
  const host = world.state.hosts.get(refKey(ref));
  if (host === undefined) return undefined;
  return data('HostRuntimeInfo', {
    connectionState: oneOf('HostSystemConnectionState', host.connectionState),
    powerState: oneOf('HostSystemPowerState', host.powerState),
    ...{ standbyMode: '', inMaintenanceMode: host.inMaintenanceMode },
  });
}

export const HOST: PlaceProperties = {
  ...ENTITY,
  runtime: hostRuntime,
  summary: (world, place) =>
    data('HostListSummary', {
      host: place.ref,
      hardware: data('HostHardwareSummary', {
        ...{ ...MODEL, uuid: uuidOf(place.ref), memorySize: long(MEMORY) },
        ...{ cpuModel: 'Intel(R) Core(TM) i7-3615QM CPU @ 2.30GHz', cpuMhz: MHZ },
        ...{ numCpuPkgs: 2, numCpuCores: CORES, numCpuThreads: CORES, numNics: 1, numHBAs: 3 },
      }),
      runtime: hostRuntime(world, place),
      config: data('HostConfigSummary', { name: escapeName(place.name), port: 902, product: PRODUCT }),
      quickStats: data('HostListSummaryQuickStats', { overallCpuUsage: 67, overallMemoryUsage: 1404, uptime: 77229 }),
      ...{ overallStatus: 'green', rebootRequired: false, managementServerIp: '127.0.0.1' },
    }),
  datastore: (world, { ref }) => refs(hostReaches(world, refKey(ref), 'datastores')),
  network: (world, { ref }) => refs(hostReaches(world, refKey(ref), 'networks')),
  vm: (world, { ref }) => refs(machinesWhere(world, ({ host }) => host === refKey(ref))),
  datastoreBrowser: (_, { ref }) => ({ type: 'HostDatastoreBrowser', value: `browser-${ref.value}` }),
  capability: unset,
  config: (_, { ref }) => data('HostConfigInfo', { host: ref, product: PRODUCT }),
  configManager: (_, { ref }) =>
    data('HostConfigManager', { datastoreSystem: { type: 'HostDatastoreSystem', value: `dss-${ref.value}` } }),
  hardware: (_, { ref }) => {
    const cpu = { numCpuPackages: 2, numCpuCores: CORES, numCpuThreads: CORES, hz: long(MHZ * 1e6) };
    return data('HostHardwareInfo', {
      systemInfo: data('HostSystemInfo', { ...MODEL, uuid: uuidOf(ref) }),
      cpuInfo: data('HostCpuInfo', cpu),
      memorySize: long(MEMORY),
    });
  },
  systemResources: unset,
};
