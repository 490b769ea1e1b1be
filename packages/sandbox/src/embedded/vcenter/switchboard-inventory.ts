import {
  atPath,
  attachedTo,
  childrenOf,
  clone,
  createMachine,
  datacenterOf,
  datastoresNamed,
  defineField,
  destroy,
  ensureTag,
  giveName,
  keyRef,
  type Machine,
  makePlace,
  markTemplate,
  moveInto,
  pathOf,
  ROOT,
  removeTag,
  setCustomValue,
  setMaintenance,
  setTag,
  specXml,
  takeSnapshot,
  unmarkTemplate,
  type VCenterWorld,
} from '@drydock/vsphere/testing/server';
import type {
  DatastoreChange,
  DatastoreView,
  HostChange,
  NewClone,
  NewDatastore,
  NewPod,
  NewTag,
  NewVm,
  ObjectView,
  Ref,
  Tag,
  VmEdit,
  VmView,
} from '../../switchboard-types.ts';
import { DATASTORE_BYTES } from './vcenter-inventory-model.ts';

type MoRef = typeof ROOT;

const keyOf = ({ type, value }: MoRef): string => `${type}:${value}`;
const named = ({ type, value }: MoRef): Ref => ({ type, moref: value });
/** Oldest first: numbers grow. */
const byMoref = (a: { readonly moref: string }, b: { readonly moref: string }): number =>
  a.moref.length - b.moref.length || (a.moref < b.moref ? -1 : 1);

/** The inventory as an administrator sees and changes it, without a session, a rule or a right. */
export class SwitchboardInventory {
  readonly #world: VCenterWorld;

  constructor(world: VCenterWorld) {
    this.#world = world;
  }

