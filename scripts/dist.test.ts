import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { readYamlDocument } from '@drydock/api/yaml';
import { scratchFolder } from '@drydock/sandbox';
import { locked, packageFolder } from './artefacts/packages.ts';
import { PLATFORMS, type Platform } from './artefacts/platforms.ts';
import { root } from './command.ts';
import { type Dist, dist } from './dist.ts';

const platform = PLATFORMS.find(({ name }) => name === `${process.platform}-${process.arch}`) as Platform;
const skip =
  platform?.os === 'linux' && process.getuid?.() === 0 ? false : 'an empty root needs Linux, and root to change to it';
const url = 'https://downloads.example/v1/';

let scratch: ReturnType<typeof scratchFolder>;
let made: Dist;
/** The empty root, and the folder that was unpacked there, from inside. */
let empty: string;
let folder: string;

before(async () => {
  if (skip !== false) return;
  scratch = scratchFolder();
  made = await dist({ to: join(scratch.path, 'dist'), platforms: [platform], url, level: 1 });
  empty = join(scratch.path, 'empty');
  folder = `/opt/drydock-${made.version}-${platform.name}`;
  mkdirSync(join(empty, 'opt'), { recursive: true });
  execFileSync('tar', ['-xzf', file(made.archives[0]?.file ?? ''), '-C', join(empty, 'opt')]);
  mkdirSync(join(empty, 'bin'));
  copyFileSync('/bin/sh', join(empty, 'bin/sh'));
  chmodSync(join(empty, 'bin/sh'), 0o755);
  // A system library is what every Linux has: these, and nothing else.
  for (const program of [join(empty, folder, 'bin/node'), '/bin/sh'])
    for (const [, library = ''] of execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g)) {
      mkdirSync(join(empty, dirname(library)), { recursive: true });
      copyFileSync(library, join(empty, library));
      chmodSync(join(empty, library), 0o755);
    }
});
after(() => scratch?.[Symbol.dispose]());

const file = (name: string): string => join(scratch.path, 'dist', name);
const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

function inside(program: string, ...args: readonly string[]) {
  const env = { HOME: '/', PATH: '' };
  return spawnSync('/usr/sbin/chroot', [empty, program, ...args], { env, encoding: 'utf8', timeout: 120_000 });
}
const drydock = (...args: readonly string[]) => inside(`${folder}/bin/drydock`, ...args);

test('npm run dist: what is in the archive runs in a root that has nothing else but a shell and the libraries of the system', {
  skip,
}, () => {
  assert.deepEqual(
    globSync('*', { cwd: empty })
      .sort()
      .filter((name) => !/^lib/.test(name)),
    ['bin', 'opt'],
  );
  const version = drydock('--version');
  assert.deepEqual([version.stdout, version.stderr, version.status], [`${made.version}\n`, '', 0]);
  for (const verb of [
    'status',
    'image',
    'template',
    'watch',
    'crd',
    'release',
    'node',
    'uninstall',
    'page',
    'operator',
  ]) {
    const help = drydock(verb, '--help');
    assert.deepEqual([help.status, help.stderr], [0, ''], verb);
    assert.match(help.stdout, new RegExp(`^Usage: drydock ${verb} `));
  }
  for (const part of ['index.html', 'page.js', 'page.css'])
    assert.ok(existsSync(join(empty, folder, 'apps/page/assets', part)), part);
  const plugin = inside(`${folder}/bin/kubectl-drydock`, '--help');
  assert.match(plugin.stdout, /^Usage: kubectl drydock /);
  // Whatever kubectl asks for a line that is not finished is not run.
  const words = inside(`${folder}/bin/kubectl_complete-drydock`, 'completion', '');
  assert.deepEqual([words.status, words.stdout], [0, 'bash\nzsh\nfish\n:4\n']);
  const crd = readFileSync(join(root, 'api/crds/drydock.dev_bootimages.yaml'), 'utf8');
  const narrowed = crd.replace(/^( +)phase:\n( +)/m, '$1phase:\n$2enum: [Current]\n$2');
  assert.notEqual(narrowed, crd);
  writeFileSync(join(empty, 'new.yaml'), crd);
  writeFileSync(join(empty, 'old.yaml'), narrowed);
  const check = drydock('crd', 'check', '/old.yaml', '/new.yaml');
  assert.equal(check.status, 3, check.stdout + check.stderr);
  assert.match(check.stdout, /phase/);
});

test('npm run dist: native code is found, and signatures are read by the package as it was published', { skip }, () => {
  const code = `
    const { default: koffi } = await import('koffi');
    const openpgp = await import('openpgp');
    console.log(koffi.load('libc.so.6').func('int getpid()')() === process.pid, typeof openpgp.readKeys);`;
  writeFileSync(join(empty, folder, 'asked.mjs'), code);
  const { stdout, stderr } = inside(`${folder}/bin/node`, `${folder}/asked.mjs`);
  assert.equal(stdout, 'true function\n', stderr);
});

