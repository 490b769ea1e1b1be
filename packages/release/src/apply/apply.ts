import { ApiError, isNotFound } from '@drydock/kube';
import type { Node } from '../graph/graph.ts';
import { type Lend, runBeside, runGraph } from '../graph/run.ts';
import { actionOf } from '../inclusion/annotations.ts';
import { idKey, type Manifest } from '../payload/manifest.ts';
import { type Fault, faultOf } from './apply-error.ts';
import { applyObject, precreateOperators, settleLate } from './apply-object.ts';
import { Attempt, ManifestFault } from './attempt.ts';
import { claimObjects } from './claim-objects.ts';
import { applyMemory } from './memory.ts';
import { isDefinition } from './merge/kinds.ts';
import { type ApplyOutcome, type ApplyPorts, type ApplyWish, graphOf } from './wish.ts';
import { intendTogether } from './write-object.ts';

/** Nodes at the same time. A first installation has all of them. */
const WORKERS = { updating: 16, reconciling: 2 } as const;

/** ms before what failed is tried again within an attempt, by mode: factor 1.3 and 2, three and four times, 15 s at most. */
const RETRIES = {
  initializing: [1_000, 2_000, 4_000],
  updating: [10_000, 13_000],
  reconciling: [10_000, 13_000],
} as const;

/** Before them, for a kind that is not served: its definition was written a moment ago, and servers take one. */
const SOON = [200, 500, 1_000, 3_000] as const;

/**
 * Applies a payload until everything is done, or nothing more can be done in this attempt. A failure holds back what comes after it in the graph, and nothing else;
 * all are told. The end of the signal leaves incomplete what was not reached. It never rejects for one object's sake, only with what is wrong with the inventory
 * (`ReleaseError`, `ApiError`), before anything is applied.
 */
export async function applyPayload(wish: ApplyWish, ports: ApplyPorts): Promise<ApplyOutcome> {
  const stop = new AbortController();
  const signal = AbortSignal.any([ports.signal, stop.signal]);
  const inventory = await ports.inventory.open(wish.owner, signal);
  const memory = ports.memory ?? applyMemory();
  const attempt = new Attempt({ wish, ports, inventory, memory, stop, signal });
  const refused = await claimObjects(attempt);
  const graph = graphOf(wish);
  const workers = wish.mode === 'initializing' ? Math.max(1, graph.length) : WORKERS[wish.mode];
  const { incomplete } = await runGraph(graph, {
    workers,
    signal,
    run: (node, lend) => applyNode(attempt, node, { refused, lend }),
  });
  const late = await settleLate(attempt);
  await keepNotes(attempt);
  const errors = attempt.errors;
  const failed = errors.some(({ effect }) => effect !== 'Report');
  return {
    complete: incomplete === 0 && late && !failed && !signal.aborted,
    errors,
    progress: attempt.progress(),
    deletions: attempt.deletions,
  };
}

async function applyNode(
  attempt: Attempt,
  { manifests }: Node,
  { refused, lend }: { readonly refused: ReadonlyMap<string, string>; readonly lend: Lend },
): Promise<boolean> {
  const free = manifests.filter((one) => !refused.has(idKey(one.id)) && actionOf(one) !== 'delete');
  await precreateOperators(attempt, free);
  if (!(await intendedTogether(attempt, free))) return false;
  const applied = async (manifest: Manifest): Promise<boolean> => {
    if (attempt.signal.aborted) return false;
    const other = refused.get(idKey(manifest.id));
    const fault = other === undefined ? await tried(attempt, manifest) : claimedBy(attempt, other);
    if (fault !== undefined && fault !== 'ended') attempt.fail(manifest, fault);
    if (fault !== undefined && (fault === 'ended' || fault.effect !== 'Report')) return false;
    attempt.done();
    return true;
  };
  for (const together of stretchesOf(manifests)) if (!(await runBeside(together, lend, applied))) return false;
  return true;
}

/** Definitions that follow each other wait for nothing of each other; everything else does for what is before it. */
function stretchesOf(manifests: readonly Manifest[]): readonly (readonly Manifest[])[] {
  const stretches: Manifest[][] = [];
  let beside = false;
  for (const manifest of manifests) {
    const is = isDefinition(manifest) && actionOf(manifest) !== 'delete';
    if (is && beside) stretches.at(-1)?.push(manifest);
    else stretches.push([manifest]);
    beside = is;
  }
  return stretches;
}

function claimedBy({ wish }: Attempt, other: string): Fault {
  const message = `${other} brings it already, so ${wish.owner.name} leaves it alone`;
  return { reason: 'ResourceClaimed', effect: 'Fail', message };
}

/** Applies one manifest, again where that may help; returns what is wrong with it at last, or that the attempt ended. */
async function tried(attempt: Attempt, manifest: Manifest): Promise<Fault | 'ended' | undefined> {
  const { wish, ports, signal } = attempt;
  for (let failures = 0; ; failures += 1) {
    try {
      await applyObject(attempt, manifest, failures > 0);
      attempt.arrived(manifest);
      return undefined;
    } catch (error) {
      if (signal.aborted) return 'ended';
      const fault = error instanceof ManifestFault ? error.fault : faultOf(error);
      const isMissing = fault.reason === 'UpdatePayloadResourceTypeMissing';
      const delay = [...(isMissing ? SOON : []), ...RETRIES[wish.mode]][failures];
      if (delay === undefined || !mayPass(error)) return fault;
      attempt.waitFor(manifest, fault.message);
      const asked = error instanceof ApiError ? error.retryAfter : undefined;
      try {
        await ports.clock.sleep(Math.max(delay, asked ?? 0), { signal });
      } catch {
        return 'ended';
      }
    }
  }
}

/** Whether the same may go well a little later. */
function mayPass(error: unknown): boolean {
  if (error instanceof ManifestFault) return error.mayPass;
  return error instanceof ApiError && (error.retriable || error.code === 'AlreadyExists' || isNotFound(error));
}

async function intendedTogether(attempt: Attempt, manifests: readonly Manifest[]): Promise<boolean> {
  try {
    await intendTogether(attempt, manifests);
    return true;
  } catch (error) {
    if (attempt.signal.aborted) return false;
    throw error;
  }
}

async function keepNotes(attempt: Attempt): Promise<void> {
  const [first] = attempt.wish.manifests;
  if (first === undefined) return;
  try {
    await attempt.kept(first, () => attempt.inventory.flush());
  } catch (error) {
    if (!attempt.signal.aborted) throw error;
  }
}