  /** Takes an inventory path, `vm-12` (whose kind is then given), or `VirtualMachine:vm-12`. */
  find(kind: string, where: string | undefined): MoRef {
    const { state } = this.#world;
    if (where === undefined || where === '') throw new Error(`the ${kind} to use is not given`);
    if (where.startsWith('/')) {
      const at = atPath(this.#world, where);
      if (at === undefined) throw new Error(`nothing at inventory path ${where}`);
      return at;
    }
    const ref = where.includes(':') ? keyRef(where) : { type: kind, value: where };
    if (!state.machines.has(keyOf(ref)) && !state.places.has(keyOf(ref)) && ref.value !== ROOT.value)
      throw new Error(`no ${ref.type} ${ref.value}`);
    return ref;
  }

  /** Also takes the plain name of an object that is unique among its kind. */
  findNamed(kind: string, where: string | undefined): MoRef {
    for (const { ref, name } of this.#world.state.places.values()) if (ref.type === kind && name === where) return ref;
    return this.find(kind, where);
  }

  #machine(where: string | undefined): Machine {
    const ref = this.find('VirtualMachine', where);
    const machine = this.#world.state.machines.get(keyOf(ref));
    if (machine === undefined) throw new Error(`${String(where)} is no VM`);
    return machine;
  }

  vms(keep: (view: VmView) => boolean): readonly VmView[] {
    return Array.from(this.#world.state.machines.values(), (machine) => this.#view(machine))
      .filter(keep)
      .sort(byMoref);
  }

  #view(machine: Machine): VmView {
    const { state } = this.#world;
    const { uuid, networks, snapshots } = this.#world.details(machine);
    const of = (key: string): string => this.#world.nameOf(key);
    const tag = (id: string): string => {
      const { category = '', name = '' } = state.tags.get(id) ?? {};
      return `${category}/${name}`;
    };
    return {
      ...{ moref: machine.ref.value, name: machine.name, isTemplate: machine.isTemplate },
      ...{ path: pathOf(state, keyOf(machine.ref)), folder: pathOf(state, machine.folder) },
      ...{ folderMoref: keyRef(machine.folder).value, host: machine.host === undefined ? '' : of(machine.host) },
      ...{ instanceUuid: machine.instanceUuid, uuid, power: machine.powerState, annotation: machine.annotation },
      ...{ firmware: machine.hardware.get('config.firmware') ?? '', secureBoot: machine.secureBoot },
      productVersion: machine.productVersion ?? '',
      extraConfig: Object.fromEntries(machine.extraConfig),
      customValues: Object.fromEntries(
        Array.from(machine.customValues, ([key, value]) => [state.customFields[key] ?? '', value]),
      ),
      tags: Array.from(machine.tags, tag),
      ...{ networks: networks.map(of), datastores: [of(machine.datastore)] },
      disks: machine.disks.map(({ file, capacityKB = 0, thin = false, parents }) => ({
        file,
        capacityKB,
        thin,
        parents,
      })),
      snapshots: snapshots.map(({ name }) => name),
      tasks: machine.tasks.map(({ descriptionId }) => descriptionId),
    };
  }

  objects(kind: string): readonly ObjectView[] {
    const { state } = this.#world;
    const views: ObjectView[] = [];
    if (kind === 'Folder') views.push({ moref: ROOT.value, type: kind, name: 'Datacenters', path: '/' });
    for (const [key, { ref, name }] of state.places) {
      if (ref.type !== kind) continue;
      const host = state.hosts.get(key);
      const store = state.datastores.get(key);
      views.push({
        ...{ moref: ref.value, type: kind, name, path: pathOf(state, key) },
        ...(host === undefined ? {} : this.#hostView(key)),
        ...(store === undefined ? {} : this.#datastoreView(key)),
      });
    }
    return views.sort(byMoref);
  }

  #hostView(key: string): object {
    const { connectionState, powerState, inMaintenanceMode } = this.#world.state.hosts.get(key) ?? {};
    return { connectionState, powerState, ...(inMaintenanceMode === true ? { inMaintenanceMode } : {}) };
  }

  #datastoreView(key: string): Partial<DatastoreView> {
    const { freeSpace = 0, capacity = 0, accessible = false } = this.#world.state.datastores.get(key) ?? {};
    return {
      ...(freeSpace === 0 ? {} : { freeSpace }),
      ...(capacity === 0 ? {} : { capacity }),
      ...(accessible ? { accessible } : {}),
      maintenanceMode: this.#world.datastoreModes.get(key) ?? 'normal',
    };
  }

  tags(): readonly Tag[] {
    return Array.from(this.#world.state.tags, ([id, { category, name }]) => ({
      ...{ id, category, name },
      objects: attachedTo(this.#world, id).map((key) => keyRef(key).value),
    }));
  }

