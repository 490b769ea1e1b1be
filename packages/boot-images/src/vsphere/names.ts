import type { VSphereFailureDomain } from '@drydock/api';

/** The name that the installer gives to a failure domain's template: also the base of ours. */
export function computedName(infrastructureName: string, domain: string): string {
  return `${infrastructureName}-rhcos-${domain}`;
}

/**
 * True for a name that an installer, current or old, gives to a template of this cluster: such a template is ours to replace.
 * Every other name without our mark is a person's own image and is left alone (BI-W13).
 */
export function isInstallerName(name: string, infrastructureName: string, domain: VSphereFailureDomain): boolean {
  const { region, zone } = domain;
  return (
    name === computedName(infrastructureName, domain.name) ||
    name === `${infrastructureName}-rhcos` ||
    (region !== undefined && zone !== undefined && name === `${infrastructureName}-rhcos-${region}-${zone}`)
  );
}

/** The last element of an inventory path. */
export function leafName(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** True for a template given by instance UUID, which machine-api resolves and a name search does not. */
export function isUuid(reference: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(reference);
}
