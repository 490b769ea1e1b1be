import { unescapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { child, childText, descend, elements, referenceOf, type XmlElement } from '../../xml/xml.ts';
import { datacenterOf, datastoresNamed, type Machine, NETWORK_TYPES, newUuid } from '../inventory.ts';
import { bornMachine, checkName, uniqueUuid } from '../machines.ts';
import { BORN_DEVICES, type MachineDisk } from './machine-details.ts';
import { diskKey } from './machine-properties.ts';
import { invalidArgument, notFound, refusal } from './soap-refusal.ts';
import type { VCenterWorld } from './vcenter-world.ts';
import { type Data, data, isRef, itemsOf, list, readOptions, readValue, textAt, type Value } from './vim-values.ts';

/** Where a new machine goes. */
export interface MachinePlace {
  readonly folder: MoRef;
  /** Key of the resource pool. */
  readonly pool: string;
  /** Key of the host. */
  readonly host: string | undefined;
  /** Key of the datastore. */
  readonly datastore: string;
}

/** Hosts of the cluster that a pool is in. Refuses what is no pool. */
function hostsOfPool(world: VCenterWorld, pool: MoRef): readonly string[] {
  const { places, hosts } = world.state;
  let at: string | undefined = places.has(refKey(pool)) ? refKey(pool) : undefined;
  while (at !== undefined && !at.includes('ComputeResource:')) at = places.get(at)?.parent;
  if (at === undefined) throw notFound(pool);
  return [...hosts.keys()].filter((key) => places.get(key)?.parent === at);
}

/** Where a machine of a spec would be. Refuses a place whose files no host could reach. */
export function placeFor(
  world: VCenterWorld,
  spec: XmlElement | undefined,
  where: { readonly folder: MoRef; readonly pool: MoRef; readonly host: MoRef | undefined },
): MachinePlace {
  const { state } = world;
  const { folder, pool, host } = where;
  if (!state.places.has(refKey(folder))) throw notFound(folder);
  const path = childText(child(spec, 'files'), 'vmPathName');
  if (datacenterOf(state, refKey(folder)) === undefined || path === undefined) throw invalidArgument('folder');
  const name = /^\[(.+?)\]/.exec(path)?.[1];
  if (name === undefined) throw refusal('InvalidDatastorePath', { datastorePath: path });
  const [datastore] = datastoresNamed(state, refKey(folder), [unescapeName(name)]);
  if (datastore === undefined) throw refusal('InvalidDatastore', { name });
  const candidates = hostsOfPool(world, pool);
  if (host !== undefined && !state.hosts.has(refKey(host))) throw notFound(host);
  const hosts = host === undefined ? candidates : [refKey(host)];
  const reaches = hosts.filter((key) => state.hosts.get(key)?.datastores.includes(unescapeName(name)) === true);
  const [first] = reaches;
  if (first === undefined) {
    const text = `The datastore ${name} is not accessible from the chosen host or cluster.`;
    throw refusal('InvalidDatastore', { datastore, name }, text);
  }
  return { folder, pool: refKey(pool), host: first, datastore: refKey(datastore) };
}

/** Puts a machine into the inventory that nobody asked for and whose name is free: one of a model. */
export function placeMachine(world: VCenterWorld, name: string, place: MachinePlace): Machine {
  const machine = bornMachine(world.state, {
    ...{ name, folder: refKey(place.folder), host: place.host, datastore: place.datastore, directory: name },
    ...{ createDate: world.now().toISOString(), instanceUuid: newUuid(world.state) },
    hardware: new Map([
      ...[['config.firmware', 'bios'] as const, ['config.guestId', 'otherGuest'] as const],
      ...[['config.hardware.numCPU', '1'] as const, ['config.hardware.memoryMB', '32'] as const],
    ]),
  });
  world.details(machine).pool = place.pool;
  world.state.machines.set(refKey(machine.ref), machine);
  world.appeared(refKey(machine.ref));
  return machine;
}

/** Makes a machine as a spec says: CreateVM_Task and ImportVApp. */
export function createMachine(world: VCenterWorld, spec: XmlElement, place: MachinePlace, op: string): Machine {
  const { state } = world;
  const name = unescapeName(childText(spec, 'name') ?? '');
  checkName(state, refKey(place.folder), name, op);
  const machine = bornMachine(state, {
    ...{ name, folder: refKey(place.folder), host: place.host, datastore: place.datastore },
    createDate: world.now().toISOString(),
  });
  const { ref } = machine;
  machine.instanceUuid = uniqueUuid(state, childText(spec, 'instanceUuid') ?? '');
  machine.hardware.set('config.firmware', 'bios').set('config.guestId', 'otherGuest');
  world.details(machine).pool = place.pool;
  applySpec(world, machine, spec);
  machine.changes = 0;
  state.machines.set(refKey(ref), machine);
  world.appeared(refKey(ref));
  world.touch(place.datastore, 'vm', 'summary', 'info');
  return machine;
}

const TEXTS: Readonly<Record<string, string>> = {
  guestId: 'config.guestId',
  firmware: 'config.firmware',
  version: 'config.version',
  numCPUs: 'config.hardware.numCPU',
  numCoresPerSocket: 'config.hardware.numCoresPerSocket',
  memoryMB: 'config.hardware.memoryMB',
};

/** Fields of a spec that the configuration has under the same name. */
const FLAGS: readonly string[] = [
  ...['changeTrackingEnabled', 'cpuHotAddEnabled', 'cpuHotRemoveEnabled', 'memoryHotAddEnabled', 'nestedHVEnabled'],
  ...['memoryReservationLockedToMax', 'npivTemporaryDisabled', 'npivOnNonRdmDisks', 'messageBusTunnelEnabled'],
];
const OBJECTS: Readonly<Record<string, string>> = {
  flags: 'VirtualMachineFlagInfo',
  latencySensitivity: 'LatencySensitivity',
  managedBy: 'ManagedByInfo',
  cpuAllocation: 'ResourceAllocationInfo',
  memoryAllocation: 'ResourceAllocationInfo',
};

/** Changes a machine as a VirtualMachineConfigSpec says. Its creation date is nobody's to change. */
export function applySpec(world: VCenterWorld, machine: Machine, spec: XmlElement): readonly string[] {
  const details = world.details(machine);
  const changed = new Set<string>(['config.changeVersion']);
  for (const [field, path] of Object.entries(TEXTS)) {
    const text = childText(spec, field);
    if (text === undefined || text === '') continue;
    machine.hardware.set(path, text);
    changed.add(path).add('summary.config');
  }
  const name = childText(spec, 'name') ?? '';
  if (name !== '' && unescapeName(name) !== machine.name) {
    machine.name = unescapeName(name);
    changed.add('name').add('config.name').add('summary.config');
  }
  const annotation = childText(spec, 'annotation');
  if (annotation !== undefined) {
    machine.annotation = annotation;
    changed.add('config.annotation').add('summary.config');
  }
  const uuid = childText(spec, 'uuid') ?? '';
  if (uuid !== '') {
    details.uuid = uuid;
    changed.add('config.uuid').add('summary.config');
  }
  const secureBoot = childText(child(spec, 'bootOptions'), 'efiSecureBootEnabled');
  if (secureBoot !== undefined) {
    machine.secureBoot = secureBoot === 'true';
    changed.add('config.bootOptions');
  }
  for (const field of FLAGS) {
    const flag = childText(spec, field);
    if (flag === undefined) continue;
    details.config[field] = flag === 'true';
    changed.add(`config.${field}`);
  }
  for (const [field, type] of Object.entries(OBJECTS)) {
    const value = child(spec, field);
    if (value === undefined) continue;
    const read = readValue(value);
    details.config[field] = typeof read === 'object' && 'data' in read ? { ...read, data: type } : read;
    changed.add(`config.${field}`);
  }
  const options = readOptions(spec);
  for (const [key, value] of options) {
    if (value === '') machine.extraConfig.delete(key);
    else machine.extraConfig.set(key, value);
  }
  if (options.length > 0) changed.add('config.extraConfig');
  if (child(spec, 'vAppConfig') !== undefined) {
    applyVApp(world, machine, child(spec, 'vAppConfig'));
    changed.add('config.vAppConfig').add('summary.config');
  }
  const changes = elements(spec, 'deviceChange');
  if (changes.length > 0) {
    changeDevices(world, machine, changes);
    changed.add('config.hardware.device').add('network').add('datastore').add('summary.config').add('guest.net');
  }
  machine.changes += 1;
  return [...changed];
}

function applyVApp(world: VCenterWorld, machine: Machine, spec: XmlElement | undefined): void {
  const details = world.details(machine);
  const merge = (known: Value | undefined, field: string, type: string): Value => {
    const items = new Map(itemsOf(known).map((item) => [textAt(item, 'key') ?? '', item]));
    for (const change of elements(spec, field)) {
      const info = child(change, 'info');
      const key = childText(info, 'key') ?? '';
      if (childText(change, 'operation') === 'remove') items.delete(key);
      else if (info !== undefined) items.set(key, typedAs(type, readValue(info)));
    }
    return list(type, [...items.values()]);
  };
  const fields = details.vApp?.fields ?? {};
  details.vApp = data('VmConfigInfo', {
    product: merge(fields['product'], 'product', 'VAppProductInfo'),
    property: merge(fields['property'], 'property', 'VAppPropertyInfo'),
    installBootRequired: false,
    installBootStopDelay: 0,
  });
  const [product] = itemsOf(details.vApp.fields['product']);
  const version = textAt(product, 'version') ?? '';
  machine.productVersion = version === '' ? undefined : version;
}

function typedAs(type: string, value: Value): Value {
  return typeof value === 'object' && 'data' in value ? { ...value, data: type } : value;
}

const CARDS = /^Virtual(?:E1000e?|Vmxnet[23]?|PCNet32|SriovEthernetCard|EthernetCard)$/;
const SCSI = /SCSI|LsiLogic|BusLogic/;
/** Controllers that every machine has: their type and bus tell them. */
const BORN_CONTROLLERS = new Map(
  BORN_DEVICES.map(({ data: type, fields }) => [`${type} ${Number(fields['busNumber'] ?? 0)}`, Number(fields['key'])]),
);

/** Refuses a spec that makes a disk in a file that another machine has: one that was renamed keeps its files. */
function checkFiles({ state }: VCenterWorld, machine: Machine, changes: readonly XmlElement[]): void {
  for (const change of changes) {
    if (childText(change, 'operation') !== 'add' || childText(change, 'fileOperation') !== 'create') continue;
    const file = childText(descend(change, 'device', 'backing'), 'fileName') ?? '';
    for (const other of state.machines.values())
      if (other !== machine && other.disks.some((disk) => disk.file === file))
        throw refusal('FileAlreadyExists', { file }, `File ${file} already exists.`);
  }
}

/** Adds, edits and removes devices as a spec says. */
function changeDevices(world: VCenterWorld, machine: Machine, changes: readonly XmlElement[]): void {
  checkFiles(world, machine, changes);
  const details = world.details(machine);
  /** Keys that the spec made up → those that were given. */
  const given = new Map<number, number>();
  for (const change of changes) {
    const xml = child(change, 'device');
    if (xml === undefined) continue;
    const device = readValue(xml);
    if (typeof device !== 'object' || !('data' in device)) continue;
    const key = Number(textAt(device, 'key') ?? 0);
    const operation = childText(change, 'operation');
    if (device.data === 'VirtualDisk') changeDisk(world, machine, operation, device, key, given);
    else if (operation === 'remove') details.devices = details.devices.filter((one) => keyOf(one) !== key);
    else if (operation === 'edit') {
      const at = details.devices.findIndex((one) => keyOf(one) === key);
      if (at < 0) throw refusal('InvalidDeviceSpec', { deviceIndex: changes.indexOf(change) });
      details.devices[at] = { ...device, fields: { ...details.devices[at]?.fields, ...device.fields, key } };
    } else {
      const born = BORN_CONTROLLERS.get(`${device.data} ${Number(textAt(device, 'busNumber') ?? 0)}`);
      if (born !== undefined) {
        given.set(key, born);
        continue;
      }
      const added = addedDevice(world, machine, device, given);
      given.set(key, keyOf(added));
      details.devices.push(added);
    }
  }
  details.networks = networksOf(world, machine);
}

function keyOf(device: Data): number {
  return Number(textAt(device, 'key') ?? 0);
}

function addedDevice(world: VCenterWorld, machine: Machine, device: Data, given: ReadonlyMap<number, number>): Data {
  const { devices } = world.details(machine);
  const isCard = CARDS.test(device.data);
  const first = isCard ? 4000 : SCSI.test(device.data) ? 1000 : device.data === 'VirtualCdrom' ? 3000 : 8000;
  const taken = new Set(devices.map(keyOf));
  let key = first;
  while (taken.has(key)) key += 1;
  const wished = Number(textAt(device, 'controllerKey') ?? 100);
  const number = key - first;
  const label = isCard ? `Network adapter ${number + 1}` : `${device.data} ${number}`;
  return {
    data: device.data,
    fields: {
      ...device.fields,
      key,
      deviceInfo: device.fields['deviceInfo'] ?? data('Description', { label, summary: label }),
      ...(isCard || device.fields['controllerKey'] !== undefined ? { controllerKey: given.get(wished) ?? wished } : {}),
      ...(isCard
        ? {
            addressType: 'assigned',
            macAddress: textAt(device, 'macAddress') || world.newMac(),
            unitNumber: 7 + number,
          }
        : {}),
    },
  };
}

function changeDisk(
  world: VCenterWorld,
  machine: Machine,
  operation: string | undefined,
  device: Data,
  key: number,
  given: ReadonlyMap<number, number>,
): void {
  const backing = device.fields['backing'];
  const bytes = Number(textAt(device, 'capacityInBytes') ?? 0);
  const capacityKB = Number(textAt(device, 'capacityInKB') ?? 0) || Math.floor(bytes / 1024);
  const at = machine.disks.findIndex((disk, index) => diskKey(disk, index) === key);
  const known = machine.disks[at];
  if (operation === 'remove' || operation === 'edit') {
    if (known === undefined) throw refusal('InvalidDeviceSpec', { deviceIndex: 0 });
    if (operation === 'remove') {
      machine.disks = machine.disks.toSpliced(at, 1);
      fill(world, machine, -(known.capacityKB ?? 0));
      return;
    }
    if (capacityKB < (known.capacityKB ?? 0)) throw refusal('InvalidDeviceOperation');
    machine.disks = machine.disks.with(at, { ...known, capacityKB });
    fill(world, machine, capacityKB - (known.capacityKB ?? 0));
    return;
  }
  if (typeof backing === 'object' && 'data' in backing && backing.data === 'VirtualDiskSparseVer2BackingInfo')
    throw refusal('DeviceUnsupportedForVmPlatform', { property: 'VirtualDeviceSpec.device.backing' });
  const index = machine.disks.length;
  const taken = new Set(machine.disks.map(diskKey));
  let own = 2000 + index;
  while (taken.has(own)) own += 1;
  const controller = Number(textAt(device, 'controllerKey') ?? 200);
  const store = world.nameOf(machine.datastore);
  const disk: MachineDisk = {
    file: `[${store}] ${machine.directory}/${wishedFile(machine, textAt(backing, 'fileName'), index)}`,
    uuid: newUuid(world.state),
    capacityKB,
    thin: textAt(backing, 'thinProvisioned') === 'true',
    eagerlyScrub: textAt(backing, 'eagerlyScrub') === 'true',
    parents: [],
    key: own,
    controllerKey: given.get(controller) ?? controller,
    unitNumber: Number(textAt(device, 'unitNumber') ?? index),
  };
  machine.disks = [...machine.disks, disk];
  fill(world, machine, capacityKB);
}

/** The name that a spec gives a disk's file, in whatever folder; the machine's own where it gives none. */
function wishedFile(machine: Machine, said: string | undefined, index: number): string {
  const name =
    said
      ?.split('/')
      .at(-1)
      ?.replace(/^\[.*?\]\s*/, '') ?? '';
  return name.endsWith('.vmdk') ? name : `${machine.name}${index === 0 ? '' : `_${index}`}.vmdk`;
}

/** Disks count from what is free on their datastore with all that they can hold. */
export function fill(world: VCenterWorld, machine: Machine, kilobytes: number): void {
  const datastore = world.state.datastores.get(machine.datastore);
  machine.bytes += kilobytes * 1024;
  if (datastore === undefined) return;
  datastore.freeSpace -= kilobytes * 1024;
  world.touch(machine.datastore, 'summary', 'info');
}

/** Keys of the networks that a machine's cards are in. */
export function networksOf(world: VCenterWorld, machine: Machine): string[] {
  const found: string[] = [];
  const datacenter = datacenterOf(world.state, machine.folder);
  for (const { data: type, fields } of world.details(machine).devices) {
    if (!CARDS.test(type)) continue;
    const { backing } = { backing: fields['backing'] };
    const port = typeof backing === 'object' && 'data' in backing ? backing.fields['port'] : undefined;
    const network = typeof backing === 'object' && 'data' in backing ? backing.fields['network'] : undefined;
    const group = textAt(port, 'portgroupKey');
    const name = textAt(backing, 'deviceName') ?? textAt(backing, 'opaqueNetworkId');
    for (const [key, place] of world.state.places) {
      if (!NETWORK_TYPES.includes(place.ref.type) || datacenterOf(world.state, key) !== datacenter) continue;
      const isIt =
        group === undefined
          ? (isRef(network) && network.value === place.ref.value) || unescapeName(name ?? '') === place.name
          : group === place.ref.value;
      if (isIt && !found.includes(key)) found.push(key);
    }
  }
  return found;
}

/** The spec of a method: `config`, `spec`, `configSpec`. */
export function specOf(body: XmlElement, ...names: readonly string[]): XmlElement {
  const found = descend(body, ...names);
  if (found === undefined) throw invalidArgument(names.at(-1) ?? 'spec');
  return found;
}

/** A reference among the fields of a call. */
export const fieldRef = (body: XmlElement | undefined, name: string): MoRef | undefined =>
  referenceOf(child(body, name));
