import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
  env: NodeJS.ProcessEnv = {},
): Promise<{ readonly lines: readonly string[]; readonly errors: string }> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...environment, ...env } });
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { lines: out.split('\n').filter((line) => line !== ''), errors };
}

/** What a shell offers for the end of a line. */
type Shell = (
  line: string,
) => Promise<{ readonly lines: readonly string[]; readonly errors: string; readonly made?: string }>;

const bash: Shell = (line) => {
  const script = `${scriptOf('bash')}\nCOMP_LINE=$1 COMP_POINT=\${#1}\n[[ $(complete -p drydock) == *__drydock_complete* ]] || exit 1\n__drydock_complete\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  return ran('bash', ['--norc', '--noprofile', '-c', script, 'bash', line]);
};
/** Zsh with its own completion, at a prompt that has a terminal: what it was given to choose from, and in the last line what it made of the line. */
const zsh: Shell = async (line) => {
  const [folder, out] = [mkdtempSync(join(scratch, 'zsh-')), join(scratch, 'zsh-out')];
  writeFileSync(join(folder, '_drydock'), scriptOf('zsh'));
  writeFileSync(
    join(folder, 'prompt.zsh'),
    `fpath=(${folder} $fpath)
autoload -Uz compinit && compinit -u -D
compadd() { local -a hits; builtin compadd -O hits "$@"; (( $#hits )) && print -rl -- $hits >> ${out}; builtin compadd "$@" }
over() { print -r -- "=$BUFFER|" >> ${out}; exit 0 }
zle -N over
bindkey '^I' complete-word '^X' over
PS1=; print rea''dy
`,
  );
  writeFileSync(out, '');
  const driver = `zmodload zsh/zpty
zpty z "zsh -f -i"
zpty -w z "source ${folder}/prompt.zsh"
zpty -r z said '*ready*'
zpty -w -n z "$1"$'\\t\\x18'
while zpty -r z said; do :; done
`;
  const { errors } = await ran('zsh', ['-f', '-c', driver, 'zsh', line]);
  const said = readFileSync(out, 'utf8').trimEnd().split('\n');
  // The wrapper sees some of them twice.
  return { lines: [...new Set(said.slice(0, -1))], errors, made: said.at(-1)?.slice(1, -1) ?? '' };
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
    // OWN-20: of config, too, whose file a variable or the line names.
    const config = join(scratch, `${name}.yaml`);
    writeFileSync(config, 'contexts: [{name: lab}, {name: prod}]\n');
    for (const [line = '', ...expected] of [
      ['config view --sou', '--sources'],
      ['config view --sources ima', 'image'],
      ['config view --sources image pl', 'plan'],
      [`config use-context --drydock-config ${config} p`, 'prod'],
    ])
      assert.deepEqual(wordsOf((await shell(`drydock ${line}`)).lines), expected, line);
    await using host = await misbehavingServer(({ path }, response) => {
      const status = { set: 'ms/worker-a' };
      const items = path.endsWith('/bootimages') ? [{ metadata: { name: 'b', namespace: 'n' }, status }] : [];
      sendJson(response, { metadata: { resourceVersion: '9' }, items });
    });
    const asked = await shell(`drydock explain --server ${host.config.server} wor`);
    assert.deepEqual(wordsOf(asked.lines), ['worker-a']);
    assert.equal(asked.errors, '');
  });

test('OWN-20 zsh ends a word that is whole with a space, and leaves one open that has its value yet to come', {
  skip: there('zsh') ? false : 'zsh is not installed',
}, async () => {
  assert.equal((await zsh('drydock image rev')).made, 'drydock image revert ');
  assert.equal((await zsh('drydock tree -o jsonp')).made, 'drydock tree -o jsonpath=');
  const files = await zsh(`drydock template publish ${BIN.slice(0, -3)}`);
  assert.equal(files.made, `drydock template publish ${BIN} `);
});

test('OWN-20 shells offer the contexts of the config file, and names of the cluster that the context or a variable names', async () => {
  const config = join(scratch, 'config.yaml');
  await using host = await misbehavingServer((_request, response) =>
    sendJson(response, {
      metadata: { resourceVersion: '9' },
      items: [{ metadata: { name: 'b', namespace: 'n' }, status: { set: 'ms/worker-a' } }],
    }),
  );
  const { server } = host.config;
  writeFileSync(config, `contexts:\n- name: lab\n- {name: prod, server: "${server}"}\n`);
  const of = async (env: NodeJS.ProcessEnv, ...words: readonly string[]): Promise<readonly string[]> =>
    (await ran('drydock', ['__complete', ...words], env)).lines;
  const named = { DRYDOCK_CONFIG: config };
  assert.deepEqual(await of(named, 'status', '--drydock-context', ''), ['lab', 'prod', ':4']);
  assert.deepEqual(await of(named, 'config', 'use-context', 'p'), ['prod', ':4']);
  assert.deepEqual(await of(named, 'explain', '--drydock-context', 'prod', 'wor'), ['worker-a', ':4']);
  assert.deepEqual(await of({ DRYDOCK_SERVER: server }, 'explain', 'wor'), ['worker-a', ':4']);
  // Another cluster than that of the variable: nobody is asked for it.
  const before = host.requests.length;
  assert.deepEqual(await of({ DRYDOCK_SERVER: server }, 'explain', '--server', 'http://127.0.0.1:1', 'wor'), [':4']);
  assert.equal(host.requests.length, before);
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
