import type { MachineSet } from '@drydock/api';
import { rhcosCloud } from '@drydock/boot-images/testing';
import { machineApi } from './voyage-cluster.ts';

/** `providerSpec.value` of a machine set on Google Cloud. */
export interface GcpSpec extends Readonly<Record<string, unknown>> {
  readonly disks: readonly Readonly<Record<string, unknown>>[];
}

/** Name of the image of a release. */
export const gcpImageOf = (release: number): string => `rhcos-9-8-2026080${release}-0-gcp-x86-64`;

/** The golden ConfigMap of a release. */
export function gcpGolden(release: number): Readonly<Record<string, string>> {
  const images = { gcp: { release: `9.8.2026080${release}-0`, project: 'rhcos-cloud', name: gcpImageOf(release) } };
  const architectures = { x86_64: { artifacts: {}, images } };
  return { releaseVersion: '4.21.0', stream: JSON.stringify({ stream: 'rhcos-voyage', architectures }) };
}

/** What the installer makes of it, with a data disk and a field that nobody knows. */
export function gcpSpec(boot: string): GcpSpec {
  const disk = { autoDelete: true, labels: null, sizeGb: 128, type: 'pd-ssd' };
  return {
    ...{ apiVersion: 'machine.openshift.io/v1beta1', kind: 'GCPMachineProviderSpec', projectID: 'own-project' },
    ...{ region: 'us-central1', zone: 'us-central1-a', machineType: 'n2-standard-4', foo: { bar: 1 } },
    shieldedInstanceConfig: { secureBoot: 'Enabled' },
    disks: [
      { ...disk, boot: true, image: boot },
      { ...disk, boot: false, image: rhcosCloud('data') },
    ],
    userDataSecret: { name: 'worker-user-data' },
  };
}

/** The machine set whose machines are so. */
export function gcpMachineSet(name: string, boot: string): MachineSet {
  const labels = { 'machine.openshift.io/cluster-api-machineset': name };
  const annotations = { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=amd64' };
  return {
    metadata: { namespace: machineApi, name, annotations },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: { providerSpec: { value: gcpSpec(boot) } } },
    },
  };
}
