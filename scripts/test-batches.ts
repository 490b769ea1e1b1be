import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './command.ts';

/** Tests of one unit, which may share a process with those of others. */
const UNITS = /^(?:api|packages\/(?!sandbox\/)|apps\/)/;
/** They take so long that each is better beside the others than behind them. */
const LONG = /\.(?:model|synthetic)\.test\.ts$|\/crash\.test\.ts$/;

/** They wait for servers, most of the time. */
const SERVERS = /^(?:test\/(?:sandbox|neighbours)|packages\/(?:sandbox|kube\/example))\//;

/** What a file does to the whole of its process, or wants to have for itself; and by which sign one sees it. */
const ALONE: readonly (readonly [what: string, sign: RegExp])[] = [
  ['a hook without a suite is one of all files', /^(?:before|after|beforeEach|afterEach)\(/m],
  ['the environment', /\bprocess\.env(?:\[[^\]]+\]|\.\w+) *(?:\?\?)?=(?!=)|\bdelete process\.env\b/],
  ['the process', /\bprocess\.(?:chdir|exit|exitCode|on|once|umask|setuid|seteuid|title)\b/],
  [
    'memory and time of the process',
    /\bmemoryUsage|PerformanceObserver|setFlagsFromString|monitorEventLoopDelay|\bcpuUsage\b/,
  ],
  ['globals', /\bglobalThis\.|\bsetGlobalDispatcher\b|\bdnsPromises\.setServers\b/],
  ['what is repeated, timed or run in threads', /\b(?:assertLinear|threadTests|repetitions|seeds|soaking)\b/],
];

/** What one process runs. */
export interface Batch {
  /** Its path. */
  readonly module: string;
  /** Its test files, from the root. */
  readonly files: readonly string[];
}

/** Whether a test file may run in one process with others, by its path from the root and its text. */
export function sharesItsProcess(file: string, text: string): boolean {
  return UNITS.test(file) && !SERVERS.test(file) && !LONG.test(file) && !ALONE.some(([, sign]) => sign.test(text));
}

/**
 * The processes that run test files, in their order: those that wait for servers are spread evenly among those that compute, so that there is always something to compute. A process
 * takes a third of a second of CPU before its first test; so files that leave it as they found it share one, those of a package each. The modules of these are written to `folder`.
 */
export function batchesOf(files: readonly string[], folder: string): readonly Batch[] {
  const single: Batch[] = [];
  const shared = new Map<string, string[]>();
  for (const file of files) {
    if (!sharesItsProcess(file, readFileSync(join(root, file), 'utf8')))
      single.push({ module: join(root, file), files: [file] });
    else {
      const name = file.split('/').slice(0, 2).join('-');
      shared.set(name, [...(shared.get(name) ?? []), file]);
    }
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const together = [...shared].map(([name, members]) => {
    const module = join(folder, `${name}.ts`);
    writeFileSync(module, members.map((file) => `import '${join(root, file)}';\n`).join(''));
    return { module, files: members };
  });
  const waiting = ({ files: [file = ''] }: Batch): boolean => SERVERS.test(file);
  return spread(single.filter(waiting), [...together, ...single.filter((one) => !waiting(one))]);
}

/** Both lists in their orders, evenly mixed. */
function spread<T>(some: readonly T[], others: readonly T[]): readonly T[] {
  const placed = (list: readonly T[]): readonly (readonly [at: number, T])[] =>
    list.map((one, index) => [(index + 0.5) / list.length, one]);
  return [...placed(some), ...placed(others)].sort(([a], [b]) => a - b).map(([, one]) => one);
}
