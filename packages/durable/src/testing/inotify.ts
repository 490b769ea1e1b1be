import fs from 'node:fs';
import koffi from 'koffi';

const IN_NONBLOCK = 0x800;
const WATCHED = 0x2 | 0x40 | 0x80 | 0x100 | 0x200;
const OVERFLOW = 0x4000;
const EVENTS: Readonly<Record<number, string>> = {
  2: 'MODIFY',
  64: 'MOVED_FROM',
  128: 'MOVED_TO',
  256: 'CREATE',
  512: 'DELETE',
};

/** A watch on the names of a directory, as kubelet has one on its manifests (inotify(7)). */
export interface NameWatch extends Disposable {
  /** The events since the last call: name → events in their order. Throws where the kernel had to drop some. */
  read(): ReadonlyMap<string, readonly string[]>;
}

/** Watches the names of a directory. */
export function watchNames(dir: string): NameWatch {
  const libc = koffi.load(null);
  const fd = Number(libc.func('inotify_init1', 'int', ['int'])(IN_NONBLOCK));
  libc.func('inotify_add_watch', 'int', ['int', 'str', 'uint32_t'])(fd, dir, WATCHED);
  const buffer = Buffer.alloc(1 << 16);
  const fill = (): number => {
    try {
      return fs.readSync(fd, buffer);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      throw error;
    }
  };
  return {
    read: () => {
      const events = new Map<string, string[]>();
      for (let end = fill(); end > 0; end = fill())
        for (let at = 0; at < end; ) {
          const [mask, length] = [buffer.readUInt32LE(at + 4), buffer.readUInt32LE(at + 12)];
          if ((mask & OVERFLOW) !== 0) throw new Error(`inotify: events of ${dir} were dropped`);
          const [name = ''] = buffer.toString('utf8', at + 16, at + 16 + length).split('\0');
          events.set(name, [...(events.get(name) ?? []), EVENTS[mask & WATCHED] ?? 'other']);
          at += 16 + length;
        }
      return events;
    },
    [Symbol.dispose]: () => fs.closeSync(fd),
  };
}
