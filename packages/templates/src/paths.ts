import { posix } from 'node:path';

/**
 * Where a reference is looked up: below the folder, unless it is absolute or there is no folder (BI-V131).
 * Slashes are made single; a trailing one is dropped.
 */
export function joinInventoryPath(folder: string, name: string): string {
  if (folder === '' || name.startsWith('/')) return name;
  return posix.join(folder, name);
}

/** A path without doubled and trailing slashes; '' stays '' (BI-V129). */
export function cleanInventoryPath(path: string): string {
  if (path === '') return '';
  const clean = posix.normalize(path);
  return clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean;
}

/** An absolute path for what may be a bare name under a root: `('ds1', '/dc1/datastore')` → `/dc1/datastore/ds1`. */
export function absolutePath(nameOrPath: string, root: string): string {
  return cleanInventoryPath(nameOrPath.startsWith('/') ? nameOrPath : `${root}/${nameOrPath}`);
}
