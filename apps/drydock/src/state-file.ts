import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { during, lockFile, replaceFileDurable, syncDirectory } from '@drydock/durable';

/** How long (ms) a process waits for others that change the same file. */
const PATIENCE = 5_000;

/**
 * Where commands keep what must outlive a cache: `$XDG_STATE_HOME/drydock`, else `~/.local/state/drydock`. A relative
 * XDG_STATE_HOME is ignored, as the XDG specification asks.
 */
export function defaultStateDir(env: Readonly<Record<string, string | undefined>>): string {
  const base = env['XDG_STATE_HOME'] ?? '';
  return join(isAbsolute(base) ? base : join(homedir(), '.local', 'state'), 'drydock');
}

/**
 * Changes a text file that only this user may read. `next` runs under a lock, reads the file itself and returns the new
 * text; undefined leaves the file as it is. A kill or a power cut at any point leaves the old text or the new one.
 * Makes missing folders (0700) and the file (0600). Throws `DurableError`, or what `next` throws.
 */
export async function changeStateFile(path: string, next: () => Promise<string | undefined>): Promise<void> {
  const folder = dirname(path);
  await during({ code: 'WRITE_FAILED', stage: 'prepare', path, visible: 'old' }, async () => {
    const first = await mkdir(folder, { recursive: true, mode: 0o700 });
    // Until its parent is synced, a power cut takes a new folder with everything in it.
    for (let at = folder; first !== undefined && at.length >= first.length; at = dirname(at))
      await syncDirectory(dirname(at));
  });
  await using _ = await lockFile(`${path}.lock`, { deadlineMs: PATIENCE, pollMs: 20 });
  const text = await next();
  if (text !== undefined) await replaceFileDurable(path, text, { mode: 0o600 });
}
