import { escapeName } from '../../soap/names.ts';
import type { MoRef } from '../../vcenter.ts';
import { keyRef, type Machine } from '../inventory.ts';
import { ALLOCATION, type MachineDisk } from './machine-details.ts';
import type { VCenterWorld } from './vcenter-world.ts';
import {
  type Data,
  data,
  dateTime,
  type List,
  list,
  long,
  oneOf,
  optionValues,
  refs,
  textAt,
  type Value,
} from './vim-values.ts';

type Read = (world: VCenterWorld, machine: Machine) => Value | undefined;

const unset: Read = () => undefined;

/** What an inaccessible machine does not show. */
const readable =
  (read: Read): Read =>
  (world, machine) =>
    machine.readable ? read(world, machine) : undefined;

/** All properties of a virtual machine; each is computed when it is read. */
export const machineProperties: Readonly<Record<string, Read>> = {
  ...Object.fromEntries(
    [
      ...['alarmActionsEnabled', 'availableField', 'configIssue', 'configStatus', 'declaredAlarmState', 'permission'],
      ...['tag', 'triggeredAlarmState', 'value', 'parentVApp', 'layout', 'storage', 'guest'],
    ].map((name) => [name, unset]),
  ),
  name: (_, { name }) => escapeName(name),
  parent: (_, { folder }) => keyRef(folder),
  overallStatus: () => oneOf('ManagedEntityStatus', 'green'),
  guestHeartbeatStatus: () => oneOf('ManagedEntityStatus', 'gray'),
  effectiveRole: () => list('int', [-1]),
  disabledMethod: (_, { disabledMethods }) => list('string', [...disabledMethods]),
  recentTask: (_, { tasks }) => refs(tasks.map(({ ref }) => ref)),
  customValue: (_, { customValues }) =>
    list(
      'CustomFieldValue',
      Array.from(customValues, ([key, value]) => data('CustomFieldStringValue', { key, value })),
    ),
  capability: () =>
    data('VirtualMachineCapability', { changeTrackingSupported: true, snapshotOperationsSupported: true }),
  config: readable((world, machine) => config(world, machine)),
  runtime: (_, machine) => runtime(machine),
  summary: (world, machine) => summary(world, machine),
  guest: (world, machine) => guest(world, machine),
  datastore: (world, machine) => refs(datastores(world, machine)),
  network: (world, machine) => refs(world.details(machine).networks.map(keyRef)),
  resourcePool: (world, machine) => {
    const { pool } = world.details(machine);
    return pool === undefined || machine.isTemplate ? undefined : keyRef(pool);
  },
  environmentBrowser: (_, { ref }) => ({ type: 'EnvironmentBrowser', value: `envbrowser-${ref.value}` }),
  snapshot: (world, machine) => snapshots(world, machine),
  rootSnapshot: (world, machine) =>
    refs(
      world
        .details(machine)
        .snapshots.slice(0, 1)
        .map(({ ref }) => ref),
    ),
  layoutEx: (_, machine) =>
    data('VirtualMachineFileLayoutEx', {
      file: list(
        'VirtualMachineFileLayoutExFileInfo',
        machine.disks.map(({ file, capacityKB = 0 }, key) =>
          data('VirtualMachineFileLayoutExFileInfo', {
            key,
            name: file,
            type: 'diskExtent',
            size: long(capacityKB * 1024),
          }),
        ),
      ),
      timestamp: machine.createDate,
    }),
};

