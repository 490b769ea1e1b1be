import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from './command.ts';

/** What the sources of each folder may import of the others; each folder may import `api`. */
export const BOUNDARIES: Readonly<Record<string, readonly string[]>> = {
  api: [],
  'packages/model': [],
  'packages/durable': [],
  'packages/http': [],
  'packages/crd': [],
  'packages/kube': ['packages/http'],
  'packages/vsphere': ['packages/http'],
  'packages/templates': ['packages/http', 'packages/vsphere', 'packages/durable'],
  'packages/boot-images': ['packages/http', 'packages/kube', 'packages/crd', 'packages/templates'],
  'packages/preflight': ['packages/kube', 'packages/crd'],
  'packages/release': ['packages/http', 'packages/kube', 'packages/crd', 'packages/preflight', 'packages/durable'],
  'packages/vm-watch': ['packages/kube', 'packages/crd', 'packages/vsphere'],
  'packages/static-pods': ['packages/kube', 'packages/durable'],
  'packages/sandbox': ['packages/kube', 'packages/vsphere', 'packages/model'],
  'apps/node': ['packages/static-pods', 'packages/durable', 'packages/kube'],
  'apps/page': ['packages/kube', 'packages/boot-images'],
  'apps/drydock': ['*'],
  bench: ['*'],
  scripts: ['*'],
};

const folders = Object.keys(BOUNDARIES);
const names = new Map(folders.map((folder) => [packageName(folder), folder]));

function packageName(folder: string): string {
  if (folder === 'scripts') return '(scripts)';
  return (JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as { name: string }).name;
}

/** All modules of the repository, from the root, sorted. */
export function sourceFiles(): readonly string[] {
  return globSync('{api,packages,apps,bench,scripts,test}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/go/**'],
  }).sort();
}

/** The folder of the table that a file lies in. */
export function folderOf(file: string): string | undefined {
  return folders.find((folder) => file.startsWith(`${folder}/`));
}

/** The specifiers that a module's text imports. */
export function importsOf(text: string): readonly string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '');
  return [
    ...code.matchAll(
      /(?:^|\n)\s*(?:import|export)\b[^;'"`]*?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g,
    ),
  ].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** The file that a relative specifier names, from the root. */
export function besideOf(file: string, specifier: string): string | undefined {
  return specifier.startsWith('.') ? relative(root, join(root, dirname(file), specifier)) : undefined;
}

/** The folder of the table that an import leads to; undefined for libraries. */
export function targetOf(file: string, specifier: string): string | undefined {
  const beside = besideOf(file, specifier);
  if (beside !== undefined) return folderOf(beside);
  for (const [name, folder] of names) if (specifier === name || specifier.startsWith(`${name}/`)) return folder;
  return undefined;
}
