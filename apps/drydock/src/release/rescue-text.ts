import { oneLine, shortText } from '@drydock/api/text';
import { keyText } from '@drydock/kube';
import type { Patient, RescueOutcome, RescueStep, RescueWish, Restoration } from '@drydock/release';
import { count } from '../count.ts';

/** What `release rescue` prints as JSON and YAML. */
export interface RescueOutput {
  /** `namespace/name`. */
  readonly object: string;
  readonly definition: string;
  readonly version: string;
  /** Of the schema that judges. */
  readonly schema: string;
  /** Whether the server takes the stored status as it is, and a change of the object beside it. */
  readonly takes: { readonly status: boolean; readonly label: boolean };
  /** What the schema cannot hold, by place. */
  readonly illegal: readonly { readonly place: string; readonly count: number; readonly values?: readonly unknown[] }[];
  readonly steps: readonly string[];
  readonly ledger: string;
  readonly result: RescueOutcome['kind'] | 'planned' | 'restored';
  readonly proofs: readonly { readonly write: string; readonly accepted: boolean; readonly said?: string }[];
  /** Values that the ledger keeps. */
  readonly kept?: number;
  readonly restored?: number;
  readonly message?: string;
  readonly next?: string | undefined;
}

/** What is shown, and what is not. */
export interface Shown {
  /** `namespace/name` of the ledger's ConfigMap. */
  readonly ledger: string;
  readonly values: boolean;
  /** ms. */
  readonly patience: number;
  /** Whether pods are deleted instead of evicted. */
  readonly forceDelete: boolean;
  /** Flags that a next command has to repeat. */
  readonly flags: readonly string[];
}

type Said = Omit<RescueOutput, 'result' | 'proofs'>;

/** The object and its plan, for machines. */
export function saidOf(
  patient: Patient,
  { definition, key }: RescueWish,
  plan: readonly RescueStep[],
  shown: Shown,
): Said {
  const { answers, illegal, judge } = patient;
  const places = [...Map.groupBy(illegal, ({ path }) => path)];
  return {
    object: key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`,
    definition,
    version: judge.version.name,
    schema: judge.hash,
    takes: { status: answers.status.accepted, label: answers.label.accepted },
    illegal: places.map(([place, of]) => ({
      place,
      count: of.length,
      ...(shown.values ? { values: of.map(({ value }) => value) } : {}),
    })),
    steps: plan.map((step) => stepText(step, shown)),
    ledger: shown.ledger,
  };
}

/** What is wrong, for people. */
export function patientText({ definition, illegal, object, schema, takes, version }: Said): string {
  const head = `${object} of ${definition}, judged by ${version} (schema ${schema})`;
  if (illegal.length === 0 && takes.status) return `${head}: the stored status is legal.\n`;
  const lines = illegal.map(
    ({ count: of, place, values }) =>
      `  ${place}: ${count(of, 'value')} that the schema does not hold${values === undefined ? '' : `: ${values.map((one) => shortText(oneLine(JSON.stringify(one)), 60)).join(', ')}`}`,
  );
  const status = takes.status
    ? 'taken as long as nobody changes it (the server tolerates what was illegal before)'
    : 'refused, whoever writes it';
  const label = takes.label ? 'taken' : 'refused: nobody can even ask to go forward again';
  return `${head}\n${lines.join('\n')}\n  status writes: ${status}\n  other writes: ${label}\n`;
}

/** The steps, numbered. */
export function planText(plan: readonly RescueStep[], shown: Shown): string {
  const lines = plan.map((step, index) => `  ${index + 1}  ${stepText(step, shown)}`);
  return `\nPlan:\n${lines.join('\n')}\n`;
}

/** One step, as a sentence without a full stop. */
export function stepText(step: RescueStep, { forceDelete, ledger, patience }: Shown): string {
  switch (step.kind) {
    case 'save':
      return step.lost.length === 0
        ? 'note who is to be restarted'
        : `keep ${count(step.lost.length, 'value')} in ConfigMap ${ledger}`;
    case 'write':
      return 'write the status without them';
    case 'restart':
      return `${forceDelete ? 'delete' : 'evict'} Pod ${keyText(step.pod.key)}, which has them in memory; its Deployment makes another one`;
    case 'wait':
      if (step.for === 'ready') return `wait until a new pod is ready; then Pod ${keyText(step.before.key)} is evicted`;
      return step.for === 'restart'
        ? `wait until its writer was restarted, by you, and has written (at most ${patience / 1000} s)`
        : `wait until its writer has written (at most ${patience / 1000} s)`;
    case 'prove':
      return 'ask the server for three writes that may come next, as dry runs';
    case 'healthy':
      return 'nothing: the stored status is legal';
    case 'hopeless':
      return 'nothing: it would not help';
  }
}

/** How it ended, for people. */
export function outcomeText({ kept = 0, ledger, message, next, proofs, result }: RescueOutput): string {
  const lines = proofs.map(
    ({ accepted, said, write }) =>
      `  ${accepted ? 'taken' : 'refused'}: ${write}${said === undefined ? '' : `: ${shortText(oneLine(said), 200)}`}`,
  );
  const ends: Readonly<Partial<Record<RescueOutput['result'], string>>> = {
    free: `Free: its writer has written since, and the server takes what comes next. ${count(kept, 'value')} left out, in ConfigMap ${ledger}.`,
    refused: 'Not free: its writer has written, and the server refuses what may come next.',
    silent: 'Not proved: the stored status is legal now, and its writer has not written in that time.',
    hopeless: `Nothing was written: ${message ?? ''}.`,
    unrestarted: `Not restarted within 5 minutes: ${message ?? ''}. The stored status is legal now.`,
  };
  return `${[...lines, ends[result], next === undefined ? undefined : `next: ${next}`].filter((line) => line !== undefined).join('\n')}\n`;
}

/** What comes back, for people. */
export function restorationText(
  { definition, ledger, object, result, restored = 0 }: RescueOutput,
  { stays, verdict }: Restoration,
): string {
  const left = `${count(stays.length, 'value')} that the schema still does not hold ${stays.length === 1 ? 'stays' : 'stay'} in ConfigMap ${ledger}.`;
  if (restored === 0) return `${object} of ${definition}: nothing to put back. ${left}\n`;
  if (!verdict.accepted)
    return `Nothing was written: the server refuses it: ${shortText(oneLine(verdict.said), 200)}.\n`;
  const done = result === 'restored' ? 'put back' : 'would be put back';
  const next = result === 'restored' ? '' : 'next: drydock release rescue --undo --yes\n';
  return `${object} of ${definition}: ${count(restored, 'value')} ${done}. ${left}\n${next}`;
}

/** What a person does next, if anything. */
export function nextStep(
  outcome: RescueOutcome | { readonly kind: 'planned' },
  { definition, object }: Said,
  { flags }: Shown,
): string | undefined {
  const [name = ''] = object.split('/').toReversed();
  const again = ['drydock release rescue', definition, name, ...flags].join(' ');
  switch (outcome.kind) {
    case 'planned':
      return `${again} --yes`;
    case 'silent':
      return outcome.for === 'restart'
        ? `restart what writes it, then ${again} --yes`
        : `see why it does not write (its log), then ${again} --restart --yes`;
    case 'unrestarted':
      return `${again} --yes when it may be evicted, or ${again} --force-delete --yes, which heeds no PodDisruptionBudget`;
    case 'refused':
    case 'hopeless':
      return `drydock crd check, with the definition that is live (kubectl get crd ${definition} -o yaml) and the one that should be: it refuses by itself`;
    default:
      return undefined;
  }
}