function config(world: VCenterWorld, machine: Machine): Data {
  const details = world.details(machine);
  const { hardware } = machine;
  const number = (path: string): number => Number(hardware.get(path) ?? 0);
  const guestId = hardware.get('config.guestId') ?? 'otherGuest';
  return data('VirtualMachineConfigInfo', {
    changeVersion: `${machine.changes}`,
    modified: { scalar: 'xsd:dateTime', text: machine.createDate },
    name: escapeName(machine.name),
    ...{ guestFullName: guestId, version: hardware.get('config.version') ?? 'vmx-19', uuid: details.uuid },
    createDate: { scalar: 'xsd:dateTime', text: machine.createDate },
    ...{ instanceUuid: machine.instanceUuid, template: machine.isTemplate, guestId },
    ...(machine.annotation === '' ? {} : { annotation: machine.annotation }),
    get files() {
      const directory = details.vmx.slice(0, details.vmx.lastIndexOf('/'));
      return data('VirtualMachineFileInfo', {
        ...{
          vmPathName: details.vmx,
          snapshotDirectory: directory,
          suspendDirectory: directory,
          logDirectory: directory,
        },
      });
    },
    tools: data('ToolsConfigInfo', {}),
    flags: data('VirtualMachineFlagInfo', {}),
    get hardware() {
      const cores = number('config.hardware.numCoresPerSocket');
      return data('VirtualHardware', {
        ...{ numCPU: number('config.hardware.numCPU'), numCoresPerSocket: cores || 1 },
        ...{ memoryMB: number('config.hardware.memoryMB'), virtualICH7MPresent: false, virtualSMCPresent: false },
        get device() {
          return list('VirtualDevice', devices(world, machine));
        },
      });
    },
    ...{ cpuAllocation: ALLOCATION, memoryAllocation: ALLOCATION },
    latencySensitivity: data('LatencySensitivity', { level: 'normal' }),
    get extraConfig() {
      return optionValues(machine.extraConfig);
    },
    bootOptions: data('VirtualMachineBootOptions', { efiSecureBootEnabled: machine.secureBoot }),
    vAppConfig: vAppConfig(world, machine),
    firmware: hardware.get('config.firmware') ?? 'bios',
    ...details.config,
  });
}

function vAppConfig(world: VCenterWorld, machine: Machine): Data | undefined {
  const { vApp } = world.details(machine);
  const { productVersion } = machine;
  if (productVersion === undefined) return vApp;
  const product = vApp?.fields['product'];
  const first = typeof product === 'object' && 'list' in product ? product.items[0] : undefined;
  const known = typeof first === 'object' && 'data' in first ? first.fields : { key: 0 };
  const info = data('VAppProductInfo', { ...known, version: productVersion });
  return data('VmConfigInfo', { ...vApp?.fields, product: list('VAppProductInfo', [info]) });
}

/** All devices: those that every machine has, then disks. */
export function devices(world: VCenterWorld, machine: Machine): readonly Data[] {
  return [...world.details(machine).devices, ...machine.disks.map((disk, index) => diskDevice(machine, disk, index))];
}

/** Key of a disk: as it was given, or the first free one. */
export function diskKey({ key }: MachineDisk, index: number): number {
  return key ?? 2000 + index;
}

function diskDevice(machine: Machine, disk: MachineDisk, index: number): Data {
  const { capacityKB = 0, thin = false, eagerlyScrub = false } = disk;
  let parent: Data | undefined;
  for (const fileName of disk.parents.toReversed())
    parent = data('VirtualDiskFlatVer2BackingInfo', { fileName, diskMode: 'persistent', parent });
  return data('VirtualDisk', {
    key: diskKey(disk, index),
    deviceInfo: data('Description', {
      ...{ label: `Hard disk ${index + 1}`, summary: `${capacityKB.toLocaleString('en-US')} KB` },
    }),
    backing: data('VirtualDiskFlatVer2BackingInfo', {
      ...{ fileName: disk.file, datastore: keyRef(machine.datastore), diskMode: 'persistent', split: false },
      ...{ writeThrough: false, thinProvisioned: thin, eagerlyScrub, uuid: disk.uuid, parent, digestEnabled: false },
    }),
    ...{ controllerKey: disk.controllerKey ?? 200, unitNumber: disk.unitNumber ?? index },
    ...{ capacityInKB: long(capacityKB), capacityInBytes: long(capacityKB * 1024) },
  });
}

function runtime(machine: Machine): Data {
  return data('VirtualMachineRuntimeInfo', {
    ...(machine.host === undefined ? {} : { host: keyRef(machine.host) }),
    connectionState: oneOf('VirtualMachineConnectionState', machine.connectionState),
    powerState: oneOf('VirtualMachinePowerState', machine.powerState),
    ...{ toolsInstallerMounted: false, numMksConnections: 0 },
  });
}

