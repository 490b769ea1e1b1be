// Generated from infrastructures.config.openshift.io v1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from '../src/meta.ts';

export interface Infrastructure {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: InfrastructureSpec;
  readonly status?: InfrastructureStatus;
}

export interface InfrastructureSpec {
  readonly cloudConfig?: InfrastructureSpecCloudConfig;
  readonly platformSpec?: InfrastructureSpecPlatformSpec;
}

export interface InfrastructureSpecCloudConfig {
  readonly key?: string;
  readonly name?: string;
}

export interface InfrastructureSpecPlatformSpec {
  readonly alibabaCloud?: Readonly<Record<string, unknown>>;
  readonly aws?: InfrastructureSpecPlatformSpecAws;
  readonly azure?: Readonly<Record<string, unknown>>;
  readonly baremetal?: InfrastructureSpecPlatformSpecBaremetal;
  readonly equinixMetal?: Readonly<Record<string, unknown>>;
  readonly external?: InfrastructureSpecPlatformSpecExternal;
  readonly gcp?: Readonly<Record<string, unknown>>;
  readonly ibmcloud?: Readonly<Record<string, unknown>>;
  readonly kubevirt?: Readonly<Record<string, unknown>>;
  readonly nutanix?: InfrastructureSpecPlatformSpecNutanix;
  readonly openstack?: InfrastructureSpecPlatformSpecOpenstack;
  readonly ovirt?: Readonly<Record<string, unknown>>;
  readonly powervs?: InfrastructureSpecPlatformSpecPowervs;
  readonly type?: '' | 'AWS' | 'Azure' | 'BareMetal' | 'GCP' | 'Libvirt' | 'OpenStack' | 'None' | 'VSphere' | 'oVirt' | 'IBMCloud' | 'KubeVirt' | 'EquinixMetal' | 'PowerVS' | 'AlibabaCloud' | 'Nutanix' | 'External';
  readonly vsphere?: InfrastructureSpecPlatformSpecVsphere;
}

export interface InfrastructureSpecPlatformSpecAws {
  readonly serviceEndpoints?: readonly InfrastructureSpecPlatformSpecAwsServiceEndpoint[];
}

export interface InfrastructureSpecPlatformSpecAwsServiceEndpoint {
  readonly name?: string;
  readonly url?: string;
}

export interface InfrastructureSpecPlatformSpecBaremetal {
  readonly apiServerInternalIPs?: readonly string[];
  readonly ingressIPs?: readonly string[];
  readonly machineNetworks?: readonly string[];
}

export interface InfrastructureSpecPlatformSpecExternal {
  readonly platformName?: string;
}

export interface InfrastructureSpecPlatformSpecNutanix {
  readonly failureDomains?: readonly InfrastructureSpecPlatformSpecNutanixFailureDomain[];
  readonly prismCentral: InfrastructureSpecPlatformSpecNutanixPrismCentral;
  readonly prismElements: readonly InfrastructureSpecPlatformSpecNutanixPrismElement[];
}

export interface InfrastructureSpecPlatformSpecNutanixFailureDomain {
  readonly cluster: InfrastructureSpecPlatformSpecNutanixFailureDomainCluster;
  readonly name: string;
  readonly subnets: readonly InfrastructureSpecPlatformSpecNutanixFailureDomainSubnet[];
}

export interface InfrastructureSpecPlatformSpecNutanixFailureDomainCluster {
  readonly name?: string;
  readonly type: 'UUID' | 'Name';
  readonly uuid?: string;
}

export interface InfrastructureSpecPlatformSpecNutanixFailureDomainSubnet {
  readonly name?: string;
  readonly type: 'UUID' | 'Name';
  readonly uuid?: string;
}

export interface InfrastructureSpecPlatformSpecNutanixPrismCentral {
  readonly address: string;
  readonly port: number;
}

export interface InfrastructureSpecPlatformSpecNutanixPrismElement {
  readonly endpoint: InfrastructureSpecPlatformSpecNutanixPrismElementEndpoint;
  readonly name: string;
}

export interface InfrastructureSpecPlatformSpecNutanixPrismElementEndpoint {
  readonly address: string;
  readonly port: number;
}

export interface InfrastructureSpecPlatformSpecOpenstack {
  readonly apiServerInternalIPs?: readonly string[];
  readonly ingressIPs?: readonly string[];
  readonly machineNetworks?: readonly string[];
}

export interface InfrastructureSpecPlatformSpecPowervs {
  readonly serviceEndpoints?: readonly InfrastructureSpecPlatformSpecPowervsServiceEndpoint[];
}

