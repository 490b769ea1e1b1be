import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bundle as bundlePage } from '../apps/page/build/bundle.ts';
import { root } from './command.ts';

/** What runs nowhere but in a checkout. */
const NOT_BUILT = ['packages/sandbox', 'packages/model'];
/** What programs read beside their code. */
export const ASSETS: readonly string[] = ['api/crds', 'api/optional', 'deploy/rbac'];

/**
 * Builds the programs into `to`, laid out as the checkout: JavaScript, without types, tests and what only tests need. A process that strips types while it starts
 * keeps 13 MiB of that as long as it lives, and takes twice the time to start. Packages are found in a `node_modules` beside it; see {@link linkModules}.
 */
export async function build(to: string): Promise<void> {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const config = join(to, 'tsconfig.json');
  writeFileSync(config, JSON.stringify(compilerConfig(to)));
  try {
    await promisify(execFile)(join(root, 'node_modules', '.bin', 'tsc'), ['-p', config]);
  } catch (cause) {
    throw new Error(`build: tsc failed: ${(cause as { stdout?: string }).stdout ?? ''}`, { cause });
  }
  rmSync(config);
  // tsc keeps no mode, and the node image runs one by its name.
  for (const program of globSync('apps/*/bin/*.js', { cwd: to }))
    if (readFileSync(join(to, program), 'utf8').startsWith('#!')) chmodSync(join(to, program), 0o755);
  for (const path of workspaces()) {
    const manifest = readFileSync(join(root, path, 'package.json'), 'utf8');
    mkdirSync(join(to, path), { recursive: true });
    writeFileSync(join(to, path, 'package.json'), manifest.replaceAll(/("\.\/[^"]*)\.ts"/g, '$1.js"'));
  }
  await bundlePage(join(to, 'apps', 'page', 'assets'));
  for (const path of ['package.json', ...ASSETS]) {
    if (existsSync(join(root, path))) cpSync(join(root, path), join(to, path), { recursive: true, filter: isNoSource });
  }
}

/** Gives a build the packages of the checkout, but for those that it has itself. */
export function linkModules(to: string): void {
  const modules = join(root, 'node_modules');
  const own = join(to, 'node_modules', '@drydock');
  mkdirSync(own, { recursive: true });
  for (const name of readdirSync(modules)) {
    if (name !== '@drydock') symlinkSync(join(modules, name), join(to, 'node_modules', name));
  }
  for (const path of workspaces()) {
    const { name } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')) as { readonly name: string };
    symlinkSync(relative(own, join(to, path)), join(own, name.replace('@drydock/', '')));
  }
}

function workspaces(): readonly string[] {
  return globSync('{api,packages/*,apps/*}/package.json', { cwd: root })
    .map(dirname)
    .filter((path) => !NOT_BUILT.includes(path));
}

function compilerConfig(to: string): object {
  const source = (path: string): string => join(root, path);
  return {
    extends: source('tsconfig.json'),
    compilerOptions: {
      ...{ noEmit: false, noCheck: true, declaration: false, isolatedDeclarations: false, allowJs: true },
      ...{ rootDir: root, outDir: to, target: 'esnext', rewriteRelativeImportExtensions: true },
      typeRoots: [source('node_modules/@types')],
    },
    include: workspaces().flatMap((path) => [source(`${path}/src`), source(`${path}/optional`), source(`${path}/bin`)]),
    // A file that a program does import comes all the same.
    exclude: [source('**/*.test.ts'), source('**/testing/**')],
  };
}

function isNoSource(path: string): boolean {
  return !path.endsWith('.ts');
}

if (import.meta.main) {
  const [to = 'dist/drydock'] = process.argv.slice(2);
  await build(resolve(to));
  console.log(`built: ${to}`);
}
