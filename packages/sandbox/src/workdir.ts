import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardExit } from './exit-guard.ts';
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

/** A temp folder for whatever a test needs. */
export interface ScratchFolder extends Disposable {
  readonly path: string;
}

/**
 * Creates a temp folder, mode 0700, that goes when it is disposed, when this process ends and on SIGINT, SIGTERM and SIGHUP.
 * What a SIGKILL leaves the next scratch folder or sandbox sweeps.
 */
export function scratchFolder(root: string = tmpdir()): ScratchFolder {
  sweep(root);
  const directory = createWorkDirectory(root);
  const disarm = guardExit(() => {
    killRecorded(directory.path);
    directory.remove();
  });
  return {
    path: directory.path,
    [Symbol.dispose]() {
      disarm();
      directory.remove();
    },
  };
}

/**
 * Records a process in the folder of a sandbox (`sandbox.directory`) or a scratch folder, under a name: it is ended with SIGKILL
 * when the launcher ends without having ended it, or, after a SIGKILL of the launcher, by the next sweep. A second process under
 * the name replaces the first.
 */
export function recordProcess(folder: string, name: string, pid: number): void {
  const identity = identityOf(pid);
  if (identity === undefined) return;
  // Renamed into place: a sweep that reads half an identity would spare the process.
  const file = join(folder, `${name}.identity`);
  writeFileSync(`${file}.new`, identity, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Ends what is recorded in the folder and still runs. */
export function killRecorded(path: string): void {
  for (const name of readdirSync(path)) {
    if (name.endsWith('.identity')) killByIdentity(readFileSync(join(path, name), 'utf8'));
  }
}

/**
 * Removes the folders of launchers that are dead, and ends processes of theirs that still run: binaries from KUBEBUILDER_ASSETS
 * (our own servers end with their launcher) and what tests recorded. Returns the folders removed.
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
