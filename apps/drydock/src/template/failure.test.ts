import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordWithoutSecrets } from '@drydock/api/text';
import { DurableError } from '@drydock/durable';
import { TemplateError, type TemplateErrorCode } from '@drydock/templates';
import { VimError, type VimErrorCode } from '@drydock/vsphere';
import { UsageError } from '../exit.ts';
import { judge } from './failure.ts';
import { type Failure, NEXT_COMMANDS, quoted, withFlag } from './next-command.ts';
import { TemplateProblem } from './problem.ts';

const context: Failure = {
  program: 'drydock template',
  flags: ' --folder /DC0/vm/x',
  again: 'drydock template publish a.ova --name rhcos',
  replan: 'drydock template plan publish a.ova --name rhcos --out p',
  url: 'https://vc.example/sdk',
  username: 'svc',
  subject: 'rhcos',
  path: '/DC0/vm/x/rhcos',
  source: 'a.ova',
  cacheDir: '/cache',
  tag: 'golden',
};

const vimError = (code: VimErrorCode, cause?: unknown): VimError =>
  new VimError({ kind: 'fault', code, op: 'Op', message: 'it failed', cause });
const templateError = (code: TemplateErrorCode, cause?: unknown): TemplateError =>
  new TemplateError({ code, message: 'it failed', cause });

test('every code of the templates and vsphere packages has a command to run next', () => {
  const codes = Object.entries(NEXT_COMMANDS);
  assert.ok(codes.length >= 55, `only ${codes.length} codes were seen`);
  for (const [code, next] of codes) {
    assert.match(
      next(context),
      /^(drydock template (doctor|list|verify|gc|adopt|history|publish|plan)|govc|tar|curl|sha256sum|df|ls) /,
      code,
    );
  }
});

test('every kind of client error ends with a command', () => {
  for (const kind of ['fault', 'http', 'transport', 'timeout', 'aborted', 'protocol'] as const) {
    const error = new VimError({ kind, code: 'VIM_BAD_RESPONSE', op: 'Op', message: 'it failed' });
    assert.match(judge(error, context)?.next ?? '', /^curl /, kind);
  }
});

test('exit codes follow the one table', () => {
  const codes = {
    WORLD_MOVED: 4,
    NAME_TOO_LONG: 2,
    FOLDER_NOT_FOUND: 3,
    POWERED_ON: 3,
    PRIVILEGE_MISSING: 3,
    NO_SPACE: 3,
    OVA_INVALID: 3,
    IMPORT_FAILED: 1,
    DOWNLOAD_FAILED: 1,
  } as const;
  for (const [code, exit] of Object.entries(codes))
    assert.equal(judge(templateError(code as TemplateErrorCode), context)?.exit, exit, code);
  assert.match(
    judge(templateError('UPLOAD_IN_PROGRESS'), context)?.message ?? '',
    /; run again in 10 minutes, or --wait\.$/,
  );
  assert.equal(judge(vimError('VIM_UNREACHABLE'), context)?.exit, 1);
  assert.equal(judge(vimError('VIM_NO_PERMISSION'), context)?.exit, 3);
  assert.equal(judge(new TemplateProblem({ code: 'X', message: 'x' }), context)?.exit, 2);
  const usage = judge(new UsageError('give --all'), context);
  assert.deepEqual([usage?.exit, usage?.message, usage?.next], [2, 'give --all.', 'drydock template --help']);
  assert.equal(judge(new TypeError('a bug'), context), undefined);
});

test('a vague error is judged by the client error behind it', () => {
  const verdict = judge(
    templateError('IMPORT_FAILED', templateError('IMPORT_FAILED', vimError('VIM_UNREACHABLE'))),
    context,
  );
  assert.equal(verdict?.next, 'curl -kSs https://vc.example/sdk/vimServiceVersions.xml');
  assert.equal(judge(templateError('IMPORT_FAILED', vimError('VIM_NO_PERMISSION')), context)?.exit, 3);
});

test('what a package says to a log is said in plain words', () => {
  assert.equal(
    judge(vimError('VIM_LOGIN_REFUSED'), context)?.message,
    'vc.example does not let svc in: the name or the password is wrong, or the user has no role there.',
  );
  assert.equal(
    judge(vimError('VIM_TLS_UNTRUSTED', new Error('self-signed certificate; run with --flag')), context)?.message,
    'The certificate of vc.example is not trusted (self-signed certificate), and nothing was sent to it.',
  );
  assert.equal(judge(templateError('FOLDER_NOT_FOUND'), context)?.message, 'it failed.');
});

test('a pointer file that cannot be written is told with the device to look at', () => {
  const cause = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  const error = new DurableError({
    code: 'WRITE_FAILED',
    stage: 'write',
    path: '/etc/p/t.json',
    visible: 'old',
    cause,
  });
  assert.equal(judge(error, context)?.next, 'df -h /etc/p');
});

test('words are quoted for a shell, and secrets in addresses are left out', () => {
  assert.deepEqual(["it's", 'a b', '$(x)', '/DC0/vm/a', 'x@y'].map(quoted), [
    String.raw`'it'\''s'`,
    "'a b'",
    "'$(x)'",
    '/DC0/vm/a',
    'x@y',
  ]);
  assert.equal(wordWithoutSecrets('https://u:hunter2@h/x.ova?sig=hunter2'), 'https://***@h/x.ova?***');
  assert.equal(wordWithoutSecrets('me:hunter2@vc'), '***@vc');
  assert.equal(wordWithoutSecrets('/DC0/vm/rhcos'), '/DC0/vm/rhcos');
  assert.equal(withFlag("d list --folder 'a b' -o wide", '--folder', '/DC0/vm'), 'd list -o wide --folder /DC0/vm');
  assert.equal(withFlag('d list', '--folder', 'c d'), "d list --folder 'c d'");
});
