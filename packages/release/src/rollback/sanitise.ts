import type { JsonObject } from '@drydock/crd';
import { isConflict, isNotFound, type KubeObject, keyOf } from '@drydock/kube';
import type { Definition } from './definitions.ts';
import { isKept, type KeptOfKind, keep } from './kept-values.ts';
import { isTaken, type KindWay, kindWay, objectName, objectsOf, objectWay, refusalText } from './objects.ts';
import type { Way } from './way.ts';
import type { BlockingObject } from './wish.ts';

/** What was found, and done, about the objects of one kind. */
export interface KindReport {
  readonly objects: number;
  /** Statuses that were cut, or would be. */
  readonly cut: number;
  /** Objects of which something was copied, or would be. */
  readonly copied: number;
  /** Writers that may still put back what was cut. */
  readonly waiting: number;
  /** What keeps the definition from being narrowed. */
  readonly blocks: readonly BlockingObject[];
  /** By uid: what changes when anything but the status does. */
  readonly contents: ReadonlyMap<string, string>;
}

/** How objects are gone through. */
export interface SanitiseOptions {
  /** Nothing is written. */
  readonly dry?: boolean;
  /** The older release is back: its writers are watched. */
  readonly watches?: boolean;
}

/** How often a status is cut after its release is back; a writer that puts it back as often cannot be filtered. */
const MOST_CUTS = 2;
const CONFLICTS = 5;
/** Objects that are named. */
const MOST_BLOCKS = 100;

/** Goes through all objects of a kind: keeps what the target cannot hold, and writes statuses that it takes. Rejects with `ApiError`. */
export async function sanitiseKind(
  definition: Definition,
  way: Way,
  options: SanitiseOptions = {},
): Promise<KindReport> {
  const { client, kept, signal } = way.ports;
  const { crd, target } = definition;
  const kind = crd === undefined || target === undefined ? undefined : kindWay(crd, target, await way.minor());
  const blocks: BlockingObject[] = [];
  const contents = new Map<string, string>();
  const counts = { objects: 0, cut: 0, copied: 0, waiting: 0 };
  if (kind === undefined || crd === undefined) return { ...counts, blocks, contents };
  const of = kept.of(crd);
  for await (const found of objectsOf(client, kind.resource, signal)) {
    const { uid = '' } = found.metadata;
    if (contents.has(uid)) continue;
    const done = await sanitiseObject(found, { kind, of, way, options });
    contents.set(uid, done.content);
    counts.objects += 1;
    if (done.cut) counts.cut += 1;
    if (done.copied) counts.copied += 1;
    if (done.waiting) counts.waiting += 1;
    for (const block of done.blocks) if (blocks.length < MOST_BLOCKS) blocks.push(block);
  }
  return { ...counts, blocks, contents };
}

/** ms between two looks at writers. */
const LOOK = 500;

/** Goes through kinds whose release is back until no writer is waited for any more. Rejects with `ApiError`. */
export async function settleKinds(
  definitions: readonly Definition[],
  way: Way,
): Promise<ReadonlyMap<string, KindReport>> {
  for (;;) {
    const reports = new Map<string, KindReport>();
    for (const one of definitions) reports.set(one.name, await sanitiseKind(one, way, { watches: true }));
    if ([...reports.values()].every(({ waiting }) => waiting === 0)) return reports;
    await way.ports.clock.sleep(LOOK, { signal: way.ports.signal });
  }
}

interface Done {
  readonly content: string;
  readonly cut: boolean;
  readonly copied: boolean;
  readonly waiting: boolean;
  readonly blocks: readonly BlockingObject[];
}

interface Sanitising {
  readonly kind: KindWay;
  readonly of: KeptOfKind;
  readonly way: Way;
  readonly options: SanitiseOptions;
}

