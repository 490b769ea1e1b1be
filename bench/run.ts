import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Benchmark, type Figure, meetsGoal } from './measure.ts';

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const found = new Map(
  globSync('*/*.bench.ts', { cwd: import.meta.dirname }).map((file) => [
    basename(file, '.bench.ts'),
    join(import.meta.dirname, file),
  ]),
);
const unknown = positionals.filter((name) => !found.has(name));
if (unknown.length > 0) {
  console.error(`bench: no benchmark named ${unknown.join(', ')}. There are: ${[...found.keys()].join(', ')}`);
  process.exit(2);
}
const stop = new AbortController();
// Kept for good: a benchmark that is told to stop frees its disk first.
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.on(signal, () => {
    process.exitCode = code;
    stop.abort();
  });
}

// Figures are those of the real servers, unless somebody asks for others.
process.env['SERVERS'] ||= 'real';
for (const name of positionals.length > 0 ? positionals : found.keys()) {
  const { benchmark } = (await import(found.get(name) ?? '')) as { benchmark: Benchmark };
  if (!values.json) console.log(`${benchmark.name}: ${benchmark.about}`);
  const missed: Figure[] = [];
  const report = (figure: Figure): void => {
    console.log(values.json ? JSON.stringify(figure) : line(figure));
    if (meetsGoal(figure) === false) missed.push(figure);
  };
  try {
    await benchmark.run(report, stop.signal);
  } catch (error) {
    if (stop.signal.aborted) break;
    // The others are measured all the same.
    console.error(`bench: ${benchmark.name} did not reach its end:`, error);
    process.exitCode = 1;
  }
  if (missed.length > 0 && !values.json)
    console.log(`  goals missed ✖: ${missed.map((figure) => `${figure.case} ${figure.metric}`).join('; ')}`);
}

function line(figure: Figure): string {
  const met = meetsGoal(figure);
  const parts = [`  ${figure.case.padEnd(22)} ${figure.metric.padEnd(12)} ours ${number(figure.ours)} ${figure.unit}`];
  if (figure.peer !== undefined) parts.push(`peer ${number(figure.peer)} ${figure.unit}`);
  if (figure.ratio !== undefined) parts.push(`ratio ${figure.ratio.toFixed(2)}`);
  if (figure.goal !== undefined)
    parts.push(`goal ${figure.lowerIsBetter ? '≤' : '≥'} ${figure.goal}${met === true ? ' ✔' : ' ✖'}`);
  return parts.join('  ');
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
