import { randomUUID } from 'node:crypto';
import { actionOf, idOf, NOT_FOUND, OK, ok, type RestAnswer, type RestCall, recordOf, textOf } from './rest-call.ts';
import type { VCenterServerState } from './vcenter-server-state.ts';
import type { VCenterWorld } from './vcenter-world.ts';

/** The path of uploads and downloads, after `/rest`. */
export const DATA_PATH = '/com/vmware/cis/data';

/** An update session: files that become part of an item when it completes. */
interface Update {
  readonly item: string;
  readonly files: Map<string, { readonly name: string; bytes: Uint8Array }>;
}

interface Transfers {
  readonly updates: Map<string, Update>;
  /** Items by download session. */
  readonly downloads: Map<string, string>;
}

const transfers = new WeakMap<VCenterWorld, Transfers>();

function transfersOf(world: VCenterWorld): Transfers {
  const known = transfers.get(world) ?? { updates: new Map(), downloads: new Map() };
  transfers.set(world, known);
  return known;
}

/** Lists the sessions, or opens one for an item. */
function answerSessions<T>(
  { method, body, state }: RestCall,
  sessions: Map<string, T>,
  open: (item: string) => T,
): RestAnswer {
  if (method === 'GET') return ok([...sessions.keys()]);
  const item = textOf(recordOf(body['create_spec'])['library_item_id']);
  if (!state.world.state.libraryItems.has(item)) return NOT_FOUND;
  const id = randomUUID();
  sessions.set(id, open(item));
  return ok(id);
}

function endpointOf(world: VCenterWorld, id: string, name: string): { readonly uri: string } {
  return { uri: `${world.origin}/rest${DATA_PATH}/${id}/${encodeURIComponent(name)}` };
}

/** `/com/vmware/content/library/item/update-session` and `updatesession/file`. */
export function updateSessions(call: RestCall): RestAnswer {
  const { world } = call.state;
  const { updates } = transfersOf(world);
  const id = idOf(call);
  if (id === undefined) return answerSessions(call, updates, (item) => ({ item, files: new Map() }));
  const update = updates.get(id);
  if (update === undefined) return NOT_FOUND;
  const action = actionOf(call);
  if (call.path.includes('/updatesession/file')) {
    return action === 'add' ? addFile(call, update) : NOT_FOUND;
  }
  if (call.method === 'GET') {
    return ok({
      ...{ id, library_item_id: update.item, state: 'ACTIVE', client_progress: 0 },
      library_item_content_version: '1',
    });
  }
  if (action === 'keep-alive') return OK;
  updates.delete(id);
  const item = world.state.libraryItems.get(update.item);
  if (action === 'complete' && item !== undefined) {
    const files = new Map(item.files);
    for (const { name, bytes } of update.files.values()) files.set(name, { bytes });
    world.state.libraryItems.set(update.item, { ...item, files });
  }
  return OK;
}

function addFile({ state, body }: RestCall, update: Update): RestAnswer {
  const name = textOf(recordOf(body['file_spec'])['name']);
  const upload = randomUUID();
  update.files.set(upload, { name, bytes: new Uint8Array() });
  return ok({
    ...{ name, source_type: 'PUSH', status: 'WAITING_FOR_TRANSFER', bytes_transferred: 0 },
    upload_endpoint: endpointOf(state.world, upload, name),
  });
}

/** `/com/vmware/content/library/item/download-session` and `downloadsession/file`. */
export function downloadSessions(call: RestCall): RestAnswer {
  const { world } = call.state;
  const { downloads } = transfersOf(world);
  const id = idOf(call) ?? call.query.get('download_session_id') ?? undefined;
  if (id === undefined) return answerSessions(call, downloads, (item) => item);
  const item = world.state.libraryItems.get(downloads.get(id) ?? '');
  if (item === undefined) return NOT_FOUND;
  if (call.path.includes('/downloadsession/file')) {
    const prepared = (name: string): object => ({
      ...{ name, status: 'PREPARED', bytes_transferred: 0 },
      download_endpoint: endpointOf(world, id, name),
    });
    if (call.method === 'GET') return ok([...item.files.keys()].map(prepared));
    const name = textOf(call.body['file_name']);
    return item.files.has(name) ? ok(prepared(name)) : NOT_FOUND;
  }
  if (call.method === 'DELETE') downloads.delete(id);
  return OK;
}

function partsOf(path: string): readonly string[] {
  return path
    .slice(DATA_PATH.length + 1)
    .split('/')
    .map(decodeURIComponent);
}

/** Downloads a file of a download session. */
export function readData({ world }: VCenterServerState, path: string): RestAnswer {
  const [id = '', name = ''] = partsOf(path);
  const item = world.state.libraryItems.get(transfersOf(world).downloads.get(id) ?? '');
  const file = item?.files.get(name);
  return file === undefined ? NOT_FOUND : { status: 200, bytes: file.bytes };
}

/** Uploads a file of an update session. */
export function writeData({ world }: VCenterServerState, path: string, bytes: Uint8Array): RestAnswer {
  const [id = ''] = partsOf(path);
  for (const { files } of transfersOf(world).updates.values()) {
    const file = files.get(id);
    if (file === undefined) continue;
    file.bytes = bytes;
    return OK;
  }
  return NOT_FOUND;
}
