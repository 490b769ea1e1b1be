import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { newUuid } from '../inventory.ts';
import type { VCenterWorld } from './vcenter-world.ts';

export interface TagCategory {
  name: string;
  description: string;
  readonly cardinality: string;
  readonly associable_types: readonly string[];
}

/** Categories, and descriptions of tags, which the inventory does not have. */
interface TagStore {
  readonly categories: Map<string, TagCategory>;
  readonly descriptions: Map<string, string>;
}

const stores = new WeakMap<VCenterWorld, TagStore>();

export function tagStoreOf(world: VCenterWorld): TagStore {
  const known = stores.get(world);
  if (known !== undefined) return known;
  const store: TagStore = { categories: new Map(), descriptions: new Map() };
  stores.set(world, store);
  for (const { category } of world.state.tags.values()) ensureCategory(world, category);
  return store;
}

/** Finds or creates a category; returns its id. */
export function ensureCategory(world: VCenterWorld, name: string): string {
  const { categories } = tagStoreOf(world);
  for (const [id, category] of categories) if (category.name === name) return id;
  const id = `urn:vmomi:InventoryServiceCategory:${newUuid(world.state)}:GLOBAL`;
  categories.set(id, { name, description: '', cardinality: 'MULTIPLE', associable_types: [] });
  return id;
}

/** Finds or creates a tag and its category; returns the id of the tag. */
export function ensureTag(world: VCenterWorld, category: string, name: string): string {
  ensureCategory(world, category);
  for (const [id, tag] of world.state.tags) if (tag.name === name && tag.category === category) return id;
  const id = `urn:vmomi:InventoryServiceTag:${newUuid(world.state)}:GLOBAL`;
  world.state.tags.set(id, { name, category });
  return id;
}

/** The keys of the objects that have a tag. */
export function attachedTo({ state, attachments }: VCenterWorld, tag: string): readonly string[] {
  const machines = [...state.machines].filter(([, machine]) => machine.tags.has(tag)).map(([key]) => key);
  return [...machines, ...(attachments.get(tag) ?? [])];
}

/** Attaches or detaches a tag. */
export function setTag(world: VCenterWorld, tag: string, ref: MoRef, attached: boolean): void {
  const key = refKey(ref);
  const machine = world.state.machines.get(key);
  const others = world.attachments.get(tag) ?? new Set<string>();
  world.attachments.set(tag, others);
  if (machine !== undefined) setMember(machine.tags, tag, attached);
  else setMember(others, key, attached);
}

function setMember(set: Set<string>, member: string, present: boolean): void {
  if (present) set.add(member);
  else set.delete(member);
}

/** Deletes a tag and detaches it from all objects. */
export function removeTag(world: VCenterWorld, tag: string): void {
  world.state.tags.delete(tag);
  world.attachments.delete(tag);
  for (const machine of world.state.machines.values()) machine.tags.delete(tag);
}
