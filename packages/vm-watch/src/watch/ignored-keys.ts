import { NAMESPACED_NAME } from './watched-paths.ts';

/** Written by the operator itself for backup products: a signal for them would make it write them again. */
const BACKUP = [
  'vmservice.virtualmachine.resource.yaml',
  'vmservice.virtualmachine.additional.resources.yaml',
  'vmservice.virtualmachine.pvc.disk.data',
  'vmservice.virtualmachine.classicDiskData',
  'vmservice.virtualmachine.backupVersion',
  'vmservice.virtualmachine.enableAutomaticRegistration',
  'vmservice.virtualmachine.disableAutomaticRegistration',
];

/** Written by the operator when it makes a machine. `govcsim` is the simulator's own marker. */
const OPERATOR = [NAMESPACED_NAME, 'guestinfo.vmservice.defer-cloud-init', 'vmprov.keepDisks', 'govcsim'];

/** Written by the platform at each power-on and migration. */
const PLATFORM = [
  'hpet0.present',
  'numa.autosize.cookie',
  'numa.autosize.vcpu.maxPerVirtualNode',
  'sched.swap.derivedName',
  'scsi0.sasWWID',
  ...[0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11].map((unit) => `scsi0:${unit}.redo`),
  'vmotion.checkpointFBSize',
  'vmotion.checkpointSVGAPrimarySize',
  'vmotion.svga.mobMaxSize',
  'vmotion.svga.graphicsMemoryKB',
  'monitor.phys_bits_used',
  'softPowerOff',
  'tools.capability.verifiedSamlToken',
  'migrate.hostLogState',
  'migrate.migrationId',
  'migrate.hostLog',
];

/** Written by the guest tools every half minute. */
const GUEST_TOOLS = [
  'guestInfo.detailed.data',
  'guestinfo.appInfo',
  'guestinfo.vmtools.buildNumber',
  'guestinfo.vmtools.description',
  'guestinfo.vmtools.versionNumber',
  'guestinfo.vmtools.versionString',
  'guestinfo.vmware.components.available',
  'vmware.tools.internalversion',
  'vmware.tools.requiredversion',
];

/**
 * Keys of extraConfig whose change is no signal: exact and case-sensitive, as vm-operator has them. Not among them, because reconciles wait for them: the
 * bootstrap data (`guestinfo.userdata` and its like), PCI slot numbers, `nvram`, `viv.moid`, `disk.enableUUID`.
 */
export const IGNORED_KEYS: ReadonlySet<string> = new Set([...BACKUP, ...OPERATOR, ...PLATFORM, ...GUEST_TOOLS]);
