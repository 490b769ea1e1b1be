import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { root } from './command.ts';

/** The packages that are of use to others, with the one that they share; the rest is run from a checkout or an archive. */
export const PACKED = ['api', 'crd', 'durable', 'http', 'kube', 'model', 'sandbox', 'templates', 'vsphere'] as const;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly type: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const folderOf = (name: string): string => (name === 'api' ? 'api' : join('packages', name));
const read = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;

/**
 * Builds packages as they are installed elsewhere, where Node strips no types, and packs them: JavaScript with declarations, without tests, with README and licence. Resolves with the paths of the
 * `.tgz` in `dist`, by name. What needs a package of ours that is not packed is refused.
 */
export async function pack(names: readonly string[], dist: string): Promise<Readonly<Record<string, string>>> {
  for (const name of names) {
    const { dependencies = {} } = read<Manifest>(join(root, folderOf(name), 'package.json'));
    const inside = Object.keys(dependencies).filter((one) => one.startsWith('@drydock/'));
    const missing = inside.filter((one) => !(PACKED as readonly string[]).includes(one.replace('@drydock/', '')));
    if (missing.length > 0 || !(PACKED as readonly string[]).includes(name))
      throw new Error(
        `pack: ${name} is not packed${missing.map((one) => `, nor is ${one}, which it needs`).join('')}.`,
      );
  }
  mkdirSync(dist, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'drydock-pack-'));
  try {
    const config = join(scratch, 'tsconfig.json');
    writeFileSync(config, JSON.stringify(compilerConfig(names, join(scratch, 'compiled'))));
    await succeeds(join(root, 'node_modules', '.bin', 'tsc'), ['-p', config]);
    const folders: string[] = [];
    for (const name of names) folders.push(await layOut(name, join(scratch, 'compiled'), join(dist, name)));
    await succeeds('npm', ['pack', '--silent', '--pack-destination', dist, ...folders]);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  const { version } = read<Manifest>(join(root, 'package.json'));
  return Object.fromEntries(names.map((name) => [name, join(dist, `drydock-${name}-${version}.tgz`)]));
}

/** All at once: what one imports of another is compiled anyway. */
function compilerConfig(names: readonly string[], outDir: string): object {
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      ...{ noEmit: false, noCheck: true, rootDir: root, outDir },
      typeRoots: [join(root, 'node_modules', '@types')],
      // The oldest Node that is wanted knows all that is in use.
      target: 'esnext',
      rewriteRelativeImportExtensions: true,
    },
    // What sources import beside them is named: what is not found would be left out without a word.
    include: names.flatMap((name) => ['src', 'optional/*.gen.ts'].map((part) => join(root, folderOf(name), part))),
    exclude: [join(root, '**', '*.test.ts')],
  };
}

async function layOut(name: string, compiled: string, to: string): Promise<string> {
  const from = join(root, folderOf(name));
  rmSync(to, { recursive: true, force: true });
  // What sources import beside them stays beside them.
  for (const part of readdirSync(join(compiled, folderOf(name))))
    cpSync(join(compiled, folderOf(name), part), join(to, part === 'src' ? 'lib' : part), { recursive: true });
  nameDeclarations(to);
  assertWhole(name, to);
  const manifest = read<Manifest>(join(from, 'package.json'));
  for (const path of Object.values(manifest.exports).filter((one) => one.endsWith('.ts')))
    writeFileSync(join(to, packedPath(path, '.entry.js')), await entry(manifest.name, join(from, path)));
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(published(manifest, to), undefined, 2)}\n`);
  cpSync(join(from, 'README.md'), join(to, 'README.md'));
  cpSync(join(root, 'LICENSE'), join(to, 'LICENSE'));
  for (const beside of name === 'sandbox' ? ['go'] : name === 'api' ? ['crds'] : [])
    cpSync(join(from, beside), join(to, beside), { recursive: true });
  // What sources read as files.
  for (const file of globSync('src/**/*.{bin,br,json}', { cwd: from }))
    cpSync(join(from, file), join(to, file.replace(/^src/, 'lib')));
  for (const path of Object.values(manifest.bin ?? {})) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    const text = readFileSync(join(from, path), 'utf8');
    writeFileSync(join(to, path), text.replaceAll(/'\.\.\/src\/([^']+)\.ts'/g, `'../lib/$1.js'`), { mode: 0o755 });
  }
  return to;
}

function packedPath(path: string, ending: string): string {
  return path.replace(/^\.\/src\//, './lib/').replace(/\.ts$/, ending);
}

/** A module that an older Node can read, and that says which one is needed: with a static import it would end at syntax that it does not know. */
async function entry(name: string, source: string): Promise<string> {
  const { engines } = read<{ readonly engines: { readonly node: string } }>(join(root, 'package.json'));
  const major = engines.node.replace(/\D/g, '');
  const names = Object.keys((await import(source)) as object).sort();
  const file = `./${basename(source, '.ts')}.js`;
  return `if (Number.parseInt(process.versions.node) < ${major})
  throw new Error(\`${name} needs Node ${major} or newer, and this is \${process.version}\`);
export const { ${names.join(', ')} } = await import('${file}');
`;
}