test('npm run dist: an installed program says where the demo is', { skip }, () => {
  const { status, stderr } = drydock('demo', '--size', '5');
  assert.equal(status, 2);
  assert.match(
    stderr,
    /^drydock: the demo plays on .* which only a checkout has\. Get one, and run "make demo" there\.\n$/,
  );
});

test('npm run dist: sums, and the manifest of krew, are those of the archive', { skip }, () => {
  const sums = readFileSync(file('SHA256SUMS'), 'utf8').trimEnd().split('\n');
  assert.equal(sums.length, 3);
  for (const line of sums) {
    const [sum, name = ''] = line.split('  ');
    assert.equal(sha256(file(name)), sum, name);
  }
  const { spec, metadata } = readYamlDocument(readFileSync(file('drydock.yaml'), 'utf8')) as {
    readonly metadata: { readonly name: string };
    readonly spec: {
      readonly version: string;
      readonly caveats: string;
      readonly platforms: readonly {
        readonly uri: string;
        readonly sha256: string;
        readonly bin: string;
        readonly selector: { readonly matchLabels: object };
        readonly files: readonly { readonly from: string; readonly to: string }[];
      }[];
    };
  };
  assert.deepEqual([metadata.name, spec.version], ['drydock', `v${made.version}`]);
  const [one, ...more] = spec.platforms;
  assert.ok(one !== undefined && more.length === 0);
  const name = made.archives[0]?.file ?? '';
  assert.deepEqual([one.uri, one.sha256], [`${url}${name}`, sha256(file(name))]);
  assert.deepEqual(one.selector.matchLabels, { os: platform.os, arch: platform.arch });
  // krew moves what is below the folder, and makes a link to the program.
  assert.deepEqual(one.files, [{ from: `${folder.replace('/opt/', '')}/*`, to: '.' }]);
  assert.ok(existsSync(join(empty, folder, one.bin)));
  // The other one that kubectl looks for is told to whoever installs it.
  const [, complete = ''] = new RegExp(`/store/drydock/v${made.version}/(\\S+)" "`).exec(spec.caveats) ?? [];
  assert.ok(existsSync(join(empty, folder, complete)), complete);
});

test('npm run dist: the bill of materials names all that others made in the archive, with version, licence and digest', {
  skip,
}, () => {
  const name = `drydock-${made.version}-${platform.name}.cdx.json`;
  const { components, bomFormat, specVersion } = JSON.parse(readFileSync(file(name), 'utf8')) as {
    readonly bomFormat: string;
    readonly specVersion: string;
    readonly components: readonly {
      readonly name: string;
      readonly version: string;
      readonly purl: string;
      readonly licenses: readonly object[];
      readonly hashes: readonly { readonly alg: string; readonly content: string }[];
    }[];
  };
  assert.deepEqual([bomFormat, specVersion], ['CycloneDX', '1.6']);
  const named = new Map(components.map((one) => [one.name, one.version]));
  const there = globSync('apps/*/lib/bundle/*.js', { cwd: join(empty, folder) }).flatMap((path) =>
    [
      ...readFileSync(join(empty, folder, path), 'utf8').matchAll(/^\s*\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm),
    ].map(([, found = '']) => found),
  );
  assert.ok(new Set(there).size > 8, `only ${new Set(there).size} packages: the bundle is read wrongly`);
  for (const found of ['koffi', 'openpgp', 'preact', platform.native, platform.node, ...there])
    assert.equal(named.get(found), locked(found).version, found);
  assert.equal(`v${named.get(platform.node)}\n`, inside(`${folder}/bin/node`, '--version').stdout);
  const licences = readFileSync(join(empty, folder, 'THIRD-PARTY.txt'), 'utf8');
  for (const one of components) {
    assert.deepEqual([one.hashes[0]?.alg, one.hashes[0]?.content.length, one.licenses.length], ['SHA-512', 128, 1]);
    assert.match(one.purl, /^pkg:npm\/(%40[^/@]+\/)?[^/@]+@\d/);
    if (![platform.node, platform.native].includes(one.name))
      assert.ok(licences.includes(`==== ${one.name} ${one.version} ====\n`), one.name);
  }
});

test('npm run dist: a Node of another platform is had by the digest of the lock file, or refused in words', async () => {
  using folderOfNpm = scratchFolder();
  const npm = join(folderOfNpm.path, 'npm');
  const other = PLATFORMS.find(({ name }) => name !== platform?.name)?.node ?? '';
  const path = process.env['PATH'];
  const asked = (script: string): Promise<string> => {
    writeFileSync(npm, `#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\n${script}\n`);
    chmodSync(npm, 0o755);
    return packageFolder(other, join(folderOfNpm.path, 'scratch'));
  };
  process.env['PATH'] = `${folderOfNpm.path}:${path}`;
  try {
    await assert.rejects(
      asked('echo "npm error code ENOTCACHED" >&2; exit 1'),
      new RegExp(`npm cannot have ${other}@.*: npm error code ENOTCACHED\\. With a network .* --platforms `),
    );
    await assert.rejects(
      asked('echo something else > "$1/other.tgz"; echo other.tgz'),
      /has the digest sha512-.* wants sha512-/,
    );
  } finally {
    process.env['PATH'] = path;
  }
});
