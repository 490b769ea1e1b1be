import assert from 'node:assert/strict';
import {
  BIRTH_KEY,
  CONTENT_KEY,
  isTemplateError,
  type MarkKeys,
  NO_KEYS,
  type Placement,
  type TemplateStore,
  type TemplateWish,
  templateStore,
} from '@drydock/templates';
import { memoryLedger, memoryOva, TEST_KEYS } from '@drydock/templates/testing';
import { type MoRef, refKey } from '@drydock/vsphere';
import { fingerprintOf } from '../../packages/templates/src/fingerprint.ts';
import { type BirthMark, birthConfig } from '../../packages/templates/src/mark/birth-mark.ts';
import { codeOf } from '../../packages/templates/src/mark/code.ts';
import { identityKey, identityOf } from '../../packages/templates/src/mark/identity.ts';
import type { LedgerEntry } from '../../packages/templates/src/mark/ledger.ts';
import { writeOwnership } from '../../packages/templates/src/mark/ownership-record.ts';
import { attemptsOf } from '../../packages/templates/src/names.ts';
import { ownedIn, type ReplayDeed, replay, type Stored, theirs } from './templates-actors/replayer.ts';
import { uploads } from './templates-crowd-setups.ts';
import {
  copyWorld,
  entryOf,
  FOLDER,
  NAME,
  optionsOf,
  processOf,
  publishAs,
  type World,
  wishFor,
  worldWith,
} from './templates-world.ts';

export const OWNER = 'cluster-uid';
export const MINUTE = 60_000;
export const DAY = 86_400_000;
const KEYED = { keyed: true, ledger: 'file' } as const;
export const placement: Placement = wishFor('9.6').placement;
const SOON = { waitMs: 4_000 } as const;

/** A folder with a template of ours of 9.4 under the stable name. */
export const started = async (): Promise<World> => ({ ...(await worldWith('ours', {}, KEYED)), seen: [] });
export const wishOf = (kind: 'pointer' | 'refuse' | 'retire', version = '9.6'): TemplateWish =>
  wishFor(version, {
    publication: kind === 'pointer' ? { kind: 'pointer' } : { kind: 'swap', name: NAME, unmarked: kind },
  });

/** Publishes as a process of its own; resolves to the machine that it names. */
export async function published(
  world: World,
  kind: Parameters<typeof wishOf>[0] = 'pointer',
  version = '9.6',
): Promise<Stored> {
  world.runs += 1;
  const { name } = await publishAs(world, `holder-${world.runs}`, wishOf(kind, version), version, SOON);
  return named(world, name);
}

export function named({ inventory }: World, name: string): Stored {
  const folder = refKey(inventory.at(FOLDER));
  const found = [...inventory.state.machines.values()].find((one) => one.folder === folder && one.name === name);
  return found ?? assert.fail(`there is no ${name}`);
}

export const isThere = ({ inventory }: World, { ref }: { readonly ref: MoRef }): boolean =>
  inventory.state.machines.has(refKey(ref));

/** Two days pass, and what nothing uses is collected, twice. */
export async function collected(world: World, used: readonly string[] = [NAME]): Promise<void> {
  for (let look = 0; look < 2; look += 1) {
    world.clock.advance(2 * DAY);
    await using store = processOf(world);
    const referenced = (name: string) => (used.includes(name) ? 'a machine set' : undefined);
    await store.collect(placement, OWNER, { referenced, holderIsLive: () => false, keep: 0 });
  }
}

/** A publication whose importers are unknown to it; resolves to the code of its refusal. */
export async function refusal(world: World, kind: Parameters<typeof wishOf>[0] = 'pointer'): Promise<string> {
  await using store = processOf(world);
  try {
    await store.publish({ ...wishOf(kind), holder: 'here' }, { holderIsLive: () => undefined, ...SOON });
    return 'published';
  } catch (error) {
    if (isTemplateError(error)) return error.code;
    throw error;
  }
}

/** A process on another machine: it has the keys, and a ledger of its own. */
export function elsewhere(world: World, markKeys: MarkKeys = TEST_KEYS): TemplateStore {
  const options = { ...optionsOf(world), ledger: memoryLedger('file'), markKeys: async () => markKeys };
  return templateStore({ ...options, vcenters: async () => world.inventory.client(), ovas: memoryOva() });
}

