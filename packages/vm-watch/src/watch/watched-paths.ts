/**
 * The properties of a VirtualMachine whose change is worth a reconcile: those that vm-operator watches (pkg/util/vsphere/watcher), and two more. Every path
 * costs the server work for each machine, so each group says what it is for.
 */
export const WATCHED_PATHS: readonly string[] = [
  // What people and controllers write on the machine; guests write guestinfo.* here.
  'config.annotation',
  'config.extraConfig',
  // Capacity, which a resize changes.
  'config.cpuAllocation',
  'config.cpuHotAddEnabled',
  'config.hardware.autoCoresPerSocket',
  'config.hardware.memoryMB',
  'config.hardware.numCPU',
  'config.hardware.numCoresPerSocket',
  'config.hardware.simultaneousThreads',
  'config.latencySensitivity',
  'config.memoryAllocation',
  'config.memoryHotAddEnabled',
  'config.memoryReservationLockedToMax',
  'config.nestedHVEnabled',
  'config.numaInfo',
  'config.vPMCEnabled',
  'config.flags.vvtdEnabled',
  // Disks, network cards and everything else that can be plugged in.
  'config.hardware.device',
  // Encryption: unset is a value, and the one that a decrypted machine has.
  'config.keyId',
  // Change block tracking, which backups turn on behind everybody's back.
  'config.changeTrackingEnabled',
  // A template that becomes a machine, or the other way round.
  'config.template',
  // What runs inside, and whether it answers.
  'guestHeartbeatStatus',
  'summary.guest',
  'summary.overallStatus',
  // Snapshots: the tree, and whether there is one at all.
  'rootSnapshot',
  'snapshot',
  // Names. On a real vCenter both change with a rename; a machine's entry into scope shows in the second.
  'name',
  'summary.config.name',
  // Where it runs and in which state.
  'parent',
  'resourcePool',
  'summary.runtime.connectionState',
  'summary.runtime.host',
  'summary.runtime.powerState',
];

/** Lists whose order means nothing: the server sends them in any. */
export const UNORDERED_PATHS: ReadonlySet<string> = new Set(['config.extraConfig', 'config.hardware.device']);

/** The list of which some keys are noise, see {@link ./ignored-keys.ts}. */
export const EXTRA_CONFIG = 'config.extraConfig';

/** Holds `<namespace>/<name>` of the VirtualMachine object that a machine belongs to. */
export const NAMESPACED_NAME = 'vmservice.namespacedName';
