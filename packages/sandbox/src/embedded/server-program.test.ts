import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { scratchFolder } from '../workdir.ts';
import { serverProgram } from './server-program.ts';

interface Program {
  readonly part: string;
  /** Bundles the program where that is needed. */
  readonly bundle: () => Promise<{ readonly file: string; readonly said: () => string }>;
}

/** A program of two modules, with a cache of its own. */
function program(context: TestContext): Program {
  const folder = scratchFolder();
  context.after(() => folder[Symbol.dispose]());
  const [main, part] = [join(folder.path, 'main.ts'), join(folder.path, 'part.ts')];
  fs.writeFileSync(main, `import { word } from ${JSON.stringify('./part.ts')};\nprocess.stdout.write(word);\n`);
  fs.writeFileSync(part, "export const word: string = 'first';\n");
  const bundle = async (): ReturnType<Program['bundle']> => {
    const { args, env } = await serverProgram(main, join(folder.path, 'cache'));
    const file = args.at(-1) ?? '';
    assert.match(file, /\.mjs$/, 'it was not bundled');
    const said = (): string =>
      execFileSync(process.execPath, args, { env: { ...process.env, ...env }, encoding: 'utf8' });
    return { file, said };
  };
  return { part, bundle };
}

/** Does something once, right before or after a call about a file. */
function once(
  context: TestContext,
  call: 'statSync' | 'readFileSync',
  file: string,
  when: 'before' | 'after',
  act: () => void,
): void {
  const real = fs[call] as (...args: unknown[]) => unknown;
  let isDone = false;
  const mocked = context.mock.method(fs, call, (...args: unknown[]) => {
    const isMine = !isDone && args[0] === file;
    isDone ||= isMine;
    if (isMine && when === 'before') act();
    const result = real(...args);
    if (isMine && when === 'after') act();
    return result;
  });
  syncBuiltinESMExports();
  context.after(() => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  });
}

test('a program is bundled once, and again when a source has changed', async (context) => {
  const { part, bundle } = program(context);
  const first = await bundle();
  assert.equal(first.said(), 'first');
  const { ino } = fs.statSync(first.file);
  await bundle();
  assert.equal(fs.statSync(first.file).ino, ino, 'it was bundled again');
  fs.writeFileSync(part, "export const word: string = 'second';\n");
  assert.equal((await bundle()).said(), 'second');
});

for (const [call, when] of [
  ['statSync', 'before'],
  ['statSync', 'after'],
  ['readFileSync', 'after'],
] as const)
  test(`a source that changes ${when} ${call} of the bundling never leaves a stale bundle`, async (context) => {
    const { part, bundle } = program(context);
    once(context, call, part, when, () => fs.writeFileSync(part, "export const word: string = 'changed';\n"));
    await bundle();
    assert.equal((await bundle()).said(), 'changed');
  });
