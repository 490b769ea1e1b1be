import { readRollbackMarker } from '@drydock/crd';
import { isForbidden, type KubeClient } from '@drydock/kube';
import type { ApplyOutcome, ApplyPorts, ApplyWish } from '../apply/wish.ts';
import { DEFINITION, definitionsIn, narrowsAny } from '../rollback/definitions.ts';
import { rollbackMemory } from '../rollback/memory.ts';
import { restoreKept } from '../rollback/restore.ts';
import { rollBack } from '../rollback/rollback.ts';
import type { KeptDefinition, RollbackEnd, RollbackProgress } from '../rollback/wish.ts';
import type { HistoryEntry } from '../state/history.ts';
import { isOlder, minorOf } from '../state/versions.ts';
import type { ReleaseWish } from './face.ts';
import { loadRelease } from './loaded-release.ts';
import type { ReleaseMemory } from './memory.ts';
import type { ReleasePorts } from './ports.ts';

/** How a release came about. */
export interface BroughtAbout extends ApplyOutcome {
  /** Definitions that a way back leaves where both releases can write; undefined: nobody went back. */
  readonly kept?: readonly KeptDefinition[];
}

/** What it is brought about with, besides what applying needs. */
export interface BringAboutOptions {
  /** With the release that is wanted at its head. */
  readonly history: readonly HistoryEntry[];
  readonly wish: ReleaseWish;
  readonly memory: ReleaseMemory;
  readonly ports: ReleasePorts;
  readonly onWayBack: (progress: RollbackProgress) => void;
}

/**
 * Applies a release; to an older minor, or past a definition that it narrows, or where somebody began to go back, it is gone by bridges. What such a way left out is put back once a newer release is there again. Rejects
 * as applying does, and with `ReleaseError` before anything is changed where somebody must decide first.
 */
export async function bringAbout(
  wish: ApplyWish,
  apply: ApplyPorts,
  options: BringAboutOptions,
): Promise<BroughtAbout> {
  const { history, memory, ports } = options;
  const [head, before] = distinct(history);
  const isUnderWay = head !== undefined && head.state !== 'Completed' && before !== undefined;
  const older = isUnderWay && isOlder(wish.payload.version, before.version) === true;
  if (isUnderWay && (await isByBridges(wish, apply.client, before, apply.signal)))
    return await goBack(wish, apply, { ...options, before });
  const outcome = await ports.apply(wish, apply);
  // What nobody kept need not be looked for again by this process.
  if (!outcome.complete || older || memory.restored === wish.payload.image || definitionsIn(wish).length === 0)
    return outcome;
  const { client, signal } = apply;
  await restoreKept({ client, kept: ports.kept, of: wish, signal });
  memory.restored = wish.payload.image;
  return outcome;
}

/** The head of a history and the release before it. */
function distinct([head, ...rest]: readonly HistoryEntry[]): readonly (HistoryEntry | undefined)[] {
  return [head, rest.find(({ image }) => image !== head?.image)];
}

async function isByBridges(
  wish: ApplyWish,
  client: KubeClient,
  { version }: HistoryEntry,
  signal: AbortSignal,
): Promise<boolean> {
  const isBack = isOlder(wish.payload.version, version) === true;
  if (isBack && minorOf(wish.payload.version) !== minorOf(version)) return true;
  const manifests = definitionsIn(wish);
  if (manifests.length === 0) return false;
  try {
    const names = new Set(manifests.map(({ id }) => id.name));
    const live = (await Array.fromAsync(client.list(DEFINITION, {}, { signal }))).filter(({ metadata }) =>
      names.has(metadata.name),
    );
    return live.some((one) => typeof readRollbackMarker(one) === 'object') || (isBack && narrowsAny(manifests, live));
  } catch (error) {
    // Who may not list definitions has never marked one.
    if (!isForbidden(error)) throw error;
    return false;
  }
}

async function goBack(
  wish: ApplyWish,
  apply: ApplyPorts,
  { before, wish: asked, memory, ports, onWayBack }: BringAboutOptions & { readonly before: HistoryEntry },
): Promise<BroughtAbout> {
  const { client, clock, inventory, live, onProgress, signal } = apply;
  const { payload, manifests, attempt, owner } = wish;
  // What is left out from now on is looked for when a newer release is there again.
  memory.restored = undefined;
  if (memory.rollback?.image !== payload.image) memory.rollback = { image: payload.image, memory: rollbackMemory() };
  const { kept, complete, errors, deletions, progress } = await rollBack(
    {
      from: await endOf(before, { wish: asked, memory, ports, signal }),
      to: { payload, manifests },
      accepted: asked.force ? ['*'] : asked.acceptedRisks,
      ...{ owner, attempt },
    },
    {
      ...{ client, clock, inventory, signal },
      ...(live === undefined ? {} : { live }),
      apply: ports.apply,
      kept: ports.kept,
      columns: ports.columns(asked.account),
      ...(ports.patience === undefined ? {} : { patience: ports.patience }),
      memory: memory.rollback.memory,
      applyMemory: memory.apply,
      onProgress: (next) => {
        if (next.applied !== undefined) onProgress(next.applied);
        onWayBack(next);
      },
    },
  );
  return { complete, errors, deletions, progress, kept };
}

/** The release that was there before, as far as it can still be had: without it, definitions that were narrowed cannot be widened again. */
async function endOf(
  { version, image }: HistoryEntry,
  {
    wish,
    memory,
    ports,
    signal,
  }: Pick<BringAboutOptions, 'wish' | 'memory' | 'ports'> & { readonly signal: AbortSignal },
): Promise<RollbackEnd> {
  if (memory.from?.payload.image === image) return memory.from;
  try {
    const { included, hash } = loadRelease(await ports.retrieve(image, signal), image, wish, {
      ...{ enabled: [], running: undefined },
    });
    memory.from = { payload: { version, image, hash }, manifests: included };
    return memory.from;
  } catch (error) {
    signal.throwIfAborted();
    ports.warn('the release before cannot be read: the way back goes on without its definitions', error);
    return { payload: { version, image, hash: '' }, manifests: [] };
  }
}
