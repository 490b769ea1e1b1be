import type { Key } from '@drydock/kube';

/** The Secret in which the installation of Drydock gets credentials of its own for a cloud. */
export const ownCredentials: Required<Key> = { namespace: 'drydock', name: 'drydock-cloud-credentials' };

/** Those that machine-api has; only the ones that never expire are used. */
const machineApi = (name: string): Required<Key> => ({ namespace: 'openshift-machine-api', name });

const secrets: Readonly<Record<string, readonly Required<Key>[]>> = {
  VSphere: [{ namespace: 'kube-system', name: 'vsphere-creds' }],
  GCP: [ownCredentials, machineApi('gcp-cloud-credentials')],
  AWS: [ownCredentials, machineApi('aws-cloud-credentials')],
  Azure: [ownCredentials, machineApi('azure-cloud-credentials')],
};

/** The Secrets with credentials for a platform, the first that has some counts. No other platform's are ever asked for. */
export function credentialSecrets(platform: string | undefined): readonly Required<Key>[] {
  return Object.hasOwn(secrets, platform ?? '') ? (secrets[platform ?? ''] ?? []) : [];
}
