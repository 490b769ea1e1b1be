import type { MoRef } from '../../vcenter.ts';
import { keyRef } from '../inventory.ts';
import { leaseProperty } from './nfc-leases.ts';
import { ROOT } from './root-folder.ts';
import { OWN_COLLECTOR, type ServerSession } from './server-session.ts';
import { found, notFound } from './soap-refusal.ts';
import type { VCenterServerState } from './vcenter-server-state.ts';
import { type Data, data, dateTime, list, optionValues, refs, stepsOf, type Value, valueAt } from './vim-values.ts';

/** Objects that are there once: field of the service content → type and value. */
const SINGLETONS: Readonly<Record<string, MoRef>> = {
  propertyCollector: { type: 'PropertyCollector', value: OWN_COLLECTOR },
  viewManager: { type: 'ViewManager', value: 'ViewManager' },
  setting: { type: 'OptionManager', value: 'VpxSettings' },
  userDirectory: { type: 'UserDirectory', value: 'UserDirectory' },
  sessionManager: { type: 'SessionManager', value: 'SessionManager' },
  authorizationManager: { type: 'AuthorizationManager', value: 'AuthorizationManager' },
  perfManager: { type: 'PerformanceManager', value: 'PerfMgr' },
  eventManager: { type: 'EventManager', value: 'EventManager' },
  taskManager: { type: 'TaskManager', value: 'TaskManager' },
  extensionManager: { type: 'ExtensionManager', value: 'ExtensionManager' },
  customFieldsManager: { type: 'CustomFieldsManager', value: 'CustomFieldsManager' },
  licenseManager: { type: 'LicenseManager', value: 'LicenseManager' },
  searchIndex: { type: 'SearchIndex', value: 'SearchIndex' },
  fileManager: { type: 'FileManager', value: 'FileManager' },
  virtualDiskManager: { type: 'VirtualDiskManager', value: 'virtualDiskManager' },
  ovfManager: { type: 'OvfManager', value: 'OvfManager' },
  storageResourceManager: { type: 'StorageResourceManager', value: 'StorageResourceManager' },
};

/** Types of what is no inventory → names of their properties. */
export const serviceTypes: Readonly<Record<string, readonly string[]>> = {
  ServiceInstance: ['serverClock', 'capability', 'content'],
  ...Object.fromEntries(Object.values(SINGLETONS).map(({ type }) => [type, []])),
  AuthorizationManager: ['description', 'privilegeList', 'roleList'],
  ContainerView: ['container', 'recursive', 'type', 'view'],
  CustomFieldsManager: ['field'],
  EventManager: ['description', 'latestEvent', 'maxCollector'],
  ExtensionManager: ['extensionList'],
  EnvironmentBrowser: ['datastoreBrowser'],
  HostDatastoreBrowser: ['datastore', 'supportedType'],
  HostDatastoreSystem: ['capabilities', 'datastore'],
  HttpNfcLease: ['error', 'info', 'initializeProgress', 'state', 'transferProgress'],
  ListView: ['view'],
  OptionManager: ['setting', 'supportedOption'],
  PropertyCollector: ['filter'],
  PropertyFilter: ['partialUpdates', 'spec'],
  SessionManager: ['currentSession', 'defaultLocale', 'message', 'messageLocaleList', 'sessionList'],
  TaskManager: ['description', 'maxCollector', 'recentTask'],
  ViewManager: ['viewList'],
  VirtualMachineSnapshot: ['childSnapshot', 'config', 'vm'],
};

/** `about` and the managers. */
export function serviceContent({ about }: VCenterServerState): Data {
  return data('ServiceContent', {
    rootFolder: ROOT,
    ...SINGLETONS,
    about: data('AboutInfo', {
      ...{ name: 'VMware vCenter Server', fullName: about.fullName, vendor: 'VMware, Inc.', version: about.version },
      ...{ build: about.build, localeVersion: 'INTL', localeBuild: '000', osType: 'linux-x64', productLineId: 'vpx' },
      ...{ apiType: 'VirtualCenter', apiVersion: about.apiVersion, instanceUuid: about.instanceUuid },
      ...{ licenseProductName: 'VMware VirtualCenter Server', licenseProductVersion: '6.0' },
    }),
  });
}

/** One login as `UserSession`. */
export function userSession({ key, user, at, agent, address, calls }: ServerSession): Data {
  return data('UserSession', {
    ...{ key, userName: user, fullName: user, loginTime: dateTime(at), lastActiveTime: dateTime(new Date()) },
    ...{ locale: 'en_US', messageLocale: 'en_US', extensionSession: false, ipAddress: address, userAgent: agent },
    callCount: { scalar: 'xsd:long', text: String(calls) },
  });
}

/** The property at a path of what is no inventory; undefined: unset, or the object is of the inventory. Refuses one that does not exist. */
export function serviceProperty(
  state: VCenterServerState,
  session: ServerSession | undefined,
  ref: MoRef,
  path: string,
): Value | undefined {
  const steps = stepsOf(path);
  return valueAt(topOf(state, session, ref, steps[0]?.field ?? ''), steps);
}

