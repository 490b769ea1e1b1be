import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { privilegesFor, privilegesText } from './privileges.ts';

const root = join(import.meta.dirname, '../../../..');

test('TRUTH-6 one list of privileges: what doctor prints, what it asks for, and what the page says', () => {
  const text = privilegesText();
  assert.ok(readFileSync(join(root, 'docs/vcenter.md'), 'utf8').includes(text), 'docs/vcenter.md has another list');
  const asked = privilegesFor(true).flatMap(([, ids]) => ids);
  const role = /^govc role\.create drydock (.*)$/m.exec(text)?.[1]?.split(' ') ?? [];
  assert.deepEqual(role.toSorted(), [...new Set(asked)].toSorted());
});
