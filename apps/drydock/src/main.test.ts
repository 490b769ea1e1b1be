import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Command } from 'commander';
import { VERBS } from './main.ts';
import { runVerbs } from './testing/run-verbs.ts';

const BIN = new URL('../bin/drydock.js', import.meta.url).pathname;
const scratch = mkdtempSync(join(tmpdir(), 'drydock-main-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

function drydock(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [BIN, ...args], {
    encoding: 'utf8',
    timeout: 30_000,
    env: { ...process.env, ...env },
  });
}

/** Compiled code is kept where nothing but the folder of caches is said. */
const keptIn = (caches: string): NodeJS.ProcessEnv => ({ XDG_CACHE_HOME: caches, NODE_COMPILE_CACHE: undefined });

test('the help describes each command as the command describes itself', async () => {
  const { stdout } = drydock(['--help']);
  for (const { about, load, name } of VERBS) {
    const program = new Command();
    (await load())(program);
    assert.deepEqual(
      program.commands.map((command) => [command.name(), command.description()]),
      [[name, about]],
    );
    assert.match(stdout, new RegExp(`^  ${name} `, 'm'));
  }
});

test('usage: a command that is not there, and the one that may be meant', () => {
  const { status, stderr, stdout } = drydock(['cdr', 'check']);
  assert.deepEqual([status, stdout], [2, '']);
  assert.match(stderr, /unknown command 'cdr'\n\(Did you mean crd\?\)/);
  assert.equal(drydock(['help', 'crd']).status, 0);
});

test('every message begins with who says it, and wrong input ends with 2 before anything is reached', async () => {
  const wrong = [
    [['status', '--bogus'], /^drydock: unknown option '--bogus'\n/],
    [['crd', 'check'], /^drydock: missing required argument 'old'\n/],
    [['demo', '--size', 'x'], /^drydock: option '--size <MiB>' argument 'x' is invalid\./],
    [['operator', '--log-level', 'loud'], /argument 'loud' is invalid\. unknown log level loud: use one of fatal, /],
    [['operator', '--bind-address', 'everywhere'], /argument 'everywhere' is invalid\. an IP address or \* is/],
    [['operator', '--port', '70000'], /^drydock: option '--port <number>' argument '70000' is invalid\. a port/],
    [['operator', '--roles', 'cook'], /^drydock: unknown role cook: /],
    [['doctor', '--roles', 'cook'], /^drydock: unknown role cook: /],
    [
      ['doctor', '-o', 'name'],
      /^drydock: unknown output format name: use one of table, wide, json, yaml, jsonpath=TEMPLATE\n/,
    ],
    [['status', '-o', 'jsonpath={.items[*}'], /^drydock: jsonpath=\{\.items\[\*\}: expected .* at "\*\}"\n/],
    [
      ['explain', '-n', 'default'],
      /^drydock: --namespace default: boot images are managed in openshift-machine-api alone\n/,
    ],
    [['explain', '--downgrade', 'no'], /^drydock: unknown downgrade policy no: /],
    [['image', 'plan', '--templates', 'no'], /^drydock: unknown way to publish templates no: use pointer or swap\n/],
    [['explain', '--stub-secret', 'no'], /^drydock: unknown way no to a stub: use InPlace or Managed\n/],
  ] as const;
  const ran = await runVerbs(wrong.map(([args]) => ({ args })));
  for (const [at, { code, errors, out }] of ran.entries()) {
    const [args, said] = wrong[at] ?? assert.fail('a line for each');
    assert.deepEqual([code, out], [2, ''], args.join(' '));
    assert.match(errors, said);
  }
});

test('FIND-25: the help of a verb lists the flags of its group', () => {
  const groups = [
    { verb: ['template', 'publish'], flags: ['--url', '--password-file', '--folder', '--datastore', '--mark-key'] },
    { verb: ['watch', 'vms'], flags: ['--url', '--thumbprint', '--login-now'] },
  ];
  for (const { verb, flags } of groups) {
    const { stdout } = drydock([...verb, '--help']);
    assert.equal(stdout.split('--drydock-config').length, 2);
    for (const flag of flags)
      assert.match(stdout, new RegExp(`^ +(?:-\\w, )?${flag}\\b`, 'm'), `${verb.join(' ')} ${flag}`);
  }
});

test('help on a verb of a group is that of the verb', async () => {
  const [asked, flagged] = await runVerbs([
    { args: ['help', 'template', 'list'] },
    { args: ['template', 'list', '--help'] },
  ]);
  assert.match(asked?.out ?? '', /^Usage: drydock template list /);
  assert.deepEqual(asked, flagged);
  assert.match(drydock(['help', 'node', 'install']).stdout, /^Usage: drydock node install\|installer /);
});

test('compiled code is kept in a folder of the user, which nobody else may write to', () => {
  const caches = join(scratch, 'caches');
  assert.equal(drydock(['crd', '--help'], keptIn(caches)).status, 0);
  const folder = join(caches, 'drydock', 'compiled');
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.ok(readdirSync(folder).length > 0);
});

test('a folder that others can write to, or a link, is not used, and no folder at all is no failure', () => {
  const open = join(scratch, 'open', 'drydock', 'compiled');
  mkdirSync(open, { recursive: true });
  chmodSync(open, 0o777);
  assert.equal(drydock(['crd', '--help'], keptIn(join(scratch, 'open'))).status, 0);
  assert.deepEqual(readdirSync(open), []);
  const elsewhere = join(scratch, 'elsewhere');
  mkdirSync(elsewhere);
  mkdirSync(join(scratch, 'linked', 'drydock'), { recursive: true, mode: 0o700 });
  symlinkSync(elsewhere, join(scratch, 'linked', 'drydock', 'compiled'));
  assert.equal(drydock(['crd', '--help'], keptIn(join(scratch, 'linked'))).status, 0);
  assert.deepEqual(readdirSync(elsewhere), []);
  assert.equal(drydock(['crd', '--help'], keptIn('/proc/nowhere')).status, 0);
  const chosen = join(scratch, 'chosen');
  assert.equal(
    drydock(['crd', '--help'], { XDG_CACHE_HOME: join(scratch, 'unused'), NODE_COMPILE_CACHE: chosen }).status,
    0,
  );
  assert.ok(existsSync(chosen) && !existsSync(join(scratch, 'unused')));
});
