import type { Difference } from '../../test/neighbours/support/compared-differences.ts';
import { DIFFERENCES } from '../../test/neighbours/support/compared-table.ts';

const STAGES = 3;

/** A page with the list of what differs from cluster-version-operator, which a test holds against both. */
export function withDifferences(page: string): string {
  // What differs in the same way for the same reason is told once.
  const rows = new Map<string, { readonly row: Difference; readonly places: Map<string, string[]> }>();
  for (const row of DIFFERENCES) {
    const { ours, place, reason, stages, subject, upstream } = row;
    const key = JSON.stringify([stages, upstream, ours, reason]);
    const { places } = rows.get(key) ?? { row, places: new Map<string, string[]>() };
    places.set(subject, [...(places.get(subject) ?? []), codeOf(place)]);
    rows.set(key, { row, places });
  }
  const cells = [
    ['where', 'when', 'cluster-version-operator', 'Drydock', 'why'],
    ...[...rows.values()].map(({ places, row }) => cellsOf(row, places)),
  ];
  const widths = (cells[0] ?? []).map((_cell, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0)));
  const lineOf = (line: readonly string[], fill: string): string =>
    `| ${line.map((cell, at) => cell.padEnd(widths[at] ?? 0, fill)).join(' | ')} |`;
  const [head = [], ...body] = cells;
  const rule = head.map(() => '-');
  const table = [lineOf(head, ' '), lineOf(rule, '-'), ...body.map((line) => lineOf(line, ' '))].join('\n');
  return page.replace(/(<!-- differences: .*? -->\n)[\s\S]*?(<!-- end of differences -->)/, `$1\n${table}\n\n$2`);
}

function cellsOf(
  { ours, reason, stages, upstream }: Difference,
  places: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const when = stages.length === STAGES ? 'always' : stages.join(', ');
  const where = [...places].map(([subject, of]) => `${wordsOf(subject)} ${of.join(', ')}`).join('; ');
  return [where, when, codeOf(upstream), codeOf(ours), reason];
}

function wordsOf(subject: string): string {
  return subject === '*' ? 'every object' : subject.replaceAll('*', '…');
}

function codeOf(text: string): string {
  return text === '–' || text === '*' ? text.replace('*', '…') : `\`${text.replaceAll('*', '…')}\``;
}