/** All that can be read of one of ours, on a template of theirs. */
export const copyOf = (world: World, one: Stored, change: Partial<Stored> = {}): Stored =>
  world.inventory.state.machines.get(refKey(theirs(world, one, change))) ?? assert.fail();

export const isTheirs = (world: World, { ref }: { readonly ref: MoRef }): boolean => world.foreign.has(refKey(ref));

/** One of ours is gone, and a copy with its name and instance UUID is in its place. */
function replaced(world: World, one: Stored, change: Partial<Stored> = {}): Stored {
  world.inventory.remove(one.ref);
  return copyOf(world, one, { name: one.name, instanceUuid: one.instanceUuid, ...change });
}

/** An import of 9.6 that ended half-way is gone, and all that could be read of it stands on another VM. */
export async function unfinishedCopy(): Promise<{
  readonly world: World;
  readonly copy: Stored;
  readonly half: Stored;
}> {
  const made = await uploads(KEYED);
  const world: World = { ...made, seen: [] };
  const half = world.inventory.state.machines.get(made.dead) ?? assert.fail();
  return { world, half, copy: replaced(world, half) };
}

/** Its importer is silent for longer than one that lives. */
export async function silent(world: World): Promise<void> {
  for (let look = 0; look < 2; look += 1) {
    await refusal(world, 'refuse');
    world.clock.advance(11 * MINUTE);
  }
}

/** What the birth mark of a template of 9.6 says. */
async function contentOf96(world: World): Promise<BirthMark> {
  const twin = { ...copyWorld(world), seen: [] };
  const one = await published(twin);
  const { code: _, ...mark } = JSON.parse(one.extraConfig.get(BIRTH_KEY) ?? '{}') as BirthMark & { code: string };
  return mark;
}

/** Signs a template of theirs with the key of the installation. */
export async function signed(world: World): Promise<Stored> {
  const mark = { ...(await contentOf96(world)), instanceUuid: '11111111-0000-4000-8000-000000000000' };
  const { inventory } = world;
  const [attempt] = attemptsOf(wishOf('pointer'));
  const { name = '' } = attempt ?? {};
  const ref = inventory.add(inventory.at(FOLDER), { name, template: true, instanceUuid: mark.instanceUuid });
  const one = named(world, name);
  for (const [key, value] of birthConfig(mark, TEST_KEYS)) one.extraConfig.set(key, value);
  const client = inventory.client();
  const is = fingerprintOf((await client.vm(ref)) ?? assert.fail());
  one.extraConfig.set(CONTENT_KEY, is);
  const vm = (await client.vm(ref)) ?? assert.fail();
  const identity = identityOf(await client.instanceUuid(), vm) ?? assert.fail();
  await writeOwnership(client, vm, identity, { kind: 'imported', mark, fingerprint: is }, TEST_KEYS, {});
  world.foreign.set(refKey(ref), 'theirs');
  return one;
}

/** Writes into the ledger that a template of theirs was made here. */
export async function entered(world: World): Promise<Stored> {
  const birth = await contentOf96(world);
  const { inventory, records } = world;
  const [attempt] = attemptsOf(wishOf('pointer'));
  const { name = '' } = attempt ?? {};
  const { instanceUuid } = birth;
  const extraConfig = Object.fromEntries(birthConfig(birth, NO_KEYS));
  const ref = inventory.add(inventory.at(FOLDER), { name, template: true, instanceUuid, extraConfig });
  const one = named(world, name);
  const identity = identityOf(inventory.state.instanceUuid, one) ?? assert.fail();
  const { holder: _, instanceUuid: __, ...mark } = birth;
  const entry: LedgerEntry = { stage: 'template', own: true, mark, fingerprint: fingerprintOf(one) };
  records.texts.set(`vm.${identityKey(identity)}`, JSON.stringify(entry));
  world.foreign.set(refKey(ref), 'theirs');
  return one;
}