function published(manifest: Manifest, to: string): object {
  const { name, version, type, license, exports, bin, dependencies, devDependencies = {} } = manifest;
  const entries = Object.entries(exports).map(([key, path]) =>
    path.endsWith('.ts')
      ? [key, { types: packedPath(path, '.d.ts'), default: packedPath(path, '.entry.js') }]
      : [key, path],
  );
  // What an exported fake imports is for those who use that fake.
  const peers = Object.entries(devDependencies).filter(([one]) => imported(to).has(one));
  const { engines } = read<{ readonly engines: object }>(join(root, 'package.json'));
  return {
    ...{ name, version, type, license, engines, bin, exports: Object.fromEntries(entries), dependencies },
    ...(peers.length > 0 && {
      peerDependencies: Object.fromEntries(peers),
      peerDependenciesMeta: Object.fromEntries(peers.map(([one]) => [one, { optional: true }])),
    }),
    // Who made it of what: npm proves the one, and git has the other.
    publishConfig: { access: 'public', provenance: true },
    gitHead: commit(),
    files: ['lib', 'optional', 'bin', 'crds', 'go'],
  };
}

/** Declarations import each other by the names that they have here: the compiler leaves those of the sources. */
function nameDeclarations(to: string): void {
  for (const file of globSync('{lib,optional}/**/*.d.ts', { cwd: to })) {
    const text = readFileSync(join(to, file), 'utf8');
    const named = text.replaceAll(
      /(from '|import\(")(\.[^'"]+)\.ts(?=['"])/g,
      (_, before: string, path: string) => `${before}${path.replace(/^\.\.\/src\//, '../lib/')}.js`,
    );
    writeFileSync(join(to, file), named);
  }
}

/** What is packed runs: each file that another one imports is there. */
function assertWhole(name: string, to: string): void {
  for (const file of globSync('{lib,optional}/**/*.{js,d.ts}', { cwd: to })) {
    const text = readFileSync(join(to, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/^(?:import|export) [^;]*?from '(\.[^']+)';$/gm))
      if (!existsSync(join(to, dirname(file), file.endsWith('.d.ts') ? path.replace(/\.js$/, '.d.ts') : path)))
        throw new Error(`pack: ${file} of ${name} imports ${path}, which was not compiled. Pack it again.`);
  }
}

function imported(to: string): ReadonlySet<string> {
  const texts = globSync('lib/**/*.js', { cwd: to }).map((file) => readFileSync(join(to, file), 'utf8'));
  const found = texts.flatMap((text) => [...text.matchAll(/from '((?:@[^/']+\/)?[^./'][^/']*)/g)]);
  return new Set(found.map(([, name = '']) => name));
}

function commit(): string | undefined {
  try {
    const git = ['-C', root, 'rev-parse', 'HEAD'];
    return execFileSync('git', git, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
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

if (import.meta.main)
  for (const path of Object.values(await pack(PACKED, join(root, 'dist')))) console.log(relative(process.cwd(), path));
