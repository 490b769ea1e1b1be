import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { child, childText, elements, referenceOf, textOf, type XmlElement } from '../../xml/xml.ts';
import { escapeText } from '../../xml/xml-characters.ts';
import { keyRef } from '../inventory.ts';
import { isA } from './managed-types.ts';
import type { IndexedObject } from './object-index.ts';
import { hasPath, propertyNames, propertyOf } from './object-properties.ts';
import { childrenByParent } from './place-queries.ts';
import type { ServerSession } from './server-session.ts';
import { serviceProperty, serviceTypes } from './service-objects.ts';
import { found, invalidArgument, notFound, Refusal, refusal } from './soap-refusal.ts';
import type { Filter } from './update-collector.ts';
import { missing } from './update-page.ts';
import type { VCenterServerState } from './vcenter-server-state.ts';
import { isRef, itemsOf, type Val, val } from './vim-values.ts';

/** Throws what a server says of a container that the user may not see. */
export function checkVisible({ forbidden }: VCenterServerState, object: MoRef): void {
  if (forbidden.has(object.value)) throw refusal('NoPermission', { object, privilegeId: 'System.View' });
}

/** What is asked of one type. */
interface Asked {
  readonly type: string;
  /** Empty: everything. */
  readonly paths: readonly string[];
}

interface Traversal {
  readonly name: string;
  readonly type: string;
  readonly path: string;
  readonly skip: boolean;
  readonly selectSet: readonly XmlElement[];
}

/** A property filter spec, read. */
class Selection {
  readonly asked: readonly Asked[];
  readonly objects: readonly XmlElement[];
  readonly #named = new Map<string, Traversal>();

  constructor(spec: XmlElement | undefined) {
    this.asked = elements(spec, 'propSet').map((set) => ({
      type: childText(set, 'type') ?? '',
      paths: childText(set, 'all') === 'true' ? [] : elements(set, 'pathSet').map(textOf),
    }));
    this.objects = elements(spec, 'objectSet');
    for (const object of this.objects) this.#learn(elements(object, 'selectSet'));
  }

  /** The paths that are asked of a type, and of those that it extends; undefined: it is not asked for. */
  pathsOf(type: string): readonly string[] | undefined {
    const asked = this.asked.filter((one) => isA(type, one.type));
    if (asked.length === 0) return undefined;
    if (asked.some(({ paths }) => paths.length === 0)) return propertyNames(type) ?? serviceTypes[type] ?? [];
    return asked.length === 1 ? asked[0]?.paths : [...new Set(asked.flatMap(({ paths }) => paths))];
  }

  /** Where a step goes: a traversal, or the one of that name. */
  traversal(select: XmlElement): Traversal | undefined {
    return select.type?.local === 'TraversalSpec' || child(select, 'path') !== undefined
      ? traversalOf(select)
      : this.#named.get(childText(select, 'name') ?? '');
  }

  #learn(selects: readonly XmlElement[]): void {
    for (const select of selects) {
      if (child(select, 'path') === undefined) continue;
      const traversal = traversalOf(select);
      if (traversal.name !== '') this.#named.set(traversal.name, traversal);
      this.#learn(traversal.selectSet);
    }
  }
}

function traversalOf(select: XmlElement): Traversal {
  return {
    name: childText(select, 'name') ?? '',
    type: childText(select, 'type') ?? '',
    path: childText(select, 'path') ?? '',
    skip: childText(select, 'skip') === 'true',
    selectSet: elements(select, 'selectSet'),
  };
}

/** The objects that a spec selects, each once, in the order of the walk. */
function* select(
  state: VCenterServerState,
  session: ServerSession | undefined,
  selection: Selection,
): Generator<MoRef> {
  const seen = new Set<string>();
  const walked = new Set<string>();
  function* visit(ref: MoRef, skip: boolean, selects: readonly XmlElement[]): Generator<MoRef> {
    const key = refKey(ref);
    if (!skip && !seen.has(key)) {
      seen.add(key);
      yield ref;
    }
    for (const step of selects) {
      const traversal = selection.traversal(step);
      if (traversal === undefined || !isA(ref.type, traversal.type)) continue;
      const walk = `${key} ${traversal.name} ${traversal.type} ${traversal.path}`;
      if (walked.has(walk)) continue;
      walked.add(walk);
      for (const target of targets(state, session, ref, traversal.path))
        yield* visit(target, traversal.skip, traversal.selectSet);
    }
  }
  for (const object of selection.objects) {
    const ref = found(referenceOf(child(object, 'obj')), undefined);
    yield* visit(ref, childText(object, 'skip') === 'true', elements(object, 'selectSet'));
  }
}

