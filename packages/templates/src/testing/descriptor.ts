/** What a generated OVF descriptor says. */
export interface TestDescriptor {
  /** Product version: becomes the template's version. */
  readonly version: string;
  readonly product: string;
  readonly networks: readonly string[];
  /** undefined leaves the key out. */
  readonly secureBoot: boolean | undefined;
  readonly diskFile: string;
  readonly diskBytes: number;
  readonly capacityGiB: number;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** An OVF 1.1 descriptor (DSP0243) of one machine with one disk, shaped like the ones that CoreOS ships. */
export function testDescriptor(spec: TestDescriptor): string {
  const networks = spec.networks.map(
    (name) => `    <Network ovf:name="${escapeXml(name)}"><Description>${escapeXml(name)}</Description></Network>`,
  );
  const adapters = spec.networks.map(
    (name, index) => `      <Item>
        <rasd:AddressOnParent>${7 + index}</rasd:AddressOnParent>
        <rasd:AutomaticAllocation>true</rasd:AutomaticAllocation>
        <rasd:Connection>${escapeXml(name)}</rasd:Connection>
        <rasd:ElementName>Network adapter ${index + 1}</rasd:ElementName>
        <rasd:InstanceID>${10 + index}</rasd:InstanceID>
        <rasd:ResourceSubType>VmxNet3</rasd:ResourceSubType>
        <rasd:ResourceType>10</rasd:ResourceType>
      </Item>`,
  );
  const boot =
    spec.secureBoot === undefined
      ? ''
      : `
      <vmw:Config ovf:required="false" vmw:key="firmware" vmw:value="efi"/>
      <vmw:Config ovf:required="false" vmw:key="bootOptions.efiSecureBootEnabled" vmw:value="${spec.secureBoot}"/>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1" xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData" xmlns:vmw="http://www.vmware.com/schema/ovf" xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData">
  <References>
    <File ovf:href="${escapeXml(spec.diskFile)}" ovf:id="file1" ovf:size="${spec.diskBytes}"/>
  </References>
  <DiskSection>
    <Info>Virtual disk information</Info>
    <Disk ovf:capacity="${spec.capacityGiB}" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="vmdisk1" ovf:fileRef="file1" ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/>
  </DiskSection>
  <NetworkSection>
    <Info>The list of logical networks</Info>
${networks.join('\n')}
  </NetworkSection>
  <VirtualSystem ovf:id="${escapeXml(spec.product)}">
    <Info>A virtual machine</Info>
    <Name>${escapeXml(spec.product)}</Name>
    <OperatingSystemSection ovf:id="80" vmw:osType="rhel7_64Guest">
      <Info>The kind of installed guest operating system</Info>
    </OperatingSystemSection>
    <VirtualHardwareSection>
      <Info>Virtual hardware requirements</Info>
      <System>
        <vssd:ElementName>Virtual Hardware Family</vssd:ElementName>
        <vssd:InstanceID>0</vssd:InstanceID>
        <vssd:VirtualSystemIdentifier>${escapeXml(spec.product)}</vssd:VirtualSystemIdentifier>
        <vssd:VirtualSystemType>vmx-15</vssd:VirtualSystemType>
      </System>
      <Item>
        <rasd:AllocationUnits>hertz * 10^6</rasd:AllocationUnits>
        <rasd:ElementName>2 virtual CPUs</rasd:ElementName>
        <rasd:InstanceID>1</rasd:InstanceID>
        <rasd:ResourceType>3</rasd:ResourceType>
        <rasd:VirtualQuantity>2</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits>
        <rasd:ElementName>4096 MB of memory</rasd:ElementName>
        <rasd:InstanceID>2</rasd:InstanceID>
        <rasd:ResourceType>4</rasd:ResourceType>
        <rasd:VirtualQuantity>4096</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:Address>0</rasd:Address>
        <rasd:ElementName>SCSI controller 0</rasd:ElementName>
        <rasd:InstanceID>3</rasd:InstanceID>
        <rasd:ResourceSubType>VirtualSCSI</rasd:ResourceSubType>
        <rasd:ResourceType>6</rasd:ResourceType>
      </Item>
      <Item>
        <rasd:AddressOnParent>0</rasd:AddressOnParent>
        <rasd:ElementName>Hard disk 1</rasd:ElementName>
        <rasd:HostResource>ovf:/disk/vmdisk1</rasd:HostResource>
        <rasd:InstanceID>4</rasd:InstanceID>
        <rasd:Parent>3</rasd:Parent>
        <rasd:ResourceType>17</rasd:ResourceType>
      </Item>
${adapters.join('\n')}${boot}
    </VirtualHardwareSection>
    <ProductSection>
      <Info>Information about the installed software</Info>
      <Product>${escapeXml(spec.product)}</Product>
      <Vendor>Drydock</Vendor>
      <Version>${escapeXml(spec.version)}</Version>
    </ProductSection>
  </VirtualSystem>
</Envelope>
`;
}
