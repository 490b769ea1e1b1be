/** A disk of a generated descriptor. */
export interface OvfTextDisk {
  /** Member of the OVA that holds it. */
  readonly file: string;
  /** Bytes of that member. */
  readonly size: number;
  /** Default: unsaid, as the builds of CoreOS leave it. */
  readonly populatedSize?: number;
}

/** What a generated descriptor says. */
export interface OvfText {
  /** Name of the member that holds the one disk; see `disks` for more than one. */
  readonly disk?: string;
  /** Bytes of that member. */
  readonly size?: number;
  /** Instead of `disk` and `size`. */
  readonly disks?: readonly OvfTextDisk[];
  /** Product version: becomes the machine's version. */
  readonly version?: string;
  readonly product?: string;
  /** Default true; `unsaid` leaves it out. */
  readonly secureBoot?: boolean | 'unsaid';
  readonly networks?: readonly string[];
}

/** An OVF 1.1 descriptor (DSP0243) of one small virtual machine, as the builds of CoreOS write it: disks on SCSI, EFI. */
export function ovfText(options: OvfText): string {
  const { version = '9.8.20260428-0', product = 'Red Hat Enterprise Linux CoreOS', secureBoot = true } = options;
  const disks = options.disks ?? [{ file: options.disk ?? 'disk.vmdk', size: options.size ?? 0 }];
  const networks = (options.networks ?? ['VM Network']).map(escapeXml);
  return `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
  xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData"
  xmlns:vmw="http://www.vmware.com/schema/ovf">
  <References>${disks.map(({ file, size }, at) => `<File ovf:href="${escapeXml(file)}" ovf:id="file${at + 1}" ovf:size="${size}"/>`).join('')}</References>
  <DiskSection>
    <Info>Virtual disk information</Info>
${disks
  .map(
    (
      { populatedSize },
      at,
    ) => `    <Disk ovf:capacity="16" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="vmdisk${at + 1}" ovf:fileRef="file${at + 1}"
      ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"${populatedSize === undefined ? '' : ` ovf:populatedSize="${populatedSize}"`}/>`,
  )
  .join('\n')}
  </DiskSection>
  <NetworkSection>
    <Info>The list of logical networks</Info>
${networks.map((name) => `    <Network ovf:name="${name}"><Description>The ${name} network</Description></Network>`).join('\n')}
  </NetworkSection>
  <VirtualSystem ovf:id="rhcos">
    <Info>A virtual machine</Info>
    <Name>rhcos</Name>
    <OperatingSystemSection ovf:id="80" ovf:version="9" vmw:osType="rhel9_64Guest"><Info>The operating system</Info></OperatingSystemSection>
    <ProductSection>
      <Info>Information about the installed software</Info>
      <Product>${escapeXml(product)}</Product>
      <Version>${escapeXml(version)}</Version>
    </ProductSection>
    <VirtualHardwareSection>
      <Info>Virtual hardware requirements</Info>
      <System>
        <vssd:ElementName>Virtual Hardware Family</vssd:ElementName>
        <vssd:InstanceID>0</vssd:InstanceID>
        <vssd:VirtualSystemIdentifier>rhcos</vssd:VirtualSystemIdentifier>
        <vssd:VirtualSystemType>vmx-15</vssd:VirtualSystemType>
      </System>
      <Item>
        <rasd:AllocationUnits>hertz * 10^6</rasd:AllocationUnits>
        <rasd:ElementName>2 virtual CPU(s)</rasd:ElementName>
        <rasd:InstanceID>1</rasd:InstanceID>
        <rasd:ResourceType>3</rasd:ResourceType>
        <rasd:VirtualQuantity>2</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits>
        <rasd:ElementName>4096MB of memory</rasd:ElementName>
        <rasd:InstanceID>2</rasd:InstanceID>
        <rasd:ResourceType>4</rasd:ResourceType>
        <rasd:VirtualQuantity>4096</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:Address>0</rasd:Address>
        <rasd:ElementName>SCSI Controller 0</rasd:ElementName>
        <rasd:InstanceID>3</rasd:InstanceID>
        <rasd:ResourceSubType>VirtualSCSI</rasd:ResourceSubType>
        <rasd:ResourceType>6</rasd:ResourceType>
      </Item>
${disks
  .map(
    (_, at) => `      <Item>
        <rasd:AddressOnParent>${at}</rasd:AddressOnParent>
        <rasd:ElementName>Hard Disk ${at + 1}</rasd:ElementName>
        <rasd:HostResource>ovf:/disk/vmdisk${at + 1}</rasd:HostResource>
        <rasd:InstanceID>${20 + at}</rasd:InstanceID>
        <rasd:Parent>3</rasd:Parent>
        <rasd:ResourceType>17</rasd:ResourceType>
      </Item>`,
  )
  .join('\n')}
${networks
  .map(
    (name, index) => `      <Item>
        <rasd:AddressOnParent>${7 + index}</rasd:AddressOnParent>
        <rasd:AutomaticAllocation>true</rasd:AutomaticAllocation>
        <rasd:Connection>${name}</rasd:Connection>
        <rasd:ElementName>Network adapter ${index + 1}</rasd:ElementName>
        <rasd:InstanceID>${5 + index}</rasd:InstanceID>
        <rasd:ResourceSubType>VmxNet3</rasd:ResourceSubType>
        <rasd:ResourceType>10</rasd:ResourceType>
      </Item>`,
  )
  .join('\n')}
${bootConfig(secureBoot)}    </VirtualHardwareSection>
  </VirtualSystem>
</Envelope>
`;
}

function bootConfig(secureBoot: boolean | 'unsaid'): string {
  if (secureBoot === 'unsaid') return '';
  return `      <vmw:Config ovf:required="false" vmw:key="firmware" vmw:value="efi"/>
      <vmw:Config ovf:required="false" vmw:key="bootOptions.efiSecureBootEnabled" vmw:value="${secureBoot}"/>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