/** What a property of an object refers to. */
function* targets(
  state: VCenterServerState,
  session: ServerSession | undefined,
  ref: MoRef,
  path: string,
): Generator<MoRef> {
  if (ref.type === 'ContainerView' && path === 'view') {
    yield* viewMembers(state, session, ref);
    return;
  }
  const value = serviceProperty(state, session, ref, path) ?? propertyOf(state.world, ref, path);
  for (const item of itemsOf(value)) if (isRef(item)) yield item;
}

/** The objects in a container view now: from above, each before what is in it. */
export function* viewMembers(
  { world }: VCenterServerState,
  session: ServerSession | undefined,
  ref: MoRef,
): Generator<MoRef> {
  const { container, types, recursive } = found(session?.views.get(ref.value), ref);
  const shows = (type: string): boolean => types.length === 0 || types.some((wanted) => isA(type, wanted));
  const below = childrenByParent(world);
  const left = new Set<string>();
  for (const { type, moid } of world.index.within(new Set([refKey(container)])))
    left.add(refKey({ type, value: moid }));
  function* walk(parent: string): Generator<MoRef> {
    for (const member of below.get(parent) ?? []) {
      if (left.delete(refKey(member)) && shows(member.type)) yield member;
      if (recursive) yield* walk(refKey(member));
    }
  }
  yield* walk(refKey(container));
  // What a host, cluster or pool has besides: machines, which are in a folder.
  if (recursive || !below.has(refKey(container)))
    for (const key of left) {
      const member = keyRef(key);
      if (shows(member.type)) yield member;
    }
}

/** What one retrieval reads, as `<objects>`. Without a session nothing is read, and the answer says why. */
export function readAll(
  state: VCenterServerState,
  session: ServerSession | undefined,
  spec: XmlElement | undefined,
): readonly string[] {
  const selection = new Selection(spec);
  const lenient = childText(spec, 'reportMissingObjectsInResults') === 'true';
  const objects: string[] = [];
  if (session === undefined) {
    for (const entry of selection.objects) {
      const ref = found(referenceOf(child(entry, 'obj')), undefined);
      const paths = selection.pathsOf(ref.type) ?? selection.asked[0]?.paths ?? [];
      const read = ref.type === 'ServiceInstance' ? readObject(state, session, ref, paths) : undefined;
      objects.push(read ?? `${obj(ref)}${paths.map((path) => missing(path, 'NotAuthenticated')).join('')}`);
    }
    return objects;
  }
  for (const ref of select(state, session, selection)) {
    checkVisible(state, ref);
    const paths = selection.pathsOf(ref.type);
    if (paths === undefined) {
      if (!exists(state, session, ref)) throw notFound(ref);
      continue;
    }
    const read = readObject(state, session, ref, paths);
    if (read !== undefined) objects.push(read);
    else if (lenient) objects.push(`${obj(ref)}${missing(paths[0] ?? 'name', 'ManagedObjectNotFound', obj(ref))}`);
    else throw notFound(ref);
  }
  return objects;
}

/** RetrievePropertiesEx: the first page. */
export function retrieve(state: VCenterServerState, session: ServerSession | undefined, body: XmlElement): string {
  const objects = elements(body, 'specSet').flatMap((spec) => readAll(state, session, spec));
  const most = Number(childText(child(body, 'options'), 'maxObjects') ?? 0);
  return page(session, objects, most > 0 ? most : Number.POSITIVE_INFINITY);
}

/** The next page of a retrieval. */
export function continueRetrieve(session: ServerSession, token: string): string {
  const left = session.tokens.get(token);
  session.tokens.delete(token);
  if (left === undefined) throw invalidArgument('token');
  return page(session, left.rest, left.most);
}

function page(session: ServerSession | undefined, objects: readonly string[], most: number): string {
  if (objects.length === 0) return '';
  const rest = objects.slice(most);
  let token = '';
  if (rest.length > 0 && session !== undefined) {
    token = session.newId();
    session.tokens.set(token, { most, rest });
  }
  const shown = objects.slice(0, most).map((object) => `<objects>${object}</objects>`);
  return `<returnval>${token === '' ? '' : `<token>${escapeText(token)}</token>`}${shown.join('')}</returnval>`;
}

