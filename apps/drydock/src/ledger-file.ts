import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readJson } from '@drydock/api';
import type { LedgerStore } from '@drydock/templates';
import { z } from 'zod';
import { exitCode } from './exit.ts';
import { changeStateFile } from './state-file.ts';
import { shell } from './template/next-command.ts';
import { TemplateProblem } from './template/problem.ts';

/** Name of the file in the state folder. */
const NAME = 'ownership.json';

/** A record takes a few hundred bytes. */
const MOST_BYTES = 16 * 2 ** 20;

/** The version tells this file from any other JSON, and from the one of a later release. */
const schema = z.strictObject({ drydockOwnership: z.literal(1), records: z.record(z.string(), z.string()) });

/** Path of the ownership ledger in a state folder. */
export function ledgerPath(stateDir: string): string {
  return resolve(stateDir, NAME);
}

/**
 * The ownership ledger of `drydock template`: one JSON file that only this user may change. A missing file is an empty
 * ledger. Where the file is corrupt, or not this user's ledger, `read` and `change` throw a `TemplateProblem` and leave
 * it as it is; `change` also throws `DurableError`.
 */
export function ledgerFile(path: string): LedgerStore {
  return {
    kind: 'file',
    read: () => readRecords(path),
    change: async (key, next) => {
      let after: string | undefined;
      await changeStateFile(path, async () => {
        const records = new Map(await readRecords(path));
        const before = records.get(key);
        after = next(before);
        if (after === before) return undefined;
        if (after === undefined) records.delete(key);
        else records.set(key, after);
        const text = textOf(records);
        // A file that cannot be read again must not be written.
        if (Buffer.byteLength(text) > MOST_BYTES) throw problem(path, `would have more than ${MOST_BYTES} bytes`);
        return text;
      });
      return after;
    },
  };
}

function textOf(records: ReadonlyMap<string, string>): string {
  return `${JSON.stringify({ drydockOwnership: 1, records: Object.fromEntries(records) }, undefined, 1)}\n`;
}

async function readRecords(path: string): Promise<ReadonlyMap<string, string>> {
  let text: string;
  try {
    await using file = await open(path);
    const found = await file.stat();
    const { size, mode, uid } = found;
    if (!found.isFile()) throw new Error('it is not a file');
    if (uid !== 0 && uid !== process.geteuid?.()) throw new Error(`it belongs to user ${uid}`);
    if ((mode & 0o022) !== 0) throw new Error('other users can write to it');
    if (size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
    text = await file.readFile('utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw problem(path, `cannot be read: ${(cause as Error).message}`, cause);
  }
  const records = recordsIn(text);
  if (records !== undefined) return records;
  throw new TemplateProblem({
    code: 'LEDGER_CORRUPT',
    exit: exitCode.blocked,
    message:
      `the ownership ledger ${path} is corrupt, or another program wrote it. Restore it from a backup. ` +
      'Without a backup, move it away: templates then count as owned only where something else proves it',
    next: shell`mv ${path} ${`${path}.corrupt`}`,
  });
}

function recordsIn(text: string): ReadonlyMap<string, string> | undefined {
  try {
    return new Map(Object.entries(schema.parse(readJson(text)).records));
  } catch {
    return undefined;
  }
}

function problem(path: string, what: string, cause?: unknown): TemplateProblem {
  return new TemplateProblem({
    code: 'LEDGER_UNUSABLE',
    exit: exitCode.blocked,
    message: `the ownership ledger ${path} ${what}`,
    next: shell`ls -l ${path}`,
    cause,
  });
}
