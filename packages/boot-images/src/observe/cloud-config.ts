import type { ConfigMap } from '@drydock/api';
import type { Key } from '@drydock/kube';

/** Where a cluster keeps what its programs are to know of its cloud, as machine-api reads it (openshift/machine-api-provider-aws). */
export const cloudConfigKey: Required<Key> = { namespace: 'openshift-config-managed', name: 'kube-cloud-config' };

/** Where there is something in it that is read here. */
export function cloudConfigs(platform: string | undefined): readonly Required<Key>[] {
  return platform === 'AWS' ? [cloudConfigKey] : [];
}

/** The authorities of the endpoints of a private partition, as PEM; undefined where there are none of its own. */
export function cloudAuthorities(config: ConfigMap | undefined): string | undefined {
  const text = config?.data?.['ca-bundle.pem']?.trim();
  return text === undefined || text === '' ? undefined : text;
}
