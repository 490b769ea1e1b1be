import { globSync } from 'node:fs';
import { root } from './command.ts';

const ALL = ['{api,packages,apps}/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts', 'scripts/**/*.test.ts'];

/** Whatever plays more seeds, cuts or kills when it is told to; `test-files.test.ts` finds one that is missing. */
const SOAK = [
  'test/model/**/*.test.ts',
  'packages/*/src/**/*.model.test.ts',
  'packages/durable/src/readers.test.ts',
  'test/power/**/*.test.ts',
  'test/sandbox/kube-resilience-{list,managers}.test.ts',
  'test/sandbox/*-{crash,kill,signals}.test.ts',
  'test/sandbox/static-pods.test.ts',
  'test/sandbox/crd-*.test.ts',
];

/** The test files of a run, from the root: those on servers first, which take longest. */
export function testFiles(soak: boolean): readonly string[] {
  return (soak ? SOAK : ALL)
    .flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] }))
    .filter((file, at, all) => all.indexOf(file) === at)
    .sort((a, b) => Number(b.startsWith('test/sandbox')) - Number(a.startsWith('test/sandbox')) || a.localeCompare(b));
}
