import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtempDisposable, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ledgerFile, ledgerPath } from './ledger-file.ts';
import { defaultStateDir } from './state-file.ts';
import { judge } from './template/failure.ts';
import { TemplateProblem } from './template/problem.ts';

/** Runs statements in a process of its own that has `ledger`; resolves to its exit code or signal. */
async function otherProcess(path: string, statements: string): Promise<unknown> {
  const source = `import { ledgerFile } from ${JSON.stringify(import.meta.resolve('./ledger-file.ts'))};
const ledger = ledgerFile(${JSON.stringify(path)});
${statements}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], { stdio: 'inherit' });
  const [code, signal] = (await once(child, 'exit')) as readonly unknown[];
  return code ?? signal;
}

function problem(path: string, code: string, next: string) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof TemplateProblem, String(error));
    assert.deepEqual([error.code, error.next, error.exit], [code, next, 3]);
    assert.ok(error.message.includes(path), error.message);
    return true;
  };
}

test('a ledger file comes with the first record, for this user alone, and is read by the next process', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  const path = ledgerPath(join(scratch.path, 'state', 'drydock'));
  const ledger = ledgerFile(path);
  assert.equal(ledger.kind, 'file');
  assert.equal((await ledger.read()).size, 0);
  assert.equal(await ledger.change('a', () => undefined), undefined);
  assert.equal(await ledger.change('a', () => 'one'), 'one');
  await ledger.change('b', (now) => `${now}`);
  assert.equal(await ledger.change('a', () => undefined), undefined);
  assert.deepEqual([...(await ledgerFile(path).read())], [['b', 'undefined']]);
  assert.deepEqual(JSON.parse(await readFile(path, 'utf8')), { drydockOwnership: 1, records: { b: 'undefined' } });
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(dirname(path))).mode & 0o777, 0o700);
  const { mtimeMs } = await stat(path);
  await ledger.change('b', (now) => now);
  assert.equal((await stat(path)).mtimeMs, mtimeMs, 'no change is no write');
  const failure = new Error('of the caller');
  await assert.rejects(
    ledger.change('b', () => {
      throw failure;
    }),
    failure,
  );
});

test('records of processes that write at once are all kept', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  const path = join(scratch.path, 'ownership.json');
  const writes = (name: string): string =>
    `for (let n = 0; n < 15; n += 1) {
      await ledger.change('${name}' + n, () => 'x');
      await ledger.change('both', (now = '') => now + '${name}');
    }`;
  assert.deepEqual(await Promise.all(['a', 'b'].map((name) => otherProcess(path, writes(name)))), [0, 0]);
  const records = await ledgerFile(path).read();
  assert.equal(records.size, 31);
  assert.equal(records.get('both')?.split('').toSorted().join(''), 'a'.repeat(15) + 'b'.repeat(15));
});

test('a process that is killed while it holds the lock loses no record, and holds up nobody', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  const path = join(scratch.path, 'ownership.json');
  const ledger = ledgerFile(path);
  await ledger.change('a', () => 'kept');
  const killed = await otherProcess(path, `await ledger.change('b', () => process.kill(process.pid, 'SIGKILL'));`);
  assert.equal(killed, 'SIGKILL');
  await ledger.change('c', () => 'next');
  assert.deepEqual(
    [...(await ledger.read())],
    [
      ['a', 'kept'],
      ['c', 'next'],
    ],
  );
});

test('a corrupt file, and a file of another program or release, is an error that names it; the file stays as it is', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  const path = join(scratch.path, 'ownership.json');
  const ledger = ledgerFile(path);
  for (const text of [
    '',
    '{"drydockOwnership":1,"records":{"a":"b"',
    '{}',
    '[]',
    'null',
    '{"drydockOwnership":2,"records":{}}',
    '{"drydockOwnership":1,"records":{"a":1}}',
    '{"drydockOwnership":1,"records":{},"more":1}',
  ]) {
    await writeFile(path, text, { mode: 0o600 });
    const corrupt = problem(path, 'LEDGER_CORRUPT', `mv ${path} ${path}.corrupt`);
    await assert.rejects(ledger.read(), corrupt, text);
    await assert.rejects(
      ledger.change('a', () => 'mine'),
      corrupt,
      text,
    );
    assert.equal(await readFile(path, 'utf8'), text);
  }
});

test('a file that others can write, that is too large or that is no file is an error, too', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  const path = join(scratch.path, 'ownership.json');
  const unusable = problem(path, 'LEDGER_UNUSABLE', `ls -l ${path}`);
  await writeFile(path, '{"drydockOwnership":1,"records":{}}');
  for (const mode of [0o620, 0o602]) {
    await chmod(path, mode);
    await assert.rejects(ledgerFile(path).read(), unusable);
  }
  await writeFile(path, ' '.repeat(16 * 2 ** 20 + 1));
  await chmod(path, 0o600);
  await assert.rejects(ledgerFile(path).read(), unusable);

  const other = join(scratch.path, 'other.json');
  const large = 'x'.repeat(9 * 2 ** 20);
  await ledgerFile(other).change('a', () => large);
  await assert.rejects(
    ledgerFile(other).change('b', () => large),
    problem(other, 'LEDGER_UNUSABLE', `ls -l ${other}`),
  );
  assert.deepEqual([...(await ledgerFile(other).read()).keys()], ['a']);

  const folder = join(scratch.path, 'folder.json');
  await mkdir(folder);
  await assert.rejects(ledgerFile(folder).read(), problem(folder, 'LEDGER_UNUSABLE', `ls -l ${folder}`));
});

test('a state folder that cannot be made is an error that the command line can explain', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  await writeFile(join(scratch.path, 'file'), '');
  const ledger = ledgerFile(join(scratch.path, 'file', 'ownership.json'));
  const verdict = await ledger
    .change('a', () => 'mine')
    .then(
      () => undefined,
      (error: unknown) => judge(error, {} as Parameters<typeof judge>[1]),
    );
  assert.equal(verdict?.code, 'WRITE_FAILED');
});

test('the state folder is below XDG_STATE_HOME where that is absolute, else below ~/.local/state', () => {
  assert.equal(defaultStateDir({ XDG_STATE_HOME: '/state' }), '/state/drydock');
  for (const env of [{}, { XDG_STATE_HOME: '' }, { XDG_STATE_HOME: 'relative' }])
    assert.match(defaultStateDir(env), /^\/.*\/\.local\/state\/drydock$/);
});