export interface InfrastructureSpecPlatformSpecPowervsServiceEndpoint {
  readonly name: 'CIS' | 'COS' | 'COSConfig' | 'DNSServices' | 'GlobalCatalog' | 'GlobalSearch' | 'GlobalTagging' | 'HyperProtect' | 'IAM' | 'KeyProtect' | 'Power' | 'ResourceController' | 'ResourceManager' | 'VPC';
  readonly url: string;
}

export interface InfrastructureSpecPlatformSpecVsphere {
  readonly apiServerInternalIPs?: readonly string[];
  readonly failureDomains?: readonly InfrastructureSpecPlatformSpecVsphereFailureDomain[];
  readonly ingressIPs?: readonly string[];
  readonly machineNetworks?: readonly string[];
  readonly nodeNetworking?: InfrastructureSpecPlatformSpecVsphereNodeNetworking;
  readonly vcenters?: readonly InfrastructureSpecPlatformSpecVsphereVcenter[];
}

export interface InfrastructureSpecPlatformSpecVsphereFailureDomain {
  readonly name: string;
  readonly region: string;
  readonly regionAffinity?: InfrastructureSpecPlatformSpecVsphereFailureDomainRegionAffinity;
  readonly server: string;
  readonly topology: InfrastructureSpecPlatformSpecVsphereFailureDomainTopology;
  readonly zone: string;
  readonly zoneAffinity?: InfrastructureSpecPlatformSpecVsphereFailureDomainZoneAffinity;
}

export interface InfrastructureSpecPlatformSpecVsphereFailureDomainRegionAffinity {
  readonly type: 'ComputeCluster' | 'Datacenter';
}

export interface InfrastructureSpecPlatformSpecVsphereFailureDomainTopology {
  readonly computeCluster: string;
  readonly datacenter: string;
  readonly datastore: string;
  readonly folder?: string;
  readonly networks: readonly string[];
  readonly resourcePool?: string;
  readonly template?: string;
}

export interface InfrastructureSpecPlatformSpecVsphereFailureDomainZoneAffinity {
  readonly hostGroup?: InfrastructureSpecPlatformSpecVsphereFailureDomainZoneAffinityHostGroup;
  readonly type: 'HostGroup' | 'ComputeCluster';
}

export interface InfrastructureSpecPlatformSpecVsphereFailureDomainZoneAffinityHostGroup {
  readonly hostGroup: string;
  readonly vmGroup: string;
  readonly vmHostRule: string;
}

export interface InfrastructureSpecPlatformSpecVsphereNodeNetworking {
  readonly external?: InfrastructureSpecPlatformSpecVsphereNodeNetworkingExternal;
  readonly internal?: InfrastructureSpecPlatformSpecVsphereNodeNetworkingInternal;
}

export interface InfrastructureSpecPlatformSpecVsphereNodeNetworkingExternal {
  readonly excludeNetworkSubnetCidr?: readonly string[];
  readonly network?: string;
  readonly networkSubnetCidr?: readonly string[];
}

export interface InfrastructureSpecPlatformSpecVsphereNodeNetworkingInternal {
  readonly excludeNetworkSubnetCidr?: readonly string[];
  readonly network?: string;
  readonly networkSubnetCidr?: readonly string[];
}

export interface InfrastructureSpecPlatformSpecVsphereVcenter {
  readonly datacenters: readonly string[];
  readonly port?: number;
  readonly server: string;
}

export interface InfrastructureStatus {
  readonly apiServerInternalURI?: string;
  readonly apiServerURL?: string;
  readonly controlPlaneTopology?: 'HighlyAvailable' | 'HighlyAvailableArbiter' | 'SingleReplica' | 'External' | (string & {});
  readonly cpuPartitioning?: 'None' | 'AllNodes' | (string & {});
  readonly etcdDiscoveryDomain?: string;
  readonly infrastructureName?: string;
  readonly infrastructureTopology?: 'HighlyAvailable' | 'SingleReplica' | (string & {});
  readonly platform?: '' | 'AWS' | 'Azure' | 'BareMetal' | 'GCP' | 'Libvirt' | 'OpenStack' | 'None' | 'VSphere' | 'oVirt' | 'IBMCloud' | 'KubeVirt' | 'EquinixMetal' | 'PowerVS' | 'AlibabaCloud' | 'Nutanix' | 'External' | (string & {});
  readonly platformStatus?: InfrastructureStatusPlatformStatus;
}

