import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { cacheDirectory, scratchFolder } from '@drydock/sandbox';
import { oldestNode, oldestTypeScript } from './artefacts/oldest-tools.ts';
import { root } from './command.ts';
import { PACKED, pack } from './pack.ts';

const run = promisify(execFile);
const oldest = await oldestNode();
const compiler = await oldestTypeScript();
const nodes = [process.execPath, ...('path' in oldest ? [oldest.path] : [])];

let scratch: ReturnType<typeof scratchFolder>;
let world: string;

/** A folder with all packed packages in its node_modules, as npm puts them there, and beside them what they depend on. */
before(async () => {
  scratch = scratchFolder();
  world = join(scratch.path, 'world');
  const modules = join(world, 'node_modules');
  await mkdir(join(modules, '@drydock'), { recursive: true });
  await writeFile(join(world, 'package.json'), '{"type":"module"}');
  const packed = await pack(PACKED, join(scratch.path, 'dist'));
  for (const [name, file] of Object.entries(packed)) {
    await run('tar', ['-xzf', file, '-C', world]);
    await rename(join(world, 'package'), join(modules, '@drydock', name));
  }
  for (const name of await readdir(join(root, 'node_modules')))
    if (!name.startsWith('.') && name !== '@drydock')
      await symlink(join(root, 'node_modules', name), join(modules, name));
});
after(() => scratch?.[Symbol.dispose]());

const installed = (name: string): string => join(world, 'node_modules', '@drydock', name);

