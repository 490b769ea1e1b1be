import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchFolder } from '@drydock/sandbox';
import { root } from './command.ts';
import { backendsUsed, noteSkipped, serversReport } from './test-servers.ts';

const passed = (file: string, skip?: string | boolean, type = 'test') => ({
  ...{ file: join(root, file), skip, details: { type } },
});

test('a run lists by file the servers that were used and the tests that were skipped for want of real ones', () => {
  using folder = scratchFolder();
  const note = (file: string, text: string): void =>
    writeFileSync(join(folder.path, encodeURIComponent(join(root, file))), text);
  note('test/a.test.ts', 'embedded\nembedded\n');
  note('test/b.test.ts', 'real\nembedded\n');
  const skipped = new Map();
  for (const one of [
    passed('test/a.test.ts'),
    passed('test/a.test.ts', 'needs the real servers: it restarts etcd'),
    passed('test/a.test.ts', 'needs the real servers: it restarts etcd'),
    passed('test/c.test.ts', 'needs the real servers: it starts etcd'),
    passed('test/a.test.ts', 'needs the real servers: it starts etcd', 'suite'),
    passed('test/c.test.ts', 'needs a browser'),
    passed('test/c.test.ts', true),
  ])
    noteSkipped(skipped, one);
  assert.equal(
    serversReport({ used: backendsUsed(folder.path), skipped }),
    `
servers used:
  test/a.test.ts: embedded, 2 tests and 1 suite skipped: it restarts etcd; it starts etcd
  test/b.test.ts: embedded, real
  test/c.test.ts: 1 test skipped: it starts etcd
3 tests and 1 suite of 2 files skipped for want of the real servers; to run them: make servers test
`,
  );
});

test('without servers there is nothing to report', () => {
  using folder = scratchFolder();
  assert.equal(serversReport({ used: backendsUsed(folder.path), skipped: new Map() }), '');
  assert.equal(serversReport({ used: backendsUsed(join(folder.path, 'none')), skipped: new Map() }), '');
});
