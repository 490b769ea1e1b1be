import { globSync } from 'node:fs';
import { root } from './command.ts';
import { SOAK_PARTS } from './soak/parts.ts';

const ALL = ['{api,packages,apps}/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts', 'scripts/**/*.test.ts'];

/** The test files that match, from the root, by name: that is the order in which node:test runs them, whatever it is told. */
export function filesOf(patterns: readonly string[]): readonly string[] {
  return patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] }))
    .filter((file, at, all) => all.indexOf(file) === at)
    .sort();
}

/** The test files of a run. */
export function testFiles(soak: boolean): readonly string[] {
  return filesOf(soak ? SOAK_PARTS.flatMap(({ files }) => files) : ALL);
}
