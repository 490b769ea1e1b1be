import { StaticPodError } from './errors.ts';
import { type Environment, looking } from './revision/environment.ts';
import type { SourceKind } from './revision/object-files.ts';

/** The directories that hold one directory for each object. */
export const KINDS: readonly SourceKind[] = ['secrets', 'configmaps'];

/** Fails where a link lies in place of a directory that only this program makes: private keys would be written to wherever it leads. */
export async function checkNoLink(path: string, env: Environment): Promise<void> {
  if ((await looking(env).lstat(path))?.kind === 'symlink')
    throw new StaticPodError('FOREIGN_LINK', path, 'it is a link, expected a directory or nothing');
}

/** Name of the lock in a directory that has several writers. */
export const LOCK_NAME = '.drydock.lock';

/** Permissions of every directory. */
export const DIRECTORY_MODE = 0o755;
