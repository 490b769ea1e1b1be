import fs from 'node:fs';

/** One request that a machine made to its disk. */
export interface LoggedWrite {
  /** Where on the disk (bytes). */
  readonly position: number;
  readonly length: number;
  /** Where in the log its content lies (bytes). */
  readonly from: number;
  /** Everything before it was to be durable when it ended. */
  readonly flush: boolean;
  /** It itself was to be. */
  readonly durable: boolean;
}

// The format of Linux's dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst), which QEMU's blklogwrites writes too.
const MAGIC = 0x6a736677736872n;
const SECTOR = 512;
const [FLUSH, FUA, DISCARD, MARK] = [1n, 2n, 4n, 8n];

/** How many requests the log of a machine that runs holds so far. */
export function loggedSoFar(log: string): number {
  const head = Buffer.alloc(SECTOR);
  const fd = fs.openSync(log, 'r');
  try {
    fs.readSync(fd, head, 0, SECTOR, 0);
  } finally {
    fs.closeSync(fd);
  }
  if (head.readBigUInt64LE(0) !== MAGIC) throw new Error(`${log} is no log of writes`);
  return Number(head.readBigUInt64LE(16));
}

/** All requests of a log, in their order. */
export function readWriteLog(log: string): readonly LoggedWrite[] {
  const count = loggedSoFar(log);
  const writes: LoggedWrite[] = [];
  const entry = Buffer.alloc(32);
  const fd = fs.openSync(log, 'r');
  try {
    for (let at = SECTOR; writes.length < count; ) {
      fs.readSync(fd, entry, 0, entry.length, at);
      const [sector, sectors, flags, marked] = [0, 8, 16, 24].map((offset) => entry.readBigUInt64LE(offset));
      if (sector === undefined || sectors === undefined || flags === undefined || marked === undefined) break;
      const length = Number(sectors) * SECTOR;
      // What is discarded has no content, and may stay as it was.
      const content = (flags & DISCARD) !== 0n ? 0 : (flags & MARK) !== 0n ? Number(marked) : length;
      const [position, from] = [Number(sector) * SECTOR, at + SECTOR];
      const [flush, durable] = [(flags & FLUSH) !== 0n, (flags & FUA) !== 0n];
      writes.push({ position, from, flush, durable, length: (flags & MARK) !== 0n ? 0 : content });
      at = from + Math.ceil(content / SECTOR) * SECTOR;
    }
  } finally {
    fs.closeSync(fd);
  }
  return writes;
}

/** Carries some of the requests out on a disk. */
export function replay(log: string, writes: readonly LoggedWrite[], disk: string): void {
  const [source, target] = [fs.openSync(log, 'r'), fs.openSync(disk, 'r+')];
  try {
    for (const { position, length, from } of writes) {
      const content = Buffer.alloc(length);
      fs.readSync(source, content, 0, length, from);
      fs.writeSync(target, content, 0, length, position);
    }
  } finally {
    fs.closeSync(source);
    fs.closeSync(target);
  }
}

/** What a disk with a cache of its own had to keep of the first `count` requests, and what it was free to lose. */
export function keptAndFree(
  writes: readonly LoggedWrite[],
  count: number,
): { readonly kept: readonly LoggedWrite[]; readonly free: readonly LoggedWrite[] } {
  const seen = writes.slice(0, count);
  const flushed = seen.findLastIndex(({ flush }) => flush);
  const late = seen.slice(Math.max(0, flushed));
  return {
    kept: [...seen.slice(0, Math.max(0, flushed)), ...late.filter(({ durable }) => durable)],
    free: late.filter(({ durable }) => !durable),
  };
}
