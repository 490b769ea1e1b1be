import { VimError } from '../errors.ts';
import type { MoRef } from '../vcenter.ts';
import { element, reference, VIM_NS, type XmlElement, type XmlNode } from '../xml/xml.ts';

/**
 * Fields of each method after `_this`, in the order of the WSDL. A real vCenter rejects or drops what is out of order; the simulator does not
 * notice, so nothing is sent that is not in these tables.
 */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  AddCustomFieldDef: ['name', 'moType', 'fieldDefPolicy', 'fieldPolicy'],
  CancelRetrievePropertiesEx: ['token'],
  CancelTask: [],
  CancelWaitForUpdates: [],
  CloneVM_Task: ['folder', 'name', 'spec'],
  ContinueRetrievePropertiesEx: ['token'],
  CreateContainerView: ['container', 'type', 'recursive'],
  CreateFilter: ['spec', 'partialUpdates'],
  CreateFolder: ['name'],
  CreateImportSpec: ['ovfDescriptor', 'resourcePool', 'datastore', 'cisp'],
  CreateListView: ['obj'],
  CreatePropertyCollector: [],
  CreateSnapshot_Task: ['name', 'description', 'memory', 'quiesce'],
  CurrentTime: [],
  DestroyPropertyCollector: [],
  DestroyPropertyFilter: [],
  DestroyView: [],
  Destroy_Task: [],
  FetchUserPrivilegeOnEntities: ['entities', 'userName'],
  FindAllByUuid: ['datacenter', 'uuid', 'vmSearch', 'instanceUuid'],
  FindByInventoryPath: ['inventoryPath'],
  FindByUuid: ['datacenter', 'uuid', 'vmSearch', 'instanceUuid'],
  FindChild: ['entity', 'name'],
  HasPrivilegeOnEntities: ['entity', 'sessionId', 'privId'],
  HttpNfcLeaseAbort: ['fault'],
  HttpNfcLeaseComplete: [],
  HttpNfcLeaseGetManifest: [],
  HttpNfcLeaseProgress: ['percent'],
  ImportVApp: ['spec', 'folder', 'host'],
  Login: ['userName', 'password', 'locale'],
  Logout: [],
  MarkAsTemplate: [],
  MarkAsVirtualMachine: ['pool', 'host'],
  ModifyListView: ['add', 'remove'],
  MoveIntoFolder_Task: ['list'],
  PowerOffVM_Task: [],
  PowerOnVM_Task: ['host'],
  ReconfigVM_Task: ['spec'],
  RemoveAllSnapshots_Task: ['consolidate'],
  Rename_Task: ['newName'],
  ResetListView: ['obj'],
  RetrievePropertiesEx: ['specSet', 'options'],
  RetrieveServiceContent: [],
  SessionIsActive: ['sessionID', 'userName'],
  SetField: ['entity', 'key', 'value'],
  TerminateSession: ['sessionId'],
  WaitForUpdatesEx: ['version', 'options'],
};

