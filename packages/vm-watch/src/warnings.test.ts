import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const sources = [
  ...globSync('**/*.ts', { cwd: import.meta.dirname, exclude: ['**/*.test.ts', 'testing/**'] }).map((file) =>
    join(import.meta.dirname, file),
  ),
  join(import.meta.dirname, '../../../apps/drydock/src/watch-role.ts'),
];
/** A call that warns, with its fields and the text. */
const WARNING = /(?:log\.warn|this\.#note)\(\s*(?:\{[^}]*\}|\w+,\s*[\w.]+),\s*(["'])((?:(?!\1).)+)\1/g;
const NEXT_STEP = /No action is needed\.|If this warning repeats, |\. (?:Check|Remove|Give) /;

test('FIND-3: each warning of the watch says what comes next, whatever failed', () => {
  const warnings = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(WARNING)].map(([, , text = '']) => text),
  );
  assert.ok(warnings.length >= 14, `${warnings.length} warnings were found`);
  assert.deepEqual(
    warnings.filter((text) => !NEXT_STEP.test(text)),
    [],
  );
});
