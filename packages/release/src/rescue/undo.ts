import { isSameLoss, type JsonObject, type LedgerEntry, losses, project, recall } from '@drydock/crd';
import { isConflict, type KubeObject } from '@drydock/kube';
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
export async function restoration(patient: Patient, ports: RescuePorts): Promise<Restoration> {
  const { judge, ledger, object } = patient;
  const { version } = judge;
  const stored = (object as { readonly status?: JsonObject }).status ?? {};
  const whole = recall(stored, ledger.entries, version.schema);
  const { status } = project(whole, object as unknown as JsonObject, { live: version, minor: ports.minor });
  const left = losses(whole, status);
  const stays = ledger.entries.filter((entry) => left.some((loss) => isSameLoss(loss, entry)));
  return {
    status,
    stays,
    returns: ledger.entries.filter((entry) => !stays.includes(entry)),
    verdict: await tried(judge, { ...object, status } as KubeObject, ports),
  };
}

/** Puts back what the live schema takes; the rest stays in the ledger. Resolves to what was written. Rejects with `ReleaseError` and `ApiError`. */
export async function undoRescue(wish: RescueWish, ports: RescuePorts): Promise<Restoration> {
  for (;;) {
    ports.signal.throwIfAborted();
    const patient = await observePatient(wish, ports);
    const { judge, ledger, object } = patient;
    const back = await restoration(patient, ports);
    if (back.returns.length === 0 || !back.verdict.accepted) return back;
    const { name, namespace, resourceVersion = '', uid = '' } = object.metadata;
    try {
      await writeStatus(judge, { ...object, status: back.status } as KubeObject, ports);
    } catch (cause) {
      if (isConflict(cause)) continue;
      throw cause;
    }
    const named = namespace === undefined ? name : `${namespace}/${name}`;
    await ports.ledger.shrink({ uid, object: named, resourceVersion }, ledger, back.stays);
    return back;
  }
}
