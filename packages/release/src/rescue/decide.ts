import { isSameLoss, type JsonObject, type Loss, pathText } from '@drydock/crd';
import { keyText } from '@drydock/kube';
import type { Patient } from './patient.ts';
import { type RescueRecord, statusHash } from './record.ts';
import type { WriterPod, WriterPods } from './writer-pods.ts';

/** What is to be done next. */
export type RescueStep =
  /** Keep what will be left out, and note what is about to be written and whose memory has it. */
  | { readonly kind: 'save'; readonly lost: readonly Loss[]; readonly record: RescueRecord }
  /** Write the status that the schema takes. */
  | { readonly kind: 'write'; readonly status: JsonObject }
  /** Evict a pod that read the refused values before: its Deployment makes another one. */
  | { readonly kind: 'restart'; readonly pod: WriterPod }
  /** The writer was not restarted yet, or has not written yet. */
  | { readonly kind: 'wait'; readonly for: 'restart' | 'writer' }
  /** The pod that was evicted before this one is not followed by one that is ready yet. */
  | { readonly kind: 'wait'; readonly for: 'ready'; readonly before: WriterPod }
  /** The writer has written: ask the server for the writes that it may make next, and forget the record. */
  | { readonly kind: 'prove' }
  /** Nothing is wrong with the stored status, and no rescue was begun. */
  | { readonly kind: 'healthy' }
  /** Nothing of ours helps; nothing is written. */
  | { readonly kind: 'hopeless'; readonly why: string };

/** How somebody wants it. */
export interface RescueIntent {
  /** Restart the writer also where the stored status is legal: it may keep in memory what it is refused. Once it is noted, this is done. */
  readonly restart: boolean;
  /** RFC 3339. */
  readonly now: string;
}

const NO_PODS: WriterPods = { pods: [], missing: 0 };

/** The next step, by what is observed alone. */
export function nextRescueStep(patient: Patient, intent: RescueIntent): RescueStep {
  const { cure, record, stuck } = patient;
  if (stuck.length > 0) return { kind: 'hopeless', why: hopeless(patient) };
  if (cure !== undefined) {
    const { lost, status, verdict } = cure;
    if (!verdict.accepted) {
      const why = `the server refuses the status without these values, too: ${verdict.said}`;
      return { kind: 'hopeless', why };
    }
    const stored = (verdict.object as { readonly status?: JsonObject }).status ?? {};
    const wrote = statusHash(stored);
    return record?.wrote === wrote && isKept(patient, lost) && knowsPods(patient, record)
      ? { kind: 'write', status }
      : { kind: 'save', lost, record: recordOf(patient, wrote, intent) };
  }
  if (intent.restart) return { kind: 'save', lost: [], record: recordOf(patient, patient.hash, intent) };
  if (record === undefined) return { kind: 'healthy' };
  const { pods, missing } = patient.writer ?? NO_PODS;
  const old = pods.find(({ uid }) => record.pods.includes(uid));
  // One at a time: the pod that follows the one before is ready first.
  const settled =
    missing === 0 && pods.every(({ ending, ready, uid }) => !ending && (ready || record.pods.includes(uid)));
  if (old !== undefined) return settled ? { kind: 'restart', pod: old } : { kind: 'wait', for: 'ready', before: old };
  if (patient.hash !== record.wrote) return { kind: 'prove' };
  return { kind: 'wait', for: patient.writer === undefined ? 'restart' : 'writer' };
}

/** Every step from here on, as a plan shows it: what another process writes meanwhile may change it. */
export function rescuePlan(patient: Patient, intent: RescueIntent): readonly RescueStep[] {
  const first = nextRescueStep(patient, intent);
  if (first.kind === 'healthy' || first.kind === 'hopeless') return [first];
  const write = (status: JsonObject): RescueStep => ({ kind: 'write', status });
  const { pods } = patient.writer ?? NO_PODS;
  const known = first.kind === 'save' ? first.record.pods : (patient.record?.pods ?? []);
  const restarts = pods.filter(({ uid }) => known.includes(uid)).map((pod): RescueStep => ({ kind: 'restart', pod }));
  return [
    ...(first.kind === 'save' ? [first] : []),
    ...(patient.cure === undefined ? [] : [write(patient.cure.status)]),
    ...restarts,
    { kind: 'wait', for: patient.writer === undefined ? 'restart' : 'writer' },
    { kind: 'prove' },
  ];
}

function recordOf({ object, writer = NO_PODS }: Patient, wrote: string, { now }: RescueIntent): RescueRecord {
  const { name, namespace } = object.metadata;
  const key = namespace === undefined ? { name } : { namespace, name };
  return { object: keyText(key), wrote, pods: writer.pods.map(({ uid }) => uid), since: now };
}

/** Whether the ledger has all of it. */
function isKept({ ledger }: Patient, lost: readonly Loss[]): boolean {
  return lost.every((loss) => ledger.entries.some((entry) => isSameLoss(entry, loss)));
}

/** A pod that came since then has read what is refused, too. */
function knowsPods({ writer = NO_PODS }: Patient, record: RescueRecord): boolean {
  return writer.pods.every(({ uid }) => record.pods.includes(uid));
}

function hopeless({ stuck, judge }: Patient): string {
  const [first] = stuck;
  const where = first === undefined ? '' : `${pathText(first.path)}: ${first.message}`;
  return `${judge.crd.name} refuses what nobody may leave out: ${where}`;
}
