import { readFile } from 'node:fs/promises';
import type { VCenterEndpoint } from '@drydock/sandbox';
import { openOva } from '@drydock/templates';
import { Agent, request } from 'undici';

/** Fills content libraries of the simulator, as an administrator does. */
export interface LibraryKeeper extends AsyncDisposable {
  /** Makes an item of these files, in a library that is made where nothing has its name, or anyway. Resolves to the item's id. */
  add(
    library: string,
    item: string,
    files: ReadonlyMap<string, Uint8Array>,
    options?: { readonly anotherLibrary?: boolean },
  ): Promise<string>;
  remove(item: string): Promise<void>;
}

const CONTENT = '/rest/com/vmware/content';

/** See {@link LibraryKeeper}. `datastore`: moref of the one that libraries keep their files on. */
export async function libraryKeeper(endpoint: VCenterEndpoint, datastore: string): Promise<LibraryKeeper> {
  const dispatcher = new Agent({ connect: { ca: await readFile(endpoint.ca, 'utf8') } });
  const { origin } = new URL(endpoint.url);
  const call = async (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: string | Uint8Array,
  ): Promise<unknown> => {
    const { statusCode, body: said } = await request(`${origin}${path}`, {
      dispatcher,
      method,
      headers,
      body: body ?? null,
    });
    const text = await said.text();
    if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${text}`);
    return text === '' ? undefined : (JSON.parse(text) as { readonly value?: unknown }).value;
  };
  const basic = Buffer.from(`${endpoint.user}:${endpoint.password}`).toString('base64');
  const login = { authorization: `Basic ${basic}`, 'vmware-use-header-authn': 'true' };
  const id = String(await call('POST', '/rest/com/vmware/cis/session', login, '{}'));
  const session = { 'vmware-api-session-id': id };
  const json = { ...session, 'content-type': 'application/json' };
  const post = (path: string, body: unknown): Promise<unknown> =>
    call('POST', `${CONTENT}${path}`, json, JSON.stringify(body));
  return {
    add: async (library, item, files, { anotherLibrary = false } = {}) => {
      const found = (await post('/library?~action=find', { spec: { name: library } })) as readonly string[] | null;
      const known = anotherLibrary ? undefined : found?.[0];
      const backing = { type: 'DATASTORE', datastore_id: datastore };
      const of =
        known ??
        (await post('/local-library', { create_spec: { name: library, type: 'LOCAL', storage_backings: [backing] } }));
      const made = await post('/library/item', { create_spec: { name: item, library_id: of, type: 'ovf' } });
      const update = await post('/library/item/update-session', { create_spec: { library_item_id: made } });
      for (const [name, bytes] of files) {
        const added = (await post(`/library/item/updatesession/file/id:${String(update)}?~action=add`, {
          file_spec: { name, source_type: 'PUSH' },
        })) as { readonly upload_endpoint: { readonly uri: string } };
        await call('PUT', new URL(added.upload_endpoint.uri).pathname, session, bytes);
      }
      await post(`/library/item/update-session/id:${String(update)}?~action=complete`, {});
      return String(made);
    },
    remove: async (item) => void (await call('DELETE', `${CONTENT}/library/item/id:${item}`, session)),
    [Symbol.asyncDispose]: async () => {
      await call('DELETE', '/rest/com/vmware/cis/session', session);
      await dispatcher.close();
    },
  };
}

/** The files of an OVA, by name. */
export async function filesOfOva(path: string): Promise<ReadonlyMap<string, Uint8Array>> {
  await using ova = await openOva(path);
  const whole = await readFile(path);
  return new Map(ova.members.map(({ name, offset, size }) => [name, whole.subarray(offset, offset + size)]));
}