async function sanitiseObject(first: KubeObject, sanitising: Sanitising): Promise<Done> {
  const { kind, of, way, options } = sanitising;
  const { ports, memory } = way;
  const { clock } = ports;
  let found = first;
  let copied = false;
  for (let conflicts = 0; ; conflicts += 1) {
    const { uid = '', resourceVersion = '' } = found.metadata;
    const object = objectName(found);
    const { cut, copies, blocks } = objectWay(found, kind);
    const subject = { uid, object, resourceVersion };
    const told = blocks.map((cause) => ({ object, ...refusalText(cause) }));
    const { schema } = kind.live;
    const origin = { schemaHash: kind.hash, release: way.wish.from.payload.version, now: clock.date() };
    if (copies.length > 0 && !isKept(await of.rest.view(uid), copies, schema)) {
      copied = true;
      if (options.dry !== true)
        await keep(of.rest, { ...origin, schema, subject, lost: copies, stored: found as never });
    }
    // Where the status is written apart, the generation counts everything else (apiextensions.k8s.io/v1).
    const content = kind.live.status ? `${found.metadata.generation ?? ''}` : resourceVersion;
    const standing = { content, copied, cut: cut !== undefined };
    if (options.dry === true) return { ...standing, waiting: false, blocks: told };
    const watched = memory.cuts.get(uid);
    if (cut === undefined) {
      const waits = options.watches === true && (await of.status.view(uid)).entries.length > 0;
      return { ...standing, waiting: waits && isAwaited(uid, resourceVersion, way), blocks: told };
    }
    if (options.watches === true && (watched?.times ?? 0) >= MOST_CUTS) {
      const [loss] = cut.lost;
      const path = loss === undefined ? 'status' : ['status', ...loss.at].join('.');
      const why = `its writer puts back what ${way.wish.to.payload.version} does not take`;
      return { ...standing, waiting: false, blocks: [...told, { object, path, why }] };
    }
    if (!isTaken(found, cut.status, kind)) {
      const why = 'the server would refuse it without what the target does not take, too';
      return { ...standing, cut: false, waiting: false, blocks: [...told, { object, path: 'status', why }] };
    }
    const stored = (found as { readonly status?: JsonObject }).status ?? {};
    if (cut.lost.length > 0) {
      const below = schema?.properties?.['status'];
      await keep(of.status, { ...origin, schema: below, subject, lost: cut.lost, stored: stored as never });
    }
    try {
      const written = await writeStatus({ ...found, status: cut.status } as KubeObject, sanitising);
      const { resourceVersion: now = '' } = written.metadata;
      if (options.watches === true)
        memory.cuts.set(uid, { times: (watched?.times ?? 0) + 1, resourceVersion: now, since: clock.now() });
      return {
        ...standing,
        ...(kind.live.status ? {} : { content: now }),
        waiting: options.watches === true,
        blocks: told,
      };
    } catch (error) {
      if (isNotFound(error)) return { ...standing, waiting: false, blocks: [] };
      if (!isConflict(error)) throw error;
      if (conflicts === CONFLICTS) {
        // As one that puts it back.
        if (options.watches === true)
          memory.cuts.set(uid, { times: (watched?.times ?? 0) + 1, resourceVersion, since: clock.now() });
        const why = 'its writer is always faster';
        return { ...standing, waiting: options.watches === true, blocks: [...told, { object, path: 'status', why }] };
      }
      const next = await ports.client.get(kind.resource, keyOf(found), { signal: ports.signal }).catch(absent);
      if (next === undefined || next.metadata.uid !== uid) return { ...standing, waiting: false, blocks: [] };
      found = next;
    }
  }
}

/** Whether nobody but us has written since, and there is still time for it. */
function isAwaited(uid: string, resourceVersion: string, { memory, ports, patience }: Way): boolean {
  const now = ports.clock.now();
  const watched = memory.cuts.get(uid) ?? { times: 0, resourceVersion, since: now };
  memory.cuts.set(uid, watched);
  return watched.resourceVersion === resourceVersion && now - watched.since < patience;
}

async function writeStatus(next: KubeObject, { kind, way }: Sanitising): Promise<KubeObject> {
  const { client, signal } = way.ports;
  return kind.live.status
    ? client.replaceStatus(kind.resource, next, { signal })
    : client.replace(kind.resource, next, { signal });
}

function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}
