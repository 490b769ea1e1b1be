import { hostFault } from '@drydock/templates';
import { type NamedPlace, readOvf, type VCenter } from '@drydock/vsphere';
import { roomText } from '../vcenter-health.ts';
import { bytesText } from './amounts.ts';
import type { CheckLine } from './check-line.ts';
import { shell, withFlag } from './next-command.ts';
import { inside, KINDS, type Locator, listed, locator } from './placement.ts';
import { MANAGE_FIELDS, privilegesFor } from './privileges.ts';
import { TemplateProblem } from './problem.ts';
import type { PlaceSettings } from './settings.ts';

/** The image that a dry import tries. */
export interface TrialImage {
  readonly descriptor: string;
  /** Bytes that it takes on a datastore; undefined without an OVA. */
  readonly bytes?: number;
}

/** What of the place was found, and what is said about it. */
export interface FoundPlace {
  readonly lines: readonly CheckLine[];
  readonly items: Readonly<Partial<Record<Part, NamedPlace>>>;
}

/** The parts of a place, in the order in which they are told. */
const PARTS = [
  ['datacenter', 'datacenter'],
  ['folder', 'folder'],
  ['cluster', 'cluster'],
  ['resourcePool', 'pool'],
  ['datastore', 'datastore'],
  ['network', 'network'],
] as const;
type Part = (typeof PARTS)[number][0];

/** Looks for each part of the place; what is missing is told with what is there instead. `again` is the command that is run. */
export async function findPlace(
  vcenter: VCenter,
  settings: PlaceSettings,
  inventory: readonly NamedPlace[],
  { again, signal }: { readonly again: string; readonly signal: AbortSignal },
): Promise<FoundPlace> {
  const find = locator({ places: async () => inventory, hosts: (ref, how) => vcenter.hosts(ref, how) }, settings, {
    signal,
  });
  const lines: CheckLine[] = [];
  const items: Partial<Record<Part, NamedPlace>> = {};
  for (const [part, name] of PARTS) {
    if (part !== 'datacenter' && items.datacenter === undefined) continue;
    if (part === 'resourcePool' && settings.resourcePool === undefined && items.cluster === undefined) continue;
    const looked = await lookFor(find, part, inventory);
    if ('path' in looked) {
      items[part] = looked;
      lines.push({ name, state: 'ok', detail: looked.path });
    } else {
      const [first] = looked.instead;
      const next = first === undefined ? {} : { next: withFlag(again, KINDS[part].flag, first.path) };
      lines.push({ name, state: 'FAIL', detail: looked.why, ...next });
    }
  }
  return { lines, items };
}

/** The item, or why there is none and what there is instead. */
async function lookFor(
  find: Locator,
  part: Part,
  inventory: readonly NamedPlace[],
): Promise<NamedPlace | { readonly why: string; readonly instead: readonly NamedPlace[] }> {
  const there = async (): Promise<readonly NamedPlace[]> =>
    inside(inventory, part === 'datacenter' ? '' : await find.datacenter(), part);
  try {
    const path = (await find[part]()) || `${await find.cluster()}/Resources`;
    const found = inventory.find((item) => item.path === path && item.kind === part);
    if (found !== undefined) return found;
    const instead = await there();
    const said = instead.length === 1 ? `there is ${listed(instead)}` : `there are ${listed(instead)}`;
    return { why: `${path} does not exist; ${instead.length === 0 ? 'there is none at all' : said}`, instead };
  } catch (error) {
    if (error instanceof TemplateProblem) return { why: error.message, instead: await there() };
    throw error;
  }
}

/** One line that all is granted, or one for each object on which something is missing. */
export async function privilegeLines(
  vcenter: VCenter,
  { items }: FoundPlace,
  tagged: boolean,
  signal: AbortSignal,
): Promise<readonly CheckLine[]> {
  const lines: CheckLine[] = [];
  let asked = 0;
  for (const [part, wanted] of privilegesFor(tagged)) {
    const item = items[part];
    if (item === undefined) continue;
    asked += wanted.length;
    const missing = await vcenter.missingPrivileges(item.ref, wanted, { signal });
    if (missing.length === 0) continue;
    const { user } = await vcenter.sessions({ signal });
    const detail = `on ${item.path} the user ${user} lacks ${missing.join(', ')}`;
    lines.push({ name: 'privileges', state: 'FAIL', detail, next: ['govc role.update -a ROLE', ...missing].join(' ') });
  }
  const { datacenter } = items;
  const [missing] =
    datacenter === undefined ? [] : await vcenter.missingPrivileges(datacenter.ref, [MANAGE_FIELDS], { signal });
  if (missing !== undefined) {
    const detail = `${missing} is not granted; it is needed once, to define the attributes "drydock.ownership", "drydock.heartbeat" and one "drydock.hold…" for each pointer file`;
    lines.push({ name: 'privileges', state: 'warn', detail, next: 'govc fields.add -type VirtualMachine drydock' });
  }
  if (lines.every(({ state }) => state !== 'FAIL'))
    lines.unshift({ name: 'privileges', state: 'ok', detail: `all ${asked} are granted` });
  return lines;
}

