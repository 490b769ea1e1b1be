import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchFolder } from '../../workdir.ts';
import type { StoredChange, StoredState } from './objects.ts';
import { openStateLog, readState, StateLogDamaged } from './state-log.ts';

const change = (version: number, name: string, value?: string): StoredChange => ({
  ...{ group: '', plural: 'configmaps', namespace: 'a', name, version },
  ...(value === undefined
    ? {}
    : { object: { metadata: { name, namespace: 'a', resourceVersion: String(version) }, data: { value } } }),
});

const CHANGES = [
  change(2, 'one', 'a'),
  change(3, 'two', 'é\n"'),
  change(4, 'one', 'b'),
  change(5, 'two'),
  change(6, 'three', 'c'),
];

const valuesOf = (state: StoredState | undefined): unknown => ({
  version: state?.version,
  ...Object.fromEntries(
    (state?.objects ?? []).map(({ name, object }) => [name, (object as { data: { value: string } }).data.value]),
  ),
});

test('a file that a crash cut at any byte holds what was acknowledged before the cut', () => {
  using folder = scratchFolder();
  const file = join(folder.path, 'state');
  assert.equal(readState(file), undefined);
  const ends: number[] = [];
  {
    using log = openStateLog(file, { version: 1, objects: [] });
    ends.push(statSync(file).size);
    for (const one of CHANGES) {
      log.append(one);
      ends.push(statSync(file).size);
    }
  }
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const whole = readFileSync(file);
  const states = [
    { version: 1 },
    { version: 2, one: 'a' },
    { version: 3, one: 'a', two: 'é\n"' },
    { version: 4, one: 'b', two: 'é\n"' },
    { version: 5, one: 'b' },
    { version: 6, one: 'b', three: 'c' },
  ];
  const torn = join(folder.path, 'torn');
  for (let cut = 0; cut <= whole.length; cut += 1) {
    writeFileSync(torn, whole.subarray(0, cut));
    const acknowledged = ends.findLastIndex((end) => end <= cut);
    const expected = acknowledged === -1 ? { version: undefined } : states[acknowledged];
    assert.deepEqual(valuesOf(readState(torn)), expected, `cut at ${cut}`);
  }
});

test('a new start writes the file anew, and goes on from it', () => {
  using folder = scratchFolder();
  const file = join(folder.path, 'state');
  {
    using log = openStateLog(file, { version: 1, objects: [] });
    for (const one of CHANGES) log.append(one);
  }
  const long = statSync(file).size;
  const state = readState(file) ?? assert.fail('no state');
  {
    using log = openStateLog(file, state);
    assert.ok(statSync(file).size < long);
    log.append(change(7, 'four', 'd'));
  }
  assert.deepEqual(valuesOf(readState(file)), { version: 7, one: 'b', three: 'c', four: 'd' });
});

test('damage that no crash makes is refused with the line', () => {
  using folder = scratchFolder();
  const file = join(folder.path, 'state');
  {
    using log = openStateLog(file, { version: 1, objects: [] });
    for (const one of CHANGES) log.append(one);
  }
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('"value":"a"', '"value":"z"'));
  assert.throws(
    () => readState(file),
    (error) => error instanceof StateLogDamaged && /damaged in line 2/.test(error.message),
  );
  writeFileSync(file, `${'0'.repeat(8)} {}\n`);
  assert.throws(() => readState(file), StateLogDamaged);
});