/** What others do to all of ours changes nothing: the published one is found again and stays, and its ledger with it. */
export async function unmoved(deed: ReplayDeed): Promise<void> {
  const world = await started();
  const before = await published(world);
  const other = await published(world, 'pointer', '9.5');
  replay(world, deed, 'newest', new Map());
  assert.equal((await published(world)).ref, before.ref);
  await collected(world, [NAME, before.name, other.name]);
  for (const one of [before, other]) assert.ok(isThere(world, one), `${one.name} after: ${deed}`);
}

/** A template of theirs bears the stable name: ours was renamed. */
export async function usurped(): Promise<{ readonly world: World; readonly usurper: Stored }> {
  const world = await started();
  named(world, NAME).name = 'moved away';
  const usurper = copyOf(world, named(world, 'moved away'), { name: NAME, extraConfig: new Map() });
  usurper.customValues.clear();
  return { world, usurper };
}

/** Of one that was published by pointer, something is changed by hand: it is not used any more, and kept. */
export async function changed(change: (world: World, one: Stored) => void): Promise<void> {
  const world = await started();
  const one = await published(world);
  change(world, one);
  assert.notEqual((await published(world)).ref, one.ref);
  await collected(world);
  assert.ok(isThere(world, one), 'it is kept');
}

/** Neither published nor a way back nor called proven. */
export async function copiesAreNothing(): Promise<void> {
  const world = await started();
  const copies = [replaced(world, await published(world))];
  const again = await published(world);
  assert.ok(!isTheirs(world, again), 'it was published');
  await published(world, 'refuse');
  const retired = ownedIn(world).find(({ name }) => name.startsWith(`${NAME}-retired-`)) ?? assert.fail();
  copies.push(replaced(world, named(world, retired.name)));
  await using store = processOf(world);
  const back = store.revert({ placement, owner: OWNER, name: NAME, holder: 'here' });
  await assert.rejects(
    back,
    (error) => isTemplateError(error, 'NOTHING_TO_REVERT') || isTemplateError(error, 'NOT_OURS'),
  );
  const listed = await store.list(placement, OWNER);
  for (const { ref } of copies) {
    const { proof = 'none' } = listed.find((one) => refKey(one.ref) === refKey(ref)) ?? assert.fail();
    assert.equal(proof, 'none');
  }
}

/** A template of theirs that bears all that version 0.1.0 wrote onto one that is gone. The code is the old one, which anybody could read. */
async function legacyCopy(world: World): Promise<Stored> {
  const { inventory } = world;
  const mark = {
    owner: OWNER,
    operation: 'op',
    digest: 'd'.repeat(64),
    release: '9.4',
    holder: 'h',
    instanceUuid: LEGACY,
  };
  const proof = codeOf(TEST_KEYS, ['drydock.mark/1', OWNER, mark.operation, mark.digest, LEGACY]) ?? '';
  const keys = Object.entries({ ...mark, verified: mark.digest, proof });
  const extraConfig = Object.fromEntries(keys.map(([key, value]) => [`drydock.${key}`, value]));
  const ref = inventory.add(inventory.at(FOLDER), {
    name: 'base-9.4',
    template: true,
    instanceUuid: LEGACY,
    extraConfig,
  });
  const one = named(world, 'base-9.4');
  const record = `${LEGACY} template 2026-01-01T00:00:00Z ${fingerprintOf(one)} 0123`;
  await inventory.client().setCustomValue(ref, 'drydock.record', record);
  return one;
}

const LEGACY = '33333333-0000-4000-8000-000000000000';

/** Whether the operator takes it over, where the cluster refers to these names. */
export async function takenOver(
  refers: (name: string) => boolean,
  made: 'before' | 'after' = 'after',
): Promise<boolean> {
  const world = await started();
  const cluster = { recorded: () => false, refers, retired: () => false };
  const vcenters = async () => world.inventory.client();
  await using store = templateStore({ ...optionsOf(world), cluster, vcenters, ovas: memoryOva() });
  const collect = () => store.collect(placement, OWNER, { referenced: () => 'unknown', holderIsLive: () => undefined });
  if (made === 'after') await collect();
  world.clock.advance(MINUTE);
  const one = await legacyCopy(world);
  world.clock.advance(MINUTE);
  await collect();
  return entryOf(world, refKey(one.ref))?.own === true;
}
