import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { nodeOps, writeFileDurable } from '@drydock/durable';

const run = promisify(execFile);

/** A file system to measure on; its directory is removed with it. */
export interface Medium extends AsyncDisposable {
  readonly name: string;
  readonly root: string;
  /** Flushes that the device has completed so far; undefined where there is no such counter. */
  flushes(): number | undefined;
  /** Waits until nothing is dirty, so that no run pays for another's leftovers. */
  settle(): Promise<void>;
}

/** The machine's own disk, or memory, whatever holds `parent`. */
export async function directoryOn(name: string, parent: string): Promise<Medium> {
  const root = await mkdtemp(join(parent, 'drydock-durable-'));
  return mediumAt(name, root, (await stat(root)).dev, () => rm(root, { recursive: true, force: true }));
}

/**
 * ext4 on a loop device whose backing file is served by a FUSE server that takes a fixed time for a flush (`bench/peers/cmd/slow-disk`). Fails without root, and
 * where a flush turns out not to take that long.
 */
export async function slowDisk(name: string, server: string, flushMs: number): Promise<Medium> {
  if (process.getuid?.() !== 0)
    throw new Error('bench: a disk with a fixed flush needs root, /dev/fuse and a loop device');
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'drydock-slow-disk-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const [backing, root] = [join(dir, 'backing'), join(dir, 'mounted')];
  await Promise.all([mkdir(backing), mkdir(root)]);
  const child = spawn(server, ['-flush', `${flushMs}ms`, backing], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close').then(() => 'ended');
  stack.defer(async () => {
    // The end of its input makes it unmount and go.
    child.stdin.end();
    await ended;
  });
  const ready = once(createInterface({ input: child.stdout }), 'line').then(() => 'ready');
  if ((await Promise.race([ready, ended])) !== 'ready') throw new Error('bench: the slow disk did not start');
  const { stdout } = await run('losetup', ['--find', '--show', join(backing, 'disk')]);
  const device = stdout.trim();
  stack.defer(async () => void (await run('losetup', ['--detach', device])));
  // All of the disk is made now: what ext4 puts off would be written in the middle of a measurement.
  const options = 'nodiscard,lazy_itable_init=0,lazy_journal_init=0';
  await run('mkfs.ext4', ['-q', '-F', '-E', options, device]);
  await run('mount', ['-t', 'ext4', device, root]);
  stack.defer(async () => void (await run('umount', [root])));
  const made = mediumAt(name, root, (await stat(root)).dev, async () => undefined);
  await provesFlush(made, flushMs);
  const owned = stack.move();
  return { ...made, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** One small file, synced: the disk must have counted a flush, and taken its time for it. */
async function provesFlush(disk: Medium, flushMs: number): Promise<void> {
  const before = disk.flushes() ?? 0;
  const started = performance.now();
  await writeFileDurable(join(disk.root, 'probe'), 'x');
  const [took, counted] = [performance.now() - started, (disk.flushes() ?? 0) - before];
  if (took < flushMs || counted < 1)
    throw new Error(`bench: on the slow disk ${counted} flushes took ${took} ms, expected ${flushMs} ms for each`);
}

function mediumAt(name: string, root: string, device: number, remove: () => Promise<void>): Medium {
  // linux/kdev_t.h: 12 bits of major number above 8 of minor, whose other 12 lie above both.
  const [major, minor] = [(device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00)];
  const counters = `/sys/dev/block/${major}:${minor}/stat`;
  return {
    name,
    root,
    // Documentation/block/stat.rst: the 16th field counts flushes.
    flushes: () =>
      fs.existsSync(counters) ? Number(fs.readFileSync(counters, 'utf8').trim().split(/\s+/)[15]) : undefined,
    async settle() {
      const open = await nodeOps.open(root, 'directory', 0);
      try {
        await nodeOps.syncfs(open);
      } finally {
        await nodeOps.close(open);
      }
    },
    [Symbol.asyncDispose]: remove,
  };
}
