import assert from 'node:assert/strict';
import fs, { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
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

/** Small enough for a test to reach. */
const COMPACTION = { minimum: 1000, ratio: 4 };

test('a log without end keeps the size of its live records', () => {
  using folder = scratchFolder();
  const file = join(folder.path, 'state');
  using log = openStateLog(file, { version: 1, objects: [] }, COMPACTION);
  log.append(change(2, 'kept', 'k'));
  let longest = 0;
  for (let version = 3; version < 300; version += 2) {
    log.append(change(version, 'busy', String(version)));
    log.append(change(version + 1, 'gone', version % 4 === 1 ? 'here' : undefined));
    longest = Math.max(longest, statSync(file).size);
  }
  assert.ok(longest < 2500, `${longest} bytes`);
  assert.deepEqual(valuesOf(readState(file)), { version: 300, kept: 'k', busy: '299' });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder.path), ['state']);
});

/** Calls `before` before each call of the file system that a log makes. */
function watchFiles(context: TestContext, before: (call: string) => void): void {
  for (const call of [
    'openSync',
    'writeSync',
    'ftruncateSync',
    'fsyncSync',
    'renameSync',
    'rmSync',
    'closeSync',
  ] as const) {
    const real = fs[call] as (...args: unknown[]) => unknown;
    context.mock.method(fs, call, (...args: unknown[]) => {
      before(call);
      return real(...args);
    });
  }
  syncBuiltinESMExports();
  context.after(() => {
    context.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

test('a kill before any step of a compaction loses nothing, and the next start clears what it left', (context) => {
  using folder = scratchFolder();
  using kills = scratchFolder();
  const live = join(folder.path, 'live');
  fs.mkdirSync(live);
  const file = join(live, 'state');
  using log = openStateLog(file, { version: 1, objects: [] }, COMPACTION);
  let version = 1;
  const steps: string[] = [];
  let isKilled = false;
  watchFiles(context, (call) => {
    if (isKilled) return;
    isKilled = true;
    cpSync(live, join(kills.path, String(steps.length)), { recursive: true });
    steps.push(call);
    isKilled = false;
  });
  while (!steps.includes('renameSync')) {
    assert.ok(version < 100, 'the log was never compacted');
    steps.length = 0;
    version += 1;
    log.append(change(version, 'busy', String(version)));
  }
  isKilled = true;
  const [written = '', ...compaction] = steps;
  assert.equal(written, 'writeSync');
  assert.deepEqual(compaction, [
    'rmSync',
    'openSync',
    'writeSync',
    'writeSync',
    'fsyncSync',
    'renameSync',
    'closeSync',
  ]);
  for (const at of compaction.keys()) {
    const left = join(kills.path, String(at + 1), 'state');
    const state = readState(left) ?? assert.fail(`no state after a kill before ${compaction[at]}`);
    assert.deepEqual(valuesOf(state), { version, busy: String(version) }, `killed before ${compaction[at]}`);
    using next = openStateLog(left, state, COMPACTION);
    next.append(change(version + 1, 'next', 'n'));
    assert.deepEqual(valuesOf(readState(left)), { version: version + 1, busy: String(version), next: 'n' });
    assert.deepEqual(readdirSync(join(kills.path, String(at + 1))), ['state']);
  }
});

test('a compaction that fails leaves the log as it was, and no file', (context) => {
  using folder = scratchFolder();
  const file = join(folder.path, 'state');
  using log = openStateLog(file, { version: 1, objects: [] }, COMPACTION);
  let failures = 0;
  watchFiles(context, (call) => {
    if (call !== 'fsyncSync') return;
    failures += 1;
    throw new Error('the disk is full');
  });
  const said = context.mock.method(process.stderr, 'write', () => true);
  for (let version = 2; version < 100; version += 1) log.append(change(version, 'busy', String(version)));
  assert.ok(failures > 0 && failures < 5, `${failures} attempts`);
  assert.match(String(said.mock.calls[0]?.arguments[0]), /was not compacted: Error: the disk is full/);
  assert.deepEqual(valuesOf(readState(file)), { version: 99, busy: '99' });
  assert.deepEqual(readdirSync(folder.path), ['state']);
});

test('a write that fails in the middle of a record does not spoil the next one', (context) => {
  using folder = scratchFolder();
  const file = join(folder.path, 'state');
  using log = openStateLog(file, { version: 1, objects: [] });
  log.append(change(2, 'one', 'a'));
  const real = fs.writeSync as (...args: unknown[]) => number;
  let isFull = true;
  context.mock.method(fs, 'writeSync', (fd: number, bytes: Buffer, offset: number, length: number, at: number) => {
    if (!isFull) return real(fd, bytes, offset, length, at);
    if (offset > 0) throw new Error('the disk is full');
    return real(fd, bytes, offset, length - 1, at);
  });
  syncBuiltinESMExports();
  context.after(() => {
    context.mock.restoreAll();
    syncBuiltinESMExports();
  });
  assert.throws(() => log.append(change(3, 'two', 'a value that is much longer than the next one')), /disk is full/);
  assert.deepEqual(valuesOf(readState(file)), { version: 2, one: 'a' });
  isFull = false;
  log.append(change(3, 'one', 'b'));
  assert.deepEqual(valuesOf(readState(file)), { version: 3, one: 'b' });
});

test('a log that is closed twice closes its file once, and takes no more changes', () => {
  using folder = scratchFolder();
  const file = join(folder.path, 'state');
  const log = openStateLog(file, { version: 1, objects: [] });
  log[Symbol.dispose]();
  log[Symbol.dispose]();
  assert.throws(() => log.append(change(2, 'one', 'a')), /state log is closed/);
});

test('a file is read in pieces, whatever the lengths of its records', (context) => {
  using folder = scratchFolder();
  const file = join(folder.path, 'state');
  {
    using log = openStateLog(file, { version: 1, objects: [] });
    log.append(change(2, 'wide', 'é'.repeat(150_000)));
    for (let version = 3; version < 1000; version += 1) log.append(change(version, 'one', 'é'.repeat(version)));
  }
  const whole = context.mock.method(fs, 'readFileSync');
  syncBuiltinESMExports();
  context.after(syncBuiltinESMExports);
  const state = valuesOf(readState(file)) as Record<string, string>;
  assert.deepEqual([state['version'], state['wide']?.length, state['one']?.length], [999, 150_000, 999]);
  assert.equal(whole.mock.callCount(), 0, 'a text of more than 512 MB is no string');
  context.mock.restoreAll();
});
