import { escaped } from './markup.ts';
import { cellTitle, type RehearsalCell, type RehearsalReport } from './rehearsal.ts';

/** What a rehearsal found, as JUnit reports it: one suite for each cell, one case for each assertion. */
export function junitOf(report: RehearsalReport): string {
  const suites = report.cells.map((cell) => suiteOf(cell, report));
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="drydock release rehearse">\n${suites.join('')}</testsuites>\n`;
}

function suiteOf(cell: RehearsalCell, { newer, older }: RehearsalReport): string {
  const { assertions, broken, seed, server, took } = cell;
  const name = `${older} → ${newer} → ${older}, ${cellTitle(cell)}`;
  const cases = assertions.map(({ id, seen, title, verdict }) => {
    const head = `    <testcase classname="${escaped(name)}" name="${escaped(`${id} ${title}`)}"`;
    if (verdict === 'passed') return `${head}/>\n`;
    if (verdict === 'skipped') return `${head}><skipped message="${escaped(seen)}"/></testcase>\n`;
    return `${head}><failure message="${escaped(seen)}"/></testcase>\n`;
  });
  if (broken !== undefined)
    cases.push(
      `    <testcase classname="${escaped(name)}" name="the way is gone to its end"><error message="${escaped(broken)}"/></testcase>\n`,
    );
  const count = (verdict: string): number => assertions.filter((one) => one.verdict === verdict).length;
  const counts = `tests="${cases.length}" failures="${count('failed')}" errors="${broken === undefined ? 0 : 1}" skipped="${count('skipped')}"`;
  const properties = `    <properties><property name="seed" value="${seed}"/><property name="server" value="${escaped(server)}"/></properties>\n`;
  return `  <testsuite name="${escaped(name)}" ${counts} time="${(took / 1_000).toFixed(1)}">\n${properties}${cases.join('')}  </testsuite>\n`;
}
