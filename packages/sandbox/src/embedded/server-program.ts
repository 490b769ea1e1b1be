import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { cacheDirectory } from '../paths.ts';

/** How the process of an embedded server is started. */
export interface ServerProgram {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Modification time and size of a source: cheap to compare, and enough in a checkout. */
type Stamp = readonly [mtimeMs: number, size: number];

interface Manifest {
  readonly inputs: Readonly<Record<string, Stamp>>;
}

/**
 * A server's main module as one file of JavaScript, which starts in a sixth of the CPU time of a hundred TypeScript modules. It is bundled
 * in the checkout when a source has changed, and kept in the cache with its compiled code; where esbuild is not installed, the module runs
 * as it is.
 */
export async function serverProgram(main: string): Promise<ServerProgram> {
  const direct: ServerProgram = { args: [...QUIET, main], env: {} };
  if (!main.endsWith('.ts')) return direct;
  const folder = join(cacheDirectory(), 'embedded');
  const name = `${basename(main, '.ts')}-${createHash('sha256').update(main).digest('hex').slice(0, 12)}`;
  const [bundle, manifest] = [join(folder, `${name}.mjs`), join(folder, `${name}.json`)];
  if (!isFresh(manifest)) {
    try {
      await makeBundle(main, bundle, manifest);
    } catch {
      return direct;
    }
  }
  return { args: [...QUIET, bundle], env: { NODE_COMPILE_CACHE: join(folder, 'compile-cache') } };
}

const QUIET = ['--no-warnings'];

function stampOf(file: string): Stamp | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? undefined : [stat.mtimeMs, stat.size];
}

function isFresh(manifest: string): boolean {
  try {
    const { inputs } = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
    return Object.entries(inputs).every(([file, [mtime, size]]) => {
      const stamp = stampOf(file);
      return stamp?.[0] === mtime && stamp[1] === size;
    });
  } catch {
    return false;
  }
}

/** Bundles under a name of its own and renames: several processes may do it at once. */
async function makeBundle(main: string, bundle: string, manifest: string): Promise<void> {
  const { build } = await import('esbuild');
  const folder = dirname(bundle);
  mkdirSync(folder, { recursive: true });
  const unfinished = join(folder, `${basename(bundle)}.unfinished.${process.pid}`);
  try {
    const { metafile } = await build({
      ...{ entryPoints: [main], outfile: unfinished, bundle: true, metafile: true, logLevel: 'silent' },
      ...{ platform: 'node', format: 'esm', target: 'node24', legalComments: 'none' },
      absWorkingDir: dirname(main),
      // Recorded data lies beside the sources.
      define: { 'import.meta.dirname': JSON.stringify(dirname(main)) },
      banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    });
    const inputs = Object.keys(metafile.inputs).map((file) => join(dirname(main), file));
    const stamps = inputs.flatMap((file) => {
      const stamp = stampOf(file);
      return stamp === undefined ? [] : [[file, stamp] as const];
    });
    renameSync(unfinished, bundle);
    const written = `${manifest}.unfinished.${process.pid}`;
    writeFileSync(written, JSON.stringify({ inputs: Object.fromEntries(stamps) } satisfies Manifest));
    renameSync(written, manifest);
  } finally {
    rmSync(unfinished, { force: true });
  }
}
