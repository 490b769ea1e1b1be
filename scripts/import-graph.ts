import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { besideOf, importsOf, sourceFiles, targetOf } from './boundaries.ts';
import { root } from './command.ts';

/** Each module of the repository with the modules of the repository that it imports. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/** Reads the imports of every module. A specifier such as `@drydock/kube/testing` is resolved by the `exports` of its package. */
export function importGraph(): ImportGraph {
  const exportsOf = new Map<string, Readonly<Record<string, unknown>>>();
  const entryOf = (folder: string, specifier: string): string | undefined => {
    let known = exportsOf.get(folder);
    if (known === undefined) {
      const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
        exports?: typeof known;
      };
      known = manifest.exports ?? {};
      exportsOf.set(folder, known);
    }
    const [, , ...rest] = specifier.split('/');
    const path = known[['.', ...rest].join('/')];
    return typeof path === 'string' ? join(folder, path) : undefined;
  };
  return new Map(
    sourceFiles().map((file) => {
      const imports = new Set<string>();
      for (const specifier of importsOf(readFileSync(join(root, file), 'utf8'))) {
        const folder = targetOf(file, specifier);
        const target = besideOf(file, specifier) ?? (folder === undefined ? undefined : entryOf(folder, specifier));
        if (target !== undefined) imports.add(target);
      }
      return [file, imports];
    }),
  );
}

/** The files that `start` leads to by imports, itself included. */
export function closureOf(graph: ImportGraph, start: string): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const file of reached) for (const next of graph.get(file) ?? []) reached.add(next);
  return reached;
}
