import { basename } from 'node:path';
import { oneLine } from '@drydock/api/text';
import type { Effect, RuleId, Step } from '@drydock/crd';
import { count } from '../count.ts';
import { type Column, table } from '../table.ts';
import { quoted } from '../template/next-command.ts';
import type { Check, Way } from './comparison.ts';

/** Steps of one definition that say the same, at several places. */
interface Row {
  readonly effect: Effect;
  readonly rule: RuleId;
  readonly crd: string;
  readonly versions: readonly string[];
  readonly paths: readonly string[];
  readonly what: string;
  readonly weight: number;
}

const EFFECTS: Readonly<Record<Effect, string>> = {
  narrows: 'refuses',
  undecided: 'unclear',
  shifts: 'shifts',
  widens: 'allows',
};

const COLUMNS: readonly Column<Row>[] = [
  { header: 'EFFECT', cell: (row) => effectText(row) },
  { header: 'RULE', cell: (row) => row.rule },
  { header: 'DEFINITION', cell: (row) => row.crd },
  { header: 'VERSION', cell: (row) => row.versions.join(', ') },
  { header: 'PLACE', cell: (row) => placesText(row.paths) },
  { header: 'WHAT', cell: (row) => row.what },
];

/** With all of each place, and last, because places are as long as they are. */
const WIDE: readonly Column<Row>[] = [
  ...COLUMNS.filter(({ header }) => header !== 'PLACE' && header !== 'WHAT'),
  { header: 'WHAT', cell: (row) => row.what },
  { header: 'PLACE', cell: (row) => row.paths.join(', ') },
];

/** Rules that no server lets alone, those that concern the status, the rest. */
const ALWAYS: readonly RuleId[] = ['N31', 'N25', 'N23', 'N10', 'N16', 'N36'];
const LOSSES: readonly RuleId[] = ['N12', 'N13', 'N14'];
const ORDER: readonly Effect[] = ['narrows', 'undecided', 'shifts', 'widens'];

/** What stands between two sets of definitions, for people. `wide` shows what is harmless as well; `width`: columns of the terminal. */
export function printCheck(check: Check, wide: boolean, width?: number): string {
  const parts = check.ways.map((way) => printWay(way, check, wide, width));
  if (check.problems.length > 0)
    parts.push(`NOT JUDGED\n${check.problems.map((problem) => `${oneLine(problem)}\n`).join('')}`);
  if (wide && check.advice.length > 0) {
    const rows: readonly Column<Check['advice'][number]>[] = [
      { header: 'RULE', cell: (one) => one.rule },
      { header: 'DEFINITION', cell: (one) => one.crd },
      { header: 'PLACE', cell: (one) => one.path },
      { header: 'ADVICE TO ITS AUTHOR', cell: (one) => one.advice },
    ];
    parts.push(table(rows, check.advice, { width }));
  }
  return parts.join('\n');
}

function printWay(way: Way, check: Check, wide: boolean, width: number | undefined): string {
  const all = way.crds.flatMap(({ crd, steps }) => rowsOf(crd, steps));
  const rows = (wide ? all.flatMap(eachPlace) : merged(all)).toSorted((a, b) => b.weight - a.weight);
  const shown = wide ? rows : rows.filter(({ effect }) => effect !== 'widens');
  const [from, to] = [basename(way.from), basename(way.to)];
  const title = `${way.direction.toUpperCase()}: ${from === to ? way.from : from} → ${from === to ? way.to : to}`;
  const rest = shown.length === 0 ? '' : `\n${table(wide ? WIDE : COLUMNS, shown, { width })}`;
  const trap = way.crds.some(({ steps }) => steps.some(isStatusEnum)) ? `\n${STATUS_ENUM}\n` : '';
  return `${oneLine(title)}\n${oneLine(sentence(way, check))}\n${rest}${trap}`;
}

const ENUM_RULES: readonly RuleId[] = ['N1', 'N2', 'N3', 'N4', 'N5'];
const STATUS_ENUM =
  'An enum in status is a trap: if an object holds a value that the enum lacks, the server refuses status writes, whatever else they change.\nTo its author: declare a plain string, and name the known values in its description.';

