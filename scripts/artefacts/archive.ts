import { createWriteStream, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Header, pack } from 'tar-stream';

/** How a tree is archived. */
export interface ArchiveOptions {
  /** Goes before each name, such as `drydock/`. */
  readonly prefix: string;
  /** Of all entries: an archive depends on nothing but what is in it. */
  readonly modified: Date;
  /** Paths, from the folder, that are not for the archive. */
  readonly leave?: (path: string) => boolean;
  /** Of gzip. Default 9. */
  readonly level?: number;
}

/** Writes the tree below a folder to a `.tar.gz`: in the order of names, with root as owner, so that the same tree gives the same bytes. */
export async function archive(folder: string, to: string, options: ArchiveOptions): Promise<void> {
  await pipeline(tarOf(folder, options), createGzip({ level: options.level ?? 9 }), createWriteStream(to));
}

/** A tar of nothing but symbolic links, each by its path. */
export async function tarOfLinks(links: Readonly<Record<string, string>>, mtime: Date): Promise<Buffer> {
  const tar = pack();
  for (const [name, linkname] of Object.entries(links))
    tar.entry({ name, type: 'symlink', linkname, mtime, uid: 0, gid: 0 });
  tar.finalize();
  return Buffer.concat(await Array.fromAsync(tar as AsyncIterable<Uint8Array>));
}

/** The tree below a folder as a tar, in chunks; it is read while it is written. */
export function tarOf(
  folder: string,
  { prefix, modified: mtime, leave = () => false }: Omit<ArchiveOptions, 'level'>,
): AsyncIterable<Uint8Array> {
  const tar = pack();
  const add = (header: Pick<Header, 'name'> & Partial<Header>, content: Uint8Array): Promise<void> =>
    new Promise((done, failed) => {
      tar.entry({ ...header, mtime, uid: 0, gid: 0 }, content, (error) => (error ? failed(error) : done()));
    });
  const nothing = new Uint8Array();
  const walk = async (path: string): Promise<void> => {
    for (const name of readdirSync(join(folder, path)).sort()) {
      const inside = path === '' ? name : `${path}/${name}`;
      if (leave(inside)) continue;
      const from = join(folder, inside);
      const stat = lstatSync(from);
      const full = `${prefix}${inside}`;
      if (stat.isSymbolicLink()) await add({ name: full, type: 'symlink', linkname: readlinkSync(from) }, nothing);
      else if (stat.isDirectory()) {
        await add({ name: `${full}/`, type: 'directory', mode: 0o755 }, nothing);
        await walk(inside);
      } else await add({ name: full, mode: (stat.mode & 0o111) === 0 ? 0o644 : 0o755 }, readFileSync(from));
    }
  };
  const whole = async (): Promise<void> => {
    if (prefix !== '') await add({ name: prefix, type: 'directory', mode: 0o755 }, nothing);
    await walk('');
  };
  whole().then(
    () => tar.finalize(),
    (error: Error) => tar.destroy(error),
  );
  return tar as AsyncIterable<Uint8Array>;
}
