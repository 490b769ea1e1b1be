import { isManager } from './managers.ts';
import { escaped } from './markup.ts';
import { cellTitle, type RehearsalCell, type RehearsalReport, type TimelineEntry } from './rehearsal.ts';

const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--paper:#fff;--band:#f3f5f7;--line:#d5dae0;--good:#1a7f37;--bad:#c62828;--mark:#1f5fbf}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#9aa4af;--paper:#14171b;--band:#1d2228;--line:#343b43;--good:#4cc26b;--bad:#ff7b72;--mark:#79b0ff}}
body{margin:0 auto;max-width:1120px;padding:24px;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:32px 0 4px}p{margin:4px 0 12px;color:var(--soft)}
table{border-collapse:collapse;width:100%;margin:8px 0}th,td{text-align:left;vertical-align:top;padding:5px 10px 5px 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft)}td:first-child{white-space:nowrap}td{overflow-wrap:anywhere}
.passed{color:var(--good)}.failed{color:var(--bad);font-weight:600}.skipped{color:var(--soft)}
.time{overflow-x:auto}svg{display:block;min-width:900px;width:100%;height:auto}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}svg .soft{fill:var(--soft)}
.band{fill:var(--band)}.other{fill:var(--paper)}.rule{stroke:var(--line)}.taken{fill:var(--good)}.refused{fill:var(--bad)}.swap{fill:var(--mark)}
.cells td,.cells th{padding:4px 14px 4px 0}.cells a{color:inherit}a{color:var(--mark)}
details{margin:8px 0}summary{cursor:pointer;color:var(--soft)}
`;

/** What a rehearsal found, as one page that asks nobody for anything. */
export function pageOf(report: RehearsalReport): string {
  const { cells, newer, older, passed, seed } = report;
  const title = `${older} → ${newer} → ${older}`;
  const verdict = passed
    ? '<span class="passed">The way back holds.</span>'
    : '<span class="failed">The way back does not hold.</span>';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Rehearsal ${escaped(title)}</title><style>${STYLE}</style></head><body>
<h1>Rehearsal ${escaped(title)}</h1>
<p>${verdict} ${cells.length === 1 ? 'One way' : `${cells.length} ways`} there, back and there again; seed ${seed}.</p>
${cells.length > 1 ? overview(cells) : ''}
${cells.map(cellOf).join('\n')}
</body></html>
`;
}

/** All cells at a glance, the first thing that is looked for where one is red. */
function overview(cells: readonly RehearsalCell[]): string {
  const rows = cells.map((cell, at) => {
    const red = cell.assertions.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
    const problems = [...(cell.broken === undefined ? [] : ['not gone to its end']), ...red];
    const verdict = problems.length === 0 ? 'passed' : 'failed';
    const refused = cell.control.filter(({ observed }) => observed === 'refused').length;
    return `<tr><td><a href="#cell-${at + 1}">${escaped(cellTitle(cell))}</a></td><td class="${verdict}">${verdict}</td><td>${problems.join(', ')}</td><td>${refused} of ${cell.control.length}</td><td>${(cell.took / 1_000).toFixed(1)} s</td></tr>`;
  });
  return `<table class="cells"><tr><th>Way</th><th>Verdict</th><th>Red</th><th>Refused where nobody prepared it</th><th>Took</th></tr>${rows.join('')}</table>`;
}

function cellOf(cell: RehearsalCell, at: number): string {
  const { assertions, broken, control, exercises, server, took, unexercised } = cell;
  const rows = assertions.map(
    ({ id, seen, title, verdict }) =>
      `<tr><td>${id}</td><td class="${verdict}">${verdict}</td><td>${escaped(title)}</td><td>${escaped(seen)}</td></tr>`,
  );
  const stopped = broken === undefined ? '' : `<p class="failed">${escaped(broken)}</p>`;
  return `<section id="cell-${at + 1}"><h2>${escaped(cellTitle(cell))}</h2>
<p>On ${escaped(server)}, ${(took / 1_000).toFixed(1)} s</p>${stopped}
<div class="time">${timelineOf(cell)}</div>
<table><tr><th>No.</th><th>Verdict</th><th>What must hold</th><th>What was seen</th></tr>${rows.join('')}</table>
${table(
  `The negative control: ${control.length} writes after a way back that nobody prepared`,
  ['Definition', 'Object', 'Write', 'Predicted', 'Observed', 'Status writes with Drydock'],
  control.map(({ definition, object, observed, predicted, prepared, write }) => [
    ...[definition, object, write, predicted, observed],
    `${prepared.taken} taken, ${prepared.refused} refused`,
  ]),
)}
${table(
  `${exercises.length} places that objects exercise`,
  ['Definition', 'Class', 'Place', 'Effect'],
  exercises.map((one) => [one.definition, one.rule ?? 'given', one.path, one.effect]),
)}
${table(
  `${unexercised.length} places without an object`,
  ['Definition', 'Class', 'Place', 'Why'],
  unexercised.map((one) => [one.definition, one.rule, one.path, one.why]),
)}</section>`;
}

function table(summary: string, heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const cells = (row: readonly string[], tag: string): string =>
    `<tr>${row.map((text) => `<${tag}>${escaped(text)}</${tag}>`).join('')}</tr>`;
  return `<details><summary>${escaped(summary)}</summary><table>${cells(heads, 'th')}${rows.map((row) => cells(row, 'td')).join('')}</table></details>`;
}

