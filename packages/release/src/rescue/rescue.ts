import { isConflict, keyText } from '@drydock/kube';
import { actRescue } from './act.ts';
import { nextRescueStep, type RescueStep } from './decide.ts';
import { observePatient, type Patient, type RescuePorts, type RescueWish } from './patient.ts';
import { type Proof, prove } from './proof.ts';
import type { WriterPod } from './writer-pods.ts';

/** How a rescue ended. */
export type RescueOutcome =
  | { readonly kind: 'healthy' }
  | { readonly kind: 'hopeless'; readonly why: string }
  /** The writer has written since, and the server takes what it may write next. */
  | { readonly kind: 'free'; readonly proofs: readonly Proof[]; readonly kept: number }
  /** The writer has written, and the server refuses what it may write next. */
  | { readonly kind: 'refused'; readonly proofs: readonly Proof[] }
  /** The status is legal, and nobody has written it in all that time. */
  | { readonly kind: 'silent'; readonly seconds: number; readonly for: 'restart' | 'writer' }
  /** A pod of the writer could not be restarted in all that time: its eviction is forbidden, or the pod before it is not followed by one that is ready. */
  | { readonly kind: 'unrestarted'; readonly seconds: number; readonly pod: string; readonly why: string };

/** How a rescue is made. */
export interface RescueOptions {
  readonly restart: boolean;
  /** Delete pods of the writer instead of evicting them, whatever a PodDisruptionBudget says. */
  readonly forceDelete: boolean;
  /** How long (ms) the writer has for its first write. */
  readonly patience: number;
  /** Monotonic ms, and a pause. */
  readonly clock: { readonly now: () => number; readonly sleep: (ms: number, signal: AbortSignal) => Promise<void> };
  /** Told of each step before it is made; of a wait once. */
  readonly onStep: (step: RescueStep, patient: Patient) => void;
}

/** How often (ms) it is looked whether the writer has written. */
const LOOK = 1_000;
/** How long (ms) the restart of one pod may be forbidden, or its successor not be ready. */
const RESTART_PATIENCE = 300_000;

/**
 * Looks, does one step, and looks again, until the status is free or nothing of ours helps. Whoever is killed anywhere in between is continued by the same call. Rejects with `ReleaseError`, `ApiError`
 * and the reason of the signal.
 */
export async function rescue(wish: RescueWish, ports: RescuePorts, options: RescueOptions): Promise<RescueOutcome> {
  const { clock, forceDelete, onStep, patience } = options;
  let { restart } = options;
  let told: RescueStep['kind'] | undefined;
  let wait: { readonly for: string; readonly since: number } | undefined;
  /** How long (ms) the same has been waited for; looks again a second later. */
  const waited = async (what: string): Promise<number> => {
    if (wait?.for !== what) wait = { for: what, since: clock.now() };
    const ms = clock.now() - wait.since;
    await clock.sleep(LOOK, ports.signal);
    return ms;
  };
  for (;;) {
    ports.signal.throwIfAborted();
    const patient = await observePatient(wish, ports);
    const step = nextRescueStep(patient, { restart, now: ports.now() });
    if (step.kind !== told) onStep(step, patient);
    told = step.kind === 'wait' ? step.kind : undefined;
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
        if (step.for === 'ready') {
          if ((await waited(`${step.for} ${step.before.uid}`)) >= RESTART_PATIENCE)
            return unrestarted(step.before, 'the pod before it is not followed by one that is ready');
        } else if ((await waited(step.for)) >= patience)
          return { kind: 'silent', seconds: patience / 1000, for: step.for };
        break;
      case 'restart': {
        const forbidden = await actRescue(step, patient, ports, { forceDelete });
        if ((await waited(step.pod.uid)) >= RESTART_PATIENCE)
          return unrestarted(step.pod, forbidden ?? 'it does not end');
        break;
      }
      default:
        await actRescue(step, patient, ports, { forceDelete }).catch(unlessOutrun);
        if (step.kind === 'save') restart = false;
    }
  }
}

function unrestarted({ key }: WriterPod, why: string): RescueOutcome {
  return { kind: 'unrestarted', seconds: RESTART_PATIENCE / 1000, pod: keyText(key), why };
}

/** Somebody else has written: what is to be done is decided by what is there now. */
function unlessOutrun(cause: unknown): undefined {
  if (!isConflict(cause)) throw cause;
}
