import { hash } from 'node:crypto';
import type { ConfigMap } from '@drydock/api';
import { readJson } from '@drydock/api';
import { isObject, type Json, type JsonObject } from '@drydock/crd';
import { ReleaseError } from '../../errors.ts';
import { idKey } from '../../payload/manifest.ts';
import { own, textIn } from '../json.ts';
import type { ApplyOwner } from '../owner.ts';
import type { InventoryEntry, WrittenKeys } from './entry.ts';

/** What the ConfigMaps are for, as their label `app.kubernetes.io/component`. */
export const INVENTORY_COMPONENT = 'release-inventory';
/** Whose they are, by a digest, since names of owners are no labels. */
export const OWNER_LABEL = 'drydock.dev/inventory-of';

/** Entries of one ConfigMap: a change of one object writes no more than these. */
export const CHUNK_ENTRIES = 100;
/** Characters of the entries of one ConfigMap; a server takes 1 MiB. */
const MAX_CHARS = 400_000;

/** One ConfigMap of an inventory. */
export interface Chunk {
  readonly index: number;
  readonly entries: ReadonlyMap<string, InventoryEntry>;
}

/** The label value of an owner. */
export function ownerDigest({ name }: Pick<ApplyOwner, 'name'>): string {
  return hash('sha256', name).slice(0, 16);
}

/** Name of a ConfigMap of an inventory. */
export function chunkName(owner: Pick<ApplyOwner, 'name'>, index: number): string {
  return `drydock-release-${ownerDigest(owner)}-${index}`;
}

/** Whether so many entries of so many characters together fit into one ConfigMap. One fits always: what it holds is bounded. */
export function fits(entries: number, chars: number): boolean {
  return entries <= 1 || (entries <= CHUNK_ENTRIES && chars <= MAX_CHARS);
}

/** Entries as a ConfigMap keeps them: a line each, which people can read. */
export function chunkText(entries: ReadonlyMap<string, InventoryEntry>): string {
  return [...entries.values()].map(entryText).join('\n');
}

/** Entries are never changed, and most are written several times. */
const texts = new WeakMap<InventoryEntry, string>();

/** The line of one entry. */
export function entryText(entry: InventoryEntry): string {
  const known = texts.get(entry);
  if (known !== undefined) return known;
  const text = JSON.stringify(entry);
  texts.set(entry, text);
  return text;
}

/** Whose a ConfigMap is; undefined for one that does not say. */
export function ownerOf({ data }: ConfigMap): string | undefined {
  return data !== undefined && Object.hasOwn(data, 'owner') ? data['owner'] : undefined;
}

/** Reads one ConfigMap. Throws `ReleaseError` with its name and line. */
export function readChunk(configMap: ConfigMap): Chunk {
  const { name, namespace } = configMap.metadata;
  const where = `ConfigMap ${namespace}/${name}`;
  const index = Number(/-(\d{1,5})$/.exec(name)?.[1]);
  const { entries: text = '' } = configMap.data ?? {};
  if (!Number.isInteger(index)) throw new ReleaseError('BAD_INVENTORY', `${where} has no number`);
  const entries = new Map<string, InventoryEntry>();
  for (const [line, one] of text.split('\n').entries()) {
    if (one === '') continue;
    const entry = entryOf(one);
    if (entry === undefined)
      throw new ReleaseError('BAD_INVENTORY', `${where}, line ${line + 1} of its entries, is no entry of an inventory`);
    entries.set(idKey(entry.id), entry);
  }
  return { index, entries };
}

function entryOf(text: string): InventoryEntry | undefined {
  let value: Json;
  try {
    value = readJson(text) as Json;
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const id = own(value, 'id');
  const releases = own(value, 'releases');
  const written = writtenOf(own(value, 'written'));
  if (!isObject(id) || textIn(id, 'kind') === '' || textIn(id, 'name') === '') return undefined;
  if (!isTexts(releases) || written === undefined) return undefined;
  const intent = intentOf(own(value, 'intent'));
  const settled = own(value, 'settled');
  const held = own(value, 'held');
  const names = isObject(held) ? own(held, 'names') : undefined;
  return {
    id: {
      group: textIn(id, 'group'),
      kind: textIn(id, 'kind'),
      namespace: textIn(id, 'namespace'),
      name: textIn(id, 'name'),
    },
    version: textIn(value, 'version'),
    file: textIn(value, 'file'),
    releases,
    uid: textIn(value, 'uid'),
    made: value['made'] === true,
    written,
    ...(intent === undefined ? {} : { intent }),
    ...(isObject(settled)
      ? { settled: { manifest: textIn(settled, 'manifest'), content: textIn(settled, 'content') } }
      : {}),
    ...(own(value, 'ran') === undefined ? {} : { ran: textIn(value, 'ran') }),
    ...(value['left'] === true ? { left: true } : {}),
    ...(isObject(held) && isTexts(names) && isCount(held['count']) ? { held: { count: held['count'], names } } : {}),
  };
}

function intentOf(value: Json | undefined): InventoryEntry['intent'] {
  const written = isObject(value) ? writtenOf(own(value, 'written')) : undefined;
  return written === undefined
    ? undefined
    : { resourceVersion: textIn(value as JsonObject, 'resourceVersion'), written };
}

function writtenOf(value: Json | undefined): WrittenKeys | undefined {
  if (!isObject(value)) return undefined;
  const fine = Object.values(value).every((keys) => isObject(keys) && isTexts(Object.values(keys)));
  return fine ? (value as unknown as WrittenKeys) : undefined;
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isTexts(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
