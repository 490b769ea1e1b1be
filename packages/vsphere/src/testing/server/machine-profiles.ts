import { devicesVal, optionsVal, refVal, textVal, type Val } from './vim-values.ts';

/** Stands for the six digits of a machine's number in the values of a profile. */
export const NUMBER = '@@@@@@';

/** The values that machines of one kind have when they appear, by property path. */
export type Profile = ReadonlyMap<string, Val>;

/** A machine of a few lines, for tests that read what is sent. */
export const SMALL: Profile = new Map([
  ['name', textVal(`machine-${NUMBER}`)],
  [
    'config.extraConfig',
    optionsVal({ 'vmservice.namespacedName': `ns/machine-${NUMBER}`, 'guestinfo.role': 'worker' }),
  ],
  ['config.keyId', '<val xsi:type="CryptoKeyId"><keyId>key</keyId></val>'],
  ['config.hardware.device', devicesVal([[2000, 'VirtualDisk', 'Hard disk 1']])],
  ['config.template', textVal('false', 'xsd:boolean')],
  ['summary.config.name', textVal(`machine-${NUMBER}`)],
  ['summary.runtime.powerState', textVal('poweredOff', 'VirtualMachinePowerState')],
]);

const EXTRA_KEYS = 60;

/**
 * A machine as real ones are: 33 properties in 17.7 kB, most of it 60 keys of extraConfig, the devices and what the guest tools say. 10,000 of them are 177 MB.
 */
export const FULL: Profile = new Map<string, Val>([
  ['config.annotation', textVal('made by the platform team; ask before you touch it')],
  ['config.extraConfig', extraConfig(0)],
  ['config.cpuAllocation', allocation('CPU')],
  ['config.cpuHotAddEnabled', textVal('true', 'xsd:boolean')],
  ['config.hardware.autoCoresPerSocket', textVal('true', 'xsd:boolean')],
  ['config.hardware.memoryMB', textVal('16384', 'xsd:int')],
  ['config.hardware.numCPU', textVal('4', 'xsd:int')],
  ['config.hardware.numCoresPerSocket', textVal('4', 'xsd:int')],
  ['config.hardware.simultaneousThreads', textVal('1', 'xsd:int')],
  ['config.latencySensitivity', '<val xsi:type="LatencySensitivity"><level>normal</level></val>'],
  ['config.memoryAllocation', allocation('memory')],
  ['config.memoryHotAddEnabled', textVal('true', 'xsd:boolean')],
  ['config.memoryReservationLockedToMax', textVal('false', 'xsd:boolean')],
  ['config.nestedHVEnabled', textVal('false', 'xsd:boolean')],
  [
    'config.numaInfo',
    '<val xsi:type="VirtualMachineVirtualNumaInfo"><coresPerNumaNode>4</coresPerNumaNode><autoCoresPerNumaNode>true</autoCoresPerNumaNode></val>',
  ],
  ['config.vPMCEnabled', textVal('false', 'xsd:boolean')],
  ['config.flags.vvtdEnabled', textVal('false', 'xsd:boolean')],
  ['config.hardware.device', devices()],
  ['config.changeTrackingEnabled', textVal('false', 'xsd:boolean')],
  ['config.template', textVal('false', 'xsd:boolean')],
  ['guestHeartbeatStatus', textVal('green', 'ManagedEntityStatus')],
  ['summary.guest', guest()],
  ['summary.overallStatus', textVal('green', 'ManagedEntityStatus')],
  [
    'rootSnapshot',
    '<val xsi:type="ArrayOfManagedObjectReference"><ManagedObjectReference type="VirtualMachineSnapshot" xsi:type="ManagedObjectReference">snapshot-@@@@@@</ManagedObjectReference></val>',
  ],
  [
    'snapshot',
    `<val xsi:type="VirtualMachineSnapshotInfo"><currentSnapshot type="VirtualMachineSnapshot">snapshot-${NUMBER}</currentSnapshot><rootSnapshotList><snapshot type="VirtualMachineSnapshot">snapshot-${NUMBER}</snapshot><vm type="VirtualMachine">vm-${NUMBER}</vm><name>before the update</name><description/><id>1</id><createTime>2026-05-01T10:00:00.123456Z</createTime><state>poweredOn</state><quiesced>false</quiesced><replaySupported>false</replaySupported></rootSnapshotList></val>`,
  ],
  ['name', textVal(`machine-${NUMBER}`)],
  ['summary.config.name', textVal(`machine-${NUMBER}`)],
  ['parent', refVal('Folder', 'group-v1')],
  ['resourcePool', refVal('ResourcePool', 'resgroup-9')],
  ['summary.runtime.connectionState', textVal('connected', 'VirtualMachineConnectionState')],
  ['summary.runtime.host', refVal('HostSystem', 'host-21')],
  ['summary.runtime.powerState', textVal('poweredOn', 'VirtualMachinePowerState')],
]);

/** extraConfig of a {@link FULL} machine; only keys that nobody acts on differ by `beat`. */
export function extraConfig(beat: number): Val {
  const options: Record<string, string> = { 'vmservice.namespacedName': `ns/machine-${NUMBER}` };
  for (let n = 0; n < EXTRA_KEYS; n += 1)
    options[`guestinfo.platform.setting.${n}`] = `value ${n} as the platform wants it`;
  options['guestinfo.vmtools.buildNumber'] = String(beat);
  options['guestInfo.detailed.data'] = `uptime=${beat} load=0.5`;
  return optionsVal(options);
}

function allocation(of: string): Val {
  return `<val xsi:type="ResourceAllocationInfo"><reservation>0</reservation><expandableReservation>true</expandableReservation><limit>-1</limit><shares><shares>${of === 'CPU' ? 4000 : 163840}</shares><level>normal</level></shares></val>`;
}

function devices(): Val {
  const types = [
    'VirtualIDEController',
    'VirtualPS2Controller',
    'VirtualPCIController',
    'VirtualSIOController',
    'VirtualKeyboard',
    'VirtualPointingDevice',
    'VirtualMachineVideoCard',
    'VirtualMachineVMCIDevice',
    'ParaVirtualSCSIController',
    'VirtualCdrom',
    'VirtualDisk',
    'VirtualDisk',
    'VirtualVmxnet3',
  ];
  return devicesVal(types.map((type, n) => [200 + n, type, `${type} ${n}`]));
}

/** summary.guest of a {@link FULL} machine, as it is while it runs and while it does not. */
export function guest(running = true): Val {
  return `<val xsi:type="VirtualMachineGuestSummary"><guestId>rhel9_64Guest</guestId><guestFullName>Red Hat Enterprise Linux 9 (64-bit)</guestFullName><toolsStatus>${running ? 'toolsOk' : 'toolsNotRunning'}</toolsStatus><toolsVersionStatus2>guestToolsUnmanaged</toolsVersionStatus2><toolsRunningStatus>${running ? 'guestToolsRunning' : 'guestToolsNotRunning'}</toolsRunningStatus><hostName>machine-${NUMBER}</hostName>${running ? '<ipAddress>10.128.3.17</ipAddress>' : ''}<hwVersion>vmx-19</hwVersion></val>`;
}
