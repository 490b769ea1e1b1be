import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { bundle as bundlePage } from '../../apps/page/build/bundle.ts';
import { ASSETS } from '../build.ts';
import { bundle, UNBUNDLED } from '../bundle.ts';
import { root } from '../command.ts';
import { locked, packageFolder } from './packages.ts';
import type { Platform } from './platforms.ts';

/** A package of others that is in a folder, bundled or as it is. */
export interface Shipped {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly integrity: string;
}

/** The programs and what they need, but for what is of one platform. */
export interface Common {
  readonly folder: string;
  readonly shipped: readonly Shipped[];
}

/** Below the folder of each program; as deep as `src/FOLDER`, from where sources look for what is beside them. */
const BUNDLE = 'lib/bundle';
const PROGRAMS = ['drydock', 'node'] as const;
/** Names by which kubectl looks for its plugin, and for the words of an unfinished line. */
const PLUGIN = ['kubectl-drydock', 'kubectl_complete-drydock'] as const;
/** Of others in the one file of the page. */
const IN_PAGE = ['@preact/signals', '@preact/signals-core', 'preact'] as const;

/** Lays out what all platforms share. */
export async function layOutCommon(folder: string): Promise<Common> {
  rmSync(folder, { recursive: true, force: true });
  const inputs = await bundle(folder, { folder: BUNDLE, demo: 'elsewhere' });
  for (const program of PROGRAMS) {
    const from = join(root, 'apps', program);
    const to = join(folder, 'apps', program);
    const { name, version, type, license } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Shipped & {
      readonly type: string;
    };
    const manifest = {
      ...{ name, version, type, license },
      imports: { '#main': `./${BUNDLE}/main.js` },
      ...(program === 'node' ? { exports: { './compiled': './bin/compiled.js' } } : {}),
    };
    writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
    cpSync(join(from, 'bin'), join(to, 'bin'), { recursive: true });
  }
  for (const name of PLUGIN) symlinkSync('drydock.js', join(folder, 'apps', 'drydock', 'bin', name));
  mkdirSync(join(folder, 'node_modules', '@drydock'), { recursive: true });
  symlinkSync('../../apps/node', join(folder, 'node_modules', '@drydock', 'node'));
  await bundlePage(join(folder, 'apps', 'page', 'assets'));
  for (const path of ASSETS)
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: (file) => !file.endsWith('.ts') });
  for (const name of UNBUNDLED) copyPackage(join(root, 'node_modules', name), folder, name);
  mkdirSync(join(folder, 'bin'));
  cpSync(join(root, 'scripts', 'artefacts', 'launcher.sh'), join(folder, 'bin', 'drydock'));
  chmodSync(join(folder, 'bin', 'drydock'), 0o755);
  for (const name of PLUGIN) symlinkSync('drydock', join(folder, 'bin', name));
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const names = new Set([...inputs.flatMap(packageOf), ...UNBUNDLED, ...IN_PAGE]);
  const shipped = [...names].sort().map((name) => shippedFrom(name, join(root, 'node_modules', name)));
  const texts = shipped.map(({ name, version }) => licenceText(name, version, join(root, 'node_modules', name)));
  writeFileSync(join(folder, 'THIRD-PARTY.txt'), texts.join('\n'));
  return { folder, shipped };
}

/** Adds Node and native code of a platform to a copy of what all share. Resolves with all that others made in it. */
export async function layOut(
  folder: string,
  common: Common,
  platform: Platform,
  scratch: string,
): Promise<readonly Shipped[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  cpSync(common.folder, folder, { recursive: true, verbatimSymlinks: true });
  const node = await packageFolder(platform.node, scratch);
  cpSync(join(node, 'bin', 'node'), join(folder, 'bin', 'node'));
  chmodSync(join(folder, 'bin', 'node'), 0o755);
  cpSync(join(node, 'LICENSE'), join(folder, 'LICENSE-node'));
  const native = await packageFolder(platform.native, scratch);
  copyPackage(native, folder, platform.native);
  return [...common.shipped, shippedFrom(platform.native, native), shippedFrom(platform.node, node)];
}

/** What runs, and what must go with it; neither sources of native code nor pages. */
function copyPackage(from: string, folder: string, name: string): void {
  const inside =
    name === 'openpgp'
      ? ['package.json', 'LICENSE', 'README.md', 'dist/node/openpgp.mjs']
      : globSync('**/*.{js,cjs,json,node,md,txt}', { cwd: from, exclude: ['vendor/**', 'doc/**', 'CHANGELOG.md'] });
  for (const path of inside) cpSync(join(from, path), join(folder, 'node_modules', name, path), { recursive: true });
}

function packageOf(input: string): readonly string[] {
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
  return name === undefined ? [] : [name];
}

function shippedFrom(name: string, from: string): Shipped {
  const { version, license } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Shipped;
  const { integrity } = locked(name);
  // Node's own packages say what they are in a file.
  return { name, version, license: license ?? 'MIT', integrity };
}

function licenceText(name: string, version: string, from: string): string {
  const [file] = globSync('{LICENSE,LICENCE,license}*', { cwd: from }).sort();
  if (file === undefined || !existsSync(join(from, file)))
    return `==== ${name} ${version} ====\n\n${shippedFrom(name, from).license}\n`;
  return `==== ${name} ${version} ====\n\n${readFileSync(join(from, file), 'utf8')}`;
}
