import { isSameLoss, type JsonObject, type LedgerEntry, losses, project, recall } from '@drydock/crd';
import { isConflict, type KubeObject, keyText } from '@drydock/kube';
import {
  observePatient,
  type Patient,
  type RescuePorts,
  type RescueWish,
  tried,
  type Verdict,
  writeStatus,
} from './patient.ts';

/** What of the ledger the live schema takes today. */
export interface Restoration {
  readonly status: JsonObject;
  /** Values that come back, and those that the schema still cannot hold. */
  readonly returns: readonly LedgerEntry[];
  readonly stays: readonly LedgerEntry[];
  readonly verdict: Verdict;
}

/** What an undo would write; nothing is written. */
export async function restoration(wish: RescueWish, ports: RescuePorts): Promise<Restoration> {
  const back = await seen(wish, ports);
  return back.plan;
}

/** Puts back what the live schema takes; the rest stays in the ledger. Resolves to what was written. Rejects with `ReleaseError` and `ApiError`. */
export async function undoRescue(wish: RescueWish, ports: RescuePorts): Promise<Restoration> {
  for (;;) {
    const { patient, plan } = await seen(wish, ports);
    if (plan.returns.length === 0 || !plan.verdict.accepted) return plan;
    const { judge, ledger, object } = patient;
    try {
      await writeStatus(judge, { ...object, status: plan.status } as KubeObject, ports);
    } catch (cause) {
      if (isConflict(cause)) continue;
      throw cause;
    }
    const { name, namespace, resourceVersion = '', uid = '' } = object.metadata;
    const named = keyText(namespace === undefined ? { name } : { namespace, name });
    await ports.ledger.shrink({ uid, object: named, resourceVersion }, ledger, plan.stays);
    return plan;
  }
}

/** A look, and what follows from it; again where somebody was faster in between. */
async function seen(
  wish: RescueWish,
  ports: RescuePorts,
): Promise<{ readonly patient: Patient; readonly plan: Restoration }> {
  for (;;) {
    ports.signal.throwIfAborted();
    const patient = await observePatient(wish, ports);
    const { judge, ledger, object } = patient;
    const { version } = judge;
    const stored = (object as { readonly status?: JsonObject }).status ?? {};
    const whole = recall(stored, ledger.entries, version.schema);
    const { status } = project(whole, object as unknown as JsonObject, { live: version, minor: ports.minor });
    const left = losses(whole, status);
    const stays = ledger.entries.filter((entry) => left.some((loss) => isSameLoss(loss, entry)));
    const returns = ledger.entries.filter((entry) => !stays.includes(entry));
    try {
      const verdict = await tried(judge, { ...object, status } as KubeObject, ports);
      return { patient, plan: { status, stays, returns, verdict } };
    } catch (cause) {
      if (!isConflict(cause)) throw cause;
    }
  }
}
