import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A fresh directory on the machine's disk, removed when disposed of. */
export async function scratch(
  base: string = tmpdir(),
): Promise<{ readonly path: string; readonly at: (name: string) => string } & AsyncDisposable> {
  const path = await mkdtemp(join(base, 'durable-'));
  return { path, at: (name) => join(path, name), [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
