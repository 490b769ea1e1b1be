import { CrdError } from '@drydock/crd';
import { ReleaseError } from '../errors.ts';
import type { HistoryEntry } from '../state/history.ts';
import { type Considered, type ConsiderOptions, consider, loadWanted } from './consideration.ts';
import { digestIn, signedBy } from './loaded-release.ts';
import { provenAs } from './memory.ts';

/** So many releases of a history are read at most. */
const FAR = 4;
const DIGEST = /@sha256:[0-9a-f]{64}$/;

/**
 * As `consider`, by a process that may have just begun: what it would know had it applied the release before is learnt first. That one decides by whom the next must be signed, and what keeps its manager; of a release that runs
 * already it is asked only where the key rings of the wish did not sign it.
 */
export async function considerAfresh(
  target: { readonly image: string; readonly version?: string },
  options: ConsiderOptions,
): Promise<Considered> {
  const { history, memory, wish } = options;
  const matters = memory.running === undefined && (wish.verify.byRelease || wish.capabilities !== undefined);
  if (!matters) return await consider(target, options);
  const runs = history[0]?.image === target.image;
  if (!runs) await recall(history, options, FAR);
  const considered = await consider(target, options);
  if (!runs || !isUnsigned(considered)) return considered;
  await recall(before(history), options, FAR);
  return memory.running === undefined ? considered : await consider(target, options);
}

/** Learns which release heads a history: by the key rings of the wish, or by those of the one before it, and so on. */
async function recall(history: readonly HistoryEntry[], options: ConsiderOptions, far: number): Promise<void> {
  const [entry] = history;
  const { memory, signal, wish } = options;
  if (entry === undefined || far === 0 || !DIGEST.test(entry.image)) return;
  const isProven = async (): Promise<boolean> => {
    const running = memory.running?.included;
    const { verified, waived } = await signedBy(digestIn(entry.image), wish, {
      ...{ running, signal },
      ports: options.ports.signatures,
    });
    if (verified) memory.proven = provenAs(entry.image, wish);
    return verified || waived === true;
  };
  if (!(await isProven())) {
    await recall(before(history), options, far - 1);
    if (memory.running === undefined || !(await isProven())) {
      memory.running = undefined;
      return;
    }
  }
  try {
    memory.running = await loadWanted(entry.image, options);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ReleaseError || error instanceof CrdError)) throw error;
    memory.running = undefined;
    options.ports.warn('the release that runs cannot be read: the next one is verified by the first key rings', error);
  }
}

function before([head, ...older]: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const at = older.findIndex(({ image }) => image !== head?.image);
  return at < 0 ? [] : older.slice(at);
}

function isUnsigned({ acceptance, loaded }: Considered): boolean {
  return loaded === undefined && !acceptance.accepted && acceptance.step === 'RetrievePayload';
}
