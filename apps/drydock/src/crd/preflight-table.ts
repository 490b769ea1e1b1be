import { CLASS_MEANINGS, type FindingGroup, type PreflightOptions, type Report } from '@drydock/crd';
import { type Column, table } from '../table.ts';
import { shortName } from './check-table.ts';
import { count } from './formats.ts';

/** The answer of `crd preflight`. */
export interface PreflightAnswer extends Report, PreflightOptions {
  readonly to: string;
  readonly objects: number;
  readonly definitions: number;
}

const columns: readonly Column<FindingGroup>[] = [
  { header: 'CLASS', cell: (group) => group.class + (group.acknowledged ? ' (accepted)' : '') },
  { header: 'RULE', cell: (group) => group.rule },
  { header: 'DEFINITION', cell: (group) => shortName(group.crd) },
  { header: 'PLACE', cell: (group) => group.path },
  { header: 'OBJECTS', cell: (group) => (group.example.object === '' ? '' : `${group.objects}`) },
  { header: 'FOR EXAMPLE', cell: (group) => group.example.object },
  { header: 'WHAT', cell: (group) => group.what },
  { header: 'VALUE', cell: (group) => group.example.sample, wide: true },
  { header: 'WRITES', cell: (group) => group.endpoints.join(), wide: true },
  { header: 'ID', cell: (group) => group.id, wide: true },
];

/** Verdicts about a cluster, for people. */
export function printPreflight(answer: PreflightAnswer, wide: boolean): string {
  const open = answer.groups.filter(({ acknowledged }) => !acknowledged);
  const seen = `${count(answer.objects, 'object')} of ${count(answer.definitions, 'definition')} were judged for a server of era ${answer.target.era}`;
  const head = `${verdictText(answer, open)}\n${seen} (now ${answer.now.era}).\n`;
  if (answer.groups.length === 0) return head;
  const classes = [...new Set(open.map((group) => group.class))];
  const meanings = classes.map((kind) => `${kind}: ${CLASS_MEANINGS[kind].means}. ${CLASS_MEANINGS[kind].remedy}\n`);
  return `${head}\n${table(columns, answer.groups, { wide })}\n${meanings.join('')}`;
}

function verdictText({ verdict, to }: PreflightAnswer, open: readonly FindingGroup[]): string {
  if (verdict === 'clean') return `You can go to ${to}: no stored object stands in the way.`;
  const which = open.filter((group) => (verdict === 'blocked' ? group.blocking : group.class === 'UNDECIDED'));
  const kinds = new Set(which.map(({ crd }) => crd)).size;
  if (verdict === 'blocked')
    return `You cannot go to ${to} yet: ${count(which.length, 'place')} in ${count(kinds, 'definition')} would be refused or lost.`;
  return `Whether you can go to ${to} is undecided: ${count(which.length, 'place')} could not be judged.`;
}
