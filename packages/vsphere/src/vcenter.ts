import type { Readable } from 'node:stream';

/** A managed object reference: `VirtualMachine:vm-12`. The value is opaque. */
export interface MoRef {
  readonly type: string;
  readonly value: string;
}

/** Options of every call: `signal` ends it, and each call has a deadline of its own. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Asked right before each request that renames, destroys, marks or reconfigures is sent: after logins, queues and handshakes, and again for each of several. What it
   * throws is what the call rejects with, and nothing is sent.
   */
  readonly fence?: () => void;
}

/** What Drydock reads of a virtual machine or template, in one property retrieval. Unset properties are absent. */
export interface VmSummary {
  readonly ref: MoRef;
  readonly name: string;
  readonly parent?: MoRef;
  readonly instanceUuid?: string;
  readonly isTemplate: boolean;
  readonly powerState?: 'poweredOn' | 'poweredOff' | 'suspended';
  /** First of summary.config.product.version, config.vAppConfig.product[0].version (VS-W102). */
  readonly productVersion?: string;
  /** RFC 3339; config.createDate. */
  readonly createDate?: string;
  readonly secureBoot?: boolean;
  /** Why its configuration cannot be read, as a clause: then only what is not part of the configuration is known of it, and nothing may be concluded from what is absent. */
  readonly unreadable?: string;
  readonly extraConfig: ReadonlyMap<string, string>;
  /** What else of its configuration a clone inherits: firmware, processors, memory, guest, vApp properties; property path → value. */
  readonly hardware: ReadonlyMap<string, string>;
  /** Changes with every change of the configuration, whoever makes it; opaque. */
  readonly changeVersion?: string;
  /** Custom attribute name → value. */
  readonly customValues: ReadonlyMap<string, string>;
  readonly disks: readonly DiskSummary[];
  /** recentTask entries that are queued or running. */
  readonly activeTasks: readonly ActiveTask[];
}

/** How a machine is doing, as vCenter and the tools in its guest say. What is not said is absent. */
export interface GuestState {
  /** `poweredOn`, `poweredOff`, `suspended`. */
  readonly power?: string;
  /** `guestToolsRunning`, `guestToolsNotRunning`, `guestToolsExecutingScripts`. */
  readonly tools?: string;
  /** The first address that the guest tells. */
  readonly address?: string;
  readonly hostName?: string;
}

/** The backing of one virtual disk. `parents` are the file names of the backing chain below it. */
export interface DiskSummary {
  readonly file: string;
  /** Of the disk itself: it stays when its file moves. */
  readonly uuid?: string;
  readonly capacityKB?: number;
  readonly thin?: boolean;
  readonly eagerlyScrub?: boolean;
  readonly parents: readonly string[];
}

/** A task that is queued or running on an entity. */
export interface ActiveTask {
  readonly ref: MoRef;
  readonly descriptionId: string;
  readonly state: 'queued' | 'running';
}

/** A host of a compute cluster, as far as placing an import needs it. */
export interface HostSummary {
  readonly ref: MoRef;
  readonly name: string;
  readonly connectionState: string;
  readonly powerState: string;
  readonly inMaintenanceMode: boolean;
  readonly datastores: readonly MoRef[];
  /** Of every kind; absent where the user may not read them. */
  readonly networks?: readonly MoRef[];
}

/** What a server says of itself; known without a login. */
export interface About {
  readonly fullName: string;
  readonly version: string;
  readonly build: string;
  /** `VirtualCenter`, or `HostAgent` for an ESXi host. */
  readonly apiType: string;
  readonly apiVersion: string;
  /** '' on a host. */
  readonly instanceUuid: string;
}

/** Sessions of one user at one vCenter. */
export interface SessionCount {
  readonly user: string;
  /** This client's own session included. Absent where the user may not list sessions (Sessions.TerminateSession). */
  readonly count?: number;
}

/** Something that a placement can name. */
export interface NamedPlace {
  readonly ref: MoRef;
  /** Folders are those of virtual machines only. */
  readonly kind: 'datacenter' | 'cluster' | 'resourcePool' | 'datastore' | 'network' | 'folder';
  readonly name: string;
  /** As `findByPath` takes it. */
  readonly path: string;
}

/** The disks of one machine or template, and nothing else of it. */
export interface MachineDisks {
  readonly ref: MoRef;
  readonly name: string;
  readonly disks: readonly DiskSummary[];
  /** Why its disks cannot be read, as a clause: it may have any on its datastores. */
  readonly unreadable?: string;
  /** Those that it has files on, its disks' parents included; empty: nobody knows. */
  readonly datastores: readonly MoRef[];
}

