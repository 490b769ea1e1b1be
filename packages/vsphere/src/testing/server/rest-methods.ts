import { createHash, randomUUID } from 'node:crypto';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { newUuid } from '../inventory.ts';
import type { VCenterServerState } from './vcenter-server-state.ts';
import type { VCenterWorld } from './vcenter-world.ts';

/** A call of a REST session. */
export interface RestCall {
  readonly state: VCenterServerState;
  readonly method: string;
  /** Behind `/rest`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An answer: JSON `{value}`, bytes, or a status alone. */
export interface RestAnswer {
  readonly status: number;
  readonly value?: unknown;
  readonly bytes?: Uint8Array;
}

const OK: RestAnswer = { status: 200 };
const GONE: RestAnswer = { status: 404 };
const NOT_ALLOWED: RestAnswer = { status: 405 };
const ok = (value: unknown): RestAnswer => ({ status: 200, value });
const bad = (kind: string): RestAnswer => ({
  status: 400,
  value: { type: `com.vmware.vapi.std.errors.${kind}`, value: {} },
});

/** Categories and tags, besides what the model of processes needs of them. */
interface Category {
  name: string;
  description: string;
  cardinality: string;
  associable_types: readonly string[];
}

/** A transfer of files into or out of an item. */
interface Transfer {
  readonly item: string;
  readonly files: Map<string, { readonly name: string; bytes: Uint8Array }>;
}

/** What REST keeps beside the inventory: it goes with the server. */
class RestStore {
  readonly categories = new Map<string, Category>();
  readonly descriptions = new Map<string, string>();
  readonly libraryTypes = new Map<string, string>();
  readonly updates = new Map<string, Transfer>();
  /** Download session → item. */
  readonly downloads = new Map<string, string>();
}

const stores = new WeakMap<VCenterWorld, RestStore>();

function storeOf(world: VCenterWorld): RestStore {
  const known = stores.get(world);
  if (known !== undefined) return known;
  const store = new RestStore();
  // Tags that the model began with have categories by name.
  for (const { category } of world.state.tags.values()) categoryNamed(world, store, category);
  stores.set(world, store);
  return store;
}

function categoryNamed(world: VCenterWorld, store: RestStore, name: string): string {
  for (const [id, category] of store.categories) if (category.name === name) return id;
  const id = `urn:vmomi:InventoryServiceCategory:${newUuid(world.state)}:GLOBAL`;
  store.categories.set(id, { name, description: '', cardinality: 'MULTIPLE', associable_types: [] });
  return id;
}

/** Finds or makes a tag and its category; resolves to its id. */
export function ensureTag(world: VCenterWorld, category: string, name: string): string {
  categoryNamed(world, storeOf(world), category);
  for (const [id, tag] of world.state.tags) if (tag.name === name && tag.category === category) return id;
  const id = `urn:vmomi:InventoryServiceTag:${newUuid(world.state)}:GLOBAL`;
  world.state.tags.set(id, { name, category });
  return id;
}

/** Objects that a tag is attached to. */
export function attachedTo({ state, attachments }: VCenterWorld, tag: string): readonly string[] {
  const machines = [...state.machines].filter(([, machine]) => machine.tags.has(tag)).map(([key]) => key);
  return [...machines, ...(attachments.get(tag) ?? [])];
}

/** Attaches a tag, or takes it off. */
export function setTag(world: VCenterWorld, tag: string, ref: MoRef, on: boolean): void {
  const machine = world.state.machines.get(refKey(ref));
  const others = world.attachments.get(tag) ?? new Set<string>();
  if (machine !== undefined) {
    if (on) machine.tags.add(tag);
    else machine.tags.delete(tag);
  } else if (on) others.add(refKey(ref));
  else others.delete(refKey(ref));
  world.attachments.set(tag, others);
}

/** Deletes a tag, which takes it off everything. */
export function removeTag(world: VCenterWorld, tag: string): void {
  world.state.tags.delete(tag);
  world.attachments.delete(tag);
  for (const machine of world.state.machines.values()) machine.tags.delete(tag);
}

const TAGGING = '/com/vmware/cis/tagging';
const LIBRARY = '/com/vmware/content';
/** Where files are sent to and fetched from. */
export const DATA_PATH = '/com/vmware/cis/data';

/** Answers a REST call. */
export function runRest(call: RestCall): RestAnswer {
  const { path } = call;
  if (path.startsWith(`${TAGGING}/category`)) return categories(call);
  if (path.startsWith(`${TAGGING}/tag-association`)) return associations(call);
  if (path.startsWith(`${TAGGING}/tag`)) return tags(call);
  if (path.startsWith(`${LIBRARY}/library/item/update`)) return updateSessions(call);
  if (path.startsWith(`${LIBRARY}/library/item/download`)) return downloadSessions(call);
  if (path.startsWith(`${LIBRARY}/library/item`)) return items(call);
  if (path.startsWith(`${LIBRARY}/`)) return libraries(call);
  return GONE;
}

function idOf({ path }: RestCall): string | undefined {
  const at = path.indexOf('/id:');
  return at < 0 ? undefined : decodeURIComponent(path.slice(at + 4)).split('/')[0];
}

const actionOf = ({ query }: RestCall): string => query.get('~action') ?? '';
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const objectOf = (value: unknown): MoRef => ({
  type: textOf(recordOf(value)['type']),
  value: textOf(recordOf(value)['id']),
});
const said = (key: string): { readonly type: string; readonly id: string } => {
  const colon = key.indexOf(':');
  return { type: key.slice(0, colon), id: key.slice(colon + 1) };
};

function categories(call: RestCall): RestAnswer {
  const { world } = call.state;
  const store = storeOf(world);
  const id = idOf(call);
  if (id === undefined) {
    if (call.method === 'GET') return ok([...store.categories.keys()]);
    const spec = recordOf(call.body['create_spec']);
    const name = textOf(spec['name']);
    if ([...store.categories.values()].some((one) => one.name === name)) return bad('already_exists');
    const made = categoryNamed(world, store, name);
    const types = listOf(spec['associable_types']).map(textOf);
    const more = { description: textOf(spec['description']), cardinality: textOf(spec['cardinality']) || 'MULTIPLE' };
    store.categories.set(made, { name, ...more, associable_types: types });
    return ok(made);
  }
  const category = store.categories.get(id);
  if (category === undefined) return GONE;
  if (call.method === 'GET') return ok({ id, ...category, used_by: [] });
  if (call.method === 'PATCH') {
    const spec = recordOf(call.body['update_spec']);
    const before = category.name;
    if (textOf(spec['name']) !== '') category.name = textOf(spec['name']);
    if (typeof spec['description'] === 'string') category.description = spec['description'];
    for (const [tag, known] of world.state.tags)
      if (known.category === before) world.state.tags.set(tag, { ...known, category: category.name });
    return OK;
  }
  if (call.method !== 'DELETE') return NOT_ALLOWED;
  store.categories.delete(id);
  for (const [tag, known] of world.state.tags) if (known.category === category.name) removeTag(world, tag);
  return OK;
}

function tags(call: RestCall): RestAnswer {
  const { world } = call.state;
  const store = storeOf(world);
  const id = idOf(call);
  if (id === undefined) {
    if (call.method === 'GET') return ok([...world.state.tags.keys()]);
    const spec = recordOf(call.body['create_spec']);
    const category = store.categories.get(textOf(spec['category_id']));
    if (category === undefined) return GONE;
    const name = textOf(spec['name']);
    if ([...world.state.tags.values()].some((tag) => tag.name === name && tag.category === category.name))
      return bad('already_exists');
    const made = ensureTag(world, category.name, name);
    store.descriptions.set(made, textOf(spec['description']));
    return ok(made);
  }
  if (actionOf(call) === 'list-tags-for-category') {
    const name = store.categories.get(id)?.name;
    return ok([...world.state.tags].filter(([, tag]) => tag.category === name).map(([tag]) => tag));
  }
  const tag = world.state.tags.get(id);
  if (tag === undefined) return GONE;
  if (call.method === 'GET') {
    const description = store.descriptions.get(id) ?? '';
    return ok({ id, name: tag.name, description, category_id: categoryNamed(world, store, tag.category), used_by: [] });
  }
  if (call.method === 'PATCH') {
    const spec = recordOf(call.body['update_spec']);
    if (textOf(spec['name']) !== '') world.state.tags.set(id, { ...tag, name: textOf(spec['name']) });
    if (typeof spec['description'] === 'string') store.descriptions.set(id, spec['description']);
    return OK;
  }
  if (call.method !== 'DELETE') return NOT_ALLOWED;
  removeTag(world, id);
  return OK;
}

function associations(call: RestCall): RestAnswer {
  const { world } = call.state;
  if (call.method !== 'POST') return NOT_ALLOWED;
  const id = idOf(call);
  const object = objectOf(call.body['object_id']);
  const action = actionOf(call);
  if (id !== undefined) {
    if (!world.state.tags.has(id)) return GONE;
    if (action === 'list-attached-objects') return ok(attachedTo(world, id).map(said));
    if (action === 'attach-tag-to-multiple-objects') {
      for (const one of listOf(call.body['object_ids'])) setTag(world, id, objectOf(one), true);
      return ok({ success: true });
    }
    if (action !== 'attach' && action !== 'detach') return GONE;
    setTag(world, id, object, action === 'attach');
    return OK;
  }
  const tagsOf = (ref: MoRef): readonly string[] =>
    [...world.state.tags.keys()].filter((tag) => attachedTo(world, tag).includes(refKey(ref)));
  const ids = listOf(call.body['tag_ids']).map(textOf);
  switch (action) {
    case 'list-attached-tags':
      return ok(tagsOf(object));
    case 'list-attached-objects-on-tags':
      return ok(ids.map((tag) => ({ tag_id: tag, object_ids: attachedTo(world, tag).map(said) })));
    case 'list-attached-tags-on-objects':
      return ok(
        listOf(call.body['object_ids']).map((one) => {
          const ref = objectOf(one);
          return { object_id: { type: ref.type, id: ref.value }, tag_ids: tagsOf(ref) };
        }),
      );
    case 'attach-multiple-tags-to-object':
    case 'detach-multiple-tags-from-object': {
      const unknown = ids.filter((tag) => !world.state.tags.has(tag));
      for (const tag of ids) if (world.state.tags.has(tag)) setTag(world, tag, object, action.startsWith('attach'));
      const errors = unknown.map((tag) => ({
        id: 'cis.tagging.objectNotFound.error',
        default_message: `Tagging object ${tag} not found`,
        args: [],
      }));
      return ok({ success: errors.length === 0, ...(errors.length === 0 ? {} : { error_messages: errors }) });
    }
    default:
      return GONE;
  }
}

function libraries(call: RestCall): RestAnswer {
  const { world } = call.state;
  const store = storeOf(world);
  const all = world.state.libraries;
  const id = idOf(call);
  if (id === undefined) {
    if (call.method === 'GET') return ok([...all.keys()]);
    if (actionOf(call) === 'find') {
      const spec = recordOf(call.body['spec']);
      const name = textOf(spec['name']).toLowerCase();
      return ok([...all].filter(([, one]) => name === '' || one.toLowerCase() === name).map(([one]) => one));
    }
    const spec = recordOf(call.body['create_spec']);
    const made = randomUUID();
    all.set(made, textOf(spec['name']));
    store.libraryTypes.set(made, textOf(spec['type']) || 'LOCAL');
    store.descriptions.set(made, textOf(spec['description']));
    return ok(made);
  }
  const name = all.get(id);
  if (name === undefined) return GONE;
  if (call.method === 'GET') {
    const more = { type: store.libraryTypes.get(id) ?? 'LOCAL', description: store.descriptions.get(id) ?? '' };
    return ok({ id, name, ...more, version: '2', storage_backings: [] });
  }
  if (call.method === 'PATCH') {
    const wished = textOf(recordOf(call.body['update_spec'])['name']);
    if (wished !== '') all.set(id, wished);
    return OK;
  }
  if (call.method !== 'DELETE') return NOT_ALLOWED;
  all.delete(id);
  for (const [item, { library }] of world.state.libraryItems) if (library === id) world.state.libraryItems.delete(item);
  return OK;
}

function items(call: RestCall): RestAnswer {
  const { state } = call.state.world;
  if (call.path.includes('/library/item/file')) {
    const item = state.libraryItems.get(call.query.get('library_item_id') ?? idOf(call) ?? '');
    if (item === undefined) return GONE;
    return ok(
      Array.from(item.files, ([name, { bytes, size = bytes.length, checksum }]) => ({
        ...{ name, size, cached: true, version: '1' },
        checksum_info: {
          algorithm: (checksum?.algorithm ?? 'sha1').toUpperCase(),
          checksum: checksum?.sum ?? createHash('sha1').update(bytes).digest('hex'),
        },
      })),
    );
  }
  const id = idOf(call);
  if (id === undefined) {
    const spec = recordOf(call.body['spec']);
    if (call.method === 'GET') {
      const of = call.query.get('library_id') ?? '';
      if (!state.libraries.has(of)) return GONE;
      return ok([...state.libraryItems].filter(([, one]) => one.library === of).map(([one]) => one));
    }
    if (actionOf(call) === 'find') {
      const [name, library] = [textOf(spec['name']), textOf(spec['library_id'])];
      const is = (one: { readonly name: string; readonly library: string }): boolean =>
        (name === '' || one.name === name) && (library === '' || one.library === library);
      return ok([...state.libraryItems].filter(([, one]) => is(one)).map(([one]) => one));
    }
    const create = recordOf(call.body['create_spec']);
    const [name, of] = [textOf(create['name']), textOf(create['library_id'])];
    if (!state.libraries.has(of)) return GONE;
    if ([...state.libraryItems.values()].some((one) => one.library === of && one.name === name))
      return bad('already_exists');
    const made = newUuid(state);
    state.libraryItems.set(made, { library: of, name, files: new Map() });
    return ok(made);
  }
  const item = state.libraryItems.get(id);
  if (item === undefined) return GONE;
  if (call.method === 'GET') {
    const size = [...item.files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
    return ok({ id, name: item.name, library_id: item.library, type: 'ovf', size, cached: true, content_version: '1' });
  }
  if (call.method !== 'DELETE') return NOT_ALLOWED;
  state.libraryItems.delete(id);
  return OK;
}

function updateSessions(call: RestCall): RestAnswer {
  const { world } = call.state;
  const { updates } = storeOf(world);
  const id = idOf(call);
  if (id === undefined) {
    if (call.method === 'GET') return ok([...updates.keys()]);
    const item = textOf(recordOf(call.body['create_spec'])['library_item_id']);
    if (!world.state.libraryItems.has(item)) return GONE;
    const made = randomUUID();
    updates.set(made, { item, files: new Map() });
    return ok(made);
  }
  const update = updates.get(id);
  if (update === undefined) return GONE;
  if (call.path.includes('/updatesession/file')) {
    if (actionOf(call) !== 'add') return GONE;
    const name = textOf(recordOf(call.body['file_spec'])['name']);
    const upload = randomUUID();
    update.files.set(upload, { name, bytes: new Uint8Array() });
    const uri = `${world.origin}/rest${DATA_PATH}/${upload}/${encodeURIComponent(name)}`;
    return ok({
      name,
      source_type: 'PUSH',
      status: 'WAITING_FOR_TRANSFER',
      bytes_transferred: 0,
      upload_endpoint: { uri },
    });
  }
  const item = world.state.libraryItems.get(update.item);
  if (call.method === 'GET')
    return ok({
      id,
      library_item_id: update.item,
      state: 'ACTIVE',
      client_progress: 0,
      library_item_content_version: '1',
    });
  if (actionOf(call) === 'keep-alive') return OK;
  updates.delete(id);
  if (actionOf(call) === 'complete' && item !== undefined) {
    const files = new Map(item.files);
    for (const { name, bytes } of update.files.values()) files.set(name, { bytes });
    world.state.libraryItems.set(update.item, { ...item, files });
  }
  return OK;
}

function downloadSessions(call: RestCall): RestAnswer {
  const { world } = call.state;
  const { downloads } = storeOf(world);
  const id = idOf(call) ?? call.query.get('download_session_id') ?? undefined;
  if (id === undefined) {
    if (call.method === 'GET') return ok([...downloads.keys()]);
    const item = textOf(recordOf(call.body['create_spec'])['library_item_id']);
    if (!world.state.libraryItems.has(item)) return GONE;
    const made = randomUUID();
    downloads.set(made, item);
    return ok(made);
  }
  const item = world.state.libraryItems.get(downloads.get(id) ?? '');
  if (item === undefined) return GONE;
  if (call.path.includes('/downloadsession/file')) {
    const prepared = (name: string) => ({
      ...{ name, status: 'PREPARED', bytes_transferred: 0 },
      download_endpoint: { uri: `${world.origin}/rest${DATA_PATH}/${id}/${encodeURIComponent(name)}` },
    });
    if (call.method === 'GET') return ok([...item.files.keys()].map(prepared));
    const name = textOf(call.body['file_name']);
    return item.files.has(name) ? ok(prepared(name)) : GONE;
  }
  if (call.method === 'DELETE') downloads.delete(id);
  return OK;
}

/** Fetches a file of a download session. */
export function readData(state: VCenterServerState, path: string): RestAnswer {
  const [id = '', name = ''] = path
    .slice(DATA_PATH.length + 1)
    .split('/')
    .map(decodeURIComponent);
  const item = state.world.state.libraryItems.get(storeOf(state.world).downloads.get(id) ?? '');
  const file = item?.files.get(name);
  return file === undefined ? GONE : { status: 200, bytes: file.bytes };
}

/** Takes a file of an update session. */
export function writeData(state: VCenterServerState, path: string, bytes: Uint8Array): RestAnswer {
  const [id = ''] = path
    .slice(DATA_PATH.length + 1)
    .split('/')
    .map(decodeURIComponent);
  for (const { files } of storeOf(state.world).updates.values()) {
    const file = files.get(id);
    if (file === undefined) continue;
    file.bytes = bytes;
    return OK;
  }
  return GONE;
}
