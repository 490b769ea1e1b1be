import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, type Column, table } from './table.ts';

const columns: readonly Column<{ readonly a: string; readonly b: string }>[] = [
  { header: 'NAME', cell: (row) => row.a },
  { header: 'DETAIL', cell: (row) => row.b, wide: true },
  { header: 'B', cell: (row) => row.b },
];

test('columns are aligned, empty cells are dashes and wide columns wait for wide', () => {
  assert.equal(table(columns, [{ a: 'worker-a', b: '' }]), 'NAME       B\nworker-a   -\n');
  assert.equal(table(columns, [{ a: 'x', b: 'y' }], { wide: true, headers: false }), 'x   y   y\n');
});

test('text from the cluster cannot move the cursor or forge a row', () => {
  assert.equal(table(columns, [{ a: 'x\u001b[2J\nfake', b: 'y' }], { headers: false }), 'x [2J fake   y\n');
});

test('ages are written as kubectl does', () => {
  const now = Date.parse('2026-01-02T00:00:00Z');
  assert.deepEqual(
    [
      '2026-01-01T23:59:01Z',
      '2026-01-01T23:55:00Z',
      '2026-01-01T20:00:00Z',
      '2025-12-28T00:00:00Z',
      undefined,
      'nonsense',
    ].map((at) => age(at, now)),
    ['59s', '5m', '4h', '5d', '', ''],
  );
});

test('TRUTH-17 what is wider than the terminal stands on lines of its own below, and is broken at spaces alone', () => {
  const columns = ['EFFECT', 'DEFINITION', 'PLACE', 'WHAT'].map((header, index) => ({
    header,
    cell: (row: readonly string[]) => row[index] ?? '',
  }));
  const rows = [
    ['refuses', 'clusters.cluster', `spec.${'long'.repeat(12)}`, 'now requires host, port'],
    ['loses', 'machines.cluster', 'spec.a', `field is removed: ${'word '.repeat(20)}`.trim()],
  ];
  assert.equal(table(columns, rows).split('\n').length, 4);
  for (const width of [80, 120, 200]) {
    const lines = table(columns, rows, { width }).trimEnd().split('\n');
    assert.ok(
      lines.every((line) => line.length <= width),
      `${width}: ${lines.join('\n')}`,
    );
    assert.match(
      lines.join(' ').replaceAll(/\s+/g, ' '),
      /refuses clusters\.cluster spec\.(?:long){12} now requires host, port/,
    );
  }
  assert.deepEqual(table(columns, rows.slice(0, 1), { width: 80 }).split('\n').slice(0, 3), [
    'EFFECT    DEFINITION',
    '    PLACE   WHAT',
    'refuses   clusters.cluster',
  ]);
});
