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

/**
 * A server's main module as one file of JavaScript, which starts in a sixth of the CPU time of a hundred TypeScript modules. It is bundled
 * in the checkout when a source has changed, and kept in the cache with its compiled code; where esbuild is not installed, the module runs
 * as it is. The stamps of the sources are the first line of the bundle, so that one rename replaces both.
 */
export async function serverProgram(main: string, cache: string = cacheDirectory()): Promise<ServerProgram> {
  const direct: ServerProgram = { args: [...QUIET, main], env: {} };
  if (!main.endsWith('.ts')) return direct;
  const folder = join(cache, 'embedded');
  const name = `${basename(main, '.ts')}-${createHash('sha256').update(main).digest('hex').slice(0, 12)}`;
  const bundle = join(folder, `${name}.mjs`);
  if (!isFresh(bundle)) {
    try {
      await makeBundle(main, bundle);
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

const STAMPS = '//stamps ';

function isFresh(bundle: string): boolean {
  try {
    const text = readFileSync(bundle, 'utf8');
    if (!text.startsWith(STAMPS)) return false;
    const stamps = JSON.parse(text.slice(STAMPS.length, text.indexOf('\n'))) as Readonly<Record<string, Stamp>>;
    return Object.entries(stamps).every(([file, [mtime, size]]) => {
      const stamp = stampOf(file);
      return stamp?.[0] === mtime && stamp[1] === size;
    });
  } catch {
    return false;
  }
}

/** Bundles under a name of its own and renames: several processes may do it at once. */
async function makeBundle(main: string, bundle: string): Promise<void> {
  const { build } = await import('esbuild');
  const stamps: Record<string, Stamp | undefined> = {};
  const { outputFiles } = await build({
    ...{ entryPoints: [main], write: false, bundle: true, logLevel: 'silent' },
    ...{ platform: 'node', format: 'esm', target: 'node24', legalComments: 'none' },
    absWorkingDir: dirname(main),
    plugins: [
      {
        // An import of node:http evaluates all that it exports, undici among it; a property of the module is read when it is used.
        name: 'builtins',
        setup: (made) => {
          made.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'builtin' }));
          made.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
            contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
          }));
        },
      },
      {
        name: 'stamps',
        setup: (made) =>
          made.onLoad({ filter: /.*/, namespace: 'file' }, ({ path }) => {
            // Before it is read: a source that changes while it is bundled leaves a stale stamp, never a stale bundle.
            stamps[path] = stampOf(path);
            return { contents: readFileSync(path), loader: 'default' };
          }),
      },
    ],
    // Recorded data lies beside the sources.
    define: { 'import.meta.dirname': JSON.stringify(dirname(main)) },
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
  });
  const unfinished = `${bundle}.unfinished.${process.pid}`;
  mkdirSync(dirname(bundle), { recursive: true });
  try {
    writeFileSync(unfinished, `${STAMPS}${JSON.stringify(stamps)}\n${outputFiles[0]?.text ?? ''}`);
    renameSync(unfinished, bundle);
  } finally {
    rmSync(unfinished, { force: true });
  }
}
