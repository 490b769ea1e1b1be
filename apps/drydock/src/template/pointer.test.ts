import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openPointer, parsePointer, renderPointer } from './pointer.ts';
import { TemplateProblem } from './problem.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drydock-pointer-'));
});
after(() => rm(folder, { recursive: true }));

const pointer = {
  template: 'rhcos-9.6-0a1b2c3d',
  release: '9.6',
  sha256: 'd'.repeat(64),
  server: 'vc',
  path: '/DC0/vm/x',
};

test('each format is written, read back, and not written again when it says so already', async () => {
  const expected = {
    'a.json': `${JSON.stringify(pointer, undefined, 2)}\n`,
    'a.auto.tfvars': 'template = "rhcos-9.6-0a1b2c3d"\n',
    'a.tfvars.json': '{\n  "template": "rhcos-9.6-0a1b2c3d"\n}\n',
  };
  for (const [name, content] of Object.entries(expected)) {
    const path = join(folder, name);
    const file = await openPointer(path, 'template');
    assert.equal(await file.read(), undefined);
    assert.equal(await file.point(pointer), true);
    assert.equal(await readFile(path, 'utf8'), content);
    assert.equal(await file.read(), pointer.template);
    assert.equal(await file.point(pointer), false);
  }
  assert.deepEqual((await readdir(folder)).toSorted(), Object.keys(expected).toSorted(), 'nothing is left beside them');
});

test('names that mean something in HCL come back as they were', async () => {
  const file = await openPointer(join(folder, 'odd.tfvars'), 'image_name');
  const template = `a"b\\c ${'$'}{d} %{e} 🚢`;
  await file.point({ template });
  assert.equal(await file.read(), template);
  assert.match(await readFile(file.path, 'utf8'), /^image_name = "a\\"b\\\\c \$\$\{d\} %%\{e\} 🚢"\n$/u);
});

test('a file that says more than a pointer does is refused before anything is done', async () => {
  const cases: readonly (readonly [string, string])[] = [
    ['own.tfvars', 'template = "x"\nregion = "eu"\n'],
    ['comment.tfvars', '# mine\ntemplate = "x"\n'],
    ['own.tfvars.json', '{"template":"x","region":"eu"}'],
    ['own.json', '{"template":"x","builds":[]}'],
    ['broken.json', '{"template":'],
    ['list.json', '["x"]'],
  ];
  for (const [name, content] of cases) {
    const path = join(folder, name);
    await writeFile(path, content);
    await assert.rejects(
      openPointer(path, 'template'),
      (error) => error instanceof TemplateProblem && error.exit === 3 && error.code === 'POINTER_FOREIGN',
      name,
    );
    assert.equal(await readFile(path, 'utf8'), content);
  }
});

test('a link stays a link, and permissions stay', async () => {
  const target = join(folder, 'target.json');
  const link = join(folder, 'link.json');
  await writeFile(target, '{"template":"old"}');
  await chmod(target, 0o600);
  await symlink('target.json', link);
  await (await openPointer(link, 'template')).point(pointer);
  assert.equal(await readlink(link), 'target.json');
  assert.equal((await stat(target)).mode & 0o777, 0o600);
  assert.equal((JSON.parse(await readFile(target, 'utf8')) as { template: string }).template, pointer.template);
});

test('an unknown format, a folder that does not exist and a bad variable are usage errors', async () => {
  const usage = (error: unknown): boolean => error instanceof TemplateProblem && error.exit === 2;
  await assert.rejects(openPointer(join(folder, 'x.yaml'), 'template'), usage);
  await assert.rejects(openPointer(join(folder, 'none', 'x.json'), 'template'), usage);
  await assert.rejects(openPointer(join(folder, 'x.tfvars'), 'a b'), usage);
});

test('SAFE-11 a name with line ends and controls of a terminal is one line of a .tfvars, and reads back', () => {
  const template = 'rhcos"\nevil = "$\u007bx}\u001b]0;x\u0007\u202e\u{e0041}';
  const text = renderPointer('tfvars', { template }, 'template');
  assert.match(text, /^template = "[^\p{Cc}\p{Cf}]*"\n$/u);
  assert.equal(parsePointer('tfvars', text, 'template', 'x.tfvars'), template);
});
