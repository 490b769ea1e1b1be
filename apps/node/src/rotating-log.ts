import { appendFile, rename, rm, stat } from 'node:fs/promises';

const BYTES = 5 << 20;
const DAY_MS = 86_400_000;
const DAYS = 28;

/** A log file that does not grow for ever. */
export interface RotatingLog {
  /** Adds a line with the time in front; never waits, never fails. */
  write(line: string): void;
  /** Resolves when all lines so far are in the file. */
  flushed(): Promise<void>;
}

/** Writes lines to a file. At 5 MB it becomes `<path>.1` and that `<path>.2`; both are removed when they are 28 days old and the next one comes. */
export function rotatingLog(path: string, onError: (error: unknown) => void): RotatingLog {
  let last: Promise<void> = Promise.resolve();
  const add = async (line: string): Promise<void> => {
    if (((await stat(path).catch(() => undefined))?.size ?? 0) >= BYTES) await rotate(path);
    await appendFile(path, `${new Date().toISOString()} ${line}\n`);
  };
  return {
    write: (line) => {
      last = last.then(() => add(line)).catch(onError);
    },
    flushed: () => last,
  };
}

async function rotate(path: string): Promise<void> {
  await rename(`${path}.1`, `${path}.2`).catch(() => undefined);
  await rename(path, `${path}.1`);
  for (const old of [`${path}.1`, `${path}.2`]) {
    const found = await stat(old).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > DAYS * DAY_MS) await rm(old, { force: true });
  }
}
