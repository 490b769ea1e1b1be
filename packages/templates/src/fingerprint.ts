import { createHash } from 'node:crypto';
import type { VmSummary } from '@drydock/vsphere';

/** What a machine consists of, as far as nobody changes it by accident: two short digests, joined by a dot. */
export type Fingerprint = string;

/**
 * The disks of a machine by what they are (UUID, capacity, whether they lie on others), and the configuration that its clones inherit. Where its files are, its name, its notes and
 * attributes, tags, networks, hardware version and everything that vCenter or its agents keep up by themselves are not in it.
 */
export function fingerprintOf(vm: Pick<VmSummary, 'disks' | 'extraConfig' | 'hardware' | 'secureBoot'>): Fingerprint {
  const entries = [...vm.extraConfig].filter(([key, value]) => value !== '' && !isPassing(key));
  const config = [...entries, ...vm.hardware, ['secureBoot', `${vm.secureBoot === true}`]];
  return `${digest(disksOf(vm))}.${digest(config.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)))}`;
}

/** What makes the machine another one than the one of `before`, as a clause; undefined: nothing. */
export function differenceFrom(
  before: Fingerprint,
  vm: Pick<VmSummary, 'disks' | 'extraConfig' | 'hardware' | 'secureBoot'>,
): string | undefined {
  const now = fingerprintOf(vm);
  if (now === before) return undefined;
  if (before.split('.')[0] === now.split('.')[0])
    return hasRun(vm) ? RAN : 'the configuration that its clones inherit was changed';
  const chained = vm.disks.some(({ parents }) => parents.length > 0);
  return chained ? 'a snapshot was taken of it' : 'its disks were exchanged for others';
}

/** Short digest of vCenter's version of a configuration: as long as it is the same, nothing was done to the machine. '' where there is none. */
export function versionOf({ changeVersion }: Pick<VmSummary, 'changeVersion'>): string {
  return changeVersion === undefined ? '' : digest(changeVersion);
}

/** Whether two looks at a machine show the same disks, hardware and configuration for the guest. Other keys vCenter may settle of its own accord. */
export function sameMachine(a: Pick<VmSummary, Compared>, b: Pick<VmSummary, Compared>): boolean {
  const essence = (vm: Pick<VmSummary, Compared>): string => {
    const guest = [...vm.extraConfig].filter(([key]) => /^guestinfo\./i.test(key));
    return digest([disksOf(vm), [...vm.hardware, ...guest].toSorted(([one], [other]) => (one < other ? -1 : 1))]);
  };
  return essence(a) === essence(b);
}

type Compared = 'disks' | 'extraConfig' | 'hardware';

function disksOf({ disks }: Pick<VmSummary, 'disks'>): readonly unknown[] {
  return disks.map(({ uuid, capacityKB, parents }) => [uuid ?? '', capacityKB ?? 0, parents.length]);
}

/** The clause for what was powered on. */
export const RAN = 'it was powered on';

/** Whether it bears what only a running machine writes into its configuration, where it stays. */
export function hasRun({ extraConfig }: Pick<VmSummary, 'extraConfig'>): boolean {
  return [...extraConfig.keys()].some((key) => RUN_KEYS.has(key.toLowerCase()) || TOOLS.test(key));
}

/** Written at power-on or by the guest's tools (vsphere.md lists who writes what; each is there after the first boot of a machine on ESXi 6.5 or later). */
const RUN_KEYS: ReadonlySet<string> = new Set([
  'guestinfo.appinfo',
  'guestinfo.detailed.data',
  'monitor.phys_bits_used',
  'numa.autosize.cookie',
  'numa.autosize.vcpu.maxpervirtualnode',
  'softpoweroff',
  'vmotion.checkpointfbsize',
  'vmotion.checkpointsvgaprimarysize',
  'vmotion.svga.graphicsmemorykb',
  'vmotion.svga.mobmaxsize',
]);
const TOOLS = /^guestinfo\.(?:vmtools|vmware\.components)\./i;

/** Keys that Drydock writes, or that the platform renews of its own accord: after a move of the files, an upgrade of the tools or of the virtual hardware. */
function isPassing(key: string): boolean {
  return PASSING.test(key);
}
const PASSING =
  /^(?:drydock\.|nvram$|vmxstats\.filename$|sched\.swap\.derivedName$|migrate\.|viv\.moid$|hpet0\.present$|svga\.present$|vmware\.tools\.|tools\.|pciBridge\d+\.|.*\.pciSlotNumber$|.*\.sasWWID$|.*\.redo$|govcsim$)/i;

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}
