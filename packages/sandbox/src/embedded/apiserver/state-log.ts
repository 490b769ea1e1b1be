import {
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';
import { exactText, parseExact } from '@drydock/kube/testing/api-server';
import type { StoredChange, StoredObject, StoredState } from './objects.ts';

/*
 * The append-only file that keeps the state over SIGKILL and restart:
 *
 *     <crc32 of the JSON, 8 hex digits> <JSON>\n     one record per line; the first is the header, with the version
 *
 * A change is in the file before anything shows it. A crash in the middle of a record leaves a torn last line, which the next start drops:
 * nobody was answered about it. Each start writes the file anew, without what was overwritten or deleted since; and so does an append that
 * makes the file much longer than its live records. The new file gets another name until it is complete:
 *
 *     FILE, append ──► FILE.new: header and live records ──► fsync ──► rename to FILE ──► append
 *     └──────────── a crash leaves the old FILE ────────────────────┘ └─ the new one ─┘
 */

const FORMAT = 'drydock-api-server-state/1';
const LINE_FEED = 0x0a;
const CHUNK_BYTES = 64 << 10;

/** An open log. */
export interface StateLog extends Disposable {
  /** Writes a change. If it throws, the file holds nothing of the change. */
  append(change: StoredChange): void;
}

/** When a log is compacted: above `minimum` bytes, once it is `ratio` times as long as its live records. */
export interface Compaction {
  readonly minimum: number;
  readonly ratio: number;
}

const COMPACTION: Compaction = { minimum: 4 << 20, ratio: 4 };

interface Header {
  readonly format: string;
  readonly version: number;
}

type Entry = Omit<StoredChange, 'namespace'> & { readonly namespace?: string };

/** Where a record lies in the file. */
interface Extent {
  readonly at: number;
  readonly bytes: number;
}

/** Damage other than a torn last record: somebody else wrote to the file. */
export class StateLogDamaged extends Error {
  override readonly name = 'StateLogDamaged';
}

function record(value: unknown): Buffer {
  const json = exactText(value);
  return Buffer.from(`${crc32(json).toString(16).padStart(8, '0')} ${json}\n`);
}

function readRecord(line: Buffer): unknown {
  const json = line.subarray(9);
  if (line[8] !== 0x20 || crc32(json) !== Number.parseInt(line.toString('latin1', 0, 8), 16)) return undefined;
  return parseExact(json.toString('utf8'));
}

const keyOf = ({ group, plural, namespace, name }: Omit<StoredObject, 'object'>): string =>
  `${group}/${plural} ${namespace ?? ''}/${name}`;

/** The state that a file holds; undefined where the file does not exist or holds no complete header. */
export function readState(path: string): StoredState | undefined {
  let version: number | undefined;
  const objects = new Map<string, StoredObject>();
  let number = 0;
  for (const line of linesOf(path)) {
    number += 1;
    const entry = readRecord(line);
    if (entry === undefined)
      throw new StateLogDamaged(`${path} is damaged in line ${number}; remove the file to start with an empty state`);
    if (version === undefined) {
      const { format, version: first } = entry as Header;
      if (format !== FORMAT) throw new StateLogDamaged(`${path} is no state of this API server (${format})`);
      version = first;
      continue;
    }
    const { object, namespace, version: made, ...named } = entry as Entry;
    const place = { ...named, namespace };
    version = Math.max(version, made);
    if (object === undefined) objects.delete(keyOf(place));
    else objects.set(keyOf(place), { ...place, object });
  }
  return version === undefined ? undefined : { version, objects: [...objects.values()] };
}

/** The complete lines of a file, which may be longer than a string. After the last line feed there is nothing, or a torn record. */
function* linesOf(path: string): Generator<Buffer> {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    let begun: Buffer[] = [];
    for (;;) {
      const whole = Buffer.allocUnsafe(CHUNK_BYTES);
      const chunk = whole.subarray(0, readSync(file, whole));
      if (chunk.length === 0) return;
      let start = 0;
      for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
        yield Buffer.concat([...begun, chunk.subarray(start, end)]);
        begun = [];
        start = end + 1;
      }
      begun.push(chunk.subarray(start));
    }
  } finally {
    closeSync(file);
  }
}

