import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { root } from './command.ts';

/** The packages that stand alone; the others are run from a checkout. */
const STANDALONE = ['durable'];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly type: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/**
 * Builds a package as it is installed elsewhere, where Node strips no types, and packs it: JavaScript with declarations, without tests. Resolves with the
 * path of the `.tgz` in `dist`.
 */
export async function pack(name: string, dist: string = join(root, 'dist')): Promise<string> {
  const source = join(root, 'packages', name);
  const built = join(dist, name);
  const manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as Manifest;
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { engines: object };
  const inside = Object.keys(manifest.dependencies ?? {}).filter((dependency) => dependency.startsWith('@drydock/'));
  if (inside.length > 0) throw new Error(`pack: ${manifest.name} does not stand alone, it needs ${inside.join()}`);
  await rm(built, { recursive: true, force: true });
  await mkdir(built, { recursive: true });
  const config = join(built, 'tsconfig.json');
  await writeFile(config, JSON.stringify(compilerConfig(source, built)));
  await succeeds(join(root, 'node_modules', '.bin', 'tsc'), ['-p', config]);
  await rm(config);
  await writeFile(
    join(built, 'package.json'),
    `${JSON.stringify({ ...published(manifest), engines }, undefined, 2)}\n`,
  );
  await copyFile(join(source, 'README.md'), join(built, 'README.md'));
  await copyFile(join(root, 'LICENSE'), join(built, 'LICENSE'));
  await succeeds('npm', ['pack', '--silent', '--pack-destination', dist, built]);
  return join(dist, `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`);
}

function compilerConfig(source: string, built: string): object {
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      rootDir: join(source, 'src'),
      outDir: join(built, 'lib'),
      typeRoots: [join(root, 'node_modules', '@types')],
      // The oldest Node that is wanted knows all that is in use.
      target: 'esnext',
      rewriteRelativeImportExtensions: true,
    },
    include: [join(source, 'src')],
    exclude: [join(source, 'src', '**', '*.test.ts')],
  };
}

function published({ name, version, type, license, exports, dependencies }: Manifest): object {
  const lib = (path: string, ending: string): string => path.replace(/^\.\/src\//, './lib/').replace(/\.ts$/, ending);
  const entries = Object.entries(exports).map(([key, path]) => {
    return [key, { types: lib(path, '.d.ts'), default: lib(path, '.js') }];
  });
  return { name, version, type, license, exports: Object.fromEntries(entries), files: ['lib'], dependencies };
}

async function succeeds(command: string, args: readonly string[]): Promise<void> {
  try {
    // npm would keep its compiled code in the temporary directory for ever.
    await promisify(execFile)(command, args, { env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' } });
  } catch (cause) {
    const { stdout = '', stderr = '' } = cause as { stdout?: string; stderr?: string };
    throw new Error(`pack: ${command} ${args.join(' ')} failed: ${stdout}${stderr}`, { cause });
  }
}

if (import.meta.main) for (const name of STANDALONE) console.log(relative(process.cwd(), await pack(name)));
