import { CrdError } from '@drydock/crd';
import { isHeld } from '../apply/inventory/entry.ts';
import { ReleaseError } from '../errors.ts';
import { actionOf } from '../inclusion/annotations.ts';
import { idKey, idText, type Manifest } from '../payload/manifest.ts';
import { type Acceptance, type Attempt, accept } from '../state/acceptance.ts';
import { finalBefore } from '../state/finalisation.ts';
import type { HistoryEntry } from '../state/history.ts';
import { unmetPreconditions } from '../state/preconditions.ts';
import type { Release } from '../state/target.ts';
import type { Unmet } from '../state/unmet.ts';
import type { UpgradeRisk } from '../state/upgradeable.ts';
import { isOlder } from '../state/versions.ts';
import type { WayBack } from '../state/way-back.ts';
import type { ReleaseWish } from './face.ts';
import { digestIn, type LoadedRelease, loadRelease, signedBy } from './loaded-release.ts';
import { provenAs, type ReleaseMemory } from './memory.ts';
import type { ReleasePorts } from './ports.ts';
import type { Wait } from './retrieval.ts';

/** What a release is considered by. */
export interface ConsiderOptions {
  readonly wish: ReleaseWish;
  /** Who would own what it brings. */
  readonly owner: string;
  readonly history: readonly HistoryEntry[];
  readonly enabled: readonly string[];
  readonly risks: readonly UpgradeRisk[];
  readonly memory: ReleaseMemory;
  readonly ports: ReleasePorts;
  readonly signal: AbortSignal;
  /** Called whenever something else is waited for. */
  readonly onWait?: (wait: Wait) => void;
}

/** Whether a release may be applied, and what it is. */
export interface Considered {
  readonly acceptance: Acceptance;
  readonly loaded: LoadedRelease | undefined;
}

/** Claims that are told. */
const TOLD = 3;

/**
 * Goes through the steps of an acceptance: the signature of the digest before a byte of the image is read, then the image, its manifests, its version, and what stands against going to it. Of the release that
 * was accepted before, the last is not asked again. Rejects with the signal's reason, and with `ApiError` for the inventory.
 */
export async function consider(
  target: { readonly image: string; readonly version?: string },
  options: ConsiderOptions,
): Promise<Considered> {
  const { wish, history, memory, ports, signal } = options;
  const consent = { force: wish.force, risks: wish.acceptedRisks };
  const judged = (attempt: Attempt, loaded?: LoadedRelease): Considered => ({
    acceptance: accept(attempt, target, consent),
    loaded,
  });
  const digest = digestIn(target.image);
  const { proof, ...signature } =
    memory.proven === provenAs(target.image, wish)
      ? { verified: true, proof: [] }
      : await signedBy(digest, wish, { running: memory.running?.included, ports: ports.signatures, signal });
  // What is let pass without a signature has one step more to fail at; anything else ends here.
  const unread = accept({ signature, version: target.version ?? '', unmet: [] }, target, consent);
  if (!unread.accepted) return { acceptance: unread, loaded: undefined };
  let loaded: LoadedRelease;
  try {
    loaded = await loadWanted(target.image, options);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ReleaseError || error instanceof CrdError)) throw error;
    const isUnread = error instanceof ReleaseError && RETRIEVING.has(error.code);
    return judged({ signature, unmet: [], ...(isUnread ? { retrieval: error.message } : { load: error.message }) });
  }
  if (proof.length > 0) {
    const needed = new Set(history.map(({ image }) => digestIn(image)));
    await ports.signatures
      .keep(digest, proof, needed)
      .catch((error: unknown) =>
        ports.warn('a signature that was verified cannot be kept for a way back without network', error),
      );
  }
  const { version } = loaded.payload.metadata;
  const unmet = [
    ...(await claimed(loaded.included, options)),
    ...(await preconditions({ version, image: target.image }, loaded, options)),
  ];
  return judged({ signature, version, unmet }, loaded);
}

/** The image could not be had; everything else is what was in it. */
const RETRIEVING = new Set(['REGISTRY', 'REGISTRY_LOGIN', 'BAD_REFERENCE', 'BAD_IMAGE', 'BAD_DIGEST', 'BAD_LOGINS']);

/** Reads a release as whoever wants it sees it, once. Rejects with `ReleaseError` and `CrdError`. */
export async function loadWanted(
  image: string,
  { wish, enabled, memory, ports, signal, onWait }: ConsiderOptions,
): Promise<LoadedRelease> {
  const { profile, featureSet, capabilities, overrides } = wish;
  const key = JSON.stringify([image, profile, featureSet, capabilities, overrides, enabled]);
  if (memory.loaded?.key === key) return memory.loaded.release;
  const files = await ports.retrieve(image, signal, onWait).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error instanceof ReleaseError
      ? error
      : new ReleaseError('REGISTRY', `${image} could not be read: ${(error as Error).message}`, error);
  });
  const release = loadRelease(files, image, wish, { enabled, running: memory.running });
  memory.loaded = { key, image, release };
  return release;
}

/** Objects that another owner brings: whoever came first keeps them. Nothing consents to it. */
async function claimed(
  included: readonly Manifest[],
  { owner, ports, signal }: ConsiderOptions,
): Promise<readonly Unmet[]> {
  const { entries, claimedByOthers } = await ports.inventory.open({ name: owner }, signal);
  const found = included.flatMap((manifest): readonly string[] => {
    const key = idKey(manifest.id);
    const other = claimedByOthers.get(key);
    if (other === undefined || actionOf(manifest) === 'delete' || isHeld(entries.get(key))) return [];
    return [`${idText(manifest.id)} belongs to ${other}`];
  });
  if (found.length === 0) return [];
  const more = found.length > TOLD ? ` and ${found.length - TOLD} more` : '';
  const message = `${owner} brings what is somebody else's: ${found.slice(0, TOLD).join(', ')}${more}. Leave it out of one of the two, or name it in spec.overrides.`;
  return [{ name: 'Claimed', reason: 'ResourceClaimed', message, blocking: true, final: true }];
}

async function preconditions(
  target: Release,
  loaded: LoadedRelease,
  options: ConsiderOptions,
): Promise<readonly Unmet[]> {
  const { history, risks } = options;
  const [current] = history;
  if (current === undefined) return [];
  const back = current.image !== target.image && isOlder(target.version, current.version) === true;
  const finalised = finalBefore(history, target);
  const wayBack: WayBack = back
    ? { ...(await looked(loaded, options)), ...(finalised === undefined ? {} : { finalised }) }
    : { findings: [] };
  return unmetPreconditions({ current, history, target, notUpgradeable: risks, wayBack });
}

/** A look at what is stored now: an older one may have become untrue since. */
async function looked(
  { included: manifests, payload: { kubernetes } }: LoadedRelease,
  { wish, owner, memory, ports, signal }: ConsiderOptions,
): Promise<WayBack> {
  try {
    const { entries: inventory } = await ports.inventory.open({ name: owner }, signal);
    const running = { inventory, manifests: memory.running?.included ?? [] };
    const question = { manifests, kubernetes, running };
    const { findings, skew } = await ports.judge(ports.clientFor(wish.account), question, signal);
    return { findings, ...(skew === undefined ? {} : { skew }) };
  } catch (error) {
    signal.throwIfAborted();
    return { findings: undefined, unjudged: (error as Error).message };
  }
}