/** Writes a state as a new file, mode 0600, in place of the old one, and opens it for what follows. */
export function openStateLog(path: string, state: StoredState, compaction: Compaction = COMPACTION): StateLog {
  return new FileLog(path, state, compaction);
}

class FileLog implements StateLog {
  readonly #path: string;
  readonly #compaction: Compaction;
  readonly #live = new Map<string, Extent>();
  #liveBytes = 0;
  #version: number;
  #file: LogFile;
  /** Below this length the file is not compacted. */
  #floor: number;

  constructor(path: string, { version, objects }: StoredState, compaction: Compaction) {
    this.#path = path;
    this.#compaction = compaction;
    this.#version = version;
    this.#floor = compaction.minimum;
    this.#file = this.#rewrite((file) => {
      for (const { object, ...place } of objects)
        this.#keep(keyOf(place), file.append(record({ version: 0, ...place, object })));
    });
  }

  append(change: StoredChange): void {
    const extent = this.#file.append(record(change));
    this.#version = change.version;
    this.#keep(keyOf(change), change.object === undefined ? undefined : extent);
    const { length } = this.#file;
    if (length >= this.#floor && length >= this.#liveBytes * this.#compaction.ratio) this.#compact();
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }

  #keep(key: string, extent: Extent | undefined): void {
    this.#liveBytes += (extent?.bytes ?? 0) - (this.#live.get(key)?.bytes ?? 0);
    if (extent === undefined) this.#live.delete(key);
    else this.#live.set(key, extent);
  }

  #compact(): void {
    const old = this.#file;
    const moved: [string, Extent][] = [];
    try {
      this.#file = this.#rewrite((file) => {
        for (const [key, extent] of this.#live) moved.push([key, file.append(old.read(extent))]);
      });
    } catch (error) {
      // Every change is in the old file. The next attempt waits until that is twice as long.
      this.#floor = 2 * old.length;
      process.stderr.write(`embedded API server: ${this.#path} was not compacted: ${String(error)}\n`);
      return;
    }
    for (const [key, extent] of moved) this.#live.set(key, extent);
    this.#floor = this.#compaction.minimum;
    old.close();
  }

  /** A new file in place of the old one. The old one is as it was if this throws. */
  #rewrite(fill: (file: LogFile) => void): LogFile {
    const unfinished = `${this.#path}.new`;
    // A crash may have left one.
    rmSync(unfinished, { force: true });
    const file = new LogFile(unfinished);
    try {
      file.append(record({ format: FORMAT, version: this.#version }));
      fill(file);
      file.sync();
      renameSync(unfinished, this.#path);
      return file;
    } catch (error) {
      file.close();
      rmSync(unfinished, { force: true });
      throw error;
    }
  }
}

/** A file that grows by whole records. */
class LogFile {
  #file: number | undefined;
  #length = 0;
  #isTorn = false;

  constructor(path: string) {
    const { O_CREAT, O_EXCL, O_RDWR } = constants;
    this.#file = openSync(path, O_CREAT | O_EXCL | O_RDWR, 0o600);
  }

  get length(): number {
    return this.#length;
  }

  append(bytes: Buffer): Extent {
    const file = this.#open();
    // Half a record would make the next one unreadable.
    if (this.#isTorn) ftruncateSync(file, this.#length);
    this.#isTorn = true;
    for (let written = 0; written < bytes.length; )
      written += writeSync(file, bytes, written, bytes.length - written, this.#length + written);
    this.#isTorn = false;
    const extent = { at: this.#length, bytes: bytes.length };
    this.#length += bytes.length;
    return extent;
  }

  read({ at, bytes }: Extent): Buffer {
    const file = this.#open();
    const record = Buffer.allocUnsafe(bytes);
    for (let done = 0; done < bytes; ) {
      const read = readSync(file, record, done, bytes - done, at + done);
      if (read === 0) throw new Error('the state log is shorter than what was written to it');
      done += read;
    }
    return record;
  }

  sync(): void {
    fsyncSync(this.#open());
  }

  close(): void {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) closeSync(file);
  }

  #open(): number {
    if (this.#file === undefined) throw new Error('the state log is closed');
    return this.#file;
  }
}
