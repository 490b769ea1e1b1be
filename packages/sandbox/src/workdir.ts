import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityOf, killByIdentity, stateOf } from './process-identity.ts';

const PREFIX = 'drydock-sandbox-';

/**
 * The temp folder of one sandbox. Its name carries the launcher's identity, so that there is no instant at which the
 * folder exists and its owner is unknown:
 *
 *     drydock-sandbox-<pid>-<start>-<namespace>-XXXXXX/
 *         etcd.identity  apiserver.identity  …      one per server, for the sweep
 */
export interface WorkDirectory {
  readonly path: string;
  /** Writes a file readable by the owner only and returns its path. */
  write(name: string, content: string): string;
  /** Removes everything, synchronously: it also runs when the process exits. */
  remove(): void;
}

const remove = (path: string): void => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 25 });

/** Creates a folder under `root` (default: the system's temp folder), mode 0700. */
export function createWorkDirectory(root: string = tmpdir()): WorkDirectory {
  const path = mkdtempSync(join(root, `${PREFIX}${identityOf(process.pid) ?? `${process.pid}-0-0`}-`));
  return {
    path,
    write(name, content) {
      const file = join(path, name);
      writeFileSync(file, content, { mode: 0o600 });
      return file;
    },
    remove: () => remove(path),
  };
}

/** Records a server's process in the folder, for a sweep after the launcher's death. */
export function recordServer(directory: WorkDirectory, name: string, pid: number): void {
  const identity = identityOf(pid);
  if (identity !== undefined) directory.write(`${name}.identity`, identity);
}

function killRecorded(path: string): void {
  for (const name of readdirSync(path)) {
    if (name.endsWith('.identity')) killByIdentity(readFileSync(join(path, name), 'utf8'));
  }
}

/**
 * Removes the folders of launchers that are dead, and ends servers of theirs that still run (only binaries from
 * KUBEBUILDER_ASSETS do; our own end with their launcher). Returns the folders removed.
 */
export function sweep(root: string = tmpdir()): readonly string[] {
  const swept: string[] = [];
  for (const name of readdirSync(root)) {
    if (!name.startsWith(PREFIX)) continue;
    const owner = name.slice(PREFIX.length).split('-').slice(0, 3).join('-');
    if (stateOf(owner) !== 'dead') continue;
    const path = join(root, name);
    try {
      killRecorded(path);
      remove(path);
      swept.push(path);
    } catch {
      // Another user's folder, or another start sweeps the same one: not ours to insist on.
    }
  }
  return swept;
}
