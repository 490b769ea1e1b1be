import { posix } from 'node:path';

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
