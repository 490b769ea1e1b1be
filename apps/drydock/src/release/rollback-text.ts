import type { HealedPlace, RollbackPlan, RollbackPlanStep, WayPreflight } from '@drydock/release';
import { count } from '../count.ts';
import { type Column, table } from '../table.ts';

interface PlanRow extends RollbackPlanStep {
  readonly phase: string;
}

const PLAN: readonly Column<PlanRow>[] = [
  { header: 'PHASE', cell: ({ phase }) => phase },
  { header: 'ACTION', cell: ({ action }) => action },
  { header: 'OBJECT', cell: ({ object }) => object },
  { header: 'WHAT', cell: ({ what }) => what },
];

/** A plan in words: its phases, each with its steps. */
export function rollbackPlanText({ from, to, owner, phases, preflight, stops }: RollbackPlan): string {
  const judged = `${count(preflight.objects, 'object')} judged, ${stops.length === 0 ? 'nothing stands against it' : `${count(stops.length, 'finding')} against it`}`;
  const rows = phases.flatMap(({ phase, steps }) => steps.map((step) => ({ phase, ...step })));
  return `${owner} from ${from} to ${to}: ${judged}.\n\n${table(PLAN, rows)}`;
}

interface FindingRow {
  readonly name: string;
  readonly stops: string;
  readonly what: string;
}

const FINDINGS: readonly Column<FindingRow>[] = [
  { header: 'STOPS', cell: ({ stops }) => stops },
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'WHAT', cell: ({ what }) => what },
];

const HEALED: readonly Column<HealedPlace>[] = [
  { header: 'HEALED', cell: ({ how }) => how },
  { header: 'DEFINITION', cell: ({ definition }) => definition },
  { header: 'PLACE', cell: ({ path }) => path },
  { header: 'OBJECTS', cell: ({ objects }) => `${objects}` },
];

/** What `release preflight` prints as JSON. */
export interface PreflightOutput extends WayPreflight {
  readonly version: string;
  readonly verdict: 'clean' | 'blocked' | 'undecided';
  /** Names of what stands against it and is not accepted. */
  readonly stops: readonly string[];
}

/** A judgement in words. `wide`: also what stops nothing. */
export function preflightText(output: PreflightOutput, wide: boolean): string {
  const { version, verdict, findings, healed, objects, stops } = output;
  const ends = {
    clean: `Nothing stands against going to ${version}`,
    blocked: `${count(stops.length, 'finding')} must be healed or accepted before ${version} is gone to`,
    undecided: `Whether ${version} can be gone to is undecided`,
  };
  const rows = findings
    .map(({ id, blocking, message }) => {
      const name = `Rollback/${id}`;
      return { name, stops: stops.includes(name) ? 'yes' : blocking ? 'accepted' : 'no', what: message };
    })
    .filter((row) => wide || row.stops !== 'no');
  return [
    `${ends[verdict]} (${count(objects, 'object')} judged).\n`,
    ...(rows.length === 0 ? [] : [`\n${table(FINDINGS, rows)}`]),
    ...(healed.length === 0 ? [] : [`\n${table(HEALED, healed)}`]),
  ].join('');
}
