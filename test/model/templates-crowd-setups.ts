import { BIRTH_KEY, templateStore } from '@drydock/templates';
import { memoryOva } from '@drydock/templates/testing';
import type { MachineSnapshot } from '@drydock/vsphere/testing';
import { administrator } from './templates-actors/administrator.ts';
import { cloneMarked } from './templates-actors/cloner.ts';
import { forge, type PublicData } from './templates-actors/forger.ts';
import {
  copyWorld,
  FOLDER,
  type Installation,
  optionsOf,
  prepared,
  publishAs,
  seenFor,
  type World,
  wishFor,
  worldWith,
} from './templates-world.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const POINTER = { publication: { kind: 'pointer' } } as const;
/** Bears the name while {@link handmade} is adopted, and is no template of ours before. */
export const HANDMADE = 'made by hand';

/** Machines that are off and templates that nobody may touch: converted, booted, cloned, forged, and ours. */
export const crowd: () => Promise<World> = prepared(makeCrowd);

/** 9.6 bears the name among them, and 9.5 is the way back. */
export const wayBack: () => Promise<World> = prepared(async () => {
  const world = await crowd();
  await publishAs(world, 'again', wishFor('9.6'));
  world.clock.advance(HOUR);
  return world;
});

/** Among them is a template that somebody made by hand, and that is to be adopted. */
export const handmade: () => Promise<World> = prepared(async () => {
  const world = await crowd();
  const old = { template: true, productVersion: '9.2', createDate: '2025-01-01T00:00:00Z' };
  world.inventory.add(world.inventory.at(FOLDER), { ...old, name: HANDMADE });
  return world;
});

/** Names of the two imports of {@link uploads}. */
export interface Uploads extends World {
  /** Ref of what a living process of whom nothing is known uploads; of what a dead one did, and when an observer first saw that as it is. */
  readonly living: string;
  readonly dead: string;
  readonly silentSince: number;
}

/** Somebody of whom nothing is known uploads 9.7; another one died while it uploaded 9.6, which an observer first saw nine minutes ago. */
export async function uploads(installation?: Installation): Promise<Uploads> {
  const key = JSON.stringify(installation);
  const setup = halfMade.get(key) ?? prepared(() => makeHalves(installation));
  halfMade.set(key, setup);
  const world = await setup();
  const half = (version: string): MachineSnapshot => {
    const found = world.inventory
      .snapshot()
      .machines.find(({ extraConfig, complete }) => !complete && releaseOf(extraConfig[BIRTH_KEY]) === version);
    if (found === undefined) throw new TypeError(`nobody uploads ${version}`);
    return found;
  };
  return { ...world, living: half('9.7').ref, dead: half('9.6').ref, silentSince: world.clock.now() - 9 * MINUTE };
}

function releaseOf(birth = '{}'): string | undefined {
  return (JSON.parse(birth) as { readonly release?: string }).release;
}

const halfMade = new Map<string, () => Promise<World>>();

async function makeHalves(installation: Installation | undefined): Promise<World> {
  const world = await worldWith('ours', {}, installation);
  for (const version of ['9.7', '9.6']) await dieUploading(world, `elsewhere-${version}`, version);
  await seenFor(world, 9 * MINUTE);
  return world;
}

/** A process of whom nobody here knows anything is killed in the middle of an upload. */
async function dieUploading(world: World, holder: string, version: string): Promise<void> {
  const { inventory } = world;
  const client = inventory.client();
  inventory.onCall = (method, phase, _args, context) => {
    if (method === 'lease.upload.half' && phase === 'after') context.client.kill();
  };
  const store = templateStore({ ...optionsOf(world), vcenters: async () => client, ovas: memoryOva({ version }) });
  const published = store.publish({ ...wishFor(version), holder }, { holderIsLive: () => undefined });
  await published.then(
    () => {
      throw new TypeError(`${holder} was not killed`);
    },
    () => undefined,
  );
  inventory.onCall = undefined;
}

async function makeCrowd(): Promise<World> {
  const world = await worldWith('ours');
  const stays = (one: MachineSnapshot | undefined): void => {
    if (one !== undefined) world.foreign.set(one.ref, JSON.stringify(one));
  };
  const named = (find: (one: MachineSnapshot) => boolean): MachineSnapshot | undefined =>
    world.inventory.snapshot().machines.findLast((one) => one.folder === FOLDER && find(one));
  const again = (one: MachineSnapshot | undefined): void => stays(named(({ ref }) => ref === one?.ref));
  const pointed = (version: string) => publishAs(world, `p-${version}`, wishFor(version, POINTER), version);
  await publishAs(world, 'before', wishFor('9.5'), '9.5');
  const retired = named(({ name }) => name.includes('-retired-') && !name.endsWith('-00000000'));
  // Converted; and booted and converted back, once with the content that is wanted next.
  const first = await pointed('9.1');
  for (const [victim, deed] of [
    [retired, 'converts'],
    [named(({ name }) => name === first.name), 'converts'],
  ] as const)
    if (victim !== undefined) administrator(world.inventory, deed).act(victim);
  again(retired);
  again(named(({ name }) => name === first.name));
  const next = await pointed('9.6');
  const booted = named(({ name }) => name === next.name);
  if (booted !== undefined) administrator(world.inventory, 'boots and converts back').act(booted);
  again(booted);
  // What an older release left under a pointer, free to be collected; and its clones.
  const { name } = await pointed('9.3');
  for (const source of [named((one) => one.name === name), named(({ productVersion }) => productVersion === '9.5')])
    if (source !== undefined) for (const template of [true, false]) cloneMarked(world, source, template);
  await forge(world, await publicData(world));
  // Whatever was left behind has been seen for as long.
  await seenFor(world, HOUR);
  return world;
}

/** What the next swap's import will bear; anybody who has seen one release can tell. */
async function publicData(world: World): Promise<PublicData> {
  const twin = copyWorld(world);
  let data: PublicData | undefined;
  twin.inventory.onCall = (method, phase, args) => {
    if (method === 'startImport' && phase === 'after') data = args[0] as PublicData;
  };
  await publishAs(twin, 'twin', wishFor('9.6'));
  twin.inventory.onCall = undefined;
  const bearer = world.inventory.snapshot().machines.find(({ productVersion }) => productVersion === '9.5');
  if (data === undefined || bearer === undefined) throw new TypeError('the next release was not imported');
  return { name: data.name, extraConfig: data.extraConfig, bearer };
}
