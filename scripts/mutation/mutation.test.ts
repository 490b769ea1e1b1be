import assert from 'node:assert/strict';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { root } from '../command.ts';
import { mutate, readMutations } from './mutation.ts';
import { copyWorkspace } from './workspace-copy.ts';

const scratch = mkdtempSync(join(tmpdir(), 'drydock-mutation-test-'));
after(() => rmSync(scratch, { recursive: true }));

const SOURCE = `export const adult = (age: number): boolean => age >= 18;\n`;
const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adult } from '../src/age.ts';
test('adults', () => { assert.ok(adult(30)); assert.ok(!adult(3)); });
`;
const checkout = join(scratch, 'checkout');
const workspace = join(checkout, 'packages/age');
for (const dir of ['src', 'test', 'dist', '../../node_modules/wise/dist'])
  mkdirSync(join(workspace, dir), { recursive: true });
writeFileSync(join(workspace, 'src/age.ts'), SOURCE);
writeFileSync(join(workspace, 'test/age.test.ts'), TEST);

const base = { name: 'limit', file: 'src/age.ts', tests: ['packages/age/test/age.test.ts'] };

test('OWN-21 a mutation applies at one place, changes something and can be parsed; else the list is refused by its name', () => {
  assert.match(mutate(SOURCE, { ...base, find: '>= 18', replace: '> 18' }), /age > 18/);
  assert.throws(
    () => mutate(SOURCE, { ...base, find: '>= 21', replace: '' }),
    /"limit": its text is not there in src\/age\.ts/,
  );
  assert.throws(() => mutate(SOURCE, { ...base, find: 'age', replace: 'old' }), /stands there 2 times/);
  assert.throws(() => mutate(SOURCE, { ...base, find: '18', replace: '18' }), /changes nothing/);
  assert.throws(() => mutate(SOURCE, { ...base, find: '=> age', replace: '=> (' }), /cannot be parsed/);
});

test('OWN-21 a mutation that a test notices is red, one that none notices is green, and the checkout never changes', async () => {
  using copy = copyWorkspace(checkout, '/nonexistent');
  const verdict = async (replace: string): Promise<boolean> => {
    copy.write('packages/age/src/age.ts', mutate(SOURCE, { ...base, find: '>= 18', replace }));
    return copy.test(base.tests, 60_000);
  };
  assert.equal(await copy.test(base.tests, 60_000), true, 'without a mutation');
  assert.equal(await verdict('>= 48'), false, 'noticed');
  assert.equal(await verdict('> 18'), true, 'no test looks at the limit itself');
  assert.equal(readFileSync(join(workspace, 'src/age.ts'), 'utf8'), SOURCE);
  assert.ok(existsSync(join(copy.root, 'node_modules/wise/dist')), 'dependencies are whole');
  assert.ok(!existsSync(join(copy.root, 'packages/age/dist')), 'what is built here is not copied');
});

test('OWN-21 the lists of all packages apply to their sources', () => {
  const lists = globSync('{packages,apps}/*/mutations.yaml', { cwd: root });
  for (const list of lists) assert.ok(readMutations(root, list.replace('/mutations.yaml', '')).length > 0, list);
});
