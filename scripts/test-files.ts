import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { root } from './command.ts';
import { closureOf, importGraph } from './import-graph.ts';
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

/**
 * The test files that a path means: itself, those in a folder, or the one beside a source file. The path starts at the current folder.
 * Throws a RangeError where it means none.
 */
export function testsAt(path: string, all: readonly string[] = testFiles(false)): readonly string[] {
  const named = relative(root, resolve(path));
  const beside = named.replace(/(?:\.test)?\.tsx?$/, '.test.ts');
  const found = all.filter((file) => file === beside || named === '' || file.startsWith(`${named}/`));
  if (found.length > 0) return found;
  const why = existsSync(resolve(path)) ? 'has no test beside it or in it' : 'does not exist';
  throw new RangeError(`${path} ${why}; expected a test file, a source file beside its test, or a folder with tests`);
}

/**
 * The test files that a change concerns: each that imports a changed module, directly or through others, and each whose text names a
 * changed file that is no module, such as a manifest. Programs that a test starts are not followed.
 */
export function testsOf(changed: readonly string[], all: readonly string[] = testFiles(false)): readonly string[] {
  const graph = importGraph();
  const modules = new Set(changed.filter((file) => graph.has(file)));
  const others = changed.filter((file) => !graph.has(file)).map((file) => basename(file));
  return all.filter((test) => {
    if ([...closureOf(graph, test)].some((file) => modules.has(file))) return true;
    const text = others.length === 0 ? '' : readFileSync(join(root, test), 'utf8');
    return others.some((name) => text.includes(name));
  });
}
