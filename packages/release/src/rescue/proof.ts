import { isObject, type Json, type JsonObject, type LedgerEntry } from '@drydock/crd';
import type { KubeObject } from '@drydock/kube';
import { type Patient, type RescuePorts, tried, type Verdict } from './patient.ts';

/** A write that its writer may make next, and what the server says to it. */
export interface Proof {
  readonly write: string;
  readonly verdict: Verdict;
}

/**
 * Three writes that the server has to take before a status counts as free: what is stored; another time at each condition; and each list that something was left out of, with one item less. A server
 * that tolerates what was illegal before, as long as nobody touches it (KEP-4008), takes the first of a status that is not free, and refuses the third. All are dry runs.
 */
export async function prove(patient: Patient, ports: RescuePorts): Promise<readonly Proof[]> {
  const status = ((patient.object as { readonly status?: JsonObject }).status ?? {}) as JsonObject;
  const writes: readonly (readonly [string, JsonObject])[] = [
    ['the stored status', status],
    ['its conditions at another time', { ...status, ...touched(status) }],
    ['one item less in each list that lost some', shortened(status, patient.ledger.entries)],
  ];
  const proofs: Proof[] = [];
  for (const [write, next] of writes)
    proofs.push({
      write,
      verdict: await tried(patient.judge, { ...patient.object, status: next } as KubeObject, ports),
    });
  return proofs;
}

const ANOTHER_TIME = '2000-01-01T00:00:00Z';

function touched({ conditions }: JsonObject): { readonly conditions?: Json } {
  if (!Array.isArray(conditions)) return {};
  const items = conditions as readonly Json[];
  return {
    conditions: items.map((one) =>
      isObject(one) && 'lastTransitionTime' in one ? { ...one, lastTransitionTime: ANOTHER_TIME } : one,
    ),
  };
}

function shortened(status: JsonObject, entries: readonly LedgerEntry[]): JsonObject {
  let next: Json = status;
  const lists = new Set(
    entries.flatMap(({ at }) => (typeof at.at(-1) === 'number' ? JSON.stringify(at.slice(0, -1)) : [])),
  );
  for (const list of lists) next = shorter(next, JSON.parse(list) as readonly string[]);
  return next as JsonObject;
}

function shorter(value: Json, [key, ...rest]: readonly string[]): Json {
  if (key === undefined) return Array.isArray(value) ? (value as readonly Json[]).slice(1) : value;
  if (!isObject(value) || value[key] === undefined) return value;
  return { ...value, [key]: shorter(value[key], rest) };
}