function topOf(
  state: VCenterServerState,
  session: ServerSession | undefined,
  ref: MoRef,
  name: string,
): Value | undefined {
  const { world } = state;
  switch (ref.type) {
    case 'ServiceInstance':
      if (name === 'content') return serviceContent(state);
      return name === 'serverClock' ? dateTime(world.now()) : undefined;
    case 'SessionManager':
      return sessionProperty(state, session, name);
    case 'CustomFieldsManager':
      return name === 'field' ? fieldDefinitions(state) : undefined;
    case 'TaskManager':
      return name === 'recentTask' ? refs(Array.from(world.tasks.values(), (task) => task.ref).slice(-200)) : undefined;
    case 'AuthorizationManager':
      return name === 'privilegeList' ? privileges() : undefined;
    case 'PropertyCollector': {
      const filters = session?.filtersOf(ref) ?? [];
      return name === 'filter' ? refs(filters.map((value) => ({ type: 'PropertyFilter', value }))) : undefined;
    }
    case 'PropertyFilter':
      found(session?.filters.get(ref.value), ref);
      return undefined;
    case 'ViewManager': {
      const views = Array.from(session?.views.keys() ?? [], (value) => ({ type: 'ContainerView', value }));
      return name === 'viewList' ? refs(views) : undefined;
    }
    case 'ListView': {
      const members = found(session?.lists.get(ref.value), ref);
      return name === 'view' ? refs(Array.from(members, keyRef)) : undefined;
    }
    case 'ContainerView': {
      const { container, types, recursive } = found(session?.views.get(ref.value), ref);
      if (name === 'container') return container;
      if (name === 'type') return list('string', types);
      return name === 'recursive' ? recursive : undefined;
    }
    case 'HttpNfcLease': {
      const lease = state.leases.get(ref.value);
      // A lease lives in the session that made it.
      return leaseProperty(state, found(lease?.session === session?.key ? lease : undefined, ref), name);
    }
    case 'VirtualMachineSnapshot':
      return snapshotProperty(state, ref, name);
    case 'OptionManager':
      return name === 'setting' ? optionValues(state.settings) : undefined;
    case 'ExtensionManager':
      return name === 'extensionList' ? list('Extension', []) : undefined;
    default:
      return undefined;
  }
}

function sessionProperty(
  state: VCenterServerState,
  session: ServerSession | undefined,
  name: string,
): Value | undefined {
  if (name === 'currentSession') return session === undefined ? undefined : userSession(session);
  if (name !== 'sessionList') return undefined;
  const soap = [...state.sessions.values()].filter(({ kind }) => kind === 'soap');
  return list('UserSession', soap.map(userSession));
}

function fieldDefinitions({ world }: VCenterServerState): Value {
  return list(
    'CustomFieldDef',
    world.state.customFields.map((name, key) =>
      data('CustomFieldDef', { key, name, type: 'string', managedObjectType: 'VirtualMachine' }),
    ),
  );
}

function snapshotProperty({ world }: VCenterServerState, ref: MoRef, name: string): Value | undefined {
  for (const machine of world.state.machines.values()) {
    const points = machine.details?.snapshots ?? [];
    if (!points.some((point) => point.ref.value === ref.value)) continue;
    if (name === 'vm') return machine.ref;
    const children = points.filter(({ parent }) => parent === ref.value).map((point) => point.ref);
    return name === 'childSnapshot' ? refs(children) : undefined;
  }
  throw notFound(ref);
}

/** Privileges that a user of this server can have. */
export const PRIVILEGES: readonly string[] = [
  ...['ContentLibrary.DownloadSession', 'Datastore.AllocateSpace', 'Datastore.Browse', 'Datastore.FileManagement'],
  ...['Folder.Create', 'Folder.Delete', 'Global.ManageCustomFields', 'Global.SetCustomField'],
  ...['InventoryService.Tagging.AttachTag', 'InventoryService.Tagging.CreateCategory'],
  ...['InventoryService.Tagging.CreateTag', 'Network.Assign', 'Resource.AssignVMToPool'],
  ...['Sessions.TerminateSession', 'Sessions.ValidateSession', 'System.Anonymous', 'System.Read', 'System.View'],
  ...['VApp.Import', 'VirtualMachine.Config.AddNewDisk', 'VirtualMachine.Config.AdvancedConfig'],
  ...['VirtualMachine.Config.Rename', 'VirtualMachine.Config.Settings', 'VirtualMachine.Interact.PowerOff'],
  ...['VirtualMachine.Interact.PowerOn', 'VirtualMachine.Inventory.Create', 'VirtualMachine.Inventory.Move'],
  ...['VirtualMachine.Inventory.CreateFromExisting', 'VirtualMachine.Inventory.Delete'],
  ...['VirtualMachine.Provisioning.DeployTemplate', 'VirtualMachine.Provisioning.MarkAsTemplate'],
  ...['VirtualMachine.Provisioning.MarkAsVM', 'VirtualMachine.State.CreateSnapshot'],
];

function privileges(): Value {
  return list(
    'AuthorizationPrivilege',
    PRIVILEGES.map((privId) => {
      const parts = privId.split('.');
      const name = parts.at(-1) ?? '';
      const group = parts.slice(0, -1).join('.');
      return data('AuthorizationPrivilege', { privId, onParent: false, name, privGroupName: group });
    }),
  );
}
