import { isConflict } from '@drydock/kube';
import { actRescue } from './act.ts';
import { nextRescueStep, type RescueStep } from './decide.ts';
import { observePatient, type Patient, type RescuePorts, type RescueWish } from './patient.ts';
import { type Proof, prove } from './proof.ts';

/** How a rescue ended. */
export type RescueOutcome =
  | { readonly kind: 'healthy' }
  | { readonly kind: 'hopeless'; readonly why: string }
  /** The writer has written since, and the server takes what it may write next. */
  | { readonly kind: 'free'; readonly proofs: readonly Proof[]; readonly kept: number }
  /** The writer has written, and the server refuses what it may write next. */
  | { readonly kind: 'refused'; readonly proofs: readonly Proof[] }
  /** The status is legal, and nobody has written it in all that time. */
  | { readonly kind: 'silent'; readonly seconds: number; readonly for: 'restart' | 'writer' };

/** How a rescue is made. */
export interface RescueOptions {
  readonly restart: boolean;
  /** How long (ms) the writer has for its first write. */
  readonly patience: number;
  /** Monotonic ms, and a pause. */
  readonly clock: { readonly now: () => number; readonly sleep: (ms: number, signal: AbortSignal) => Promise<void> };
  /** Told of each step before it is made; of a wait once. */
  readonly onStep: (step: RescueStep, patient: Patient) => void;
}

/** How often (ms) it is looked whether the writer has written. */
const LOOK = 1_000;

/**
 * Looks, does one step, and looks again, until the status is free or nothing of ours helps. Whoever is killed anywhere in between is continued by the same call. Rejects with `ReleaseError`, `ApiError`
 * and the reason of the signal.
 */
export async function rescue(wish: RescueWish, ports: RescuePorts, options: RescueOptions): Promise<RescueOutcome> {
  const { clock, onStep, patience } = options;
  let { restart } = options;
  let waiting: number | undefined;
  for (;;) {
    ports.signal.throwIfAborted();
    const patient = await observePatient(wish, ports);
    const step = nextRescueStep(patient, { restart, now: ports.now() });
    if (step.kind !== 'wait' || waiting === undefined) onStep(step, patient);
    switch (step.kind) {
      case 'healthy':
      case 'hopeless':
        return step;
      case 'prove': {
        const proofs = await prove(patient, ports).catch(unlessOutrun);
        if (proofs === undefined) break;
        if (!proofs.every(({ verdict }) => verdict.accepted)) return { kind: 'refused', proofs };
        await ports.records.remove(patient.object.metadata.uid ?? '');
        return { kind: 'free', proofs, kept: patient.ledger.entries.length };
      }
      case 'wait':
        waiting ??= clock.now();
        if (clock.now() - waiting >= patience) return { kind: 'silent', seconds: patience / 1000, for: step.for };
        await clock.sleep(LOOK, ports.signal);
        break;
      default:
        await actRescue(step, patient, ports).catch(unlessOutrun);
        if (step.kind === 'save') restart = false;
    }
  }
}

/** Somebody else has written: what is to be done is decided by what is there now. */
function unlessOutrun(cause: unknown): undefined {
  if (!isConflict(cause)) throw cause;
}