/** Fields of each data object, base type's first. Only those up to the last one that we use. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  ObjectSpec: ['obj', 'skip', 'selectSet'],
  OptionValue: ['key', 'value'],
  OvfCreateImportSpecParams: [
    'locale',
    'deploymentOption',
    'msgBundle',
    'importOption',
    'entityName',
    'hostSystem',
    'networkMapping',
    'ipAllocationPolicy',
    'ipProtocol',
    'propertyMapping',
    'resourceMapping',
    'diskProvisioning',
  ],
  OvfNetworkMapping: ['name', 'network'],
  PropertyFilterSpec: ['propSet', 'objectSet', 'reportMissingObjectsInResults'],
  PropertySpec: ['type', 'all', 'pathSet'],
  RetrieveOptions: ['maxObjects'],
  SelectionSpec: ['name'],
  TraversalSpec: ['name', 'type', 'path', 'skip', 'selectSet'],
  VirtualMachineBootOptions: [
    'bootDelay',
    'enterBIOSSetup',
    'efiSecureBootEnabled',
    'bootRetryEnabled',
    'bootRetryDelay',
    'bootOrder',
  ],
  VirtualMachineConfigSpec: [
    'changeVersion',
    'name',
    'version',
    'createDate',
    'uuid',
    'instanceUuid',
    'npivNodeWorldWideName',
    'npivPortWorldWideName',
    'npivWorldWideNameType',
    'npivDesiredNodeWwns',
    'npivDesiredPortWwns',
    'npivTemporaryDisabled',
    'npivOnNonRdmDisks',
    'npivWorldWideNameOp',
    'locationId',
    'guestId',
    'alternateGuestName',
    'annotation',
    'files',
    'tools',
    'flags',
    'consolePreferences',
    'powerOpInfo',
    'rebootPowerOff',
    'numCPUs',
    'vcpuConfig',
    'numCoresPerSocket',
    'memoryMB',
    'memoryHotAddEnabled',
    'cpuHotAddEnabled',
    'cpuHotRemoveEnabled',
    'virtualICH7MPresent',
    'virtualSMCPresent',
    'deviceChange',
    'cpuAllocation',
    'memoryAllocation',
    'latencySensitivity',
    'cpuAffinity',
    'memoryAffinity',
    'networkShaper',
    'cpuFeatureMask',
    'extraConfig',
    'swapPlacement',
    'bootOptions',
    'vAppConfig',
    'ftInfo',
    'repConfig',
    'vAppConfigRemoved',
    'vAssertsEnabled',
    'changeTrackingEnabled',
    'firmware',
    'maxMksConnections',
    'guestAutoLockEnabled',
    'managedBy',
  ],
  WaitOptions: ['maxWaitSeconds', 'maxObjectUpdates'],
};

/** A field's value: text, number or flag; a reference; an element built by {@link data}, renamed to the field; several of them; undefined leaves it out. */
export type FieldValue = string | number | boolean | MoRef | XmlElement | readonly FieldValue[] | undefined;

/** Fields by name, in any order. */
export type Fields = Readonly<Record<string, FieldValue>>;

/** The body of a method, in schema order. */
export function methodBody(method: string, fields: Fields): readonly XmlNode[] {
  return inOrder(`method ${method}`, METHODS[method], fields);
}

/** A data object in schema order. `name` is replaced by the field's name where it becomes one; `concrete` says its type, as base types need. */
export function data(
  type: string,
  fields: Fields,
  options?: { readonly concrete?: boolean; readonly name?: string },
): XmlElement {
  const made = element(options?.name ?? type, ...inOrder(`type ${type}`, TYPES[type], fields));
  return options?.concrete === true ? { ...made, type: { uri: VIM_NS, local: type } } : made;
}

/** Where a field of a data object belongs: its position in the schema, -1 when the table does not have it. Serves insertion into a foreign subtree. */
export function schemaPosition(type: string, field: string): number {
  return TYPES[type]?.indexOf(field) ?? -1;
}

/** Throws unless the elements of a body stand in the method's order. */
export function checkOrder(method: string, body: readonly XmlNode[]): void {
  const order = METHODS[method];
  if (order === undefined) throw refused(method, 'is not in the schema table');
  let last = 0;
  for (const node of body) {
    if (typeof node === 'string') throw refused(method, 'has text between its fields');
    const at = order.indexOf(node.name);
    if (at < 0) throw refused(method, `has no field ${node.name}`);
    if (at < last) throw refused(method, `has ${node.name} after ${order[last] ?? ''}`);
    last = at;
  }
}

function inOrder(what: string, order: readonly string[] | undefined, fields: Fields): readonly XmlElement[] {
  if (order === undefined) throw refused(what, 'is not in the schema table');
  for (const name of Object.keys(fields)) if (!order.includes(name)) throw refused(what, `has no field ${name}`);
  return order.flatMap((name) => field(name, fields[name]));
}

function field(name: string, value: FieldValue): readonly XmlElement[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return [value === '' ? element(name) : element(name, value)];
  if (typeof value === 'number' || typeof value === 'boolean') return [element(name, String(value))];
  if (isList(value)) return value.flatMap((item) => field(name, item));
  if ('value' in value) return [reference(name, value)];
  return [{ ...value, name }];
}

function isList(value: FieldValue): value is readonly FieldValue[] {
  return Array.isArray(value);
}

function refused(what: string, why: string): VimError {
  return new VimError({ kind: 'protocol', code: 'VIM_REFUSED', op: what, message: `the request ${why}` });
}
