import { requireService } from '../session/service-content.ts';
import type { Caller } from '../soap/call.ts';
import { escapeName } from '../soap/names.ts';
import { methodBody } from '../soap/schema.ts';
import type { CallOptions, MoRef } from '../vcenter.ts';
import { child, referenceOf } from '../xml/xml.ts';

/** See `VCenter.findByPath`. */
export async function findByPath(caller: Caller, path: string, options?: CallOptions): Promise<MoRef | undefined> {
  return search(caller, 'FindByInventoryPath', { inventoryPath: path }, options);
}

/**
 * See `VCenter.findChild`. The server compares with the stored name, in which `%`, `/` and `\` are escaped; a name that was stored unescaped
 * (an old import) is tried second.
 */
export async function findChild(
  caller: Caller,
  folder: MoRef,
  name: string,
  options?: CallOptions,
): Promise<MoRef | undefined> {
  const stored = escapeName(name);
  const found = await search(caller, 'FindChild', { entity: folder, name: stored }, options);
  if (found !== undefined || stored === name) return found;
  return search(caller, 'FindChild', { entity: folder, name }, options);
}

/** See `VCenter.findByInstanceUuid`. */
export async function findByInstanceUuid(
  caller: Caller,
  uuid: string,
  options?: CallOptions,
): Promise<MoRef | undefined> {
  return search(caller, 'FindByUuid', { uuid, vmSearch: true, instanceUuid: true }, options);
}

async function search(
  caller: Caller,
  method: string,
  fields: Readonly<Record<string, string | boolean | MoRef>>,
  options: CallOptions | undefined,
): Promise<MoRef | undefined> {
  const index = requireService(await caller.content(options), 'searchIndex', caller.server);
  const answer = await caller.call(method, index, methodBody(method, fields), { ...options, idempotent: true });
  return referenceOf(child(answer, 'returnval'));
}
