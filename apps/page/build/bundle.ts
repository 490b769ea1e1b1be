import { createHash } from 'node:crypto';
import { copyFileSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, version } from 'esbuild';

const here = resolve(import.meta.dirname, '..');

/** Builds the page's files into a folder: `index.html`, `page.js` and `page.css`. */
export async function bundle(to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  await build({
    absWorkingDir: here,
    entryPoints: { page: 'client/main.tsx' },
    outdir: to,
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['es2022', 'chrome123', 'firefox128', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  copyFileSync(join(here, 'client', 'index.html'), join(to, 'index.html'));
}

/** A name for what the sources are now. */
export function sourcesHash(): string {
  const hash = createHash('sha256').update(version);
  for (const file of globSync('{client,src/state,build}/**/*', { cwd: here }).toSorted()) {
    if (!/\.(ts|tsx|css|html)$/.test(file)) continue;
    hash.update(`${file}\n`).update(readFileSync(join(here, file)));
  }
  return hash.digest('hex').slice(0, 24);
}

if (import.meta.main) {
  const [to = join(here, 'assets')] = process.argv.slice(2);
  await bundle(resolve(to));
}