/** The examples of a README that begin with what is given. */
async function examples(name: string, begins: string = ''): Promise<readonly string[]> {
  const readme = await readFile(join(installed(name), 'README.md'), 'utf8');
  const found = [...readme.matchAll(/^```(?:ts|js)\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
  return found.filter((code) => code.startsWith(begins));
}

async function example(name: string, begins: string): Promise<string> {
  const [only] = await examples(name, begins);
  return only ?? assert.fail(`the README of ${name} has no example that begins with ${begins}`);
}

/** Runs a module in the folder by each Node, and gives what it printed. */
async function runs(file: string, code: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  await writeFile(join(world, file), code);
  // As elsewhere: without the conditions of this run.
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...own } = process.env;
  let printed = '';
  for (const node of nodes) {
    const options = { cwd: world, timeout: 280_000, env: { ...own, ...env } };
    const { stdout, stderr } = await run(node, [file], options);
    assert.equal(stderr.replace(/^.*ExperimentalWarning.*\n.*\n/m, ''), '', file);
    printed = stdout;
  }
  return printed;
}

test('npm run pack: what follows is run by Node 24 as well, the oldest that packages are made for', {
  skip: 'missing' in oldest && `no Node 24: ${oldest.missing}; DRYDOCK_NODE_24=FILE names one`,
}, async () => {
  const { stdout } = await run(nodes[1] ?? assert.fail(), ['--version']);
  assert.match(stdout, /^v24\./);
});

test('npm run pack: durable is used as its README says, and its types are found', async () => {
  const code = await example('durable', '');
  const stdout = await runs('durable.mjs', code);
  const made = /'(\/var\/tmp\/certificates-[^/']+)\/tls'/.exec(stdout)?.[1];
  assert.ok(made !== undefined, stdout);
  await rm(made, { recursive: true });
  assert.match(stdout, /changed: true,[\s\S]*\[ 'tls\.crt', 'tls\.key' \]/);
});

test('npm run pack: declarations of all packages are found, and what is no string is not taken for one', async () => {
  const imports = PACKED.map((name) => `import * as ${name} from '@drydock/${name}';\n`).join('');
  const uses = PACKED.map((name) => `export const of_${name}: typeof ${name} = ${name};\n`).join('');
  await writeFile(join(world, 'right.mts'), `${imports}${uses}`);
  const wrong = PACKED.map((name) => `import { ${entryOf[name]} as ${name} } from '@drydock/${name}';\n`).join('');
  const strings = PACKED.map((name) => `export const of_${name}: string = ${name};\n`).join('');
  await writeFile(join(world, 'wrong.mts'), `${wrong}${strings}`);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', '--types', 'node'];
  const compile = (file: string) =>
    run(join(root, 'node_modules', '.bin', 'tsc'), [...options, '--ignoreConfig', file], {
      cwd: world,
      timeout: 280_000,
    });
  await compile('right.mts');
  await assert.rejects(compile('wrong.mts'), ({ stdout: said }: { readonly stdout: string }) => {
    assert.equal([...said.matchAll(/error TS2322/g)].length, PACKED.length, said);
    return true;
  });
});

test('FIND-21: npm run pack: a consumer of each package is compiled with all declarations by the oldest TypeScript that is supported', {
  skip: 'missing' in compiler && `no TypeScript 5.6: ${compiler.missing}`,
}, async () => {
  assert.ok('path' in compiler);
  for (const name of PACKED)
    await writeFile(
      join(world, `alone-${name}.mts`),
      `import { ${entryOf[name]} } from '@drydock/${name}';\nvoid ${entryOf[name]};\n`,
    );
  const options = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--target', 'esnext'];
  const files = PACKED.map((name) => `alone-${name}.mts`);
  await run(process.execPath, [compiler.path, ...options, '--types', 'node', ...files], {
    cwd: world,
    timeout: 280_000,
  });
});

test('FIND-21: npm run pack: an older Node is told which one is needed', async () => {
  await writeFile(join(world, 'old.cjs'), "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });\n");
  for (const name of PACKED) {
    const asked = run(
      process.execPath,
      ['--require', './old.cjs', '--input-type=module', '-e', `import '@drydock/${name}'`],
      {
        cwd: world,
      },
    );
    await assert.rejects(asked, ({ stderr }: { readonly stderr: string }) =>
      stderr.includes(`Error: @drydock/${name} needs Node 24 or newer, and this is `),
    );
    const text = await readFile(join(installed(name), 'lib', 'index.entry.js'), 'utf8');
    assert.doesNotMatch(text, /^import /m, 'an older Node reads all imports before it runs the first line');
  }
});

/** A value of each package. */
const entryOf: Readonly<Record<(typeof PACKED)[number], string>> = {
  api: 'readJson',
  crd: 'readCrds',
  durable: 'syncDir',
  http: 'proxyFromEnv',
  kube: 'createClient',
  model: 'assertLinear',
  sandbox: 'startSandbox',
  templates: 'templateStore',
  vsphere: 'connectVCenter',
};

test('npm run pack: model and templates are used as their READMEs say', async () => {
  const [linear = '', explored = ''] = await examples('model');
  assert.equal(await runs('model.ts', `${linear}${explored}`), '3\n');
  const code = await example('templates', 'import { templateStore }');
  const stdout = await runs('templates.ts', code.replaceAll('/tmp/', `${world}/`).replace('64 << 20', '1 << 20'));
  assert.match(stdout, /name: 'rhcos'/);
});

test('npm run pack: crd is used as its README says', async () => {
  const code = await example('crd', 'import { bridge');
  for (const release of ['4.13', '4.14'])
    await copyFile(join(installed('api'), 'crds/drydock.dev_bootimages.yaml'), join(world, `${release}.yaml`));
  const given = `import { readFile } from 'node:fs/promises';\nconst [objects, status, object] = [[], {}, {}] as any;\n`;
  assert.equal(await runs('crd.ts', `${given}${code}console.log(old.name === now.name);`), 'true\n');
});

test('npm run pack: the sandbox brings the standard CRD sets along, so that they need no Go', async () => {
  const code = `import { build, crdFolder } from '@drydock/sandbox';
await build({ servers: [] });
console.log(crdFolder('openshift-4.14').startsWith(process.env.DRYDOCK_SANDBOX_CACHE));
`;
  assert.equal(
    await runs('crd-sets.js', code, { DRYDOCK_SANDBOX_CACHE: join(world, 'cache'), PATH: '/nowhere' }),
    'true\n',
  );
});

test('npm run pack: sandbox, kube and vsphere are used as their READMEs say, on servers that were built before', async () => {
  const wanted = await example('kube', 'import * as kube from');
  await writeFile(join(world, 'greeting.ts'), wanted);
  await copyFile(join(root, 'packages/kube/example/greeting.crd.yaml'), join(world, 'greeting.crd.yaml'));
  const greets = await example('kube', 'import assert');
  const started = /startSandbox\(\{ crds: \[[^\]]+\] \}\)/;
  assert.match(greets, started);
  const looks = (await example('vsphere', ''))
    .replace("'https://vcenter.example.com'", 'sandbox.vcenter.url')
    .replace("'drydock@vsphere.local'", 'sandbox.vcenter.user')
    .replace("process.env['VCENTER_PASSWORD'] ?? ''", 'sandbox.vcenter.password')
    .replace("sha256Pin: 'AB:CD:…'", 'ca: readFileSync(sandbox.vcenter.ca, "utf8")');
  const [imports = '', body = ''] = looks.split('\n\nawait using');
  const code = greets
    .replace('crds: [', 'vcenter: { model: { vms: 1 } }, crds: [')
    .replace(/\}\);\n$/, `  await using${body}});\n`)
    .replace(/^/, `${imports}\nimport { readFileSync } from 'node:fs';\n`);
  const env = { DRYDOCK_SANDBOX_CACHE: cacheDirectory() };
  const stdout = await runs('greeting.test.ts', code, env);
  assert.match(stdout, /pass 1\n/);
  assert.match(stdout, /^DC0_\w+_VM0 false/m);
});

test('npm run pack: what others need of us but is not packed is refused', async () => {
  await assert.rejects(pack(['static-pods'], join(scratch.path, 'never')), /pack: static-pods is not packed\./);
  await assert.rejects(pack(['boot-images'], join(scratch.path, 'never')), /pack: boot-images is not packed\./);
});
