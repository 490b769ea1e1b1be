import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runVerbs } from '../testing/run-verbs.ts';
import { smallCluster } from '../testing/small-cluster.ts';

const NAMES = ['voyage-4qxl2-worker-us-east-1a-with-a-name', 'voyage-4qxl2-worker-us-east-1b-with-a-name', 'c'];
const VERBS = [
  ...[
    'status',
    'status -o wide',
    'status -A',
    'tree',
    'tree --all',
    'machines',
    'machines -o wide',
    'history',
    'history -o wide',
  ],
  ...['image history c', 'release status', 'release history version', 'release status -o wide'],
].map((line) => line.split(' '));
const [plain, esc] = [{ NO_COLOR: '1', TERM: 'xterm-256color' }, String.fromCharCode(27)];

test('OWN-20.5 at 80, 120 and 200 columns no line of a table is longer, no word of it is lost, and names stay whole', async () => {
  await using served = await smallCluster(NAMES);
  const widths = [80, 120, 200, undefined];
  const lines = VERBS.flatMap((verb) =>
    widths.map((columns) => ({
      args: [...verb, ...served.flags],
      env: plain,
      ...(columns === undefined ? {} : { columns }),
    })),
  );
  const ran = await runVerbs(lines);
  const wordsOf = (text: string): readonly string[] =>
    text
      .replaceAll(/[│├└─]/g, ' ')
      .split(/\s+/)
      // Ages go on from one to the next.
      .filter((word) => word !== '' && !/^\d+[smhd]$/.test(word))
      .toSorted();
  for (const [at, verb] of VERBS.entries()) {
    const [whole] = ran.slice(at * 4 + 3, at * 4 + 4);
    for (const [index, columns] of widths.slice(0, 3).entries()) {
      const { code, out, errors } = ran[at * 4 + index] ?? assert.fail('a run for each');
      const about = `${verb.join(' ')} at ${columns}:\n${out}${errors}`;
      assert.equal(code, 0, about);
      assert.ok(out.length > 20, about);
      for (const line of out.split('\n')) {
        const [longest = 0] = line
          .split(' ')
          .map((word) => word.length)
          .toSorted((a, b) => b - a);
        assert.ok(line.length <= Math.max(columns ?? 0, longest + 24), `${line.length} characters: ${line}\n${about}`);
      }
      // A branch of a tree breaks a word that is longer than its line.
      const said = (text: string): unknown => (verb[0] === 'tree' ? wordsOf(text).join('').length : wordsOf(text));
      assert.deepEqual(said(out), said(whole?.out ?? ''), about);
      assert.ok(!out.includes(esc), about);
    }
  }
});

test('OWN-20.5 a terminal has colours, unless NO_COLOR says otherwise; names are whole at any width', async () => {
  await using served = await smallCluster(NAMES);
  const [coloured, none, names] = await runVerbs([
    { args: ['tree', ...served.flags], columns: 80, env: { TERM: 'xterm-256color' } },
    { args: ['tree', ...served.flags], columns: 80, env: plain },
    { args: ['status', '-o', 'name', ...served.flags], columns: 80 },
  ]);
  assert.ok(coloured?.out.includes(`${esc}[31m✖`), 'the sign of what is stuck is red');
  assert.ok(none?.out.includes('✖') && !none.out.includes(esc), 'no colour');
  assert.deepEqual(
    names?.out,
    NAMES.toSorted()
      .map((name) => `bootimage.drydock.dev/ms-${name}\n`)
      .join(''),
  );
});
