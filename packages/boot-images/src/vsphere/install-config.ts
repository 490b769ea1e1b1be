import type { ConfigMap } from '@drydock/api';
import { readYamlDocument, YamlFlaw } from '@drydock/api/yaml';
import { BootImageError } from '../errors.ts';
import { at } from '../observe/json.ts';

/** Where the installer leaves its configuration. */
export const installConfigKey = { namespace: 'kube-system', name: 'cluster-config-v1' } as const;

/**
 * `platform.vsphere.diskType` of the install-config, '' when it is not set: the provisioning of a template that has no
 * predecessor whose disks would tell. Throws `DiskTypeUnknown` with upstream's words.
 */
export function diskTypeFor(template: string, configMap: ConfigMap | undefined): string {
  const fail = (detail: string): BootImageError =>
    new BootImageError(
      'DiskTypeUnknown',
      `failed to determine disk provisioning type for new template ${template}: ${detail}`,
      {
        nextStep:
          'restore key install-config of configmap kube-system/cluster-config-v1, with platform.vsphere.diskType (thin, thick or eagerZeroedThick)',
      },
    );
  if (configMap === undefined) {
    throw fail('failed to fetch cluster-config-v1 configmap: configmaps "cluster-config-v1" not found');
  }
  const text = configMap.data?.['install-config'];
  if (text === undefined) throw fail('install-config key not found in cluster-config-v1 configmap');
  let config: unknown;
  try {
    config = readYamlDocument(text);
  } catch (error) {
    if (!(error instanceof YamlFlaw)) throw error;
    throw fail(`failed to unmarshal install-config: it is no YAML (${error.message})`);
  }
  const type = at(config, ['platform', 'vsphere', 'diskType']);
  return typeof type === 'string' ? type : '';
}