export interface InfrastructureStatusPlatformStatus {
  readonly alibabaCloud?: InfrastructureStatusPlatformStatusAlibabaCloud;
  readonly aws?: InfrastructureStatusPlatformStatusAws;
  readonly azure?: InfrastructureStatusPlatformStatusAzure;
  readonly baremetal?: InfrastructureStatusPlatformStatusBaremetal;
  readonly equinixMetal?: InfrastructureStatusPlatformStatusEquinixMetal;
  readonly external?: InfrastructureStatusPlatformStatusExternal;
  readonly gcp?: InfrastructureStatusPlatformStatusGcp;
  readonly ibmcloud?: InfrastructureStatusPlatformStatusIbmcloud;
  readonly kubevirt?: InfrastructureStatusPlatformStatusKubevirt;
  readonly nutanix?: InfrastructureStatusPlatformStatusNutanix;
  readonly openstack?: InfrastructureStatusPlatformStatusOpenstack;
  readonly ovirt?: InfrastructureStatusPlatformStatusOvirt;
  readonly powervs?: InfrastructureStatusPlatformStatusPowervs;
  readonly type?: '' | 'AWS' | 'Azure' | 'BareMetal' | 'GCP' | 'Libvirt' | 'OpenStack' | 'None' | 'VSphere' | 'oVirt' | 'IBMCloud' | 'KubeVirt' | 'EquinixMetal' | 'PowerVS' | 'AlibabaCloud' | 'Nutanix' | 'External' | (string & {});
  readonly vsphere?: InfrastructureStatusPlatformStatusVsphere;
}

export interface InfrastructureStatusPlatformStatusAlibabaCloud {
  readonly region: string;
  readonly resourceGroupID?: string;
  readonly resourceTags?: readonly InfrastructureStatusPlatformStatusAlibabaCloudResourceTag[];
}

export interface InfrastructureStatusPlatformStatusAlibabaCloudResourceTag {
  readonly key: string;
  readonly value: string;
}

export interface InfrastructureStatusPlatformStatusAws {
  readonly region?: string;
  readonly resourceTags?: readonly InfrastructureStatusPlatformStatusAwsResourceTag[];
  readonly serviceEndpoints?: readonly InfrastructureStatusPlatformStatusAwsServiceEndpoint[];
}

export interface InfrastructureStatusPlatformStatusAwsResourceTag {
  readonly key: string;
  readonly value: string;
}

export interface InfrastructureStatusPlatformStatusAwsServiceEndpoint {
  readonly name?: string;
  readonly url?: string;
}

export interface InfrastructureStatusPlatformStatusAzure {
  readonly armEndpoint?: string;
  readonly cloudName?: '' | 'AzurePublicCloud' | 'AzureUSGovernmentCloud' | 'AzureChinaCloud' | 'AzureGermanCloud' | 'AzureStackCloud' | (string & {});
  readonly networkResourceGroupName?: string;
  readonly resourceGroupName?: string;
  readonly resourceTags?: readonly InfrastructureStatusPlatformStatusAzureResourceTag[];
}

export interface InfrastructureStatusPlatformStatusAzureResourceTag {
  readonly key: string;
  readonly value: string;
}

export interface InfrastructureStatusPlatformStatusBaremetal {
  readonly apiServerInternalIP?: string;
  readonly apiServerInternalIPs?: readonly string[];
  readonly ingressIP?: string;
  readonly ingressIPs?: readonly string[];
  readonly loadBalancer?: InfrastructureStatusPlatformStatusBaremetalLoadBalancer;
  readonly machineNetworks?: readonly string[];
  readonly nodeDNSIP?: string;
}

export interface InfrastructureStatusPlatformStatusBaremetalLoadBalancer {
  readonly type?: 'OpenShiftManagedDefault' | 'UserManaged' | (string & {});
}

export interface InfrastructureStatusPlatformStatusEquinixMetal {
  readonly apiServerInternalIP?: string;
  readonly ingressIP?: string;
}

export interface InfrastructureStatusPlatformStatusExternal {
  readonly cloudControllerManager?: InfrastructureStatusPlatformStatusExternalCloudControllerManager;
}

export interface InfrastructureStatusPlatformStatusExternalCloudControllerManager {
  readonly state?: '' | 'External' | 'None' | (string & {});
}

export interface InfrastructureStatusPlatformStatusGcp {
  readonly cloudLoadBalancerConfig?: InfrastructureStatusPlatformStatusGcpCloudLoadBalancerConfig | null;
  readonly projectID?: string;
  readonly region?: string;
  readonly resourceLabels?: readonly InfrastructureStatusPlatformStatusGcpResourceLabel[];
  readonly resourceTags?: readonly InfrastructureStatusPlatformStatusGcpResourceTag[];
}

export interface InfrastructureStatusPlatformStatusGcpCloudLoadBalancerConfig {
  readonly clusterHosted?: InfrastructureStatusPlatformStatusGcpCloudLoadBalancerConfigClusterHosted;
  readonly dnsType?: 'ClusterHosted' | 'PlatformDefault' | (string & {});
}

export interface InfrastructureStatusPlatformStatusGcpCloudLoadBalancerConfigClusterHosted {
  readonly apiIntLoadBalancerIPs?: readonly string[];
  readonly apiLoadBalancerIPs?: readonly string[];
  readonly ingressLoadBalancerIPs?: readonly string[];
}

