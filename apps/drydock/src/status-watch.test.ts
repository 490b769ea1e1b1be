import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { BootImage } from '@drydock/api';
import { runVerbs } from './testing/run-verbs.ts';
import { smallCluster } from './testing/small-cluster.ts';

const machines = 'openshift-machine-api';
const BIN = new URL('../bin/drydock.js', import.meta.url).pathname;

test('OWN-20.2 status takes names, -A has a column for namespaces and outweighs -n, and a name that no set has is refused', async () => {
  await using served = await smallCluster(['a', 'b', 'c']);
  const of = (...args: readonly string[]) => ({ args: ['status', ...args, ...served.flags] });
  const [named, twice, all, elsewhere, both, wrong, check] = await runVerbs([
    of('b', '-o', 'name'),
    of('ms/c', 'a', '-o', 'name'),
    of('-A'),
    of('-n', 'default'),
    of('-n', 'default', '-A', '-o', 'name'),
    of('nobody'),
    of('--watch', '--check'),
  ]);
  assert.equal(named?.out, 'bootimage.drydock.dev/ms-b\n');
  assert.equal(twice?.out, 'bootimage.drydock.dev/ms-a\nbootimage.drydock.dev/ms-c\n');
  assert.match(all?.out ?? '', /\nNAMESPACE +SET +CURRENT .*\nopenshift-machine-api +ms\/a /);
  assert.deepEqual([elsewhere?.code, elsewhere?.errors], [0, 'There are no machine sets, and no boot images.\n']);
  assert.equal(both?.out.split('\n').length, 4);
  assert.deepEqual([wrong?.code, wrong?.errors], [2, 'drydock: there is no set nobody; there are ms/a, ms/b, ms/c\n']);
  assert.deepEqual([check?.code, check?.out], [2, '']);
});

test('OWN-20.2 --watch prints a line for each set that changes, as an object for programs, until it is interrupted', async () => {
  await using served = await smallCluster(['a', 'b']);
  for (const [format, of] of [
    ['json', (line: string) => (JSON.parse(line) as BootImage).metadata.name],
    ['table', (line: string) => line.split(/ +/)[0]?.replace('/', '-')],
  ] as const) {
    const child = spawn(process.execPath, [BIN, 'status', '-w', '-o', format, ...served.flags]);
    const ended = once(child, 'exit');
    let [out, errors] = ['', ''];
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    const seen = async (lines: number): Promise<readonly string[]> => {
      while (out.split('\n').length <= lines) {
        const [more] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer | number];
        assert.ok(Buffer.isBuffer(more), `it ended: ${errors}`);
        out += more.toString();
      }
      return out
        .trimEnd()
        .split('\n')
        .map((line) => of(line) ?? '');
    };
    const header = format === 'table' ? ['SET'] : [];
    assert.deepEqual(await seen(header.length + 2), [...header, 'ms-a', 'ms-b']);
    const key = { namespace: machines, name: 'ms-b' };
    const image = await served.cluster.client().get(BootImage, key);
    const nextStep = `${format}: look again`;
    served.cluster.put(BootImage, key, { ...image, status: { ...image.status, phase: 'Failed', nextStep } });
    assert.deepEqual(await seen(header.length + 3), [...header, 'ms-a', 'ms-b', 'ms-b']);
    assert.match(errors, /a-0 leads boot images since 2h\n/);
    child.kill('SIGINT');
    assert.deepEqual(await ended, [130, null]);
  }
});

const noScript = spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') !== true;

test('OWN-20.2 on a terminal --watch shows the whole again in place of what stood there, within its columns, until Ctrl-C', {
  skip: noScript ? 'script (util-linux) is not installed' : false,
}, async () => {
  await using served = await smallCluster(['a', 'b']);
  const line = `stty cols 80 rows 24; exec '${process.execPath}' '${BIN}' status -w ${served.flags.join(' ')}`;
  const env = { ...process.env, TERM: 'xterm-256color', NO_COLOR: '1' };
  const child = spawn('script', ['-q', '-e', '-f', '-c', line, '/dev/null'], { env });
  const ended = once(child, 'exit');
  const esc = String.fromCharCode(27);
  let out = '';
  /** What stands on the terminal: everything is drawn from its first corner, each line to its end, and what is below is gone. */
  const screen = async (about: string, wanted: (text: string) => boolean): Promise<string> => {
    for (;;) {
      const shown = out.split(`${esc}[H`).slice(1);
      const whole = shown.filter((one) => one.endsWith(`${esc}[J`)).at(-1);
      const text = whole?.replaceAll(`${esc}[K`, '').replaceAll(`${esc}[J`, '').replaceAll('\r', '') ?? '';
      if (wanted(text)) return text;
      const [more] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer | number];
      assert.ok(Buffer.isBuffer(more), `it ended before ${about}: ${out}`);
      out += more.toString();
    }
  };
  const before = await screen('the first look', (text) => text.includes('ms/b'));
  assert.match(before, /^a-0 leads boot images since 2h\nSET /);
  const key = { namespace: machines, name: 'ms-b' };
  const image = await served.cluster.client().get(BootImage, key);
  served.cluster.put(BootImage, key, {
    ...image,
    status: { ...image.status, phase: 'Failed', progress: 'failed: look again' },
  });
  const after = await screen('the change', (text) => /ms\/b[\s\S]*Failed/.test(text));
  assert.match(after, /^a-0 leads boot images since \d+[mh]\nSET [\s\S]*ms\/a [\s\S]*ms\/b /);
  assert.match(after, /2 sets are stuck/);
  for (const text of [before, after]) for (const one of text.split('\n')) assert.ok(one.length <= 80, one);
  child.stdin.write('\x03');
  assert.deepEqual(await ended, [130, null]);
});
