import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import type { MethodCall } from './method-call.ts';
import { refusal } from './soap-refusal.ts';
import type { VCenterServerState } from './vcenter-server-state.ts';
import { render } from './vim-values.ts';

/** Methods that a machine can have disabled, and that one that is not connected cannot have done. */
const CHANGES: readonly string[] = [
  ...['Rename_Task', 'Destroy_Task', 'ReconfigVM_Task', 'MarkAsTemplate', 'MarkAsVirtualMachine', 'PowerOnVM_Task'],
];

/** Refuses what a machine has disabled, cannot have done now, or is too busy for. */
export function checkEnabledMethod({ state, method, self }: MethodCall): void {
  const machine = state.world.state.machines.get(refKey(self));
  if (machine === undefined || !CHANGES.includes(method)) return;
  if (machine.disabledMethods.has(method)) throw refusal('MethodDisabled', {}, 'The method is disabled.');
  if (machine.connectionState !== 'connected')
    throw refusal('InvalidState', {}, 'The operation is not allowed in the current connection state of the VM.');
  const busy = machine.tasks.find(({ ref }) => state.world.blockers.has(ref.value));
  if (method !== 'Destroy_Task' || busy === undefined) return;
  const text = `The operation is not allowed while ${busy.descriptionId} runs on the object.`;
  throw refusal('TaskInProgress', { task: busy.ref }, text);
}

const TAGGING = 'POST /rest/com/vmware/cis/tagging/tag-association';

/** What vCenter asks for before it acts, by SOAP method or REST call. Reads are not in it. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  AddCustomFieldDef: ['Global.ManageCustomFields'],
  CloneVM_Task: [
    ...['VirtualMachine.Provisioning.DeployTemplate', 'VirtualMachine.Inventory.CreateFromExisting'],
    'Datastore.AllocateSpace',
  ],
  CreateFolder: ['Folder.Create'],
  CreateSnapshot_Task: ['VirtualMachine.State.CreateSnapshot'],
  CreateVM_Task: ['VirtualMachine.Inventory.Create', 'Datastore.AllocateSpace'],
  Destroy_Task: ['VirtualMachine.Inventory.Delete'],
  ImportVApp: [
    ...['VApp.Import', 'VirtualMachine.Inventory.Create', 'VirtualMachine.Config.AddNewDisk'],
    ...['Resource.AssignVMToPool', 'Datastore.AllocateSpace', 'Network.Assign'],
  ],
  MarkAsTemplate: ['VirtualMachine.Provisioning.MarkAsTemplate'],
  MarkAsVirtualMachine: ['VirtualMachine.Provisioning.MarkAsVM'],
  MoveIntoFolder_Task: ['VirtualMachine.Inventory.Move'],
  PowerOnVM_Task: ['VirtualMachine.Interact.PowerOn'],
  ReconfigVM_Task: ['VirtualMachine.Config.AdvancedConfig', 'VirtualMachine.Config.Settings'],
  Rename_Task: ['VirtualMachine.Config.Rename'],
  SetField: ['Global.SetCustomField'],
  [`${TAGGING}/id:*?~action=attach`]: ['InventoryService.Tagging.AttachTag'],
  [`${TAGGING}?~action=attach-multiple-tags-to-object`]: ['InventoryService.Tagging.AttachTag'],
  'POST /rest/com/vmware/content/library/item/download-session': ['ContentLibrary.DownloadSession'],
};

/** The first privilege that a call needs and that is denied. */
export function lackedPrivilege({ world }: VCenterServerState, method: string): string | undefined {
  return REQUIRED[method]?.find((privilege) => world.state.deniedPrivileges.has(privilege));
}

/** Refuses a call whose caller lacks a privilege. */
export function checkPrivilege(state: VCenterServerState, method: string, object: MoRef): void {
  const privilegeId = lackedPrivilege(state, method);
  if (privilegeId !== undefined)
    throw refusal('NoPermission', { object, privilegeId }, 'Permission to perform this operation was denied.');
}

/** The answers to questions for privileges. */
export function privilegeAnswer(
  { world }: VCenterServerState,
  entities: readonly MoRef[],
  ids: readonly string[],
): string {
  return entities
    .map((entity) => {
      const each = ids.map(
        (id) =>
          `<privAvailability>${render('privId', id)}${render('isGranted', !world.state.deniedPrivileges.has(id))}</privAvailability>`,
      );
      return `<returnval>${render('entity', entity)}${each.join('')}</returnval>`;
    })
    .join('');
}