function summary(world: VCenterWorld, machine: Machine): Data {
  const details = world.details(machine);
  const { hardware } = machine;
  const guestId = hardware.get('config.guestId') ?? 'otherGuest';
  const product = vAppConfig(world, machine)?.fields['product'];
  const first = typeof product === 'object' && 'list' in product ? product.items[0] : undefined;
  return data('VirtualMachineSummary', {
    vm: machine.ref,
    runtime: runtime(machine),
    guest: data('VirtualMachineGuestSummary', {
      ...{ guestId, toolsRunningStatus: toolsRunning(world, machine) },
      ...(details.guest === undefined
        ? {}
        : { hostName: details.guest.hostName, ipAddress: details.guest.addresses[0] }),
    }),
    config: data('VirtualMachineConfigSummary', {
      ...{ name: escapeName(machine.name), template: machine.isTemplate, vmPathName: details.vmx },
      ...{ memorySizeMB: Number(hardware.get('config.hardware.memoryMB') ?? 0) },
      ...{ numCpu: Number(hardware.get('config.hardware.numCPU') ?? 0), numVirtualDisks: machine.disks.length },
      ...{ numEthernetCards: details.devices.filter(({ fields }) => fields['macAddress'] !== undefined).length },
      ...{ uuid: details.uuid, instanceUuid: machine.instanceUuid, guestId, guestFullName: guestId },
      ...(machine.annotation === '' ? {} : { annotation: machine.annotation }),
      ...(first === undefined ? {} : { product: first }),
      hwVersion: hardware.get('config.version') ?? 'vmx-19',
    }),
    storage: data('VirtualMachineStorageSummary', {
      ...{ committed: long(machine.bytes), uncommitted: long(0), unshared: long(machine.bytes) },
      timestamp: dateTime(world.now()),
    }),
    quickStats: data('VirtualMachineQuickStats', { guestHeartbeatStatus: 'gray' }),
    overallStatus: oneOf('ManagedEntityStatus', 'green'),
  });
}

function toolsRunning(world: VCenterWorld, machine: Machine): string {
  return world.details(machine).guest === undefined ? 'guestToolsNotRunning' : 'guestToolsRunning';
}

function guest(world: VCenterWorld, machine: Machine): Data {
  const details = world.details(machine);
  const told = details.guest;
  const cards = details.devices.filter(({ fields }) => fields['macAddress'] !== undefined);
  const status = told === undefined ? 'toolsNotRunning' : 'toolsOk';
  return data('GuestInfo', {
    toolsStatus: oneOf('VirtualMachineToolsStatus', status),
    toolsRunningStatus: toolsRunning(world, machine),
    ...(told === undefined ? {} : { hostName: told.hostName, ipAddress: told.addresses[0] }),
    guestState: told === undefined ? 'notRunning' : 'running',
    net: list(
      'GuestNicInfo',
      told === undefined
        ? []
        : cards.map((card, index) =>
            data('GuestNicInfo', {
              network: world.nameOf(details.networks[index] ?? ''),
              ...(told.addresses[index] === undefined ? {} : { ipAddress: list('string', [told.addresses[index]]) }),
              ...{ macAddress: textAt(card, 'macAddress'), connected: true },
              deviceConfigId: Number(textAt(card, 'key') ?? 0),
            }),
          ),
    ),
  });
}

/** A linked clone has files where its parent is. */
function datastores(world: VCenterWorld, machine: Machine): ReturnType<typeof keyRef>[] {
  const prefixes = new Set(
    machine.disks.flatMap(({ file, parents }) => [file, ...parents].map((one) => /^\[(.*?)\]/.exec(one)?.[1] ?? '')),
  );
  const keys = new Set([machine.datastore]);
  for (const key of world.state.datastores.keys()) if (prefixes.has(world.nameOf(key))) keys.add(key);
  return [...keys].map(keyRef);
}

function snapshots(world: VCenterWorld, machine: Machine): Data | undefined {
  const { snapshots: points, currentSnapshot } = world.details(machine);
  if (points.length === 0) return undefined;
  const below = (parent: string | undefined): List =>
    list(
      'VirtualMachineSnapshotTree',
      points
        .filter((point) => point.parent === parent)
        .map(({ ref, name, description, at }) =>
          data('VirtualMachineSnapshotTree', {
            ...{
              snapshot: ref,
              vm: machine.ref,
              name,
              description,
              id: points.findIndex((one) => one.ref === ref) + 1,
            },
            createTime: { scalar: 'xsd:dateTime', text: at },
            ...{ state: 'poweredOff', quiesced: false, replaySupported: false, childSnapshotList: below(ref.value) },
          }),
        ),
    );
  const current = currentSnapshot === undefined ? {} : { currentSnapshot: snapshotRef(currentSnapshot) };
  return data('VirtualMachineSnapshotInfo', { ...current, rootSnapshotList: below(undefined) });
}

const snapshotRef = (value: string): MoRef => ({ type: 'VirtualMachineSnapshot', value });