  createTag({ category, name, attachTo = [] }: NewTag): { readonly id: string } {
    const id = ensureTag(this.#world, category, name);
    for (const where of attachTo) setTag(this.#world, id, this.find('VirtualMachine', where), true);
    return { id };
  }

  removeTag(category: string, name: string): void {
    for (const [id, tag] of this.#world.state.tags)
      if (tag.category === category && tag.name === name) {
        removeTag(this.#world, id);
        return;
      }
    throw new Error(`no tag ${name} in category ${category}`);
  }

  createFolder(path: string): Ref {
    const parts = path.split('/').filter((part) => part !== '');
    if (parts.length < 2) throw new Error(`folder path "${path}" must look like /DC0/vm/name`);
    let at = this.find('Folder', `/${parts.slice(0, 2).join('/')}`);
    for (const [depth, name] of parts.entries()) {
      if (depth < 2) continue;
      const known = childrenOf(this.#world, at).find((child) => this.#world.nameOf(keyOf(child)) === name);
      at = known ?? makePlace(this.#world, at, name, 'Folder');
    }
    return named(at);
  }

  /** The first cluster, host and datastore that fit what is given. */
  #placement(folder: MoRef, wanted: Pick<NewVm, 'cluster' | 'host' | 'datastore'>) {
    const { state } = this.#world;
    const fits = (key: string, where: string | undefined): boolean =>
      where === undefined || [keyRef(key).value, this.#world.nameOf(key), pathOf(state, key)].includes(where);
    const datacenter = datacenterOf(state, keyOf(folder));
    for (const [key, host] of state.hosts) {
      const cluster = state.places.get(key)?.parent ?? '';
      const pool = this.#world.poolOf(key);
      if (datacenterOf(state, key) !== datacenter || pool === undefined) continue;
      if (!fits(cluster, wanted.cluster) || !fits(key, wanted.host)) continue;
      for (const store of datastoresNamed(state, key, host.datastores))
        if (fits(keyOf(store), wanted.datastore)) return { folder, pool, host: key, datastore: keyOf(store) };
    }
    const { cluster = '', host = '', datastore = '' } = wanted;
    throw new Error(`no host of cluster "${cluster}", host "${host}" mounts datastore "${datastore}"`);
  }

  createVm(vm: NewVm): Ref {
    const place = this.#placement(this.find('Folder', vm.folder), vm);
    const disks = Array.from({ length: Math.min(vm.disks ?? 0, 2) }, (_, unitNumber) => ({
      data: '',
      fields: {
        operation: 'add',
        device: {
          data: 'VirtualDisk',
          fields: {
            ...{ key: -1 - unitNumber, controllerKey: 200, unitNumber, capacityInKB: 1024 },
            backing: { data: 'VirtualDiskFlatVer2BackingInfo', fields: { thinProvisioned: true } },
          },
        },
      },
    }));
    const options = Object.entries(vm.extraConfig ?? {}).map(([key, value]) => ({ data: '', fields: { key, value } }));
    const spec = specXml('config', {
      ...{ name: vm.name, guestId: 'rhel8_64Guest', numCPUs: 2, memoryMB: 1024 },
      ...(vm.annotation === undefined ? {} : { annotation: vm.annotation }),
      ...(vm.instanceUuid === undefined ? {} : { instanceUuid: vm.instanceUuid }),
      deviceChange: { list: '', items: disks },
      extraConfig: { list: '', items: options },
    });
    const machine = createMachine(this.#world, spec, place, 'CreateVM_Task');
    if (vm.productVersion !== undefined) machine.productVersion = vm.productVersion;
    if (vm.template === true) markTemplate(this.#world, machine);
    else if (vm.powerOn === true) this.#world.power(machine.ref, 'poweredOn');
    return named(machine.ref);
  }

  cloneVm(order: NewClone): Ref {
    const source = this.#machine(order.template);
    const folder = order.folder === undefined ? keyRef(source.folder) : this.find('Folder', order.folder);
    if (order.linked === true && source.disks.length === 0) throw new Error(`${source.name} has no disk to link to`);
    const pool = this.#world.poolOf(source.host);
    if (pool === undefined || source.host === undefined) throw new Error(`${order.template} cannot be cloned`);
    const options = Object.entries(order.extraConfig ?? {}).map(([key, value]) => ({
      data: '',
      fields: { key, value },
    }));
    const spec = specXml('spec', {
      location: {
        data: '',
        fields: {
          ...{ pool: keyRef(pool), host: keyRef(source.host) },
          ...(order.linked === true ? { diskMoveType: 'createNewChildDiskBacking' } : {}),
        },
      },
      config: { data: '', fields: { extraConfig: { list: '', items: options } } },
      powerOn: order.powerOn === true,
    });
    return named(clone(this.#world, source, { name: order.name, folder, spec }).ref);
  }

  rename(where: string | undefined, name: string | undefined): Ref {
    if (name === undefined || name === '') throw new Error('a VM needs a name');
    const machine = this.#machine(where);
    return this.#ended(
      machine,
      this.#world.nameTask('rename', machine.ref, '', name, () => giveName(this.#world, machine, name)),
    );
  }

  destroy(where: string | undefined): Ref {
    const machine = this.#machine(where);
    return this.#ended(
      machine,
      this.#world.nameTask('destroy', machine.ref, '', '', () => destroy(this.#world, machine.ref)),
    );
  }

  #ended({ ref }: Machine, task: ReturnType<VCenterWorld['nameTask']>): Ref {
    if (task.error !== undefined) throw new Error(`${task.method} failed with ${task.error.fault}`);
    return named(ref);
  }

  power(where: string | undefined, on: boolean): Ref {
    const { ref } = this.#machine(where);
    this.#world.power(ref, on ? 'poweredOn' : 'poweredOff');
    return named(ref);
  }

  move(where: string | undefined, folder: string | undefined): Ref {
    const { ref } = this.#machine(where);
    moveInto(this.#world, this.find('Folder', folder), ref);
    return named(ref);
  }

  convert(where: string | undefined, template: boolean): Ref {
    const machine = this.#machine(where);
    if (template) markTemplate(this.#world, machine);
    else {
      const pool = this.#world.poolOf(machine.host);
      if (pool === undefined) throw new Error(`${machine.name} has no host in a cluster`);
      unmarkTemplate(this.#world, machine, pool, machine.host);
    }
    return named(machine.ref);
  }

  snapshot(where: string | undefined, name: string): Ref {
    const machine = this.#machine(where);
    takeSnapshot(this.#world, machine, name, '');
    return named(machine.ref);
  }

  customValue(where: string | undefined, field: string | undefined, value: string): Ref {
    if (field === undefined || field === '') throw new Error('the custom attribute to set is not given');
    const machine = this.#machine(where);
    const at = this.#world.state.customFields.indexOf(field);
    setCustomValue(this.#world, machine.ref, at < 0 ? defineField(this.#world, field) : at, value);
    return named(machine.ref);
  }

  /** Edits templates, too. */
  edit(where: string | undefined, change: VmEdit): Ref {
    const machine = this.#machine(where);
    const paths = new Set(['config.changeVersion']);
    for (const [key, value] of Object.entries(change.extraConfig ?? {})) {
      if (value === '') machine.extraConfig.delete(key);
      else machine.extraConfig.set(key, value);
      paths.add('config.extraConfig');
    }
    if (change.annotation !== undefined) {
      machine.annotation = change.annotation;
      paths.add('config.annotation').add('summary.config');
    }
    if (change.instanceUuid !== undefined) {
      machine.instanceUuid = change.instanceUuid;
      paths.add('config.instanceUuid').add('summary.config');
    }
    if (change.productVersion !== undefined) {
      machine.productVersion = change.productVersion === '' ? undefined : change.productVersion;
      paths.add('config.vAppConfig').add('summary.config');
    }
    if (change.template !== undefined) {
      machine.isTemplate = change.template;
      paths.add('config.template').add('summary.config');
    }
    if (change.numCPU !== undefined) {
      machine.hardware.set('config.hardware.numCPU', String(change.numCPU));
      paths.add('config.hardware.numCPU').add('summary.config');
    }
    if (change.diskDirectory !== undefined) {
      const directory = change.diskDirectory;
      const moved = (file: string): string => `${directory}/${file.slice(file.lastIndexOf('/') + 1)}`;
      machine.disks = machine.disks.map((disk) => ({ ...disk, file: moved(disk.file) }));
      paths.add('config.hardware.device').add('datastore');
    }
    this.#report(machine, change, paths);
    machine.changes += 1;
    this.#world.touch(keyOf(machine.ref), ...paths);
    return named(machine.ref);
  }

  /** What the machine says of itself from now on. */
  #report(machine: Machine, change: VmEdit, paths: Set<string>): void {
    if (change.connectionState !== undefined) {
      machine.connectionState = change.connectionState;
      paths.add('runtime').add('summary.runtime');
    }
    if (change.disabledMethods !== undefined) {
      machine.disabledMethods.clear();
      for (const method of change.disabledMethods) machine.disabledMethods.add(method);
      paths.add('disabledMethod');
    }
    if (change.unreadable !== undefined) {
      machine.readable = !change.unreadable;
      paths.add('config');
    }
  }

  startTask(where: string | undefined, method = 'CloneVM_Task'): Ref {
    const task = this.#world.beginTask(method, this.#machine(where).ref, '');
    this.#world.blockers.add(task.ref.value);
    this.#world.touch(keyOf(task.entity), 'recentTask');
    return named(task.ref);
  }

  createDatastore({ name, cluster, hosts = [] }: NewDatastore): Ref {
    const { state } = this.#world;
    const of = cluster === undefined ? [] : childrenOf(this.#world, this.find('ClusterComputeResource', cluster));
    const keys = [
      ...of.map(keyOf).filter((key) => state.hosts.has(key)),
      ...hosts.map((where) => keyOf(this.findNamed('HostSystem', where))),
    ];
    const [first] = keys;
    if (name === '' || first === undefined) throw new Error('a datastore needs a name, and a cluster or hosts');
    const folder = this.#folderIn(datacenterOf(state, first), 'datastore');
    const ref = makePlace(this.#world, folder, name, 'Datastore');
    state.datastores.set(keyOf(ref), { freeSpace: DATASTORE_BYTES, capacity: DATASTORE_BYTES, accessible: true });
    for (const key of keys) {
      const host = state.hosts.get(key);
      if (host === undefined) throw new Error(`${key} is no host`);
      host.datastores = [...host.datastores, name];
      this.#world.touch(key, 'datastore');
    }
    return named(ref);
  }

  #folderIn(datacenter: string | undefined, name: string): MoRef {
    for (const place of this.#world.state.places.values())
      if (place.parent === datacenter && place.name === name) return place.ref;
    throw new Error(`there is no folder ${name} in ${String(datacenter)}`);
  }

  changeDatastore(where: string | undefined, change: DatastoreChange): Ref {
    const ref = this.findNamed('Datastore', where);
    const store = this.#world.state.datastores.get(keyOf(ref));
    if (store === undefined) throw new Error(`${String(where)} is no datastore`);
    if (change.freeSpace !== undefined) store.freeSpace = change.freeSpace;
    if (change.accessible !== undefined) store.accessible = change.accessible;
    if (change.maintenanceMode !== undefined) this.#world.datastoreModes.set(keyOf(ref), change.maintenanceMode);
    this.#world.touch(keyOf(ref), 'summary', 'info');
    return named(ref);
  }

  changeHost(where: string | undefined, change: HostChange): Ref {
    const ref = this.findNamed('HostSystem', where);
    const host = this.#world.state.hosts.get(keyOf(ref));
    if (host === undefined) throw new Error(`${String(where)} is no host`);
    if (change.connectionState !== undefined) host.connectionState = change.connectionState;
    if (change.powerState !== undefined) host.powerState = change.powerState;
    if (change.networks !== undefined)
      host.networks = change.networks.map((one) => (one.startsWith('/') ? (one.split('/').at(-1) ?? one) : one));
    this.#world.touch(keyOf(ref), 'runtime', 'summary', 'network');
    if (change.maintenance !== undefined) setMaintenance(this.#world, ref, change.maintenance);
    return named(ref);
  }

  createPod({ name, datacenter, datastores = [] }: NewPod): Ref {
    const dc = this.findNamed('Datacenter', datacenter);
    if (name === '') throw new Error('a datastore cluster needs a datacenter and a name');
    const pod = makePlace(this.#world, this.#folderIn(keyOf(dc), 'datastore'), name, 'StoragePod');
    for (const where of datastores) moveInto(this.#world, pod, this.findNamed('Datastore', where));
    return named(pod);
  }
}
