import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { misbehavingServer, sendJson } from '@drydock/kube/testing';
import { scriptOf } from './scripts.ts';

const BIN = new URL('../../bin/drydock.js', import.meta.url).pathname;
const scratch = mkdtempSync(join(tmpdir(), 'drydock-completion-'));
after(() => rmSync(scratch, { recursive: true, force: true }));
const folder = join(scratch, 'bin');
mkdirSync(folder);
writeFileSync(join(folder, 'drydock'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`, { mode: 0o755 });
symlinkSync(BIN, join(folder, 'kubectl_complete-drydock'));
const environment = {
  ...process.env,
  PATH: `${folder}:${process.env['PATH']}`,
  HOME: scratch,
  KUBECONFIG: join(scratch, 'none'),
};

async function ran(
  program: string,
  args: readonly string[],
): Promise<{ readonly lines: readonly string[]; readonly errors: string }> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: environment });
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { lines: out.split('\n').filter((line) => line !== ''), errors };
}

/** What a shell offers for the end of a line. */
type Shell = (line: string) => Promise<{ readonly lines: readonly string[]; readonly errors: string }>;

const bash: Shell = (line) => {
  const script = `${scriptOf('bash')}\nCOMP_LINE=$1 COMP_POINT=\${#1}\n[[ $(complete -p drydock) == *__drydock_complete* ]] || exit 1\n__drydock_complete\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  return ran('bash', ['--norc', '--noprofile', '-c', script, 'bash', line]);
};
const zsh: Shell = (line) => {
  const stubs = `compdef() { : }\n_files() { : }\n_describe() { print -rl -- "\${(@P)2}" }\n`;
  const run = `words=("\${(@s: :)1}"); CURRENT=\${#words}; _drydock\n`;
  return ran('zsh', ['-f', '-c', `${stubs}${scriptOf('zsh')}${run}`, 'zsh', line]);
};
const fish: Shell = (line) => ran('fish', ['--no-config', '-c', `${scriptOf('fish')}complete -C $argv[1]`, line]);

const there = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;
const wordsOf = (lines: readonly string[]): readonly string[] => lines.map((line) => line.split(/[\t:]/, 1)[0] ?? '');

for (const [name, shell] of Object.entries({ bash, zsh, fish }))
  test(`${name} completes verbs, flags, values of flags and names of sets`, {
    skip: there(name) ? false : `${name} is not installed`,
  }, async () => {
    const verbs = wordsOf((await shell('drydock s')).lines);
    assert.deepEqual(verbs, ['status', 'support-bundle']);
    assert.deepEqual(wordsOf((await shell('drydock image re')).lines), ['revert', 'release']);
    const flags = wordsOf((await shell('drydock status --no')).lines);
    assert.deepEqual(flags, ['--no-headers']);
    assert.deepEqual(wordsOf((await shell('drydock tree -o j')).lines), ['json', 'jsonpath=']);
    await using host = await misbehavingServer(({ path }, response) => {
      const status = { set: 'ms/worker-a' };
      const items = path.endsWith('/bootimages') ? [{ metadata: { name: 'b', namespace: 'n' }, status }] : [];
      sendJson(response, { metadata: { resourceVersion: '9' }, items });
    });
    const asked = await shell(`drydock explain --server ${host.config.server} wor`);
    assert.deepEqual(wordsOf(asked.lines), ['worker-a']);
    assert.equal(asked.errors, '');
  });

test('a cluster that does not answer, or is not there, offers no names and says nothing', async () => {
  await using silent = await misbehavingServer(() => undefined);
  for (const server of [silent.config.server, 'http://127.0.0.1:1']) {
    const { lines, errors } = await ran('drydock', ['__complete', 'explain', '--server', server, 'wor']);
    assert.deepEqual([lines, errors], [[':4'], '']);
  }
  assert.equal(silent.requests.length > 0, true);
});

test('kubectl finds the words of its plugin, and a word that a shell would read as more is not offered', async () => {
  await using host = await misbehavingServer((_request, response) => {
    const items = ['ms/a$(id)', 'ms/good'].map((set, at) => ({
      metadata: { name: `b${at}`, namespace: 'n' },
      status: { set },
    }));
    sendJson(response, { metadata: { resourceVersion: '9' }, items });
  });
  const { lines } = await ran('kubectl_complete-drydock', ['explain', '--server', host.config.server, 'ms/']);
  assert.deepEqual(lines, ['ms/good', ':4']);
});
