import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileJsonPath } from './json-path.ts';

const OBJECT = {
  metadata: { annotations: { 'a.b/c': 'dotted' } },
  spec: {
    list: [
      { n: 1, is: 'x' },
      { n: 2, is: 'y' },
    ],
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Paused', status: 'False' },
    ],
  },
};

test('a path of a printer column finds what it names', () => {
  const cases: Readonly<Record<string, readonly unknown[]>> = {
    '.status.conditions[?(@.type=="Ready")].status': ['True'],
    ".status.conditions[?(@.type == 'Paused')].status": ['False'],
    '.spec.list[0].is': ['x'],
    '.spec.list[-1].is': ['y'],
    '.spec.list[*].n': [1, 2],
    '.spec.list[?(@.n>1)].is': ['y'],
    '{.spec.list[1:].n}': [2],
    '.metadata.annotations.a\\.b/c': ['dotted'],
    ".metadata.annotations['a.b/c']": ['dotted'],
    '.spec.nothing.there': [],
    '..type': ['Ready', 'Paused'],
  };
  for (const [path, found] of Object.entries(cases)) assert.deepEqual(compileJsonPath(path)(OBJECT), found, path);
});

test('what is no path is refused when it is compiled', () => {
  for (const path of ['.a[', '.a[?(@.b=="c"].d', '.a b']) assert.throws(() => compileJsonPath(path), SyntaxError, path);
});
