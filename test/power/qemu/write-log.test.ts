import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { keptAndFree, loggedSoFar, readWriteLog, replay } from './write-log.ts';

const SECTOR = 512;
const [FLUSH, FUA, DISCARD] = [1n, 2n, 4n];

/** One request as dm-log-writes puts it down: a sector about it, then its content. */
function request(sector: number, content: string, flags = 0n): Buffer {
  const about = Buffer.alloc(SECTOR);
  const sectors = content === '' ? 0 : 1;
  about.writeBigUInt64LE(BigInt(sector), 0);
  about.writeBigUInt64LE(BigInt(sectors), 8);
  about.writeBigUInt64LE(flags, 16);
  return flags === DISCARD ? about : Buffer.concat([about, Buffer.alloc(sectors * SECTOR, content)]);
}

function logOf(requests: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(SECTOR);
  head.writeBigUInt64LE(0x6a736677736872n, 0);
  head.writeBigUInt64LE(1n, 8);
  head.writeBigUInt64LE(BigInt(requests.length), 16);
  head.writeUInt32LE(SECTOR, 24);
  return Buffer.concat([head, ...requests]);
}

test('a log of writes: what a disk with a cache of its own keeps, what it may lose, and the disk that comes of it', () => {
  const dir = fs.mkdtempSync(join(tmpdir(), 'write-log-'));
  try {
    const [log, disk] = [join(dir, 'log'), join(dir, 'disk')];
    const requests = [
      request(0, 'a'),
      request(1, 'discarded', DISCARD),
      request(0, '', FLUSH),
      request(1, 'b'),
      request(2, 'c', FUA),
      request(0, 'd'),
    ];
    fs.writeFileSync(log, logOf(requests));
    fs.writeFileSync(disk, Buffer.alloc(3 * SECTOR, '.'));
    assert.equal(loggedSoFar(log), 6);
    const writes = readWriteLog(log);
    const { kept, free } = keptAndFree(writes, 6);
    const sectors = (some: typeof writes): number[] =>
      some.filter(({ length }) => length > 0).map(({ position }) => position / SECTOR);
    assert.deepEqual(
      [sectors(kept), sectors(free)],
      [
        [0, 2],
        [1, 0],
      ],
    );
    // Before the flush nothing is sure.
    assert.deepEqual([sectors(keptAndFree(writes, 2).kept), sectors(keptAndFree(writes, 2).free)], [[], [0]]);
    replay(log, kept, disk);
    assert.equal(fs.readFileSync(disk, 'latin1').replaceAll(/(.)\1+/g, '$1'), 'a.c');
    replay(log, writes, disk);
    assert.equal(fs.readFileSync(disk, 'latin1').replaceAll(/(.)\1+/g, '$1'), 'dbc');
    fs.writeFileSync(log, 'x'.repeat(SECTOR));
    assert.throws(() => loggedSoFar(log), /no log of writes/);
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
});
