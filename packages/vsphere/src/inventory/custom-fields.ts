import { VimError } from '../errors.ts';
import type { SessionCaller } from '../session/caller.ts';
import { requireService } from '../session/service-content.ts';
import { arrayOf, number, object, one, text } from '../soap/decode.ts';
import { methodBody } from '../soap/schema.ts';
import type { CallOptions, MoRef } from '../vcenter.ts';
import { childText, descend } from '../xml/xml.ts';
import { read } from './vm-summary.ts';

/** Custom attributes: names belong to the vCenter, values to an object. */
export interface CustomFields {
  /** Key → name, with at least those of `keys` that exist. */
  names(keys: readonly number[], options?: CallOptions): Promise<ReadonlyMap<number, string>>;
  /** See `VCenter.definesAttribute`. */
  defines(name: string, options?: CallOptions): Promise<boolean>;
  /** See `VCenter.setCustomValue`. */
  set(entity: MoRef, name: string, value: string, options?: CallOptions): Promise<void>;
}

const definition = object({ key: one(number), name: one(text), managedObjectType: one(text) });
const MACHINE = 'VirtualMachine';

/** Keeps the definitions that it has seen; they are read again when a key is unknown. */
export function customFields(caller: SessionCaller): CustomFields {
  let names: ReadonlyMap<number, string> = new Map();
  let keyOf: ReadonlyMap<string, number> = new Map();

  const manager = async (options?: CallOptions): Promise<MoRef> =>
    requireService(await caller.content(options), 'customFieldsManager', caller.server);
  const refresh = async (options?: CallOptions): Promise<void> => {
    const self = await manager(options);
    const [content] = await caller.retrieve([self], self.type, ['field'], options);
    const found = content === undefined ? [] : (read(content, 'field', arrayOf(definition)) ?? []);
    const byKey = new Map<number, string>();
    const byName = new Map<string, number>();
    for (const { key, name, managedObjectType } of found) {
      if (key === undefined || name === undefined) continue;
      byKey.set(key, name);
      if (managedObjectType === undefined || managedObjectType === '' || managedObjectType === MACHINE)
        byName.set(name, key);
    }
    names = byKey;
    keyOf = byName;
  };
  const define = async (name: string, options?: CallOptions): Promise<number> => {
    const body = methodBody('AddCustomFieldDef', { name, moType: MACHINE });
    try {
      const answer = await caller.call('AddCustomFieldDef', await manager(options), body, options);
      const key = Number(childText(descend(answer, 'returnval'), 'key') ?? Number.NaN);
      if (Number.isInteger(key)) return key;
    } catch (error) {
      // Somebody else was faster, or our answer was lost: both show in the next reading.
      if (!(error instanceof VimError) || (error.fault !== undefined && !error.fault.is('DuplicateName'))) throw error;
    }
    await refresh(options);
    const key = keyOf.get(name);
    if (key !== undefined) return key;
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_UNKNOWN_OUTCOME',
      op: 'AddCustomFieldDef',
      message: `attribute ${name} is not there`,
      retriable: true,
    });
  };

  return {
    async names(keys, options) {
      if (keys.some((key) => !names.has(key))) await refresh(options);
      return names;
    },
    async defines(name, options) {
      if (!keyOf.has(name)) await refresh(options);
      return keyOf.has(name);
    },
    async set(entity, name, value, options) {
      if (!keyOf.has(name)) await refresh(options);
      const key = keyOf.get(name) ?? (await define(name, options));
      const body = methodBody('SetField', { entity, key, value });
      await caller.call('SetField', await manager(options), body, { ...options, idempotent: true });
    },
  };
}
