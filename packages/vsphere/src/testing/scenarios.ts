import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { isVimError } from '../errors.ts';
import { checkManifest, type SentFile } from '../import/manifest.ts';
import type { ImportLease, ImportRequest, MoRef, UploadSource, VCenter } from '../vcenter.ts';
import { ovfText } from './ovf.ts';

/** Where the scenarios may work. Paths are inventory paths of things that exist. */
export interface ScenarioPlaces {
  readonly folder: string;
  readonly cluster: string;
  readonly resourcePool: string;
  readonly datastore: string;
  readonly network: string;
  /** A tag that exists, by name. */
  readonly tagName: string;
  /** Makes an item with these files in a library that is made where nothing has its name; resolves to its id. */
  addLibraryItem(library: string, name: string, files: ReadonlyMap<string, Uint8Array>): Promise<string>;
  /** Takes privileges away from the user of the client, everywhere; replaces what was taken before. */
  denyPrivileges(names: readonly string[]): Promise<void>;
  /** Makes a machine of a template, as an administrator does. */
  convertToMachine(template: MoRef): Promise<void>;
}

/** One behaviour that every `VCenter` must show, in memory or real. Names inside are unique, so that all can share one inventory. */
export interface VCenterScenario {
  /** Starts with the numbers of the vectors that it meets. */
  readonly name: string;
  run(vcenter: VCenter, places: ScenarioPlaces): Promise<void>;
}

const DISK = randomBytes(300_000);

const source = (bytes: Buffer = DISK): UploadSource => ({ size: bytes.length, open: () => Readable.from([bytes]) });

async function at(vcenter: VCenter, path: string): Promise<MoRef> {
  const ref = await vcenter.findByPath(path);
  assert.ok(ref !== undefined, `${path} must exist`);
  return ref;
}

async function requestFor(vcenter: VCenter, places: ScenarioPlaces): Promise<ImportRequest> {
  const datastore = await at(vcenter, places.datastore);
  const hosts = await vcenter.hosts(await at(vcenter, places.cluster));
  const host = hosts.find((one) => one.datastores.some((ref) => ref.value === datastore.value));
  assert.ok(host !== undefined, 'a host must mount the datastore');
  return {
    descriptor: ovfText({ size: DISK.length }),
    name: `scenario-${randomBytes(4).toString('hex')}`,
    resourcePool: await at(vcenter, places.resourcePool),
    datastore,
    folder: await at(vcenter, places.folder),
    host: host.ref,
    networks: new Map([['VM Network', await at(vcenter, places.network)]]),
    diskProvisioning: 'thin',
    instanceUuid: randomUUID(),
    extraConfig: new Map([['drydock.test', 'a <mark> & "more"']]),
  };
}

async function uploadAll(lease: ImportLease): Promise<SentFile[]> {
  const sent: SentFile[] = [];
  for (const file of lease.files) sent.push({ file, ...(await lease.upload(file, source())) });
  return sent;
}

/** A finished import that is not a template yet. */
async function imported(vcenter: VCenter, places: ScenarioPlaces): Promise<ImportRequest & { readonly vm: MoRef }> {
  const request = await requestFor(vcenter, places);
  await using lease = await vcenter.startImport(request);
  await uploadAll(lease);
  await lease.complete();
  return { ...request, vm: lease.vm };
}

const withFault = (name: string) => (error: unknown) => {
  assert.ok(isVimError(error), String(error));
  assert.equal(error.fault?.name, name);
  return true;
};

const withCode = (code: string) => (error: unknown) => {
  assert.ok(isVimError(error), String(error));
  assert.equal(error.code, code);
  return true;
};

