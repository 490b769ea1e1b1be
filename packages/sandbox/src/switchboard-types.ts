/** A vSphere fault by name, with its simple fields, or with XML for fields that are not plain text. */
export interface Fault {
  readonly name: string;
  readonly message?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly xml?: string;
}

/** Which calls a rule concerns. */
interface Matcher {
  /** A SOAP method, `upload`, `download`, or a REST call as `POST /rest/…` (ids as `id:*`). A final `*` matches any rest. */
  readonly on: string;
  /** Must occur in the request's body; for uploads in the path. */
  readonly match?: string;
  /** Lets that many matching calls pass first: n − 1 means the n-th call. */
  readonly skip?: number;
  /** How many calls it takes; all by default. */
  readonly times?: number;
}

/** What a rule does to a call. `acted` means after the server has acted instead of before. */
type Action =
  | { readonly do: 'fault'; readonly fault: Fault; readonly acted?: boolean }
  | { readonly do: 'status'; readonly status: number; readonly body?: string }
  | { readonly do: 'delay'; readonly delayMs: number; readonly acted?: boolean }
  /** Uploads are held after `afterBytes` (with `acted`: before their answer), and may be throttled as well. */
  | {
      readonly do: 'hold';
      readonly acted?: boolean;
      readonly afterBytes?: number;
      readonly bytesPerSecond?: number;
    }
  | { readonly do: 'drop-before' | 'drop-after' }
  | { readonly do: 'drop-upload'; readonly afterBytes: number }
  | { readonly do: 'throttle'; readonly bytesPerSecond: number }
  /**
   * A `*_Task` method is answered with a task that runs for `delayMs`, or until released with `hold`. The work is done
   * `first`, `last` (default) or `never` (default with a fault). With `fault` the task fails with it.
   */
  | {
      readonly do: 'task';
      readonly delayMs?: number;
      readonly hold?: boolean;
      readonly work?: 'first' | 'last' | 'never';
      readonly fault?: Fault;
    };

/** A row of the rule table. */
export type Rule = Matcher & Action & { readonly fault?: Fault };

/** A row as the table has it. */
export interface RuleState {
  readonly id: string;
  readonly on: string;
  readonly do: Rule['do'];
  /** Matching calls so far. */
  readonly seen: number;
  /** Those that it decided. */
  readonly taken: number;
  /** Those that it holds now. */
  readonly held: number;
}

/** One call of a client. `status` is 0 while it runs and where the connection was dropped. */
export interface Call {
  readonly seq: number;
  /** RFC 3339. */
  readonly at: string;
  readonly method: string;
  readonly session?: string;
  readonly status: number;
  readonly rule?: string;
  readonly ended: boolean;
}

/** One NFC transfer. */
export interface Upload {
  readonly id: string;
  readonly lease: string;
  readonly file: string;
  readonly method: string;
  readonly at: string;
  /** −1 when chunked. */
  readonly contentLength: number;
  /** Read so far. */
  readonly bytes: number;
  readonly state: 'running' | 'held' | 'done' | 'failed' | 'dropped';
  readonly rule?: string;
}

/** All transfers, oldest first. */
export interface Uploads {
  readonly count: number;
  readonly bytes: number;
  readonly uploads: readonly Upload[];
}

/** One login that is alive. */
export interface Session {
  readonly id: string;
  readonly kind: 'soap' | 'rest';
  readonly user: string;
  readonly at: string;
  readonly address: string;
  readonly agent: string;
  readonly calls: number;
}

/** Live sessions, oldest first, and counts since the start. */
export interface Sessions {
  readonly sessions: readonly Session[];
  readonly logins: number;
  readonly refused: number;
  readonly logouts: number;
  /** Accounts that are locked now, in lower case. */
  readonly locked: readonly string[];
}

