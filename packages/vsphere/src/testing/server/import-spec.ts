import { readOvf } from '../../import/ovf.ts';
import { escapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { child, childText, descend, elements, referenceOf, textOf, type XmlElement } from '../../xml/xml.ts';
import { parseXml } from '../../xml/xml-tree.ts';
import { datacenterOf, NETWORK_TYPES } from '../inventory.ts';
import { invalidArgument, notFound } from './soap-refusal.ts';
import type { VCenterWorld } from './vcenter-world.ts';
import { type Data, data, list, long, render, type Value } from './vim-values.ts';

/** CIM resource types of an OVF's items. */
const [CPU, MEMORY, IDE, SCSI, NETWORK, FLOPPY, CDROM, DISK] = [3, 4, 5, 6, 10, 14, 15, 17];
/** What has no counterpart among the devices and is passed over: VMCI, USB controllers, video cards. */
const SILENT: readonly number[] = [1, 23, 24];

const CARDS: Readonly<Record<string, string>> = {
  e1000: 'VirtualE1000',
  e1000e: 'VirtualE1000e',
  pcnet32: 'VirtualPCNet32',
  vmxnet: 'VirtualVmxnet',
  vmxnet2: 'VirtualVmxnet2',
  vmxnet3: 'VirtualVmxnet3',
};
const CONTROLLERS: Readonly<Record<string, string>> = {
  buslogic: 'VirtualBusLogicController',
  lsilogic: 'VirtualLsiLogicController',
  lsilogicsas: 'VirtualLsiLogicSASController',
  virtualscsi: 'ParaVirtualSCSIController',
  scsi: 'VirtualLsiLogicController',
};
const PROVISIONING: readonly string[] = [
  ...['', 'monolithicFlat', 'flat', 'eagerZeroedThick', 'thin', 'thick', 'seSparse', 'monolithicSparse'],
];

/** CreateImportSpec: what would be made of a descriptor, as `<returnval>`. */
export function importSpec(world: VCenterWorld, body: XmlElement): string {
  const pool = referenceOf(child(body, 'resourcePool'));
  const datastore = referenceOf(child(body, 'datastore'));
  if (datastore === undefined || !world.state.datastores.has(refKey(datastore)))
    throw notFound(datastore ?? { type: 'Datastore', value: '' });
  const params = child(body, 'cisp');
  if (params === undefined) throw invalidArgument('cisp');
  if (pool === undefined || !world.state.places.has(refKey(pool)))
    throw notFound(pool ?? { type: 'ResourcePool', value: '' });
  const host = referenceOf(child(params, 'hostSystem'));
  if (host !== undefined && !world.state.hosts.has(refKey(host))) throw notFound(host);
  const text = childText(body, 'ovfDescriptor') ?? '';
  let system: XmlElement | undefined;
  let ovf: ReturnType<typeof readOvf>;
  try {
    ovf = readOvf(text);
    system = descend(parseXml(text), 'VirtualSystem');
  } catch (error) {
    throw invalidArgument('ovfDescriptor', error instanceof Error ? error.message : String(error));
  }
  const made = new SpecMaker(world, params, pool, datastore, ovf, system);
  return made.result();
}

/** Reads one descriptor into devices and files. */
class SpecMaker {
  readonly #world: VCenterWorld;
  readonly #params: XmlElement;
  readonly #pool: MoRef;
  readonly #datastore: MoRef;
  readonly #ovf: ReturnType<typeof readOvf>;
  readonly #system: XmlElement | undefined;
  readonly #devices: Data[] = [];
  readonly #files: Data[] = [];
  readonly #errors: Data[] = [];
  readonly #config: Record<string, Value> = { numCPUs: 1, numCoresPerSocket: 1, memoryMB: 32 };
  /** Items by their InstanceID → keys of the controllers that they became. */
  readonly #controllers = new Map<string, number>();
  readonly #entity: string;
  #key = 0;
  #disks = 0;

  constructor(
    world: VCenterWorld,
    params: XmlElement,
    pool: MoRef,
    datastore: MoRef,
    ovf: ReturnType<typeof readOvf>,
    system: XmlElement | undefined,
  ) {
    this.#world = world;
    this.#params = params;
    this.#pool = pool;
    this.#datastore = datastore;
    this.#ovf = ovf;
    this.#system = system;
    this.#entity = childText(params, 'entityName') ?? '';
  }

  result(): string {
    const hardware = child(this.#system, 'VirtualHardwareSection');
    for (const item of elements(hardware, 'Item')) this.#item(item);
    const version = childText(child(hardware, 'System'), 'VirtualSystemType');
    const os = child(this.#system, 'OperatingSystemSection')?.attributes.find(({ local }) => local === 'osType')?.value;
    const store = escapeName(this.#world.nameOf(refKey(this.#datastore)));
    const options = elements(this.#params, 'propertyMapping').map((one) =>
      data('OptionValue', { key: childText(one, 'key') ?? '', value: { any: childText(one, 'value') ?? '' } }),
    );
    const spec = data('VirtualMachineImportSpec', {
      configSpec: data('VirtualMachineConfigSpec', {
        ...{ name: this.#entity, version: version?.split(',')[0]?.trim() ?? 'vmx-19', guestId: os ?? 'otherGuest' },
        files: data('VirtualMachineFileInfo', { vmPathName: `[${store}]` }),
        ...this.#config,
        deviceChange: list(
          '',
          this.#devices.map((device) => {
            const disk = device.data === 'VirtualDisk' ? { fileOperation: 'create' } : {};
            return data('VirtualDeviceConfigSpec', { operation: 'add', ...disk, device });
          }),
        ),
        extraConfig: list('OptionValue', options),
        ...(this.#ovf.secureBoot === undefined
          ? {}
          : { bootOptions: data('VirtualMachineBootOptions', { efiSecureBootEnabled: this.#ovf.secureBoot }) }),
        vAppConfig: this.#vApp(),
        ...this.#firmware(hardware),
      }),
      resPoolEntity: this.#pool,
    });
    const fields = { importSpec: spec, fileItem: list('', this.#files), error: list('', this.#errors) };
    return render('returnval', data('', fields));
  }

  #item(item: XmlElement): void {
    const type = Number(childText(item, 'ResourceType') ?? 0);
    const quantity = Number(childText(item, 'VirtualQuantity') ?? 0);
    const kind = (childText(item, 'ResourceSubType') ?? 'unknown').toLowerCase();
    const id = childText(item, 'InstanceID') ?? '';
    if (type === CPU) this.#config['numCPUs'] = quantity;
    else if (type === MEMORY) this.#config['memoryMB'] = quantity;
    else if (type === IDE) this.#controller(id, 'VirtualIDEController');
    else if (type === SCSI) {
      const controller = CONTROLLERS[kind];
      if (controller === undefined) this.#unsupported(item, type, `unknown SCSI controller type: ${kind}`);
      else this.#controller(id, controller, { sharedBus: 'noSharing' });
    } else if (type === NETWORK) this.#card(item, type, kind);
    else if (type === DISK) this.#disk(item);
    else if (type === CDROM) {
      const controllerKey = this.#controllers.get(childText(item, 'Parent') ?? '');
      if (controllerKey === undefined) return;
      const backing = data('VirtualCdromRemotePassthroughBackingInfo', { deviceName: '', exclusive: false });
      this.#add('VirtualCdrom', { backing, controllerKey, unitNumber: 0 });
    } else if (type !== FLOPPY && !SILENT.includes(type))
      this.#unsupported(item, type, `unsupported resource type: ${type}`);
  }

  #add(type: string, fields: Data['fields']): number {
    this.#key -= 1;
    this.#devices.push(data(type, { key: this.#key, ...fields }));
    return this.#key;
  }

  #controller(id: string, type: string, fields: Data['fields'] = {}): void {
    const buses = this.#devices.filter((device) => device.data === type).length;
    this.#controllers.set(id, this.#add(type, { busNumber: buses, ...fields }));
  }

  #card(item: XmlElement, type: number, kind: string): void {
    const wanted = childText(item, 'Connection') ?? '';
    if (wanted === '') return;
    const card = CARDS[kind];
    if (card === undefined) {
      this.#unsupported(item, type, `unknown ethernet card type: ${kind}`);
      return;
    }
    const mapped = elements(this.#params, 'networkMapping').find((one) => childText(one, 'name') === wanted);
    const network = referenceOf(child(mapped, 'network')) ?? this.#anyNetwork();
    if (network === undefined) return;
    const name = this.#world.state.places.get(refKey(network))?.name;
    if (name === undefined) throw notFound(network);
    const backing =
      network.type === 'DistributedVirtualPortgroup'
        ? data('VirtualEthernetCardDistributedVirtualPortBackingInfo', {
            port: data('', { switchUuid: '', portgroupKey: network.value }),
          })
        : data('VirtualEthernetCardNetworkBackingInfo', { deviceName: escapeName(name), network });
    const connectable = { startConnected: true, allowGuestControl: true, connected: true };
    this.#add(card, { backing, connectable: data('', connectable), addressType: 'generated' });
  }

  #anyNetwork(): MoRef | undefined {
    const { state } = this.#world;
    const datacenter = datacenterOf(state, refKey(this.#pool));
    for (const [key, { ref }] of state.places)
      if (NETWORK_TYPES.includes(ref.type) && datacenterOf(state, key) === datacenter) return ref;
    return undefined;
  }

  #disk(item: XmlElement): void {
    const controllerKey = this.#controllers.get(childText(item, 'Parent') ?? '');
    if (controllerKey === undefined) return;
    const provisioning = childText(this.#params, 'diskProvisioning') ?? '';
    if (!PROVISIONING.includes(provisioning)) {
      const text = `Disk provisioning type not supported: ${provisioning}`;
      this.#error('OvfUnsupportedDiskProvisioning', { diskProvisioning: provisioning }, text);
    }
    const resource = textOf(child(item, 'HostResource') ?? item).trim();
    const disk = this.#ovf.disks.find(({ id }) => resource.endsWith(id));
    if (disk === undefined) throw invalidArgument('ovfDescriptor', `there is no disk ${resource}`);
    const index = this.#disks++;
    const file = `[${escapeName(this.#world.nameOf(refKey(this.#datastore)))}] ${this.#entity}/disk-${index}.vmdk`;
    const backing =
      provisioning === 'monolithicSparse'
        ? data('VirtualDiskSparseVer2BackingInfo', { fileName: file, diskMode: 'persistent' })
        : data('VirtualDiskFlatVer2BackingInfo', {
            ...{ fileName: file, datastore: this.#datastore, diskMode: 'persistent' },
            thinProvisioned: provisioning === '' || provisioning === 'thin',
            eagerlyScrub: provisioning === 'eagerZeroedThick',
          });
    const label = childText(item, 'ElementName') ?? '';
    this.#add('VirtualDisk', {
      ...{ deviceInfo: data('Description', { label, summary: '' }), backing, controllerKey, unitNumber: index },
      capacityInKB: long(Math.floor((disk.capacity ?? 0) / 1024)),
    });
    if (disk.file === undefined) return;
    const { href, size = 0 } = disk.file;
    const said = {
      deviceId: `/${this.#entity}/VirtualDisk:${index}`,
      path: href,
      size: long(size),
      cimType: DISK ?? 17,
    };
    this.#files.push(data('OvfFileItem', { ...said, create: false }));
  }

  #unsupported(item: XmlElement, deviceType: number, text: string): void {
    const name = childText(item, 'ElementName') ?? '';
    this.#error('OvfUnsupportedType', { name, instanceId: childText(item, 'InstanceID') ?? '', deviceType }, text);
  }

  #error(fault: string, fields: Data['fields'], text: string): void {
    this.#errors.push(data('LocalizedMethodFault', { fault: data(fault, fields), localizedMessage: text }));
  }

  #vApp(): Data {
    const products = elements(this.#system, 'ProductSection');
    const properties: Data[] = [];
    const said = products.map((product, key) => {
      for (const property of elements(product, 'Property'))
        properties.push(this.#property(property, properties.length));
      const of = (name: string): string => childText(product, name) ?? '';
      const info = {
        key,
        classId: '',
        instanceId: '',
        name: of('Product'),
        vendor: of('Vendor'),
        version: of('Version'),
      };
      return data('VAppProductSpec', { operation: 'add', info: data('VAppProductInfo', info) });
    });
    const added = properties.map((info) => data('VAppPropertySpec', { operation: 'add', info }));
    return data('VAppConfigSpec', { product: list('', said), property: list('', added) });
  }

  #property(property: XmlElement, key: number): Data {
    const of = (name: string): string => property.attributes.find(({ local }) => local === name)?.value ?? '';
    const mapped = elements(this.#params, 'propertyMapping').find((one) => childText(one, 'key') === of('key'));
    return data('VAppPropertyInfo', {
      ...{ key, id: of('key'), type: of('type'), userConfigurable: of('userConfigurable') === 'true' },
      ...{ defaultValue: of('value'), value: childText(mapped, 'value') ?? '' },
    });
  }

  #firmware(hardware: XmlElement | undefined): Record<string, Value> {
    for (const one of elements(hardware, 'Config')) {
      const of = (name: string): string => one.attributes.find(({ local }) => local === name)?.value ?? '';
      if (of('key') === 'firmware') return { firmware: of('value') };
    }
    return {};
  }
}
