import type { JsonObject } from '@drydock/crd';
import { isAlreadyExists, isConflict, isNotFound, type KubeObject } from '@drydock/kube';
import { idKey, type Manifest } from '../payload/manifest.ts';
import { type Attempt, ManifestFault, type Seen } from './attempt.ts';
import { claimOf, writtenKeys } from './inventory/claims.ts';
import type { InventoryEntry } from './inventory/entry.ts';
import { asJson, objectIn, textIn } from './json.ts';
import { isDefinition, kindOf } from './merge/kinds.ts';
import { type ApplyStep, AS_IT_SHOULD_BE, contentDigest, contentMark, heldStep, isSettled, stepFor } from './step.ts';

/** Writes that lost against others, after which they are left to them for this attempt. */
const CONFLICTS = 8;
/** ms before a write that lost is decided again. */
const AFTER_CONFLICT = 50;

type Write = ApplyStep & { readonly action: 'create' | 'update' };

/** The step for a manifest, by the live object and the inventory, after whoever changes steps of definitions. */
export function stepOf(attempt: Attempt, manifest: Manifest, live: KubeObject | undefined): ApplyStep {
  const { wish, ports, inventory, steps } = attempt;
  const known = inventory.entries.get(idKey(manifest.id));
  const last = steps.get(manifest);
  // Of what is not there the inventory says nothing that counts.
  if (last !== undefined && last.live === live && (last.known === known || live === undefined)) return last.step;
  const decided =
    heldStep(inventory, known, live) ?? stepFor(manifest, live, known, wish.mode, wish.owner, wish.payload.image);
  const step = isDefinition(manifest) && ports.crds !== undefined ? ports.crds(decided, manifest) : decided;
  steps.set(manifest, { live, known, step });
  return step;
}

/**
 * Brings one object to what its manifest says; returns it as it is then, or undefined while it is waited for or to be deleted. Each write is guarded by
 * the version that it was decided from; one that loses is decided anew from what the server has. Before each write the inventory says what is about to be written.
 */
export async function writeObject(
  attempt: Attempt,
  manifest: Manifest,
  fresh: boolean,
): Promise<{ readonly step: ApplyStep; readonly object: KubeObject | undefined }> {
  const resource = await attempt.resourceOf(manifest);
  let seen: Seen | undefined = fresh ? undefined : attempt.look(manifest);
  for (let conflicts = 0; ; conflicts += 1) {
    attempt.signal.throwIfAborted();
    if (seen === undefined || (seen.partial && !isAsSettled(attempt, manifest, seen)))
      seen = { object: await attempt.read(manifest, resource), partial: false };
    const live = seen.object;
    const step = stepOf(attempt, manifest, live);
    attempt.steps.delete(manifest);
    switch (step.action) {
      case 'nothing':
        if (live !== undefined) noteFound(attempt, manifest, live, step.why === AS_IT_SHOULD_BE);
        return { step, object: live };
      case 'wait':
        return { step, object: live };
      case 'delete':
        if (!step.pending) attempt.agree(step, manifest, live);
        return { step, object: live };
      case 'refuse':
        throw new ManifestFault({ reason: step.reason, effect: 'Fail', message: step.why });
      default:
    }
    attempt.agree(step, manifest, live);
    await intend(attempt, manifest, live, step);
    const object = step.object as unknown as KubeObject;
    try {
      const { signal } = attempt;
      const { client } = attempt.ports;
      // A definition is long, and what the server adds to it is no key of ours.
      const answer = isDefinition(manifest) ? ({ answer: 'metadata' } as const) : {};
      const after =
        step.action === 'create'
          ? await client.create(resource, object, { signal, ...answer })
          : await client.replace(resource, object, { signal });
      noteWritten(attempt, manifest, {
        before: live,
        sent: step.object,
        after,
        made: step.action === 'create',
      });
      return { step, object: after };
    } catch (error) {
      const gone = isNotFound(error) && step.action === 'update';
      if ((!isConflict(error) && !isAlreadyExists(error) && !gone) || conflicts === CONFLICTS) throw error;
      seen = undefined;
      if (conflicts > 0) await attempt.ports.clock.sleep(AFTER_CONFLICT * 2 ** conflicts, { signal: attempt.signal });
    }
  }
}

/** The entry that says that an object is about to be made, as far as caches know that there is none; undefined otherwise. */
export function meantToMake(
  attempt: Attempt,
  manifest: Manifest,
  known: InventoryEntry | undefined,
): InventoryEntry | undefined {
  const seen = attempt.look(manifest);
  if (seen === undefined || seen.object !== undefined) return undefined;
  const step = stepOf(attempt, manifest, undefined);
  return step.action === 'create' ? intended(attempt, manifest, { live: undefined, step, known }) : undefined;
}

/** Says for several objects at once what is about to be written, as far as caches know them: one write of the inventory instead of many. */
export async function intendTogether(attempt: Attempt, manifests: readonly Manifest[]): Promise<void> {
  const intents = new Map<string, InventoryEntry>();
  for (const manifest of manifests) {
    const known = attempt.inventory.entries.get(idKey(manifest.id));
    const seen = known !== undefined && attempt.announced.has(known) ? undefined : attempt.look(manifest);
    if (seen === undefined || seen.partial) continue;
    const step = stepOf(attempt, manifest, seen.object);
    if (step.action !== 'create' && step.action !== 'update') continue;
    const entry = intended(attempt, manifest, { live: seen.object, step, known });
    if (entry !== undefined) intents.set(idKey(manifest.id), entry);
  }
  const [first] = manifests;
  if (intents.size < 2 || first === undefined) return;
  await attempt.keep(first, intents);
  for (const entry of intents.values()) attempt.announced.add(entry);
}