/** Differences between simulator and vCenter that are evened out. */
export interface Options {
  /** A clone gets the extraConfig of its source and of the spec, and powerOn is obeyed. */
  readonly copyExtraConfigOnClone: boolean;
  /** Template marking is reported to collectors. */
  readonly reportTemplates: boolean;
  /** A rename changes and reports config.name and summary.config.name too. */
  readonly reportRenames: boolean;
  /** Aborting a lease destroys its VM and files. */
  readonly destroyOnAbort: boolean;
  /** A rename onto a taken name fails with DuplicateName, onto its own name succeeds. */
  readonly duplicateNames: boolean;
  /** What becomes of the value of a custom attribute with more than 255 characters. Default `refuse`. */
  readonly longCustomValues: 'refuse' | 'truncate' | 'keep';
  /** A VM that was powered on keeps what running VMs write into their extraConfig. */
  readonly bootTraces: boolean;
  /** A VM that is on tells its name and addresses, as VMware Tools do. Off at the start: each power-on has one more update. */
  readonly guestData: boolean;
  /** What the manifest of an import's lease says of what was uploaded: its sizes, those of a download (at the start), or nothing. */
  readonly uploadManifest: 'uploads' | 'downloads' | 'empty';
}

/** An object by type and moref value. */
export interface Ref {
  readonly type: string;
  readonly moref: string;
}

/** A VM or template. */
export interface VmView {
  readonly moref: string;
  readonly name: string;
  readonly isTemplate: boolean;
  readonly path: string;
  /** Inventory path of the folder. */
  readonly folder: string;
  readonly folderMoref: string;
  readonly host: string;
  readonly instanceUuid: string;
  readonly uuid: string;
  readonly power: 'poweredOn' | 'poweredOff' | 'suspended';
  readonly annotation: string;
  readonly firmware: string;
  readonly secureBoot: boolean;
  readonly productVersion: string;
  readonly extraConfig: Readonly<Record<string, string>>;
  /** By the attribute's name. */
  readonly customValues: Readonly<Record<string, string>>;
  /** `category/tag`. */
  readonly tags: readonly string[];
  readonly networks: readonly string[];
  readonly datastores: readonly string[];
  readonly disks: readonly DiskView[];
  /** Names of its snapshots. */
  readonly snapshots: readonly string[];
  /** What is queued or running on it, by descriptionId: `VirtualMachine.clone`. */
  readonly tasks: readonly string[];
}

/** A disk of a VM. The chain of a linked clone ends in its template's disk. */
export interface DiskView {
  /** `[datastore] folder/file.vmdk`. */
  readonly file: string;
  readonly capacityKB: number;
  readonly thin: boolean;
  /** Files below it, nearest first. */
  readonly parents: readonly string[];
}

/** A VM that got another name or was destroyed. Times are the server's, RFC 3339 with fractions. */
export interface NameChange {
  readonly seq: number;
  readonly kind: 'rename' | 'destroy';
  readonly moref: string;
  /** Inventory path of the folder. */
  readonly folder: string;
  readonly from: string;
  /** Absent after a destruction. */
  readonly to?: string;
  readonly startedAt: string;
  /** When its task was complete. */
  readonly at: string;
  /** Absent when the switchboard did it. */
  readonly session?: string;
  /** Name of the fault with which the task failed: then the name is as before. */
  readonly fault?: string;
}

/** A time in which nothing had a name: from its loss to the rename that gave it again. Imports and moves end none. */
export interface NameGap {
  readonly name: string;
  readonly folder: string;
  readonly from: string;
  /** Absent while it lasts. */
  readonly to?: string;
  /** Length in microseconds once ended. */
  readonly micros: number;
}

/** Kinds of objects that can be listed. */
export type Inventory =
  | 'Datacenter'
  | 'Folder'
  | 'ClusterComputeResource'
  | 'HostSystem'
  | 'ResourcePool'
  | 'Datastore'
  | 'Network'
  | 'DistributedVirtualPortgroup';

