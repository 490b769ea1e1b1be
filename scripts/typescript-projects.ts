import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { besideOf, folderOf, importsOf, sourceFiles, targetOf } from './boundaries.ts';
import { root } from './command.ts';

/** Other globals apply there, so these have a tsconfig.json of their own. */
const BROWSER = /^(?:apps\/page\/client|test\/browser)\//;

interface Project {
  readonly name: string;
  readonly files: string[];
  readonly references: Set<string>;
}

/**
 * Writes a TypeScript project for the sources of each folder and one for its tests into `.cache/types`, and returns the path of the
 * solution for `tsc --build`. A project is checked again only where it, or a declaration that it imports, has changed.
 */
export function writeProjects(): string {
  const projects = new Map<string, Project>();
  const files = sourceFiles().filter((file) => !BROWSER.test(file));
  for (const file of files) {
    const name = projectOf(file);
    const project = projects.get(name) ?? { name, files: [], references: new Set() };
    projects.set(name, project);
    project.files.push(file);
    for (const specifier of importsOf(readFileSync(join(root, file), 'utf8'))) {
      const beside = besideOf(file, specifier);
      if (beside?.endsWith('.json') === true && !project.files.includes(beside)) project.files.push(beside);
      const target = beside === undefined ? targetOf(file, specifier) : projectOf(beside);
      if (target !== undefined && target !== name) project.references.add(target);
    }
  }
  for (const project of projects.values()) write(project);
  const solution = join(root, '.cache', 'types', 'tsconfig.json');
  writeIfChanged(solution, { files: [], references: [...projects.keys()].map((name) => ({ path: `./${name}` })) });
  return solution;
}

/** Tests are apart, because the tests of two packages may use each other. `bench`, `scripts` and `test` use each other's sources. */
function projectOf(file: string): string {
  const folder = folderOf(file) ?? 'test';
  const project = /^(?:bench|scripts|test)$/.test(folder) ? 'repository' : folder;
  return file.endsWith('.test.ts') ? `${project}-test` : project;
}

function write({ name, files, references }: Project): void {
  const folder = join(root, '.cache', 'types', name);
  const up = relative(folder, root);
  writeIfChanged(join(folder, 'tsconfig.json'), {
    extends: join(up, 'tsconfig.json'),
    compilerOptions: {
      composite: true,
      incremental: true,
      noEmit: false,
      emitDeclarationOnly: true,
      rootDir: up,
      outDir: './out',
      tsBuildInfoFile: './tsbuildinfo',
    },
    files: files.map((file) => join(up, file)),
    include: [],
    exclude: [],
    references: [...references]
      .sort()
      .map((other) => ({ path: relative(folder, join(root, '.cache', 'types', other)) })),
  });
}

/** Writes a file unless it has this text: `tsc --build` checks a project again when its tsconfig.json has a newer time. */
function writeIfChanged(file: string, value: unknown): void {
  const text = `${JSON.stringify(value, undefined, 1)}\n`;
  try {
    if (readFileSync(file, 'utf8') === text) return;
  } catch {
    // The first run.
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