export interface InfrastructureStatusPlatformStatusGcpResourceLabel {
  readonly key: string;
  readonly value: string;
}

export interface InfrastructureStatusPlatformStatusGcpResourceTag {
  readonly key: string;
  readonly parentID: string;
  readonly value: string;
}

export interface InfrastructureStatusPlatformStatusIbmcloud {
  readonly cisInstanceCRN?: string;
  readonly dnsInstanceCRN?: string;
  readonly location?: string;
  readonly providerType?: string;
  readonly resourceGroupName?: string;
  readonly serviceEndpoints?: readonly InfrastructureStatusPlatformStatusIbmcloudServiceEndpoint[];
}

export interface InfrastructureStatusPlatformStatusIbmcloudServiceEndpoint {
  readonly name: 'CIS' | 'COS' | 'COSConfig' | 'DNSServices' | 'GlobalCatalog' | 'GlobalSearch' | 'GlobalTagging' | 'HyperProtect' | 'IAM' | 'KeyProtect' | 'ResourceController' | 'ResourceManager' | 'VPC' | (string & {});
  readonly url: string;
}

export interface InfrastructureStatusPlatformStatusKubevirt {
  readonly apiServerInternalIP?: string;
  readonly ingressIP?: string;
}

export interface InfrastructureStatusPlatformStatusNutanix {
  readonly apiServerInternalIP?: string;
  readonly apiServerInternalIPs?: readonly string[];
  readonly ingressIP?: string;
  readonly ingressIPs?: readonly string[];
  readonly loadBalancer?: InfrastructureStatusPlatformStatusNutanixLoadBalancer;
}

export interface InfrastructureStatusPlatformStatusNutanixLoadBalancer {
  readonly type?: 'OpenShiftManagedDefault' | 'UserManaged' | (string & {});
}

export interface InfrastructureStatusPlatformStatusOpenstack {
  readonly apiServerInternalIP?: string;
  readonly apiServerInternalIPs?: readonly string[];
  readonly cloudName?: string;
  readonly ingressIP?: string;
  readonly ingressIPs?: readonly string[];
  readonly loadBalancer?: InfrastructureStatusPlatformStatusOpenstackLoadBalancer;
  readonly machineNetworks?: readonly string[];
  readonly nodeDNSIP?: string;
}

export interface InfrastructureStatusPlatformStatusOpenstackLoadBalancer {
  readonly type?: 'OpenShiftManagedDefault' | 'UserManaged' | (string & {});
}

export interface InfrastructureStatusPlatformStatusOvirt {
  readonly apiServerInternalIP?: string;
  readonly apiServerInternalIPs?: readonly string[];
  readonly ingressIP?: string;
  readonly ingressIPs?: readonly string[];
  readonly loadBalancer?: InfrastructureStatusPlatformStatusOvirtLoadBalancer;
  readonly nodeDNSIP?: string;
}

export interface InfrastructureStatusPlatformStatusOvirtLoadBalancer {
  readonly type?: 'OpenShiftManagedDefault' | 'UserManaged' | (string & {});
}

export interface InfrastructureStatusPlatformStatusPowervs {
  readonly cisInstanceCRN?: string;
  readonly dnsInstanceCRN?: string;
  readonly region?: string;
  readonly resourceGroup?: string;
  readonly serviceEndpoints?: readonly InfrastructureStatusPlatformStatusPowervsServiceEndpoint[];
  readonly zone?: string;
}

export interface InfrastructureStatusPlatformStatusPowervsServiceEndpoint {
  readonly name: 'CIS' | 'COS' | 'COSConfig' | 'DNSServices' | 'GlobalCatalog' | 'GlobalSearch' | 'GlobalTagging' | 'HyperProtect' | 'IAM' | 'KeyProtect' | 'Power' | 'ResourceController' | 'ResourceManager' | 'VPC' | (string & {});
  readonly url: string;
}

export interface InfrastructureStatusPlatformStatusVsphere {
  readonly apiServerInternalIP?: string;
  readonly apiServerInternalIPs?: readonly string[];
  readonly ingressIP?: string;
  readonly ingressIPs?: readonly string[];
  readonly loadBalancer?: InfrastructureStatusPlatformStatusVsphereLoadBalancer;
  readonly machineNetworks?: readonly string[];
  readonly nodeDNSIP?: string;
}

export interface InfrastructureStatusPlatformStatusVsphereLoadBalancer {
  readonly type?: 'OpenShiftManagedDefault' | 'UserManaged' | (string & {});
}

/** The kind Infrastructure of config.openshift.io/v1. */
export const Infrastructure: Resource<Infrastructure> = {
  group: 'config.openshift.io',
  version: 'v1',
  kind: 'Infrastructure',
  plural: 'infrastructures',
  scope: 'Cluster',
};