/** ms between two lines over the lanes: the first that makes few enough of them. */
const TICKS = [1_000, 5_000, 10_000, 30_000, 60_000, 300_000];
const LEFT = 250;
const WIDTH = 1_080;
const LANE = 22;
const TOP = 30;
/** Width of a letter, generously. */
const LETTER = 7;

const NAMES: Readonly<Record<string, string>> = {
  Older: 'older release',
  Forward: 'forward',
  Use: 'in use',
  Back: 'back',
  Idle: 'idle',
  Again: 'forward again',
  Control: 'unprepared',
};

/** Lanes of who writes, over time: taken writes, refused ones, and definitions that are changed. */
function timelineOf({ scenes, timeline }: RehearsalCell): string {
  const end = Math.max(1, ...scenes.map(({ to }) => to), ...timeline.map(({ at }) => at));
  const x = (at: number): number => Math.round(LEFT + ((WIDTH - LEFT - 20) * Math.max(0, at)) / end);
  const lanes = [...Map.groupBy(timeline, laneOf)].toSorted(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const bottom = TOP + lanes.length * LANE + 8;
  const bands = scenes.map(({ from, scene, to }, at) => {
    const [left, width] = [x(from), Math.max(1, x(to) - x(from))];
    const fits = width > 12 + LETTER * (NAMES[scene] ?? scene).length;
    const name = fits ? `<text class="soft" x="${left + 4}" y="18">${escaped(NAMES[scene] ?? scene)}</text>` : '';
    const title = `<title>${escaped(NAMES[scene] ?? scene)}: ${((to - from) / 1_000).toFixed(1)} s</title>`;
    return `<rect class="${at % 2 === 0 ? 'band' : 'other'}" x="${left}" y="0" width="${width}" height="${bottom}">${title}</rect>${name}`;
  });
  const rows = lanes.map(([lane, entries], at) => {
    const y = TOP + at * LANE + LANE / 2;
    const line = `<line class="rule" x1="${LEFT}" x2="${WIDTH - 20}" y1="${y}" y2="${y}"/>`;
    const dots = marks(entries, x, y);
    return `<text x="0" y="${y + 4}">${escaped(lane.length > 36 ? `${lane.slice(0, 35)}…` : lane)}</text>${line}${dots}`;
  });
  const step = TICKS.find((one) => end / one <= 8) ?? end;
  const ticks = Array.from({ length: Math.floor(end / step) }, (_, index) => x((index + 1) * step)).map(
    (left) => `<line class="rule" x1="${left}" x2="${left}" y1="${TOP - 6}" y2="${bottom}"/>`,
  );
  const seconds = `<text class="soft" x="${LEFT}" y="${bottom + 16}">0 s, a line every ${step / 1_000} s</text><text class="soft" text-anchor="end" x="${WIDTH - 20}" y="${bottom + 16}">${(end / 1_000).toFixed(0)} s</text>`;
  const key = `<circle class="taken" cx="${LEFT + 190}" cy="${bottom + 12}" r="4"/><text class="soft" x="${LEFT + 200}" y="${bottom + 16}">taken</text><circle class="refused" cx="${LEFT + 260}" cy="${bottom + 12}" r="4"/><text class="soft" x="${LEFT + 270}" y="${bottom + 16}">refused</text><rect class="swap" x="${LEFT + 336}" y="${bottom + 8}" width="8" height="8"/><text class="soft" x="${LEFT + 350}" y="${bottom + 16}">a definition changes</text>`;
  return `<svg viewBox="0 0 ${WIDTH} ${bottom + 24}" role="img" aria-label="who wrote when, and what was refused">${bands.join('')}${ticks.join('')}${rows.join('')}${seconds}${key}</svg>`;
}

function marks(entries: readonly TimelineEntry[], x: (at: number) => number, y: number): string {
  // Of equal marks at one place one is enough; what was refused lies on top.
  const places = new Map<string, { readonly entry: TimelineEntry; readonly kind: string }>();
  for (const entry of entries) {
    const kind = isRefused(entry) ? 'refused' : entry.resource === 'customresourcedefinitions' ? 'swap' : 'taken';
    if (kind === 'taken' && entry.code >= 400) continue;
    places.set(`${x(entry.at) >> 2} ${kind}`, { entry, kind });
  }
  return [...places.values()]
    .toSorted((a, b) => Number(a.kind === 'refused') - Number(b.kind === 'refused'))
    .map(({ entry: { at, code, count, resource, verb }, kind }) => {
      const title = `<title>${escaped(`${(at / 1_000).toFixed(1)} s: ${count} × ${verb} ${resource}, ${code}`)}</title>`;
      return kind === 'swap'
        ? `<rect class="swap" x="${x(at) - 4}" y="${y - 4}" width="8" height="8">${title}</rect>`
        : `<circle class="${kind}" cx="${x(at)}" cy="${y}" r="4">${title}</circle>`;
    })
    .join('');
}

function isRefused({ code }: TimelineEntry): boolean {
  return code === 422 || code === 500;
}

const APPLIED = 'the release, applied';
/** Whoever is neither an operator nor a manager, as a reader knows them. */
const PEOPLE: Readonly<Record<string, string>> = {
  rehearsal: 'an administrator',
  user: 'a user',
  'sandbox-admin': 'who set the servers up',
};

function laneOf({ actor }: TimelineEntry): string {
  return actor.startsWith('system:serviceaccount:') ? APPLIED : (PEOPLE[actor] ?? actor);
}

function rank(lane: string): number {
  if (isManager(lane)) return 0;
  return lane === APPLIED ? 1 : lane.startsWith('operator-') ? 2 : 3;
}
