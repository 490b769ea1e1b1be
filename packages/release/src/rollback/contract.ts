import { type Crd, diff, readCrd } from '@drydock/crd';
import { ApiError, isConflict, isInvalid, isNotFound, type KubeObject } from '@drydock/kube';
import { bridgeColumn, bridgeSpec } from './bridge-definition.ts';
import { changeDefinition, isServed } from './definition-writes.ts';
import {
  bridgedDefinition,
  contractedDefinition,
  type Definition,
  definitionsIn,
  markedDefinition,
  specOf,
  unmarkedDefinition,
} from './definitions.ts';
import { kindWay, objectName, objectsOf } from './objects.ts';
import { type KindReport, sanitiseKind, settleKinds } from './sanitise.ts';
import { migrateStorage } from './storage.ts';
import type { Way } from './way.ts';
import type { BlockingObject, KeptDefinition } from './wish.ts';

/** Objects that change while the definition does are copied again so often. */
const TRIES = 3;
/** Objects that are asked about. */
const CANARIES = 20;

/**
 * Narrows one definition, and proves it: every object was legal before, each API server serves it, none became illegal meanwhile, and writes that may come next are taken. Else the bridge is back, and the reason is returned. A
 * process that ends in between leaves a definition that says so. Rejects with `ApiError`.
 */
export async function contract(definition: Definition, way: Way): Promise<KeptDefinition | undefined> {
  const { name } = definition;
  const kept = (why: string, objects: readonly BlockingObject[] = []): KeptDefinition => ({
    definition: name,
    why,
    objects,
  });
  for (let tries = 1; ; tries += 1) {
    const before = (await settleKinds([definition], way)).get(name);
    if (before === undefined) return undefined;
    if (before.blocks.length > 0) return kept('objects do not fit it', before.blocks);
    const spec = restoringSpec(definition, way);
    if (spec === undefined) return kept('the bridge could not be put back if it failed');
    let narrowed: Definition;
    try {
      await migrateStorage(definition, way, 'before');
      narrowed = await changeDefinition(definition, way, ({ live, manifest, state }) =>
        live === undefined || state.kind !== 'bridged' ? undefined : contractedDefinition(manifest, live, way.wish),
      );
    } catch (error) {
      if (!(error instanceof ApiError) || isConflict(error)) throw error;
      if (!isInvalid(error)) throw error;
      return kept(`the server refuses it: ${error.message}`);
    }
    if (narrowed.state.kind !== 'contracting') return kept('somebody else has changed it');
    const failed = await proveContract(narrowed, before, way);
    if (failed === undefined) {
      await changeDefinition(definition, way, ({ live, state }) =>
        live === undefined || state.kind !== 'contracting' ? undefined : unmarkedDefinition(live),
      );
      return undefined;
    }
    await restoreBridge(narrowed, way);
    if (failed !== 'moved') return kept(failed.why, failed.objects);
    if (tries === TRIES) return kept('its objects change faster than they can be copied');
  }
}

/** Why it does not hold; `moved`: what was written meanwhile may have something that was not copied. */
async function proveContract(
  narrowed: Definition,
  before: KindReport,
  way: Way,
): Promise<{ readonly why: string; readonly objects: readonly BlockingObject[] } | 'moved' | undefined> {
  if (!(await isServed(narrowed, undefined, way)))
    return { why: 'not every API server has begun to serve it', objects: [] };
  const after = await sanitiseKind(narrowed, way, { dry: true });
  if (after.blocks.length > 0) return { why: 'objects became illegal meanwhile', objects: after.blocks };
  if (after.cut > 0) return { why: 'statuses became illegal meanwhile', objects: [] };
  const moved = [...after.contents].some(([uid, content]) => before.contents.get(uid) !== content);
  if (moved && prunesSpec(narrowed, way)) return 'moved';
  const refused = await canaries(narrowed, way);
  return refused.length === 0 ? undefined : { why: 'the server refuses writes that may come next', objects: refused };
}

/** Whether it takes fields outside of statuses that the target does not know. */
function prunesSpec({ target, name }: Definition, way: Way): boolean {
  const from = fromDefinition(name, way);
  return (
    target !== undefined &&
    from !== undefined &&
    diff(from, target).steps.some(({ rule, half }) => ['N12', 'N13', 'N14', 'N26'].includes(rule) && half !== 'status')
  );
}

/** Writes that change nothing, as dry runs: what the server itself says. */
async function canaries({ crd, target }: Definition, way: Way): Promise<readonly BlockingObject[]> {
  const { client, signal } = way.ports;
  const kind = crd === undefined || target === undefined ? undefined : kindWay(crd, target, await way.minor());
  if (kind === undefined) return [];
  const refused: BlockingObject[] = [];
  let asked = 0;
  for await (const found of objectsOf(client, kind.resource, signal)) {
    if (asked >= CANARIES) break;
    asked += 1;
    const writes: (() => Promise<KubeObject>)[] = [
      () => client.replace(kind.resource, found, { dryRun: true, signal }),
    ];
    if (kind.live.status && 'status' in found)
      writes.push(() => client.replaceStatus(kind.resource, found, { dryRun: true, signal }));
    for (const write of writes) {
      try {
        await write();
      } catch (error) {
        if (isConflict(error) || isNotFound(error)) continue;
        if (!isInvalid(error) || !(error instanceof ApiError)) throw error;
        const [cause] = error.details.causes ?? [];
        refused.push({ object: objectName(found), path: cause?.field ?? '', why: cause?.message ?? error.message });
      }
    }
  }
  return refused;
}

/** Puts the bridge in the place of a definition that does not hold. */
export async function restoreBridge(definition: Definition, way: Way): Promise<void> {
  const back = await changeDefinition(definition, way, ({ live, target, state }) => {
    const spec = restoringSpec(definition, way);
    if (live === undefined || target === undefined || spec === undefined || state.kind === 'bridged') return undefined;
    return markedDefinition(bridgedDefinition(live, spec), target, way.wish);
  });
  const column = back.live === undefined ? undefined : bridgeColumn(specOf(back.live));
  if (column !== undefined) await isServed(back, column, way);
}

/** What the bridge is made of again: the one that is there, or that between the two releases. */
function restoringSpec({ crd, target, state, live, name }: Definition, way: Way): ReturnType<typeof specOf> {
  if (state.kind === 'bridged' && live !== undefined) return specOf(live);
  const from = fromDefinition(name, way) ?? crd;
  return target === undefined || from === undefined ? undefined : bridgeSpec(target, from).spec;
}

function fromDefinition(name: string, { wish }: Way): Crd | undefined {
  const manifest = definitionsIn(wish.from).find(({ id }) => id.name === name);
  return manifest === undefined ? undefined : readCrd(manifest.object, manifest.file);
}
