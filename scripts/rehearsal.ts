import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root, run } from './command.ts';

/**
 * Every kind of servers, broken off at every share, with whatever happens besides: on two lanes, each part with its reports in a folder of its own. `npm run rehearsal -- --seed 7` plays the same again, and
 * `npm run rehearsal -- --part legacy` one part alone.
 */
interface Part {
  readonly name: string;
  readonly args: readonly string[];
}

const all = ['--era', 'E0,E1,E2', '--abort-at', '0,10,50,100,random'];
const pair = (from: string, to: string): readonly string[] => [
  '--from',
  `openshift-${from}`,
  '--to',
  `openshift-${to}`,
];
const newest = pair('4.17', '4.21');
// The longest first, so that the lanes end together.
const PARTS: readonly Part[] = [
  { name: '4.17-4.21', args: [...newest, ...all, '--workloads'] },
  { name: '4.14-4.17', args: [...pair('4.14', '4.17'), ...all, '--workloads'] },
  { name: 'servers', args: [...newest, '--era', 'E0,E1,E2', '--besides', 'servers'] },
  { name: 'cluster-version', args: [...newest, '--era', 'E0,E1,E2', '--face', 'cluster-version'] },
  { name: 'managers', args: [...newest, '--era', 'E0,E2', '--abort-at', '50,100', '--besides', 'managers'] },
  { name: 'legacy', args: [...newest, '--era', 'E0,E2', '--besides', 'legacy'] },
  {
    name: 'everything',
    args: [...newest, '--era', 'E1', '--besides', 'managers,servers', '--face', 'cluster-version'],
  },
];
const LANES = 2;

const given = process.argv.slice(2);
const at = given.indexOf('--part');
const only = at < 0 ? undefined : given[at + 1];
const more = at < 0 ? given : given.toSpliced(at, 2);
const parts = PARTS.filter(({ name }) => only === undefined || name === only);
if (parts.length === 0) {
  console.error(`rehearsal: there is no part ${only}: name one of ${PARTS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

const folder = join(root, '.cache', 'rehearsal');
// Two lanes would build the same at the same time.
const built = await run(process.execPath, [
  ...['packages/sandbox/bin/drydock-sandbox.js', 'build', '--era', 'E1', '--workloads'],
]);
if (built !== 0) process.exit(built);

const children = new Set<ReturnType<typeof spawn>>();
let ended: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    ended = signal;
    for (const child of children) child.kill(signal);
  });

async function play({ args, name }: Part): Promise<string> {
  const out = join(folder, name);
  mkdirSync(out, { recursive: true });
  const begun = performance.now();
  const child = spawn(
    process.execPath,
    ['apps/drydock/bin/drydock.js', 'release', 'rehearse', ...args, '--out', out, ...more],
    { cwd: root, stdio: ['ignore', openSync(join(out, 'report.txt'), 'w'), 'pipe'] },
  );
  children.add(child);
  if (child.stderr !== null)
    createInterface({ input: child.stderr }).on('line', (line) => console.log(`${name}: ${line}`));
  const [code] = (await once(child, 'exit')) as [number | null];
  children.delete(child);
  const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
  if (code !== 0) process.exitCode = ended === undefined ? (code ?? 1) : 130;
  return `| ${name} | ${minutes} | ${code === 0 ? 'green' : `RED (${code})`} |`;
}

const begun = performance.now();
const waiting = [...parts];
const rows: string[] = [];
await Promise.all(
  Array.from({ length: LANES }, async () => {
    for (let part = waiting.shift(); part !== undefined && ended === undefined; part = waiting.shift())
      rows.push(await play(part));
  }),
);
console.log(`\n| part | minutes | result |\n| --- | --- | --- |\n${rows.join('\n')}`);
console.log(`rehearsal: ${((performance.now() - begun) / 60_000).toFixed(1)} minutes; the reports are in ${folder}`);
