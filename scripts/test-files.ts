import { globSync } from 'node:fs';
import { root } from './command.ts';
import { SOAK_PARTS } from './soak/parts.ts';

const ALL = ['{api,packages,apps}/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts', 'scripts/**/*.test.ts'];

/** The test files that match, from the root: those on servers first, which take longest. */
export function filesOf(patterns: readonly string[]): readonly string[] {
  return patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] }))
    .filter((file, at, all) => all.indexOf(file) === at)
    .sort((a, b) => Number(b.startsWith('test/sandbox')) - Number(a.startsWith('test/sandbox')) || a.localeCompare(b));
}

/** The test files of a run. */
export function testFiles(soak: boolean): readonly string[] {
  return filesOf(soak ? SOAK_PARTS.flatMap(({ files }) => files) : ALL);
}
