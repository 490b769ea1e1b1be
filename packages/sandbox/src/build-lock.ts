import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { aborted } from './errors.ts';
import { identityOf, stateOf } from './process-identity.ts';

/** Held while a build runs; dispose it to let the next one in. */
export interface BuildLock {
  [Symbol.dispose](): void;
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

let serial = 0;

// link() either makes the complete file visible or fails: nobody ever reads half an identity.
function tryLock(file: string, identity: string): boolean {
  const own = `${file}.${identity}.${serial++}`;
  writeFileSync(own, identity);
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

// Moves a dead owner's lock away. Between our look and the rename somebody else may have done the same and locked
// anew: then that lock is put back. The instant without it is harmless, because every build publishes by rename;
// the lock only spares the machine from building twice.
function removeDead(file: string, owner: string): void {
  const aside = `${file}.dead.${process.pid}.${serial++}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    if (read(aside) !== owner) linkSync(aside, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Waits until no other living process holds the lock. `onWait` is told once, with the owner's pid. */
export async function lockBuild(
  file: string,
  options: { readonly onWait?: (pid: string) => void; readonly signal?: AbortSignal } = {},
): Promise<BuildLock> {
  const self = identityOf(process.pid) ?? `${process.pid}-0-0`;
  mkdirSync(dirname(file), { recursive: true });
  let told = false;
  while (!tryLock(file, self)) {
    if (options.signal?.aborted) throw aborted('waiting for another build', options.signal);
    const owner = read(file);
    if (owner === undefined) continue;
    if (stateOf(owner) === 'dead') {
      removeDead(file, owner);
      continue;
    }
    if (!told) options.onWait?.(owner.split('-')[0] ?? '?');
    told = true;
    await delay(100);
  }
  return {
    [Symbol.dispose]() {
      if (read(file) === self) rmSync(file, { force: true });
    },
  };
}
