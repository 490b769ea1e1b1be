/** What a generated descriptor says. */
export interface OvfText {
  /** Member of the OVA that holds the disk. */
  readonly disk?: string;
  /** Bytes of that member. */
  readonly size: number;
  readonly version?: string;
  readonly secureBoot?: boolean;
  readonly networks?: readonly string[];
}

/** An OVF descriptor of one small virtual machine, as the builds of CoreOS write it: one disk on SCSI, one network, EFI. */
export function ovfText(options: OvfText): string {
  const {
    disk = 'disk.vmdk',
    size,
    version = '9.8.20260428-0',
    secureBoot = true,
    networks = ['VM Network'],
  } = options;
  return `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
  xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData"
  xmlns:vmw="http://www.vmware.com/schema/ovf">
  <References><File ovf:href="${disk}" ovf:id="file1" ovf:size="${size}"/></References>
  <DiskSection>
    <Info>Virtual disk information</Info>
    <Disk ovf:capacity="16" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="vmdisk1" ovf:fileRef="file1"
      ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/>
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
      <Product>Red Hat Enterprise Linux CoreOS</Product>
      <Version>${version}</Version>
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
      <Item>
        <rasd:AddressOnParent>0</rasd:AddressOnParent>
        <rasd:ElementName>Hard Disk 1</rasd:ElementName>
        <rasd:HostResource>ovf:/disk/vmdisk1</rasd:HostResource>
        <rasd:InstanceID>4</rasd:InstanceID>
        <rasd:Parent>3</rasd:Parent>
        <rasd:ResourceType>17</rasd:ResourceType>
      </Item>
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
      <vmw:Config ovf:required="false" vmw:key="firmware" vmw:value="efi"/>
      <vmw:Config ovf:required="false" vmw:key="bootOptions.efiSecureBootEnabled" vmw:value="${secureBoot}"/>
    </VirtualHardwareSection>
  </VirtualSystem>
</Envelope>
`;
}
