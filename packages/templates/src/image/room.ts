import { statfs } from 'node:fs/promises';
import { TemplateError } from '../errors.ts';

/** Bytes that a download leaves free on the disk: others live there too. */
const KEEP_FREE = 64 << 20;
/** How often the disk is asked while a download of unknown length goes on. */
const LOOK_EVERY = 32 << 20;

/** What a download may take, looked at while it goes on and not afterwards. */
export interface Room {
  /** Before the first byte, where the server says how much comes; fails with `CACHE_FAILED`. */
  announced(total: number): Promise<void>;
  /** With every piece; fails with `CACHE_FAILED` as soon as there is more than may be. Now and then it takes a look, to be waited for. */
  received(bytes: number): Promise<void> | undefined;
}

/** Options of {@link roomIn}. */
export interface RoomOptions {
  /** A directory on the disk that the download goes to. */
  readonly dir: string;
  /** Bytes that the cache may hold. */
  readonly limit: number;
  /** Lets go of older images, so that the cache holds at most so many bytes. */
  readonly evict: (limit: number) => Promise<void>;
  /** Bytes that are free on the disk of a directory; default: what the system says. */
  readonly freeBytes?: (dir: string) => Promise<number>;
}

/** The room for one image. */
export function roomIn(options: RoomOptions): Room {
  const { dir, limit, evict } = options;
  const free = options.freeBytes ?? systemFreeBytes;
  let looked = 0;
  const fits = (bytes: number, said: string): void => {
    if (bytes <= limit) return;
    throw full(`the image has ${said} bytes, but the cache may hold ${limit}`, false);
  };
  const hasRoom = async (bytes: number): Promise<void> => {
    const left = await free(dir);
    if (left >= bytes + KEEP_FREE) return;
    throw full(`${dir} has ${left} bytes free, but ${bytes} are needed and ${KEEP_FREE} must stay free`, true);
  };
  return {
    async announced(total) {
      fits(total, String(total));
      await evict(limit - total);
      await hasRoom(total);
    },
    received(bytes) {
      fits(bytes, `at least ${bytes}`);
      if (bytes - looked < LOOK_EVERY && looked > 0) return undefined;
      looked = bytes;
      return hasRoom(0);
    },
  };
}

async function systemFreeBytes(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}

function full(message: string, retriable: boolean): TemplateError {
  return new TemplateError({ code: 'CACHE_FAILED', message, retriable });
}
