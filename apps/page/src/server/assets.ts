import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** One file of the page as it is sent. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
}

/** The files of the page by their path on the server. */
export type Assets = ReadonlyMap<string, Asset>;

const FILES = [
  ['/', 'index.html', 'text/html; charset=utf-8'],
  ['/page.js', 'page.js', 'text/javascript; charset=utf-8'],
  ['/page.css', 'page.css', 'text/css; charset=utf-8'],
] as const;

/** Of `build/bundle.ts`, which no installation has. */
interface Bundler {
  readonly bundle: (to: string) => Promise<void>;
  readonly sourcesHash: () => string;
}

/** This package's folder, also for a program that is bundled, which lies as deep in its own. */
const home = join(import.meta.dirname, '..', '..', '..', 'page');
/** An installation has them; a checkout builds them when they are wanted. */
const built = join(home, 'assets');
const bundler = join(home, 'build', 'bundle.ts');

/** Reads the page's files; in a checkout they are built first, where a source has changed since. */
export async function pageAssets(): Promise<Assets> {
  return assetsIn(existsSync(bundler) ? await freshlyBuilt() : built);
}

/** The files of one folder. Rejects with a sentence where one is missing. */
function assetsIn(folder: string): Assets {
  return new Map(
    FILES.map(([path, name, type]) => {
      const body = readFileSync(join(folder, name));
      const etag = `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`;
      return [path, { type, body, gzipped: gzipSync(body, { level: 9 }), etag }];
    }),
  );
}

async function freshlyBuilt(): Promise<string> {
  const { bundle, sourcesHash } = (await import(bundler)) as Bundler;
  const cache = join(home, '.cache');
  const folder = join(cache, sourcesHash());
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  // Two may build at once: whoever is done first has made it.
  const own = `${folder}.${process.pid}`;
  await bundle(own);
  try {
    renameSync(own, folder);
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
