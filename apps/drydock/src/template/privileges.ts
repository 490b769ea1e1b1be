import { type Placement, TemplateError } from '@drydock/templates';
import type { CallOptions, VCenter } from '@drydock/vsphere';

type Part = 'folder' | 'resourcePool' | 'datastore' | 'network';

const FOLDER = [
  'VirtualMachine.Inventory.Create',
  'VirtualMachine.Inventory.Delete',
  'VirtualMachine.Config.Rename',
  'VirtualMachine.Config.AdvancedConfig',
  'VirtualMachine.Config.Settings',
  'VirtualMachine.Provisioning.MarkAsTemplate',
  'Global.SetCustomField',
] as const;

/** What publishing, retiring and collecting need, and on what. */
export function privilegesFor(tagged: boolean): readonly (readonly [part: Part, ids: readonly string[]])[] {
  return [
    ['folder', tagged ? [...FOLDER, 'InventoryService.Tagging.AttachTag'] : FOLDER],
    ['resourcePool', ['VApp.Import', 'Resource.AssignVMToPool']],
    ['datastore', ['Datastore.AllocateSpace']],
    ['network', ['Network.Assign']],
  ];
}

/**
 * Refuses to begin what could not be finished: a privilege that is only needed for the last step would be missed after the upload. Objects that do not
 * exist are told by the store.
 */
export async function checkPrivileges(
  vcenter: VCenter,
  placement: Placement,
  tagged: boolean,
  options: CallOptions,
): Promise<void> {
  const { folder, datastore, computeCluster, networks } = placement;
  const resourcePool = placement.resourcePool === '' ? `${computeCluster}/Resources` : placement.resourcePool;
  const paths: Readonly<Record<Part, string>> = { folder, resourcePool, datastore, network: networks[0] ?? '' };
  const lacking: string[] = [];
  for (const [part, ids] of privilegesFor(tagged)) {
    const ref = await vcenter.findByPath(paths[part], options);
    const missing = ref === undefined ? [] : await vcenter.missingPrivileges(ref, ids, options);
    if (missing.length > 0) lacking.push(`${missing.join(', ')} on ${paths[part]}`);
  }
  if (lacking.length === 0) return;
  throw new TemplateError({ code: 'PRIVILEGE_MISSING', message: `the user lacks ${lacking.join(', and ')}` });
}
