import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './command.ts';
import { SOAK_PARTS, type SoakPart } from './soak/parts.ts';
import { runSlice, type SliceResult } from './soak/slice.ts';
import { filesOf } from './test-files.ts';

/**
 * A soak with a budget: MINUTES of wall-clock time on two lanes, shared out among the parts by weight. Each part is played in slices, the first one as large as in `make test`,
 * the next ones as large as the time that is left allows, each from another seed. Without MINUTES everything is played to its end, which takes days.
 */
const minutes = Number(process.env['MINUTES'] ?? process.argv[2]);
if (!(minutes > 0)) process.exit(await run(process.execPath, ['scripts/test.ts', '--soak']));

/** Seeds of one slice never meet those of another. */
const STRIDE = 1_000_000;
const LANES = 2;

const built = await run(process.execPath, ['packages/sandbox/bin/drydock-sandbox.js', 'build', '--era', 'E1']);
if (built !== 0) process.exit(built);

const begun = performance.now();
const end = begun + minutes * 60_000;
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

interface Row {
  readonly part: SoakPart;
  seconds: number;
  slices: number;
  late: number;
  readonly red: string[];
  readonly did: Map<string, { readonly did: number; readonly of: number }>;
}

const MUTATIONS = 'mutations';
const left = [...SOAK_PARTS, { name: MUTATIONS, files: [], weight: 4 }].sort((a, b) => b.weight - a.weight);
const rows: Row[] = left.map((part) => ({ part, seconds: 0, slices: 0, late: 0, red: [], did: new Map() }));
const waiting = [...rows];

/** What is left of both lanes, by weight among those that have not begun. */
function share(row: Row): number {
  const weights = [row, ...waiting].reduce((sum, { part }) => sum + part.weight, 0);
  const remaining = (end - performance.now()) / 1000;
  return Math.min(remaining, (remaining * LANES * row.part.weight) / (weights + underway()));
}

const busy = new Set<Row>();
/** Weight of the time that the other lane has already. */
function underway(): number {
  return [...busy].reduce((sum, { part, seconds }) => sum + (seconds > 0 ? part.weight / 2 : part.weight), 0);
}

function add(row: Row, result: SliceResult): void {
  row.slices += 1;
  row.seconds += result.seconds;
  if (result.outcome === 'late') row.late += 1;
  if (result.outcome === 'red') tellRed(row, result.output);
  // Loops of one slice are parts of one whole; other slices draw from the same.
  const slice = new Map<string, { readonly did: number; readonly of: number }>();
  for (const { what, did, of = 0 } of result.tallies) {
    const before = slice.get(what) ?? { did: 0, of: 0 };
    slice.set(what, { did: before.did + did, of: before.of + of });
  }
  for (const [what, { did, of }] of slice) {
    const before = row.did.get(what) ?? { did: 0, of: 0 };
    row.did.set(what, { did: before.did + did, of: Math.max(before.of, of) });
  }
}

/** At once: nobody waits an hour to learn why. */
function tellRed({ part, red }: Row, output: string): void {
  red.push(output);
  const file = join(root, `soak-${part.name.replaceAll(/[^a-z]+/g, '-')}.log`);
  writeFileSync(file, red.join('\n'));
  console.log(`soak: ${part.name} is red: ${file}`);
}

async function soak(row: Row): Promise<void> {
  const files = filesOf(row.part.files);
  const until = performance.now() + share(row) * 1000;
  let scale = 1;
  for (let slice = 0; !stop.signal.aborted; slice += 1) {
    const seconds = (until - performance.now()) / 1000;
    if (slice > 0 && seconds < 10) return;
    const id = `${rows.indexOf(row)}-${slice}`;
    const graceSeconds = Math.max(30, Math.min(120, seconds / 4));
    const result = await runSlice(
      { files, scale, firstSeed: 1 + slice * STRIDE, seconds, graceSeconds, id },
      stop.signal,
    );
    add(row, result);
    console.log(
      `soak: ${row.part.name}: slice ${slice + 1}, ${scale.toFixed(1)} times the usual, ${result.seconds.toFixed(0)} s, ${result.outcome}`,
    );
    if (result.outcome !== 'green') return;
    // Nothing of it can be played here, or it counts nothing: more of that would be the same again.
    if (result.tallies.length === 0) return;
    const rest = (until - performance.now()) / 1000;
    // The fixed costs of a slice make the estimate cautious; growth is bounded, for they hide what the rounds cost.
    const fits = (scale * rest * 0.8) / result.seconds;
    if (fits < 0.25) return;
    scale = Math.min(scale * 8, fits);
  }
}

async function mutate(row: Row): Promise<void> {
  const started = performance.now();
  const seconds = Math.max(30, Math.floor(share(row)) - 60);
  const code = await run(process.execPath, ['scripts/mutate.ts', '--seconds', String(seconds)]);
  row.slices = 1;
  row.seconds = (performance.now() - started) / 1000;
  if (code !== 0) tellRed(row, 'a mutation survived: see above');
}

async function lane(): Promise<void> {
  for (let row = waiting.shift(); row !== undefined && !stop.signal.aborted; row = waiting.shift()) {
    busy.add(row);
    await (row.part.name === MUTATIONS ? mutate(row) : soak(row));
    busy.delete(row);
  }
}

await Promise.all(Array.from({ length: LANES }, lane));

const figures = (row: Row): string => {
  const all = [...row.did].map(([what, { did, of }]) => {
    if (of === 0) return `${did} ${what}`;
    return `${did} ${what} (${did >= of ? 'all' : `${((100 * did) / of).toPrecision(2)} %`})`;
  });
  return all.length === 0 ? '–' : all.join(', ');
};
console.log(`\n| part | minutes | did (share of the whole) | result |\n| --- | --- | --- | --- |`);
for (const row of rows) {
  const result =
    row.red.length > 0
      ? 'RED'
      : row.late > 0
        ? 'green, its last slice was stopped late'
        : row.slices === 0
          ? 'not begun'
          : 'green';
  console.log(`| ${row.part.name} | ${(row.seconds / 60).toFixed(1)} | ${figures(row)} | ${result} |`);
}
const failed = rows.filter(({ red }) => red.length > 0);
console.log(
  `soak: ${((performance.now() - begun) / 60_000).toFixed(1)} of ${minutes} minutes, ${failed.length} parts red`,
);
process.exitCode = stop.signal.aborted ? 130 : failed.length > 0 ? 1 : 0;
