import { unescapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { child, childText, elements, referenceOf, textOf, type XmlElement } from '../../xml/xml.ts';
import { childOf, splitPath } from '../inventory.ts';
import { importSpec } from './import-spec.ts';
import { type MethodCall, type MethodTable, returned } from './method-call.ts';
import { privilegeAnswer } from './method-checks.ts';
import { closeLease, keepLease, leaseManifest, removeHalfMade } from './nfc-leases.ts';
import { ROOT } from './root-folder.ts';
import { PRIVILEGES } from './service-objects.ts';
import { found, invalidArgument, notFound, refusal } from './soap-refusal.ts';
import type { VCenterWorld } from './vcenter-world.ts';
import { data, optionValues, render } from './vim-values.ts';

const refsOf = (body: XmlElement, name: string): readonly MoRef[] =>
  elements(body, name).map((one) => found(referenceOf(one), undefined));

/** What is at an inventory path; the root folder at `/`. */
export function atPath(world: VCenterWorld, path: string): MoRef | undefined {
  let at: MoRef = ROOT;
  for (const name of splitPath(path)) {
    const next = childOf(world.state, at === ROOT ? undefined : refKey(at), name);
    if (next === undefined) return undefined;
    at = next;
  }
  return at;
}

function machineBy({ body, state }: MethodCall, field: 'uuid' | 'ip' | 'dnsName'): readonly MoRef[] {
  const wanted = (childText(body, field) ?? '').toLowerCase();
  const isInstance = childText(body, 'instanceUuid') === 'true';
  const found: MoRef[] = [];
  for (const machine of state.world.state.machines.values()) {
    const { uuid, guest } = state.world.details(machine);
    const own = {
      uuid: [isInstance ? machine.instanceUuid : uuid],
      ip: guest?.addresses ?? [],
      dnsName: guest === undefined ? [] : [guest.hostName],
    }[field];
    if (own.some((one) => one.toLowerCase() === wanted)) found.push(machine.ref);
  }
  return found;
}

const firstOf = (refs: readonly MoRef[]): string => (refs[0] === undefined ? '' : returned(refs[0]));

const leaseOf = ({ state, self }: MethodCall) => {
  const lease = found(state.leases.get(self.value), self);
  if (lease.state !== 'ready') throw refusal('InvalidState');
  return lease;
};

const MOST_CHARACTERS = 255;

/** SetField: at most 255 characters; what becomes of more differs between vCenters. */
export function setCustomValue(world: VCenterWorld, entity: MoRef, key: number, value: string): void {
  const machine = world.machine(entity);
  if (world.state.customFields[key] === undefined) throw invalidArgument('key');
  const characters = Array.from(value);
  const { longCustomValues } = world.behaviour;
  if (characters.length > MOST_CHARACTERS && longCustomValues === 'refuse') throw invalidArgument('value');
  const cut = characters.length > MOST_CHARACTERS && longCustomValues === 'truncate';
  machine.customValues.set(key, cut ? characters.slice(0, MOST_CHARACTERS).join('') : value);
  world.touch(refKey(entity), 'customValue', 'value', 'summary.customValue');
}

/** AddCustomFieldDef; DuplicateName where it is there. */
export function defineField(world: VCenterWorld, name: string): number {
  const { customFields } = world.state;
  if (customFields.includes(name)) throw refusal('DuplicateName', { name, object: CUSTOM_FIELDS });
  return customFields.push(name) - 1;
}

const CUSTOM_FIELDS: MoRef = { type: 'CustomFieldsManager', value: 'CustomFieldsManager' };

/** What is there once, leases and tasks. */
export const managerMethods: readonly MethodTable[] = [
  {
    on: 'ServiceInstance',
    methods: { CurrentTime: ({ state }) => `<returnval>${state.world.now().toISOString()}</returnval>` },
  },
  {
    on: 'SearchIndex',
    methods: {
      FindByInventoryPath: ({ state, body }) => {
        const at = atPath(state.world, childText(body, 'inventoryPath') ?? '');
        return at === undefined ? '' : returned(at);
      },
      FindChild: ({ state, body }) => {
        const entity = found(referenceOf(child(body, 'entity')), undefined);
        const { places, machines } = state.world.state;
        if (entity.value !== ROOT.value && !places.has(refKey(entity)) && !machines.has(refKey(entity)))
          throw notFound(entity);
        const name = childText(body, 'name') ?? '';
        const parent = entity.value === ROOT.value ? undefined : refKey(entity);
        const at = childOf(state.world.state, parent, unescapeName(name)) ?? childOf(state.world.state, parent, name);
        return at === undefined ? '' : returned(at);
      },
      FindByUuid: (call) => firstOf(machineBy(call, 'uuid')),
      FindAllByUuid: (call) => machineBy(call, 'uuid').map(returned).join(''),
      FindByIp: (call) => firstOf(machineBy(call, 'ip')),
      FindByDnsName: (call) => firstOf(machineBy(call, 'dnsName')),
    },
  },
  {
    on: 'SessionManager',
    methods: {
      SessionIsActive: ({ state, body }) => {
        const id = childText(body, 'sessionID') ?? '';
        return render(
          'returnval',
          [...state.sessions.values()].some(({ key }) => key === id),
        );
      },
      TerminateSession: ({ state, session, body }) => {
        for (const id of elements(body, 'sessionId').map(textOf)) {
          if (id === session.key) throw invalidArgument('sessionId');
          const ended = [...state.sessions.values()].find(({ key }) => key === id);
          if (ended === undefined) throw refusal('NotFound');
          state.sessions.delete(ended.id);
          ended.end();
        }
        return '';
      },
    },
  },
  {
    on: 'AuthorizationManager',
    methods: {
      HasPrivilegeOnEntities: ({ state, body }) =>
        privilegeAnswer(state, refsOf(body, 'entity'), elements(body, 'privId').map(textOf)),
      HasUserPrivilegeOnEntities: ({ state, body }) =>
        privilegeAnswer(state, refsOf(body, 'entities'), elements(body, 'privId').map(textOf)),
      HasPrivilegeOnEntity: ({ state, body }) =>
        elements(body, 'privId')
          .map((id) => render('returnval', !state.world.state.deniedPrivileges.has(textOf(id))))
          .join(''),
      FetchUserPrivilegeOnEntities: ({ state, body }) =>
        refsOf(body, 'entities')
          .map((entity) => {
            const granted = PRIVILEGES.filter((id) => !state.world.state.deniedPrivileges.has(id));
            const each = granted.map((id) => render('privileges', id)).join('');
            return `<returnval>${render('entity', entity)}${each}</returnval>`;
          })
          .join(''),
    },
  },
  {
    on: 'CustomFieldsManager',
    methods: {
      AddCustomFieldDef: ({ state, body }) => {
        const name = childText(body, 'name') ?? '';
        const key = defineField(state.world, name);
        const type = childText(body, 'moType');
        return render('returnval', data('', { key, name, type: 'string', managedObjectType: type }));
      },
      SetField: ({ state, body }) => {
        const entity = found(referenceOf(child(body, 'entity')), undefined);
        setCustomValue(state.world, entity, Number(childText(body, 'key') ?? -1), childText(body, 'value') ?? '');
        return '';
      },
    },
  },
  { on: 'OvfManager', methods: { CreateImportSpec: ({ state, body }) => importSpec(state.world, body) } },
  {
    on: 'OptionManager',
    methods: {
      QueryOptions: ({ state, body }) => {
        const name = childText(body, 'name') ?? '';
        const known = [...state.settings].filter(([key]) => key === name || key.startsWith(`${name}.`));
        if (known.length === 0) throw refusal('InvalidName', { name });
        return render('returnval', optionValues(known));
      },
      UpdateOptions: ({ state, body }) => {
        for (const one of elements(body, 'changedValue'))
          state.settings.set(childText(one, 'key') ?? '', childText(one, 'value') ?? '');
        return '';
      },
    },
  },
  { on: 'EventManager', methods: { QueryEvents: () => '' } },
  {
    on: 'Task',
    methods: {
      CancelTask: ({ state, self }) => {
        const task = found(state.world.tasks.get(self.value), self);
        if (task.state !== 'running' && task.state !== 'queued') throw refusal('InvalidState');
        task.cancelled = true;
        state.world.endTask(task, { error: refusal('RequestCanceled') });
        return '';
      },
    },
  },
  {
    on: 'HttpNfcLease',
    methods: {
      HttpNfcLeaseProgress: (call) => {
        const lease = leaseOf(call);
        lease.progress = Number(childText(call.body, 'percent') ?? 0);
        keepLease(call.state, lease);
        return '';
      },
      HttpNfcLeaseGetManifest: (call) =>
        leaseManifest(call.state, leaseOf(call))
          .map((entry) => render('returnval', entry))
          .join(''),
      HttpNfcLeaseComplete: (call) => {
        const lease = leaseOf(call);
        const machine =
          lease.machine === undefined ? undefined : call.state.world.state.machines.get(refKey(lease.machine));
        if (machine !== undefined) machine.complete = lease.targets.every(({ received }) => received !== undefined);
        closeLease(call.state, lease);
        return '';
      },
      HttpNfcLeaseAbort: (call) => {
        const lease = found(call.state.leases.get(call.self.value), call.self);
        if (lease.state === 'ready' && call.state.world.behaviour.destroyOnAbort) removeHalfMade(call.state, lease);
        closeLease(call.state, lease);
        return '';
      },
    },
  },
];