/** What an import asks for. */
export interface ImportRequest {
  /** The OVF descriptor's text. */
  readonly descriptor: string;
  readonly name: string;
  readonly resourcePool: MoRef;
  readonly datastore: MoRef;
  readonly folder: MoRef;
  readonly host: MoRef;
  /** OVF network name → network. */
  readonly networks: ReadonlyMap<string, MoRef>;
  /** '' leaves it to the datastore's policy. */
  readonly diskProvisioning: '' | 'thin' | 'thick' | 'eagerZeroedThick';
  /** Chosen by us, so that a mark can repeat it (a clone gets another one). */
  readonly instanceUuid: string;
  /** Put on the VM from birth. */
  readonly extraConfig: ReadonlyMap<string, string>;
  /** What people read of it in vCenter, from birth; before what the descriptor says. Clones inherit it. */
  readonly annotation?: string;
}

/** One file that the lease wants. */
export interface LeaseFile {
  /** deviceUrl.key, repeated by the manifest. */
  readonly key: string;
  /** Member of the OVA. */
  readonly path: string;
  readonly size?: number;
  readonly create: boolean;
}

/** One entry of HttpNfcLeaseGetManifest. Digests are lower-case hex. */
export interface ManifestEntry {
  readonly key: string;
  readonly sha1?: string;
  readonly checksum?: string;
  readonly checksumType?: string;
}

/** A source of exactly `size` bytes. */
export interface UploadSource {
  readonly size: number;
  /** A chunk is valid until the next one is taken: who keeps it must copy it. */
  open(): Readable;
}

/**
 * An import in progress. The keep-alive runs from `ready` to `complete`, `abort` or disposal; three failed keep-alives in a row end the upload.
 * Disposal of a lease that was neither completed nor aborted aborts it.
 */
export interface ImportLease extends AsyncDisposable {
  /** The half-made VM: exists from here on. */
  readonly vm: MoRef;
  readonly files: readonly LeaseFile[];
  /** Streams one file; the digest is computed on the way. Not resumable. */
  upload(
    file: LeaseFile,
    source: UploadSource,
    options?: CallOptions & { readonly onProgress?: (bytes: number) => void },
  ): Promise<{ readonly sha1: string; readonly sha256: string; readonly size: number }>;
  manifest(options?: CallOptions): Promise<readonly ManifestEntry[]>;
  complete(options?: CallOptions): Promise<void>;
  abort(reason: string): Promise<void>;
}

/** A change by ReconfigVM_Task; only what is given is sent. A template refuses all but name and annotation. */
export interface VmChange {
  readonly extraConfig?: ReadonlyMap<string, string>;
  readonly secureBoot?: boolean;
  readonly annotation?: string;
}

/** A library, or an item of one. */
export interface LibraryEntry {
  /** A UUID. */
  readonly id: string;
  readonly name: string;
}

