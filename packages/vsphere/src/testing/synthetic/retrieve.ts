import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { child, childText, elements, referenceOf, textOf, type XmlElement } from '../../xml/xml.ts';
import { escapeText } from '../../xml/xml-characters.ts';
import { propertyOf, type SyntheticInventory, type SyntheticMachine } from './inventory.ts';
import { missing } from './page.ts';
import { Refusal } from './refusal.ts';
import { found, type SyntheticSession } from './session.ts';
import { keyedVal, textVal, type Val } from './values.ts';

/** What retrievals look at besides the session. */
export interface Readable {
  readonly inventory: SyntheticInventory;
  readonly denied: ReadonlyMap<string, string>;
  readonly unknownPaths: ReadonlySet<string>;
  /** A machine that goes just before it is read by itself. */
  readonly vanishing: Set<string>;
  /** Moref values of containers that the user may not see. */
  readonly forbidden: ReadonlySet<string>;
  /** New views are forgotten at once. */
  readonly losesViews: () => boolean;
}

const PAGE = 100;

/** Throws what a server says of a container that the user may not see. */
export function visible(forbidden: ReadonlySet<string>, { type, value }: MoRef): void {
  if (!forbidden.has(value)) return;
  const fields = `<object type="${type}">${escapeText(value)}</object><privilegeId>System.View</privilegeId>`;
  throw new Refusal('NoPermission', fields);
}

/** Answers RetrievePropertiesEx: objects by themselves, and the machines of a container view. Without a session nothing is found, and says why. */
export function retrieve(of: Readable, session: SyntheticSession | undefined, body: XmlElement): string {
  const spec = child(body, 'specSet');
  const paths = elements(child(spec, 'propSet'), 'pathSet').map(textOf);
  const lenient = childText(spec, 'reportMissingObjectsInResults') === 'true';
  const objects: string[] = [];
  for (const entry of elements(spec, 'objectSet')) {
    const ref = found(referenceOf(child(entry, 'obj')), undefined);
    if (session === undefined) {
      objects.push(`<objects>${obj(ref)}${paths.map((path) => missing(path, 'NotAuthenticated')).join('')}</objects>`);
    } else if (ref.type === 'ContainerView') {
      const container = found(session.views.get(ref.value), ref);
      for (const machine of of.inventory.within(new Set([refKey(container)])))
        objects.push(readMachine(of, machine, paths));
    } else {
      visible(of.forbidden, ref);
      const read = readOne(of, ref, paths);
      if (read !== undefined) objects.push(read);
      else if (lenient)
        objects.push(`<objects>${obj(ref)}${missing('name', 'ManagedObjectNotFound', obj(ref))}</objects>`);
      else throw new Refusal('ManagedObjectNotFound', obj(ref));
    }
  }
  return page(session, objects);
}

/** The next page of a retrieval. */
export function continueRetrieve(session: SyntheticSession, token: string): string {
  const rest = session.tokens.get(token);
  session.tokens.delete(token);
  if (rest === undefined) throw new Refusal('InvalidArgument', '<invalidProperty>token</invalidProperty>');
  return page(session, rest);
}

function page(session: SyntheticSession | undefined, objects: readonly string[]): string {
  if (objects.length === 0) return '';
  const rest = objects.slice(PAGE);
  let token = '';
  if (rest.length > 0 && session !== undefined) {
    token = session.id();
    session.tokens.set(token, rest);
  }
  return `<returnval>${token === '' ? '' : `<token>${token}</token>`}${objects.slice(0, PAGE).join('')}</returnval>`;
}

function readOne(of: Readable, ref: MoRef, paths: readonly string[]): string | undefined {
  if (ref.type !== 'VirtualMachine') {
    if (!of.inventory.has(ref)) return undefined;
    return `<objects>${obj(ref)}<propSet><name>name</name>${textVal(ref.value)}</propSet></objects>`;
  }
  if (of.vanishing.delete(ref.value)) of.inventory.destroy(ref.value);
  const machine = of.inventory.machines.get(ref.value);
  return machine === undefined ? undefined : readMachine(of, machine, paths);
}

function readMachine(of: Readable, machine: SyntheticMachine, paths: readonly string[]): string {
  let sets = '';
  let refused = '';
  for (const path of paths) {
    const fault = of.denied.get(path) ?? (of.unknownPaths.has(path) ? 'InvalidProperty' : undefined);
    if (fault !== undefined) {
      refused += missing(path, fault, fault === 'InvalidProperty' ? `<name>${escapeText(path)}</name>` : '');
      continue;
    }
    const val = keyed(machine, path);
    if (val !== undefined) sets += `<propSet><name>${escapeText(path)}</name>${val}</propSet>`;
  }
  return `<objects>${obj({ type: 'VirtualMachine', value: machine.moid })}${sets}${refused}</objects>`;
}

function keyed(machine: SyntheticMachine, path: string): Val | undefined {
  const [, whole = path, key] = /^(.*)\["(.*)"\]$/.exec(path) ?? [];
  const val = propertyOf(machine, whole);
  return key === undefined || val === undefined ? val : keyedVal(val, key);
}

function obj({ type, value }: MoRef): string {
  return `<obj type="${type}">${escapeText(value)}</obj>`;
}
