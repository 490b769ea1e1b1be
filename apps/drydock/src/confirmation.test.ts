import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { agreed } from './confirmation.ts';

const { signal } = new AbortController();

function terminal(answer: string, isTTY = true) {
  const stream = () => Object.assign(new PassThrough(), { isTTY });
  const [stdin, stderr] = [stream(), stream()];
  let said = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  stdin.write(answer);
  return { stdin, stderr, said: () => said };
}

test('on a terminal a person is asked, and only a yes is one', async () => {
  for (const [answer, yes] of [
    ['y\n', true],
    ['Yes \n', true],
    ['\n', false],
    ['n\n', false],
    ['yesterday\n', false],
  ] as const) {
    const at = terminal(answer);
    assert.equal(await agreed('Remove it?', { yes: false, about: () => 'It is old.\n', signal }, at), yes, answer);
    assert.equal(at.said(), 'It is old.\nRemove it? [y/N] ');
  }
});

test('--yes is not asked again, and where there is no terminal nobody says yes', async () => {
  const silent = terminal('y\n', false);
  assert.deepEqual(
    [
      await agreed('?', { yes: true, signal }, silent),
      await agreed('?', { yes: false, signal }, silent),
      silent.said(),
    ],
    [true, false, ''],
  );
});

test('an interruption ends the wait for an answer', async () => {
  const controller = new AbortController();
  const wait = agreed('?', { yes: false, signal: controller.signal }, terminal(''));
  controller.abort(new DOMException('SIGINT', 'AbortError'));
  await assert.rejects(wait, { name: 'AbortError' });
});