/** The table. Run it against every implementation of `VCenter`. */
export const VCENTER_SCENARIOS: readonly VCenterScenario[] = [
  {
    name: 'finds by path and by folder and name, and nothing else',
    async run(vcenter, places) {
      const folder = await at(vcenter, places.folder);
      assert.equal(folder.type, 'Folder');
      assert.equal(await vcenter.findByPath(`${places.folder}/no-such-thing`), undefined);
      assert.equal(await vcenter.findChild(folder, 'no-such-thing'), undefined);
      assert.equal(await vcenter.findByInstanceUuid(randomUUID()), undefined);
      assert.match(await vcenter.instanceUuid(), /^[0-9a-f-]{36}$/);
    },
  },
  {
    name: 'tells hosts and datastores as far as placing an import needs them',
    async run(vcenter, places) {
      const hosts = await vcenter.hosts(await at(vcenter, places.cluster));
      assert.ok(hosts.length > 0);
      assert.ok(hosts.some((host) => host.connectionState === 'connected' && !host.inMaintenanceMode));
      const datastore = await vcenter.datastore(await at(vcenter, places.datastore));
      assert.equal(datastore.accessible, true);
      assert.ok(datastore.freeSpace > 0);
      assert.ok((datastore.capacity ?? 0) >= datastore.freeSpace, 'what is free is of something');
    },
  },
  {
    name: 'VS-W91 VS-W102 imports a descriptor, marked from birth, and makes it a template',
    async run(vcenter, places) {
      const request = await requestFor(vcenter, places);
      const progress: number[] = [];
      await using lease = await vcenter.startImport(request);
      const born = await vcenter.vm(lease.vm);
      assert.equal(born?.name, request.name);
      assert.equal(born?.instanceUuid, request.instanceUuid);
      assert.equal(born?.extraConfig.get('drydock.test'), 'a <mark> & "more"');
      const [file] = lease.files;
      assert.ok(file !== undefined && lease.files.length === 1);
      assert.equal(file.path, 'disk.vmdk');
      assert.equal(file.create, false);
      const sent = await lease.upload(file, source(), { onProgress: (bytes) => progress.push(bytes) });
      assert.equal(progress.at(-1), DISK.length);
      checkManifest([{ file, ...sent }], await lease.manifest());
      await lease.complete();
      await vcenter.markAsTemplate(lease.vm);
      const folder = await at(vcenter, places.folder);
      const child = await vcenter.findChild(folder, request.name);
      assert.deepEqual(child, lease.vm);
      assert.deepEqual(await vcenter.findByInstanceUuid(request.instanceUuid), lease.vm);
      const template = (await vcenter.children(folder)).find((vm) => vm.name === request.name);
      assert.equal(template?.isTemplate, true);
      assert.deepEqual(template?.parent, folder);
      assert.equal(template?.productVersion, '9.8.20260428-0');
      assert.equal(template?.disks.length, 1);
    },
  },
  {
    name: 'VS-W92 a second import under another name leaves the first alone',
    async run(vcenter, places) {
      const first = await imported(vcenter, places);
      const second = await imported(vcenter, places);
      assert.equal((await vcenter.vm(first.vm))?.name, first.name);
      assert.equal((await vcenter.vm(second.vm))?.name, second.name);
      assert.notEqual(first.vm.value, second.vm.value);
    },
  },
  {
    name: 'VS-W96 an upload whose source breaks half-way leaves no machine',
    async run(vcenter, places) {
      const request = await requestFor(vcenter, places);
      const broken = async () => {
        await using lease = await vcenter.startImport(request);
        const [file] = lease.files;
        assert.ok(file !== undefined);
        await lease.upload(file, {
          size: DISK.length,
          open: () =>
            Readable.from(
              (function* () {
                yield DISK.subarray(0, DISK.length / 2);
                throw new Error('the source broke');
              })(),
            ),
        });
      };
      await assert.rejects(broken());
      assert.equal(await vcenter.findChild(request.folder, request.name), undefined);
    },
  },
  {
    name: 'VS-W98 the manifest tells what is missing although complete would not',
    async run(vcenter, places) {
      await using lease = await vcenter.startImport(await requestFor(vcenter, places));
      const [file] = lease.files;
      assert.ok(file !== undefined);
      const half = DISK.subarray(0, 1000);
      const sent = await lease.upload(file, source(half));
      const manifest = await lease.manifest();
      checkManifest([{ file, ...sent }], manifest);
      const expected = { file, size: DISK.length, sha1: '0'.repeat(40), sha256: '0'.repeat(64) };
      assert.throws(() => checkManifest([expected], manifest), withCode('VIM_DIGEST_MISMATCH'));
    },
  },
  {
    name: 'VS-W101 extraConfig and boot options change before the template mark, not after it',
    async run(vcenter, places) {
      const { vm } = await imported(vcenter, places);
      await vcenter.reconfigure(vm, { secureBoot: false, extraConfig: new Map([['drydock.test', 'verified']]) });
      assert.equal((await vcenter.vm(vm))?.extraConfig.get('drydock.test'), 'verified');
      assert.equal((await vcenter.vm(vm))?.secureBoot ?? false, false);
      await vcenter.markAsTemplate(vm);
      await assert.rejects(
        vcenter.reconfigure(vm, { extraConfig: new Map([['drydock.test', 'late']]) }),
        withFault('NotSupported'),
      );
      await vcenter.markAsTemplate(vm);
      await vcenter.setCustomValue(vm, 'drydock.test', 'retired');
      await vcenter.setCustomValue(vm, 'drydock.test', 'adopted');
      assert.deepEqual(
        [await vcenter.definesAttribute('drydock.test'), await vcenter.definesAttribute('drydock.absent')],
        [true, false],
      );
      assert.equal((await vcenter.vm(vm))?.customValues.get('drydock.test'), 'adopted');
    },
  },
  {
    name: 'KEEP-1 tells a VM from every other by server, reference, creation date and instance UUID, whatever is done to it later',
    async run(vcenter, places) {
      const { vm, folder, ...request } = await imported(vcenter, places);
      const identity = async (ref: MoRef): Promise<readonly (string | undefined)[]> => {
        const { createDate, instanceUuid } = (await vcenter.vm(ref)) ?? assert.fail(`${ref.value} is gone`);
        return [await vcenter.instanceUuid(), ref.value, createDate, instanceUuid];
      };
      const born = await identity(vm);
      assert.ok(Number.isFinite(Date.parse(born[2] ?? '')), String(born[2]));
      assert.equal(born[3], request.instanceUuid);
      assert.deepEqual(await identity(vm), born);
      await vcenter.reconfigure(vm, { secureBoot: false, extraConfig: new Map([['drydock.test', 'later']]) });
      await vcenter.setCustomValue(vm, 'drydock.test', 'later');
      await vcenter.rename(vm, `${request.name}-later`);
      assert.deepEqual(await identity(vm), born);
      await vcenter.markAsTemplate(vm);
      assert.deepEqual(await identity(vm), born);
      await places.convertToMachine(vm);
      assert.deepEqual(await identity(vm), born);
      await vcenter.markAsTemplate(vm);
      assert.deepEqual(await identity(vm), born);
      const listed = (await vcenter.children(folder)).find(({ ref }) => ref.value === vm.value);
      assert.deepEqual([listed?.createDate, listed?.instanceUuid], born.slice(2));
      // Whoever chooses the same instance UUID and name makes another VM.
      await vcenter.destroy(vm);
      await using lease = await vcenter.startImport({ ...request, folder });
      const again = await identity(lease.vm);
      assert.deepEqual([again[0], again[3]], [born[0], born[3]]);
      assert.notDeepEqual(again.slice(1, 3), born.slice(1, 3));
      assert.ok(Date.parse(again[2] ?? '') >= Date.parse(born[2] ?? ''));
    },
  },
  {
    name: 'OWN-11 the value of a custom attribute has at most 255 characters: one more is refused, and what was there stays',
    async run(vcenter, places) {
      const { vm } = await imported(vcenter, places);
      const whole = 'x'.repeat(255);
      await vcenter.setCustomValue(vm, 'drydock.test', whole);
      await assert.rejects(vcenter.setCustomValue(vm, 'drydock.test', `${whole}x`), withFault('InvalidArgument'));
      assert.equal((await vcenter.vm(vm))?.customValues.get('drydock.test'), whole);
    },
  },
  {
    name: 'VS-W84 renames by literal name and refuses a name that is taken',
    async run(vcenter, places) {
      const first = await imported(vcenter, places);
      const second = await imported(vcenter, places);
      const odd = `${first.name} 100% R&D <1> ⚓`;
      await vcenter.rename(first.vm, odd);
      assert.deepEqual(await vcenter.findChild(first.folder, odd), first.vm);
      assert.equal((await vcenter.vm(first.vm))?.name, odd);
      await assert.rejects(vcenter.rename(second.vm, odd), withCode('VIM_NAME_TAKEN'));
      assert.equal((await vcenter.vm(second.vm))?.name, second.name);
    },
  },
  {
    name: 'OWN-2 tells what clones inherit and which disks a machine has; a template has the same',
    async run(vcenter, places) {
      const { vm } = await imported(vcenter, places);
      const before = await vcenter.vm(vm);
      assert.equal(before?.unreadable, undefined);
      for (const path of ['config.firmware', 'config.hardware.memoryMB', 'config.hardware.numCPU'])
        assert.notEqual(before?.hardware.get(path) ?? '', '', path);
      assert.ok((before?.disks[0]?.capacityKB ?? 0) > 0);
      await vcenter.markAsTemplate(vm);
      const after = await vcenter.vm(vm);
      assert.deepEqual([after?.disks, after?.hardware], [before?.disks, before?.hardware]);
    },
  },
  {
    name: 'OWN-13 knows no obstacle to what a healthy machine can have done, nor to a machine that is gone',
    async run(vcenter, places) {
      const { vm } = await imported(vcenter, places);
      assert.equal(await vcenter.obstacle(vm, ['Rename_Task', 'Destroy_Task']), undefined);
      await vcenter.destroy(vm);
      assert.equal(await vcenter.obstacle(vm, ['Rename_Task']), undefined);
    },
  },
  {
    name: 'OWN-18 says how a machine is doing, and of one that is gone nothing',
    async run(vcenter, places) {
      const { vm } = await imported(vcenter, places);
      const { power, address, hostName } = (await vcenter.guest(vm)) ?? {};
      assert.deepEqual([power, address, hostName], ['poweredOff', undefined, undefined]);
      await vcenter.destroy(vm);
      assert.equal(await vcenter.guest(vm), undefined);
    },
  },
  {
    name: 'destroys a machine, also one that is gone, and never a folder',
    async run(vcenter, places) {
      const { vm, folder, name } = await imported(vcenter, places);
      await assert.rejects(vcenter.destroy(folder), withCode('VIM_REFUSED'));
      await vcenter.destroy(vm);
      assert.equal(await vcenter.vm(vm), undefined);
      assert.equal(await vcenter.findChild(folder, name), undefined);
      await vcenter.destroy(vm);
      await assert.rejects(vcenter.markAsTemplate(vm), withCode('VIM_GONE'));
    },
  },
  {
    name: 'attaches tags, twice as well as once, and refuses an unknown one',
    async run(vcenter, places) {
      const { vm } = await imported(vcenter, places);
      const [tag] = await vcenter.tags.named(places.tagName);
      assert.ok(tag !== undefined);
      assert.notEqual(tag.category, '');
      assert.deepEqual(await vcenter.tags.named('no-such-tag'), []);
      assert.deepEqual(await vcenter.tags.attached(vm), []);
      await vcenter.tags.attach(vm, [tag.id]);
      await vcenter.tags.attach(vm, [tag.id]);
      assert.deepEqual(await vcenter.tags.attached(vm), [tag.id]);
      const unknown = `urn:vmomi:InventoryServiceTag:${randomUUID()}:GLOBAL`;
      await assert.rejects(vcenter.tags.attach(vm, [unknown]), withCode('VIM_NOT_FOUND'));
    },
  },
  {
    name: 'OWN-18 reads items of content libraries by name and id, whole',
    async run(vcenter, places) {
      const name = `item ${randomBytes(4).toString('hex')}`;
      const files = new Map([
        ['a.ovf', Buffer.from('<Envelope/>')],
        // Of a .vmdk the simulator keeps something else than it was given.
        ['disk.img', DISK],
      ]);
      const id = await places.addLibraryItem('Images', name, files);
      const other = await places.addLibraryItem('Images of yesterday', name, files);
      const { libraries } = vcenter;
      const [library, ...more] = await libraries.named('Images');
      assert.ok(library?.name === 'Images' && more.length === 0);
      assert.deepEqual(await libraries.named(library.id), [library]);
      assert.deepEqual(await libraries.items(library.id, name), [{ id, name }]);
      assert.deepEqual(await libraries.items(library.id, id), [{ id, name }]);
      assert.deepEqual(await libraries.items(library.id, other), []);
      assert.deepEqual(await libraries.items(library.id, 'no such item'), []);
      assert.deepEqual(await libraries.named('no such library'), []);
      const listed = await libraries.files(id);
      assert.deepEqual(listed.map(({ name: file, size }) => `${file} ${size}`).toSorted(), [
        'a.ovf 11',
        `disk.img ${DISK.length}`,
      ]);
      await using download = await libraries.download(id);
      for (const file of listed) {
        const chunks = await Array.fromAsync(download.read(file));
        assert.deepEqual(Buffer.concat(chunks), files.get(file.name));
      }
      await assert.rejects(libraries.files(randomUUID()), withCode('VIM_NOT_FOUND'));
    },
  },
  {
    name: 'checks an import without making anything, and refuses what is no descriptor',
    async run(vcenter, places) {
      const request = await requestFor(vcenter, places);
      assert.deepEqual(await vcenter.checkImport(request), []);
      assert.equal(await vcenter.findChild(request.folder, request.name), undefined);
      const broken = vcenter.checkImport({ ...request, descriptor: 'no descriptor' });
      await assert.rejects(broken, (error) => isVimError(error, 'VIM_OVF_REFUSED') || isVimError(error, 'VIM_FAULT'));
    },
  },
  {
    name: 'makes no call once its signal has ended',
    async run(vcenter, places) {
      const folder = await at(vcenter, places.folder);
      await assert.rejects(vcenter.children(folder, { signal: AbortSignal.abort() }), withCode('VIM_ABORTED'));
    },
  },
  {
    name: 'tells what it is, what time it has, and the sessions of its user',
    async run(vcenter) {
      const about = await vcenter.about();
      assert.equal(about.apiType, 'VirtualCenter');
      assert.equal(about.instanceUuid, await vcenter.instanceUuid());
      const time = await vcenter.currentTime();
      assert.ok(time.getTime() > Date.UTC(2025, 0, 1), time.toISOString());
      const { user, count } = await vcenter.sessions();
      assert.notEqual(user, '');
      assert.ok((count ?? 0) >= 1, `its own session is one of ${count}`);
    },
  },
  {
    name: 'names the privileges that its user lacks, in the order asked',
    async run(vcenter, places) {
      const folder = await at(vcenter, places.folder);
      const asked = ['VirtualMachine.Inventory.Delete', 'System.View', 'VApp.Import'];
      assert.deepEqual(await vcenter.missingPrivileges(folder, asked), []);
      await places.denyPrivileges(['VApp.Import', 'VirtualMachine.Inventory.Delete']);
      assert.deepEqual(await vcenter.missingPrivileges(folder, asked), [
        'VirtualMachine.Inventory.Delete',
        'VApp.Import',
      ]);
      await places.denyPrivileges([]);
    },
  },
  {
    name: 'lists what a placement can name, each by a path that finds it',
    async run(vcenter, places) {
      const items = await vcenter.places();
      const kindAt = new Map(items.map((item) => [item.path, item.kind]));
      assert.equal(kindAt.get(places.cluster), 'cluster');
      assert.equal(kindAt.get(places.resourcePool), 'resourcePool');
      assert.equal(kindAt.get(places.datastore), 'datastore');
      assert.equal(kindAt.get(places.network), 'network');
      assert.equal(kindAt.get(places.folder), 'folder');
      assert.equal(kindAt.get(`/${places.folder.split('/')[1] ?? ''}`), 'datacenter');
      assert.equal(kindAt.has('/DC0/host'), false);
      for (const { path, ref } of items) assert.deepEqual(await vcenter.findByPath(path), ref, path);
      assert.deepEqual(
        items.map(({ path }) => path),
        items.map(({ path }) => path).toSorted(),
      );
    },
  },
  {
    name: 'tells the disks of the machines on a datastore and below a datacenter or folder',
    async run(vcenter, places) {
      const datastore = await at(vcenter, places.datastore);
      const folder = await at(vcenter, places.folder);
      const { vm, name } = await imported(vcenter, places);
      const whole = await vcenter.vm(vm);
      assert.equal(whole?.disks.length, 1);
      for (const place of [datastore, folder, await at(vcenter, `/${places.folder.split('/')[1] ?? ''}`)]) {
        const mine = (await vcenter.disksOn(place)).find(({ ref }) => ref.value === vm.value);
        assert.deepEqual(mine, { ref: vm, name, disks: whole?.disks, datastores: [datastore] });
        const others = await vcenter.disksOn(place, { except: new Set([vm.value]) });
        assert.ok(!others.some(({ ref }) => ref.value === vm.value));
      }
    },
  },
];
