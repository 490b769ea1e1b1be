import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './command.ts';
import { SOAK_PARTS } from './soak/parts.ts';
import { runSlice, type SliceResult } from './soak/slice.ts';
import { add, type Row, rowOf, table } from './soak/table.ts';
import { filesOf } from './test-files.ts';

/**
 * A soak with a budget: MINUTES of wall-clock time on two lanes, shared out among the parts by weight. Each part is played in slices, the first one as large as in `make test`,
 * the next ones as large as the time that is left allows, each from another seed. With PART only those are played whose name contains it. Without MINUTES everything is played to its end,
 * which takes days.
 */
const minutes = Number(process.env['MINUTES'] ?? process.argv[2]);
if (!(minutes > 0)) process.exit(await run(process.execPath, ['scripts/test.ts', '--soak']));

/** Seeds of one slice never meet those of another. */
const STRIDE = 1_000_000;
const LANES = 2;
/** Without a limit of their own: a slice ends with its time. */
const TEST = ['--test', '--test-concurrency=1', '--test-reporter=spec'];

// What is rare is played on the real servers.
process.env['SERVERS'] ||= 'real';
const built = await run(process.execPath, ['packages/sandbox/bin/drydock-sandbox.js', 'build', '--era', 'E1']);
if (built !== 0) process.exit(built);

const begun = performance.now();
const end = begun + minutes * 60_000;
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const MUTATIONS = 'mutations';
const parts = [...SOAK_PARTS, { name: MUTATIONS, files: [], weight: 4 }];
const part = process.env['PART'] ?? '';
const left = parts.filter(({ name }) => name.includes(part)).sort((a, b) => b.weight - a.weight);
if (left.length === 0) {
  console.error(`soak: no part's name contains "${part}". There are ${parts.map(({ name }) => name).join('; ')}`);
  process.exit(2);
}
const rows = left.map(rowOf);
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

/** At once: nobody waits an hour to learn why. */
function tellRed({ part, red }: Row): void {
  const file = join(root, `soak-${part.name.replaceAll(/[^a-z]+/g, '-')}.log`);
  writeFileSync(file, red.join('\n'));
  console.log(`soak: ${part.name} is red: ${file}`);
}

async function soak(row: Row): Promise<void> {
  const args = [...TEST, ...filesOf(row.part.files)];
  const until = performance.now() + share(row) * 1000;
  let scale = 1;
  for (let slice = 0; !stop.signal.aborted; slice += 1) {
    const seconds = (until - performance.now()) / 1000;
    if (slice > 0 && seconds < 10) return;
    const result = await play(row, args, seconds, scale);
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

/** It looks at the clock by itself, between one mutation and the next. */
async function mutate(row: Row): Promise<void> {
  const seconds = Math.max(30, Math.floor(share(row)) - 60);
  await play(row, ['scripts/mutate.ts', '--seconds', String(seconds)], seconds + 60, 1);
}

async function play(row: Row, args: readonly string[], seconds: number, scale: number): Promise<SliceResult> {
  const { slices, part } = row;
  const id = `${rows.indexOf(row)}-${slices}`;
  const graceSeconds = Math.max(30, Math.min(120, seconds / 4));
  const firstSeed = 1 + slices * STRIDE;
  const result = await runSlice({ args, scale, firstSeed, seconds, graceSeconds, id }, stop.signal);
  add(row, result);
  if (result.outcome === 'red') tellRed(row);
  console.log(
    `soak: ${part.name}: slice ${row.slices}, ${scale.toFixed(1)} times the usual, ${result.seconds.toFixed(0)} s, ${result.outcome}`,
  );
  return result;
}

async function lane(): Promise<void> {
  for (let row = waiting.shift(); row !== undefined && !stop.signal.aborted; row = waiting.shift()) {
    busy.add(row);
    await (row.part.name === MUTATIONS ? mutate(row) : soak(row));
    busy.delete(row);
  }
}

await Promise.all(Array.from({ length: LANES }, lane));

console.log(`\n${table(rows)}`);
const failed = rows.filter(({ red }) => red.length > 0);
console.log(
  `soak: ${((performance.now() - begun) / 60_000).toFixed(1)} of ${minutes} minutes, ${failed.length} parts red`,
);
process.exitCode = stop.signal.aborted ? 130 : failed.length > 0 ? 1 : 0;
