import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { exactText, parseExact } from '@drydock/kube/testing/api-server';
import type { StoredChange, StoredObject, StoredState } from './objects.ts';

/*
 * The append-only file that keeps the state over SIGKILL and restart:
 *
 *     <crc32 of the JSON, 8 hex digits> <JSON>\n     one record per line; the first is the header, with the version
 *
 * A change is in the file before its request is answered. A crash in the middle of a record leaves a torn last line, which the next start
 * drops: nobody was answered about it. Each start writes the file anew, without what was overwritten or deleted since.
 */

const FORMAT = 'drydock-api-server-state/1';

/** An open log. */
export interface StateLog extends Disposable {
  append(change: StoredChange): void;
}

interface Header {
  readonly format: string;
  readonly version: number;
}

type Entry = Omit<StoredChange, 'namespace'> & { readonly namespace?: string };

/** Damage other than a torn last record: somebody else wrote to the file. */
export class StateLogDamaged extends Error {
  override readonly name = 'StateLogDamaged';
}

function record(value: unknown): string {
  const json = exactText(value);
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`;
}

function readRecord(line: string): unknown {
  const json = line.slice(9);
  if (line[8] !== ' ' || crc32(json) !== Number.parseInt(line.slice(0, 8), 16)) return undefined;
  return parseExact(json);
}

/** The state that a file holds; undefined where the file does not exist or holds no complete header. */
export function readState(path: string): StoredState | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const lines = text.split('\n');
  // After the last line feed there is nothing, or a torn record.
  const complete = lines.slice(0, -1);
  if (complete.length === 0) return undefined;
  const objects = new Map<string, StoredObject>();
  let version = 0;
  for (const [at, line] of complete.entries()) {
    const entry = readRecord(line);
    if (entry === undefined) {
      throw new StateLogDamaged(`${path} is damaged in line ${at + 1}; remove the file to start with an empty state`);
    }
    if (at === 0) {
      const { format, version: first } = entry as Header;
      if (format !== FORMAT) throw new StateLogDamaged(`${path} is no state of this API server (${format})`);
      version = first;
      continue;
    }
    const { object, namespace, ...change } = entry as Entry;
    const key = `${change.group}/${change.plural} ${namespace ?? ''}/${change.name}`;
    version = Math.max(version, change.version);
    if (object === undefined) objects.delete(key);
    else objects.set(key, { group: change.group, plural: change.plural, namespace, name: change.name, object });
  }
  return { version, objects: [...objects.values()] };
}

/** Writes a state as a new file, mode 0600, in place of the old one, and opens it for what follows. */
export function openStateLog(path: string, state: StoredState): StateLog {
  const unfinished = `${path}.new`;
  let file = openSync(unfinished, 'w', 0o600);
  let length = 0;
  const write = (text: string): void => {
    const bytes = Buffer.from(text);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(file, bytes, written);
    } catch (error) {
      // Half a record would make the next one unreadable.
      ftruncateSync(file, length);
      throw error;
    }
    length += bytes.length;
  };
  try {
    write(record({ format: FORMAT, version: state.version }));
    for (const { object, ...of } of state.objects) write(record({ version: 0, ...of, object }));
    fsyncSync(file);
    closeSync(file);
    renameSync(unfinished, path);
    file = openSync(path, 'a', 0o600);
  } catch (error) {
    closeSync(file);
    throw error;
  }
  return {
    append: (change) => write(record(change)),
    [Symbol.dispose]: () => closeSync(file),
  };
}