/** Whether there is such an object, for this session. */
export function exists(state: VCenterServerState, session: ServerSession | undefined, ref: MoRef): boolean {
  const { index } = state.world;
  return indexed(state, session, ref) !== undefined || index.has(ref) || isService(state, session, ref);
}

/** An object that can be watched; a lease lives in the session that made it. */
function indexed(
  { world, leases }: VCenterServerState,
  session: ServerSession | undefined,
  ref: MoRef,
): IndexedObject | undefined {
  const isForeign = ref.type === 'HttpNfcLease' && leases.get(ref.value)?.session !== session?.key;
  return isForeign ? undefined : world.index.object(ref);
}

function isService(state: VCenterServerState, session: ServerSession | undefined, ref: MoRef): boolean {
  try {
    serviceProperty(state, session, ref, '');
    return ref.type in serviceTypes;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

function readObject(
  state: VCenterServerState,
  session: ServerSession | undefined,
  ref: MoRef,
  paths: readonly string[],
): string | undefined {
  const { index } = state.world;
  if (state.vanishing.delete(ref.value)) index.destroy(ref.value);
  const object = indexed(state, session, ref);
  if (object === undefined) {
    if (index.has(ref)) return `${obj(ref)}<propSet><name>name</name>${val(ref.value)}</propSet>`;
    if (!(ref.type in serviceTypes) || !isService(state, session, ref)) return undefined;
  }
  const read = (path: string): Val | undefined => {
    if (object !== undefined) return object.read(path);
    const value = serviceProperty(state, session, ref, path);
    return value === undefined ? undefined : val(value);
  };
  let sets = '';
  let refused = '';
  for (const path of paths) {
    const isUnknown = state.unknownPaths.has(path) || !hasPath(ref.type, path);
    const fault = state.denied.get(path) ?? (isUnknown ? 'InvalidProperty' : undefined);
    if (fault !== undefined) {
      refused += missing(path, fault, fault === 'InvalidProperty' ? `<name>${escapeText(path)}</name>` : '');
      continue;
    }
    const value = read(path);
    if (value !== undefined) sets += `<propSet><name>${escapeText(path)}</name>${value}</propSet>`;
  }
  return `${obj(ref)}${sets}${refused}`;
}

function obj({ type, value }: MoRef): string {
  return `<obj type="${escapeText(type)}">${escapeText(value)}</obj>`;
}

/** A filter for updates of what a spec selects. Lists and views are followed; what else is selected stays as it was at first. */
export function filterOf(
  state: VCenterServerState,
  session: ServerSession,
  spec: XmlElement | undefined,
): Omit<Filter, 'id'> {
  const selection = new Selection(spec);
  for (const { type, paths } of selection.asked)
    for (const path of paths)
      if (state.unknownPaths.has(path) || !hasPath(type, path)) throw refusal('InvalidProperty', { name: path });
  const known = new Map<string, readonly string[] | undefined>();
  const pathsOf = (type: string): readonly string[] | undefined => {
    if (!known.has(type)) known.set(type, selection.pathsOf(type));
    return known.get(type);
  };
  const [only] = selection.objects;
  const ref = referenceOf(child(only, 'obj'));
  const followed = selection.objects.length === 1 && (ref?.type === 'ListView' || ref?.type === 'ContainerView');
  let listed: Filter['listed'];
  let types: readonly string[] = [];
  if (followed && ref.type === 'ListView') {
    found(session.lists.get(ref.value), ref);
    listed = () => session.listed(ref.value);
  } else if (followed) {
    const view = found(session.views.get(ref.value), ref);
    types = view.types;
    const places = new Set([refKey(view.container)]);
    listed = () => (session.views.has(ref.value) ? places : undefined);
  } else {
    const places = new Set<string>();
    for (const object of select(state, session, selection)) {
      if (!exists(state, session, object)) throw notFound(object);
      places.add(`=${refKey(object)}`);
    }
    listed = () => places;
  }
  return {
    denied: state.denied,
    listed,
    paths: (type) => pathsOf(type) ?? [],
    shows: (type) => pathsOf(type) !== undefined && (types.length === 0 || types.some((wanted) => isA(type, wanted))),
  };
}