/** An object of the inventory. */
export interface ObjectView {
  readonly type: string;
  readonly moref: string;
  readonly name: string;
  readonly path: string;
}

/** A datastore and its state; sizes in bytes. */
export interface DatastoreView extends ObjectView {
  /** Absent means 0. */
  readonly freeSpace?: number;
  readonly capacity?: number;
  /** Absent means false. */
  readonly accessible?: boolean;
  readonly maintenanceMode?: string;
}

/** What may be changed of a datastore. */
export interface DatastoreChange {
  /** Bytes. It stays until a disk is made or removed there, which counts from it. */
  readonly freeSpace?: number;
  readonly accessible?: boolean;
  readonly maintenanceMode?: 'normal' | 'enteringMaintenance' | 'inMaintenance';
}

/** A host and its state. */
export interface HostView extends ObjectView {
  readonly connectionState: string;
  readonly powerState: string;
  /** Absent means false. */
  readonly inMaintenanceMode?: boolean;
}

/** A tag and the moref values that it is attached to. */
export interface Tag {
  readonly id: string;
  readonly category: string;
  readonly name: string;
  readonly objects: readonly string[];
}

/** A VM to make. Cluster, host and datastore default to the first that fit. */
export interface NewVm {
  readonly name: string;
  readonly folder: string;
  readonly cluster?: string;
  readonly host?: string;
  readonly datastore?: string;
  readonly instanceUuid?: string;
  readonly extraConfig?: Readonly<Record<string, string>>;
  readonly annotation?: string;
  readonly productVersion?: string;
  /** How many thin disks of 1 MiB, none by default, at most two. */
  readonly disks?: number;
  readonly template?: boolean;
  readonly powerOn?: boolean;
}

/** A clone to make; its folder defaults to the template's. */
export interface NewClone {
  readonly template: string;
  readonly name: string;
  readonly folder?: string;
  readonly extraConfig?: Readonly<Record<string, string>>;
  /** Its disks hang from the template's, which must have some. */
  readonly linked?: boolean;
  readonly powerOn?: boolean;
}

/** A local datastore on hosts, or on all hosts of a cluster. */
export interface NewDatastore {
  readonly name: string;
  readonly cluster?: string;
  readonly hosts?: readonly string[];
}

/** A tag to make. */
export interface NewTag {
  readonly category: string;
  readonly name: string;
  readonly attachTo?: readonly string[];
}

/** What may be changed of a VM behind everybody's back. An empty productVersion removes it. */
export interface VmEdit {
  readonly extraConfig?: Readonly<Record<string, string>>;
  readonly annotation?: string;
  readonly instanceUuid?: string;
  readonly productVersion?: string;
  readonly template?: boolean;
  readonly numCPU?: number;
  /** `[datastore] folder`: where the files of its disks are from now on, as after a storage migration. */
  readonly diskDirectory?: string;
  /** What it reports; unless it is connected, changes to it are refused with InvalidState. */
  readonly connectionState?: 'connected' | 'disconnected' | 'orphaned' | 'inaccessible' | 'invalid';
  /** Methods that it reports as disabled, and that are refused with MethodDisabled. */
  readonly disabledMethods?: readonly string[];
  /** Its `config` is unset for everybody, as that of an inaccessible VM. */
  readonly unreadable?: boolean;
}

/** What may be changed of a host. */
export interface HostChange {
  readonly maintenance?: boolean;
  readonly connectionState?: 'connected' | 'disconnected' | 'notResponding';
  readonly powerState?: 'poweredOn' | 'poweredOff' | 'standBy';
  /** Names or paths of all networks that it reaches. */
  readonly networks?: readonly string[];
}

/** A datastore cluster (StoragePod). */
export interface NewPod {
  readonly name: string;
  readonly datacenter: string;
  /** Datastores that are moved into it, by name, path or moref value. */
  readonly datastores?: readonly string[];
}