/** Whether the object is as the server made it of this manifest, which needs no more than the digest of its content. */
function isAsSettled(attempt: Attempt, manifest: Manifest, { object }: Seen): boolean {
  if (object === undefined) return true;
  if (!isSettled(manifest, asJson(object), attempt.inventory.entries.get(idKey(manifest.id)))) return false;
  return stepOf(attempt, manifest, object).action === 'nothing';
}

async function intend(attempt: Attempt, manifest: Manifest, live: KubeObject | undefined, step: Write): Promise<void> {
  const known = attempt.inventory.entries.get(idKey(manifest.id));
  const entry = intended(attempt, manifest, { live, step, known });
  if (entry !== undefined) await attempt.keep(manifest, new Map([[idKey(manifest.id), entry]]));
}

/** The entry that says what is about to be written; undefined where it says so already. */
function intended(
  { announced, wish }: Attempt,
  manifest: Manifest,
  {
    live,
    step,
    known,
  }: {
    readonly live: KubeObject | undefined;
    readonly step: Write;
    readonly known: InventoryEntry | undefined;
  },
): InventoryEntry | undefined {
  const { uid = '', resourceVersion = '' } = live?.metadata ?? {};
  // It was said by this attempt about this very object.
  if (
    known !== undefined &&
    announced.has(known) &&
    known.uid === uid &&
    known.intent?.resourceVersion === resourceVersion
  )
    return undefined;
  const before = live === undefined ? undefined : asJson(live);
  const claim = claimOf(known, before, wish.owner);
  const written = writtenKeys({ id: manifest.id, wanted: manifest.object, before, after: step.object, claim });
  const intent = { resourceVersion, written };
  const same = known?.uid === uid && JSON.stringify(known.intent) === JSON.stringify(intent);
  if (same) return undefined;
  const { settled: _settled, ...kept } = known ?? newEntry(manifest, wish.payload.version);
  return { ...kept, uid, made: claim.made, written: claim.written, intent };
}

function noteWritten(
  { inventory, wish }: Attempt,
  manifest: Manifest,
  write: {
    readonly before: KubeObject | undefined;
    readonly sent: JsonObject;
    readonly after: KubeObject;
    readonly made: boolean;
  },
): void {
  const key = idKey(manifest.id);
  const before = write.before === undefined ? undefined : asJson(write.before);
  const after = asJson(write.after);
  const { intent, ...known } = inventory.entries.get(key) ?? newEntry(manifest, wish.payload.version);
  const sent = intent === undefined ? undefined : { object: write.sent, keys: intent.written };
  // Of what was about to be written, the answer says what became of it.
  const claim = { uid: known.uid, made: known.made || write.made, written: known.written };
  const entry: InventoryEntry = {
    ...known,
    uid: textIn(objectIn(after, 'metadata'), 'uid'),
    made: claim.made,
    written: writtenKeys({ id: manifest.id, wanted: manifest.object, before, after, claim, sent }),
    ...settledAs(manifest, after),
  };
  inventory.note(new Map([[key, entry]]));
}

/** A Job has done its work for this release. */
export function noteRan({ inventory, wish }: Attempt, manifest: Manifest): void {
  const key = idKey(manifest.id);
  const known = inventory.entries.get(key);
  const { image } = wish.payload;
  if (known !== undefined && known.ran !== image) inventory.note(new Map([[key, { ...known, ran: image }]]));
}

/** What was found as it should be: after a crash it may be that our write made it so, and of what we never wrote nothing is ours. */
function noteFound({ inventory, wish }: Attempt, manifest: Manifest, live: KubeObject, compared: boolean): void {
  const key = idKey(manifest.id);
  const is = asJson(live);
  const { uid = '' } = live.metadata;
  const known = inventory.entries.get(key);
  const { settled } = compared ? settledAs(manifest, is) : {};
  const same = known?.uid === uid && known.intent === undefined;
  if (same && known.settled?.manifest === settled?.manifest && known.settled?.content === settled?.content) return;
  const claim = claimOf(known, is, wish.owner);
  const { intent: _intent, settled: _settled, ...kept } = known ?? newEntry(manifest, wish.payload.version);
  const written = writtenKeys({ id: manifest.id, wanted: manifest.object, before: is, after: is, claim });
  const entry = { ...kept, uid, made: claim.made, written, ...(settled === undefined ? {} : { settled }) };
  inventory.note(new Map([[key, entry]]));
}

/** Of a Secret nothing is kept that somebody could try values on. */
function settledAs(manifest: Manifest, content: JsonObject): { readonly settled?: InventoryEntry['settled'] & object } {
  if (kindOf(manifest.id) === 'Secret.') return {};
  const settled = {
    manifest: contentDigest(manifest.object),
    content: contentMark(manifest, content),
  };
  return { settled };
}

/** An entry of an object of which nothing is known. */
export function newEntry({ id, version, file }: Manifest, release: string): InventoryEntry {
  return { id, version, file, releases: [release], uid: '', made: false, written: {} };
}
