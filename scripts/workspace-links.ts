import { globSync, lstatSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from './command.ts';

/** Links workspaces that came with a pull, as `npm ci` does: without that, nothing finds them. */
export function linkWorkspaces(): void {
  for (const manifest of globSync('{api,packages/*,apps/*,bench,test}/package.json', { cwd: root })) {
    const { name } = JSON.parse(readFileSync(join(root, manifest), 'utf8')) as { readonly name: string };
    const link = join(root, 'node_modules', name);
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), join(root, dirname(manifest))), link);
  }
}
