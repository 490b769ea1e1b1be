import { lstat, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A fresh directory on the machine's disk, removed when disposed of. */
export async function scratch(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'static-pods-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** Everything below a directory: path → `mode content`, with `/` for directories and the target for links. Locks are left out. */
export async function treeAt(root: string, below = ''): Promise<Readonly<Record<string, string>>> {
  const tree: Record<string, string> = {};
  for (const name of (await readdir(join(root, below)).catch((): string[] => [])).sort((a, b) => (a < b ? -1 : 1))) {
    if (name.endsWith('.lock')) continue;
    const path = join(below, name);
    const stat = await lstat(join(root, path));
    const mode = (stat.mode & 0o7777).toString(8);
    if (!stat.isDirectory())
      tree[path] = `${mode} ${stat.isFile() ? await readFile(join(root, path), 'latin1') : '->'}`;
    else Object.assign(tree, { [path]: `${mode} /` }, await treeAt(root, path));
  }
  return tree;
}
