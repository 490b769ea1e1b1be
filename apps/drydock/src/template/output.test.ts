import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesText, durationText } from './amounts.ts';
import { createOutput, formatOf } from './output.ts';
import { barText, plainText, type Sink } from './progress-line.ts';

function sink(isTTY = false, columns = 100): Sink & { readonly text: () => string } {
  let written = '';
  const write = (text: string): void => {
    written += text;
  };
  return { isTTY, columns, write, text: () => written };
}

const MIB = 2 ** 20;
const half = { step: 'Uploading', bytes: 600 * MIB, total: 1200 * MIB, rate: 100 * MIB } as const;

test('amounts are short', () => {
  assert.deepEqual([0, 1023, 1536, 123 * MIB, 1.25 * 2 ** 30, 9e15].map(bytesText), [
    '0 B',
    '1023 B',
    '1.5 KiB',
    '123 MiB',
    '1.3 GiB',
    '8185 TiB',
  ]);
  assert.deepEqual([4.7, 9400, 42_000, 185_000, 7_800_000].map(durationText), [
    '5 ms',
    '9.4 s',
    '42 s',
    '3 min 5 s',
    '2 h 10 min',
  ]);
});

test('a bar has bytes, rate and the time that is left', () => {
  assert.equal(barText(half), 'Uploading   [############------------]  50%  600 MiB of 1.2 GiB  100 MiB/s  ETA 6.0 s');
  assert.equal(plainText(half), 'Uploading    50%  600 MiB of 1.2 GiB  100 MiB/s  ETA 6.0 s');
  assert.equal(plainText({ step: 'Downloading', bytes: 3 * MIB }), 'Downloading 3.0 MiB');
  assert.equal(barText({ step: 'Verifying' }), 'Verifying');
});

test('TRUTH-20 an upload that the server has not answered is not whole: 99 %, and what is waited for', () => {
  const held = { ...half, bytes: half.total, sent: true } as const;
  assert.equal(
    barText(held),
    'Uploading   [#######################-]  99%  1.2 GiB of 1.2 GiB  sent, waiting for the server',
  );
  assert.equal(plainText(held), 'Uploading    99%  1.2 GiB of 1.2 GiB  sent, waiting for the server');
  const read = { ...half, step: 'Downloading', bytes: half.total } as const;
  assert.match(barText(read), /\[#{24}\] 100%/, 'what was read is here');
});

test('a terminal gets one line that is redrawn and never wraps', () => {
  const stderr = sink(true, 40);
  const out = createOutput(formatOf(), sink(), stderr);
  out.progress(half);
  out.progress({ ...half, bytes: half.total });
  out.note('Published x');
  const [drawn = '', said] = stderr.text().split('\n');
  assert.equal(said, 'Published x');
  const frames = drawn
    .split('\r')
    .slice(1)
    .map((frame) => frame.replace('\u001b[K', ''));
  assert.equal(frames.length, 2);
  assert.ok(frames.every((frame) => frame.length < 40));
});

test('elsewhere a line comes now and then, and always for a new step and the last byte', () => {
  let now = 0;
  const stderr = sink();
  const out = createOutput(formatOf(), sink(), stderr, () => now);
  for (let percent = 0; percent <= 100; percent += 1) {
    out.progress({ ...half, bytes: percent * 12 * MIB });
    now += 100;
  }
  out.progress({ step: 'Publishing' });
  const lines = stderr.text().trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => line.match(/\d+%|Publishing/)?.[0]),
    ['0%', '50%', '100%', 'Publishing'],
  );
});

test('json is a stream of events on stdout and nothing else', () => {
  const stdout = sink();
  const stderr = sink();
  const out = createOutput(formatOf('json'), stdout, stderr, () => Date.UTC(2026, 0, 1));
  out.note('talk');
  out.data('table\n');
  out.progress(half);
  out.event('published', { name: 'x' });
  out.warn('careful');
  const at = '2026-01-01T00:00:00.000Z';
  assert.equal(stderr.text(), '');
  assert.deepEqual(
    stdout
      .text()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    [
      { at, event: 'progress', ...half },
      { at, event: 'published', name: 'x' },
      { at, event: 'warning', message: 'careful' },
    ],
  );
});

test('data goes to stdout, talk to stderr, and names cannot move the cursor', () => {
  const stdout = sink();
  const stderr = sink();
  const out = createOutput(formatOf(), stdout, stderr);
  out.event('published', { name: 'x' });
  out.data('x\n');
  out.note('Published \u001b[2Jx');
  assert.deepEqual([stdout.text(), stderr.text()], ['x\n', 'Published  [2Jx\n']);
});

test('an unknown format is a usage error', () => {
  assert.equal(formatOf().kind, 'table');
  assert.deepEqual(formatOf('text'), formatOf('table'));
  assert.throws(() => formatOf('toml'), /unknown output format toml/);
});