/** One file of an item, as the library lists it. */
export interface LibraryFile {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Absent where the server says none, or one of a kind that is not known. */
  readonly checksum?: { readonly algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512'; readonly sum: string };
}

/** The files of one item, while somebody reads them. Disposal gives the links back. */
export interface LibraryDownload extends AsyncDisposable {
  /**
   * The bytes of a file from its beginning: exactly `size`, else it fails with `VIM_BAD_RESPONSE` or, where they are too few, `VIM_UNREACHABLE`. They come from the vCenter itself, over the connection that
   * its calls take; no redirection is followed. A chunk is the reader's own.
   */
  read(file: LibraryFile, options?: CallOptions): AsyncIterable<Uint8Array>;
}

/** Content libraries of one vCenter. Nothing here changes one. */
export interface Libraries {
  /** Libraries of this name, as it is written; where there is none, that with this id. */
  named(name: string, options?: CallOptions): Promise<readonly LibraryEntry[]>;
  /** Items of a library by name, likewise. */
  items(library: string, name: string, options?: CallOptions): Promise<readonly LibraryEntry[]>;
  /** All files of an item. */
  files(item: string, options?: CallOptions): Promise<readonly LibraryFile[]>;
  /** Needs ContentLibrary.DownloadSession. */
  download(item: string, options?: CallOptions): Promise<LibraryDownload>;
}

/** What a datastore says of itself. */
export interface DatastoreSummary {
  readonly name: string;
  /** Bytes. */
  readonly freeSpace: number;
  /** Bytes; undefined where it does not say, as one that cannot be reached. */
  readonly capacity?: number;
  readonly accessible: boolean;
}

/**
 * One vCenter behind one SOAP session (and one REST session on demand). Every failure is a `VimError`.
 * Waiting for a task is inside the call: a `*_Task` method returns when its task has ended.
 * Nothing searches the inventory by a bare name: look-ups are by path or by folder and name.
 */
export interface VCenter extends AsyncDisposable {
  /** host[:port] as configured; used in messages. */
  readonly server: string;
  /** about.instanceUuid: identifies the vCenter. */
  instanceUuid(options?: CallOptions): Promise<string>;
  about(options?: CallOptions): Promise<About>;
  /** The server's clock. */
  currentTime(options?: CallOptions): Promise<Date>;
  /** How many sessions this client's user has, as far as the server tells. */
  sessions(options?: CallOptions): Promise<SessionCount>;
  /** Those of `ids` that the session's user lacks on `entity`, in the order given. */
  missingPrivileges(entity: MoRef, ids: readonly string[], options?: CallOptions): Promise<readonly string[]>;
  /** Everything that a placement could be chosen from, sorted by path. */
  places(options?: CallOptions): Promise<readonly NamedPlace[]>;
  /** Disks of the machines that have a file on a Datastore, or that live below a Datacenter or Folder; without those whose moref values are in `except`. */
  disksOn(
    place: MoRef,
    options?: CallOptions & { readonly except?: ReadonlySet<string> },
  ): Promise<readonly MachineDisks[]>;
  /**
   * Why the server would refuse `methods` on a machine now, or could not do them, as a clause: a method is disabled, the machine or its host is not connected, its host is in
   * maintenance mode. undefined: nothing that can be known beforehand, or the machine is gone.
   */
  obstacle(vm: MoRef, methods: readonly string[], options?: CallOptions): Promise<string | undefined>;
  /** How a machine is doing; undefined when it is gone. */
  guest(vm: MoRef, options?: CallOptions): Promise<GuestState | undefined>;
  /** Absolute inventory path (`/dc/vm/folder`); `%`, `/` and `\` inside a name are escaped as %25, %2f, %5c. */
  findByPath(path: string, options?: CallOptions): Promise<MoRef | undefined>;
  /** Direct child of a folder by its literal name. */
  findChild(folder: MoRef, name: string, options?: CallOptions): Promise<MoRef | undefined>;
  findByInstanceUuid(uuid: string, options?: CallOptions): Promise<MoRef | undefined>;
  /** Direct children of a folder that are virtual machines or templates. */
  children(folder: MoRef, options?: CallOptions): Promise<readonly VmSummary[]>;
  /** undefined when it is gone. */
  vm(ref: MoRef, options?: CallOptions): Promise<VmSummary | undefined>;
  /** Hosts of a ClusterComputeResource or ComputeResource. */
  hosts(computeResource: MoRef, options?: CallOptions): Promise<readonly HostSummary[]>;
  datastore(ref: MoRef, options?: CallOptions): Promise<DatastoreSummary>;
  /** Creates the import spec and nothing else: what `startImport` would refuse before ImportVApp. Resolves to the server's warnings. */
  checkImport(request: ImportRequest, options?: CallOptions): Promise<readonly string[]>;
  /** Creates the import spec, calls ImportVApp and waits until the lease is ready. */
  startImport(request: ImportRequest, options?: CallOptions): Promise<ImportLease>;
  reconfigure(vm: MoRef, change: VmChange, options?: CallOptions): Promise<void>;
  markAsTemplate(vm: MoRef, options?: CallOptions): Promise<void>;
  rename(vm: MoRef, name: string, options?: CallOptions): Promise<void>;
  /** Refuses anything but a VirtualMachine reference before it calls the server. */
  destroy(vm: MoRef, options?: CallOptions): Promise<void>;
  /** Whether machines can have a custom attribute of this name; {@link VCenter.setCustomValue} defines it where they cannot. */
  definesAttribute(name: string, options?: CallOptions): Promise<boolean>;
  /** Creates the attribute definition when it is absent. */
  setCustomValue(vm: MoRef, name: string, value: string, options?: CallOptions): Promise<void>;
  readonly tags: {
    /** Tags with this name in any category: id and category name. */
    named(name: string, options?: CallOptions): Promise<readonly { readonly id: string; readonly category: string }[]>;
    attached(vm: MoRef, options?: CallOptions): Promise<readonly string[]>;
    /** Idempotent. An unknown tag is a `VimError`. */
    attach(vm: MoRef, tagIds: readonly string[], options?: CallOptions): Promise<void>;
  };
  /** Content libraries of this vCenter, in the same REST session as tags. */
  readonly libraries: Libraries;
}
