import { holdAttribute, type Placement, TemplateError } from '@drydock/templates';
import type { CallOptions, VCenter } from '@drydock/vsphere';
import { table } from '../table.ts';

type Part = 'folder' | 'resourcePool' | 'datastore' | 'network';

/** One privilege of the user in vCenter. */
interface Privilege {
  readonly on: Part | 'vCenter';
  readonly id: string;
  readonly why: string;
  /** Only where templates get a tag. */
  readonly tagged?: true;
}

/** Whoever defines the attributes by hand (`govc fields.add`) does without. */
export const MANAGE_FIELDS = 'Global.ManageCustomFields';

/** For images that a catalogue names in a content library. Libraries are no objects of the inventory: only a global permission grants it. */
export const DOWNLOAD_SESSION = 'ContentLibrary.DownloadSession';

/** All that publishing, retiring and collecting need, and for what. The watch needs to see what it watches (System.View, System.Read, which every role has), and nothing else. */
const PRIVILEGES: readonly Privilege[] = [
  { on: 'folder', id: 'VirtualMachine.Inventory.Create', why: 'the import of an image' },
  {
    on: 'folder',
    id: 'VirtualMachine.Inventory.Delete',
    why: 'templates that nobody needs, imports that were cut off',
  },
  { on: 'folder', id: 'VirtualMachine.Config.AddNewDisk', why: 'the disks of an image' },
  { on: 'folder', id: 'VirtualMachine.Config.Rename', why: 'the two renames of a swap' },
  { on: 'folder', id: 'VirtualMachine.Config.AdvancedConfig', why: 'the mark by which templates are known' },
  { on: 'folder', id: 'VirtualMachine.Config.Settings', why: 'the note that an image was verified' },
  { on: 'folder', id: 'VirtualMachine.Provisioning.MarkAsTemplate', why: 'an import becomes a template' },
  { on: 'folder', id: 'Global.SetCustomField', why: 'ownership records and heartbeats' },
  { on: 'folder', id: 'InventoryService.Tagging.AttachTag', why: 'the tag of the cluster', tagged: true },
  { on: 'resourcePool', id: 'VApp.Import', why: 'the import of an image' },
  { on: 'resourcePool', id: 'Resource.AssignVMToPool', why: 'the import of an image' },
  { on: 'datastore', id: 'Datastore.AllocateSpace', why: 'the disks of an image' },
  { on: 'network', id: 'Network.Assign', why: 'the network of an image' },
  { on: 'vCenter', id: MANAGE_FIELDS, why: 'once, to define these attributes' },
  { on: 'vCenter', id: DOWNLOAD_SESSION, why: 'by a global permission, where a catalogue names a content library' },
];

/** What publishing, retiring and collecting need, and on what. */
export function privilegesFor(tagged: boolean): readonly (readonly [part: Part, ids: readonly string[]])[] {
  const parts: readonly Part[] = ['folder', 'resourcePool', 'datastore', 'network'];
  return parts.map((part) => {
    const here = PRIVILEGES.filter((one) => one.on === part && (tagged || one.tagged !== true));
    return [part, here.map(({ id }) => id)];
  });
}

/** The list for people, and how a role with all of it is made and given to a user. */
export function privilegesText(): string {
  const rows = table(
    [
      { header: 'ON', cell: ({ on }: Privilege) => on },
      { header: 'PRIVILEGE', cell: ({ id }) => id },
      { header: 'FOR', cell: ({ why }) => why },
    ],
    PRIVILEGES,
  );
  const ids = (here: readonly Privilege[]): string => [...new Set(here.map(({ id }) => id))].join(' ');
  const role = PRIVILEGES.filter(({ on }) => on !== 'vCenter');
  return `${rows}
govc role.create drydock ${ids(role)}
govc permissions.set -principal USER -role drydock -propagate=true FOLDER
govc permissions.set -principal USER -role drydock -propagate=false RESOURCE_POOL
govc permissions.set -principal USER -role drydock -propagate=false DATASTORE
govc permissions.set -principal USER -role drydock -propagate=false NETWORK
govc permissions.set -principal USER -role ReadOnly -propagate=false CLUSTER
`;
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
  const { user } = await vcenter.sessions(options);
  throw new TemplateError({ code: 'PRIVILEGE_MISSING', message: `the user ${user} lacks ${lacking.join(', and ')}` });
}

/** Refuses to begin where `holder` could not be recorded on the template: its attribute is defined once in the life of a vCenter. */
export async function checkRecord(
  vcenter: VCenter,
  placement: Placement,
  holder: string,
  options: CallOptions,
): Promise<void> {
  const attribute = holdAttribute(holder);
  if (await vcenter.definesAttribute(attribute, options)) return;
  const path = placement.datacenter.replace(/^\/?/, '/');
  const ref = await vcenter.findByPath(path, options);
  const missing = ref === undefined ? [] : await vcenter.missingPrivileges(ref, [MANAGE_FIELDS], options);
  if (missing.length === 0) return;
  const message = `the user lacks ${missing.join(', ')} on ${path}, which is needed once, to define the attribute "${attribute}"`;
  throw new TemplateError({ code: 'PRIVILEGE_MISSING', message });
}