/** Whether a host can take the import. */
export async function hostsLine(vcenter: VCenter, { items }: FoundPlace, signal: AbortSignal): Promise<CheckLine> {
  const { cluster, datastore, network } = items;
  if (cluster === undefined) return { name: 'hosts', state: 'skip', detail: 'no cluster' };
  const hosts = await vcenter.hosts(cluster.ref, { signal });
  if (hosts.length === 0) return { name: 'hosts', state: 'FAIL', detail: `${cluster.path} has no hosts` };
  const judged = hosts.map((host) => ({ host, fault: hostFault(host, datastore?.ref, network?.ref) }));
  const unfit = judged.filter(({ fault }) => fault !== undefined);
  const why = unfit.length === 0 ? '' : ` (${unfit.map(({ host, fault }) => `${host.name} ${fault}`).join(', ')})`;
  const usable = hosts.length - unfit.length;
  const detail = `${usable || 'none'} of ${hosts.length} can take an import${why}`;
  return usable > 0
    ? { name: 'hosts', state: 'ok', detail }
    : { name: 'hosts', state: 'FAIL', detail, next: shell`govc host.info ${`${cluster.path}/*`}` };
}

/** Below this a datastore is nearly full, whatever the image. */
const SPACE_WARN = 4 * 2 ** 30;
/** What stays free by default. */
const RESERVE = 2 ** 30;

/** Whether the image fits. */
export async function spaceLine(
  vcenter: VCenter,
  { items }: FoundPlace,
  { bytes }: TrialImage,
  collect: string,
  signal: AbortSignal,
): Promise<CheckLine> {
  const { datastore } = items;
  if (datastore === undefined) return { name: 'space', state: 'skip', detail: 'no datastore' };
  const { accessible, freeSpace, capacity } = await vcenter.datastore(datastore.ref, { signal });
  if (!accessible) {
    const next = shell`govc datastore.info ${datastore.path}`;
    return { name: 'space', state: 'FAIL', detail: `${datastore.path} is not accessible`, next };
  }
  const free = `${roomText(freeSpace, capacity)} free on ${datastore.path}`;
  if (bytes === undefined)
    return freeSpace < SPACE_WARN
      ? { name: 'space', state: 'warn', detail: free, next: collect }
      : { name: 'space', state: 'ok', detail: free };
  const needed = bytesText(bytes + RESERVE);
  if (freeSpace >= bytes + RESERVE) return { name: 'space', state: 'ok', detail: `${free}, ${needed} needed` };
  const detail = `${free}, but the image needs ${needed} (1 GiB of it in reserve)`;
  return { name: 'space', state: 'FAIL', detail, next: collect };
}

/** Lets the server make an import spec, which creates nothing. */
export async function dryImportLine(
  vcenter: VCenter,
  { items }: FoundPlace,
  { descriptor }: TrialImage,
  signal: AbortSignal,
): Promise<CheckLine> {
  const name = 'dry import';
  const { folder, cluster, resourcePool, datastore, network } = items;
  if (!folder || !cluster || !resourcePool || !datastore || !network)
    return { name, state: 'skip', detail: 'the place is not complete' };
  const hosts = await vcenter.hosts(cluster.ref, { signal });
  const host = hosts.find((one) => hostFault(one, datastore.ref, network.ref) === undefined);
  if (host === undefined) return { name, state: 'skip', detail: 'no host can take it' };
  const [first = ''] = readOvf(descriptor).networks;
  const warnings = await vcenter.checkImport(
    {
      descriptor,
      name: 'drydock-doctor',
      folder: folder.ref,
      host: host.ref,
      resourcePool: resourcePool.ref,
      datastore: datastore.ref,
      networks: new Map([[first, network.ref]]),
      diskProvisioning: '',
      instanceUuid: crypto.randomUUID(),
      extraConfig: new Map(),
    },
    { signal },
  );
  return warnings.length > 0
    ? { name, state: 'warn', detail: `the server takes it, and warns: ${warnings.join('; ')}` }
    : { name, state: 'ok', detail: `the server would take it on ${host.name}; nothing was created` };
}

/** A machine without disks: enough for the server to say whether it would take an import here. */
export const SMALL_DESCRIPTOR: string = `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
  xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData">
  <References/>
  <NetworkSection><Info>Networks</Info><Network ovf:name="VM Network"><Description>VM Network</Description></Network></NetworkSection>
  <VirtualSystem ovf:id="drydock-doctor">
    <Info>A machine that is never made</Info>
    <Name>drydock-doctor</Name>
    <OperatingSystemSection ovf:id="101"><Info>Linux</Info></OperatingSystemSection>
    <VirtualHardwareSection>
      <Info>Hardware</Info>
      <System>
        <vssd:ElementName>Virtual Hardware Family</vssd:ElementName>
        <vssd:InstanceID>0</vssd:InstanceID>
        <vssd:VirtualSystemIdentifier>drydock-doctor</vssd:VirtualSystemIdentifier>
        <vssd:VirtualSystemType>vmx-13</vssd:VirtualSystemType>
      </System>
      <Item>
        <rasd:ElementName>1 virtual CPU</rasd:ElementName>
        <rasd:InstanceID>1</rasd:InstanceID>
        <rasd:ResourceType>3</rasd:ResourceType>
        <rasd:VirtualQuantity>1</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits>
        <rasd:ElementName>512 MB of memory</rasd:ElementName>
        <rasd:InstanceID>2</rasd:InstanceID>
        <rasd:ResourceType>4</rasd:ResourceType>
        <rasd:VirtualQuantity>512</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:AddressOnParent>7</rasd:AddressOnParent>
        <rasd:AutomaticAllocation>true</rasd:AutomaticAllocation>
        <rasd:Connection>VM Network</rasd:Connection>
        <rasd:ElementName>Network adapter 1</rasd:ElementName>
        <rasd:InstanceID>3</rasd:InstanceID>
        <rasd:ResourceSubType>VmxNet3</rasd:ResourceSubType>
        <rasd:ResourceType>10</rasd:ResourceType>
      </Item>
    </VirtualHardwareSection>
  </VirtualSystem>
</Envelope>
`;
