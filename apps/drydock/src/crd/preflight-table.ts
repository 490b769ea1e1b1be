import { oneLine } from '@drydock/api/text';
import { CLASS_MEANINGS, type FindingGroup, type PreflightOptions, type Report } from '@drydock/crd';
import { count } from '../count.ts';
import { type Column, table } from '../table.ts';
import { shortName } from './check-table.ts';

/** The answer of `crd preflight`. */
export interface PreflightAnswer extends Report, PreflightOptions {
  readonly to: string;
  readonly objects: number;
  readonly definitions: number;
  /** What was not looked at, as sentences. */
  readonly notes: readonly string[];
}

/** A line of the table. */
interface Row extends FindingGroup {
  /** Definitions that it is about, beside the first. */
  readonly more: number;
}

const columns: readonly Column<Row>[] = [
  { header: 'CLASS', cell: (group) => group.class + (group.acknowledged ? ' (accepted)' : '') },
  { header: 'RULE', cell: (group) => group.rule },
  {
    header: 'DEFINITION',
    cell: ({ crd, more }) => (more === 0 ? shortName(crd) : `${shortName(crd)} and ${more} more`),
  },
  { header: 'PLACE', cell: (group) => group.path },
  { header: 'OBJECTS', cell: (group) => (group.example.object === '' ? '' : `${group.objects}`) },
  { header: 'FOR EXAMPLE', cell: (group) => group.example.object },
  { header: 'WHAT', cell: (group) => group.what },
  { header: 'VALUE', cell: (group) => group.example.sample, wide: true },
  { header: 'WRITES', cell: (group) => group.endpoints.join(), wide: true },
  { header: 'ID', cell: (group) => group.id, wide: true },
];

/** Verdicts about a cluster, for people. */
export function printPreflight(answer: PreflightAnswer, wide: boolean, width?: number): string {
  const open = answer.groups.filter(({ acknowledged }) => !acknowledged);
  const seen = `${count(answer.objects, 'object')} of ${count(answer.definitions, 'definition')} were judged for a server of era ${answer.target.era}`;
  const notes = answer.notes.map((note) => `${oneLine(note)}\n`).join('');
  const head = `${verdictText(answer, open)}\n${seen} (now ${answer.now.era}).\n${notes}`;
  if (answer.groups.length === 0) return head;
  const classes = [...new Set(open.map((group) => group.class))];
  const meanings = classes.map((kind) => {
    // What to do depends on the finding, here and there.
    const remedies = [...new Set(open.filter((group) => group.class === kind).map(({ remedy }) => remedy))];
    const between = remedies.length === 1 ? ' ' : '\n  ';
    return `${[`${kind}: ${CLASS_MEANINGS[kind].means}.`, ...remedies].join(between)}\n`;
  });
  return `${head}\n${table(columns, rowsOf(answer.groups, wide), { wide, width })}\n${meanings.join('')}`;
}

/** What is said of several definitions as such, and of none of their objects, is said once; with `-o wide` of each. */
function rowsOf(groups: readonly FindingGroup[], wide: boolean): readonly Row[] {
  const alike = Map.groupBy(groups, (group) =>
    wide || group.example.object !== '' || group.crd === ''
      ? group
      : [group.class, group.rule, group.path, group.what, group.acknowledged].join(' '),
  );
  return [...alike.values()].map((all): Row => {
    const [first, ...others] = all as [FindingGroup, ...FindingGroup[]];
    return { ...first, more: others.length };
  });
}

function verdictText({ verdict, to }: PreflightAnswer, open: readonly FindingGroup[]): string {
  if (verdict === 'clean') return `You can go to ${to}: no stored object stands in the way.`;
  const which = open.filter((group) => (verdict === 'blocked' ? group.blocking : group.class === 'UNDECIDED'));
  const kinds = new Set(which.map(({ crd }) => crd)).size;
  if (verdict === 'blocked')
    return `You cannot go to ${to} yet: ${count(which.length, 'place')} in ${count(kinds, 'definition')} would be refused or lost.`;
  return `Whether you can go to ${to} is undecided: ${count(which.length, 'place')} could not be judged.`;
}