function isStatusEnum({ rule, effect, half }: Step): boolean {
  return half === 'status' && effect === 'narrows' && ENUM_RULES.includes(rule);
}

function sentence({ direction, crds, verdict, to }: Way, { compared, problems }: Check): string {
  const going = direction === 'upgrade' ? 'go forward' : 'go back';
  const of = `${count(compared, 'definition')} compared`;
  if (verdict === 'clean') return `You can ${going}: nothing that is legal now is refused or lost (${of}).`;
  const unread = problems.length === 0 ? '' : `; ${count(problems.length, 'thing')} could not be read, see NOT JUDGED`;
  const effect = verdict === 'blocked' ? 'narrows' : 'undecided';
  const concerned = crds.filter(({ steps }) => steps.some((step) => step.effect === effect));
  const places = concerned.reduce((sum, { steps }) => sum + steps.filter((step) => step.effect === effect).length, 0);
  const where = `${count(places, 'place')} in ${count(concerned.length, 'definition')} (${of}${unread})`;
  if (verdict === 'undecided' && places === 0) return `Whether you can ${going} is undecided (${of}${unread}).`;
  if (verdict === 'undecided')
    return `Whether you can ${going} is undecided: ${where}. A person, or the server, must compare them.`;
  const next = to.startsWith('cluster:')
    ? ''
    : ` To see which stored objects are concerned: drydock crd preflight --to ${quoted(to)}`;
  return `What stops you if an object uses it: ${where}.${next}`;
}

function rowsOf(crd: string, steps: readonly Step[]): readonly Row[] {
  const groups = Map.groupBy(steps, ({ effect, rule, half, what }) => `${effect} ${rule} ${half} ${what}`);
  return [...groups.values()].map((group): Row => {
    const [first] = group as [Step];
    const paths = [...new Set(group.map(({ path, keyword }) => (path === '' ? keyword : path)))];
    const versions = [...new Set(group.map(({ version }) => version))].filter((version) => version !== '');
    return {
      effect: first.effect,
      rule: first.rule,
      crd: shortName(crd),
      versions,
      paths,
      what: first.what,
      weight: weightOf(first),
    };
  });
}

function weightOf({ effect, rule, half }: Step): number {
  const base = (ORDER.length - ORDER.indexOf(effect)) * 10;
  if (ALWAYS.includes(rule)) return base + 4;
  if (LOSSES.includes(rule)) return base + 1;
  return base + (half === 'status' ? 3 : 2);
}

function effectText({ effect, rule }: Row): string {
  return effect === 'narrows' && LOSSES.includes(rule) ? 'loses' : EFFECTS[effect];
}

function placesText(paths: readonly string[]): string {
  const [first = '', ...rest] = paths;
  return rest.length === 0 ? shortPath(first) : `${shortPath(first)} and ${rest.length} more`;
}

/** A line for each place: many in one make all lines as long as the longest. */
function eachPlace(row: Row): readonly Row[] {
  return row.paths.map((path) => ({ ...row, paths: [path] }));
}

/** Both ends of a long path: where it begins, and what is meant. */
function shortPath(path: string): string {
  const parts = path.split('.');
  const head = parts.slice(0, 2).join('.');
  let tail = parts.at(-1) ?? '';
  if (path.length <= LONG_PATH || parts.length < 4) return path;
  for (const part of parts.slice(2, -1).toReversed()) {
    if (head.length + part.length + tail.length > LONG_PATH) break;
    tail = `${part}.${tail}`;
  }
  return `${head}.…${tail}`;
}

/** Where a place is cut in a table; `-o wide` has all of it. */
const LONG_PATH = 60;

/** `authentications.operator`: the plural alone is not unique. */
export function shortName(crd: string): string {
  return crd.split('.').slice(0, 2).join('.');
}

/** Rows that say the same of several definitions, as one. */
function merged(rows: readonly Row[]): readonly Row[] {
  const groups = Map.groupBy(rows, ({ effect, rule, paths, versions, what }) =>
    [effect, rule, versions.join(), ...paths, what].join('\n'),
  );
  return [...groups.values()].map((group): Row => {
    const [first, ...more] = group as [Row, ...Row[]];
    return more.length === 0 ? first : { ...first, crd: `${first.crd} and ${more.length} more` };
  });
}
