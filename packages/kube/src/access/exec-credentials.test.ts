import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ExecConfig, execCredentials } from './exec-credentials.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const printed = JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token: 't' } });

/** A plugin that is this shell script. */
function shell(script: string): ExecConfig {
  return { apiVersion, command: '/bin/sh', args: ['-c', script], env: {}, interactiveMode: 'Never' };
}

async function failure(config: ExecConfig, deadline?: number): Promise<string> {
  const credentials = execCredentials(config, deadline === undefined ? {} : { deadline });
  return credentials.get().then(
    () => assert.fail('gave a credential'),
    (error: Error) => error.message,
  );
}

test('what a plugin leaves running behind it does not hold up its answer', async () => {
  // The child keeps standard output open for longer than anybody waits; the token is its process id.
  const credential = await execCredentials(shell(`sleep 100 & printf '${printed.replace('"t"', '"%s"')}' $!`)).get();
  const left = Number(credential.authorization?.split(' ')[1]);
  assert.equal(process.kill(left, 'SIGKILL'), true, 'it still runs');
});

test('a plugin that gives no answer, or no end of it, is ended, and the error says why', async () => {
  assert.match(await failure(shell('exec sleep 100'), 300), /\/bin\/sh: it gave no answer within 300 ms\./);
  assert.match(await failure(shell('sleep 3 & exec sleep 100'), 300), /it gave no answer within 300 ms\./);
  assert.match(await failure(shell('exec yes')), /it printed more than 1048576 bytes\./);
  assert.match(await failure(shell('kill -9 $$')), /it was ended by SIGKILL\./);
});

test('a token that no header can carry is told as the fault of the plugin', async () => {
  const bad = JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token: 'hunter2\n' } });
  const said = await failure(shell(`cat <<'END'\n${bad}\nEND`));
  assert.match(said, /its token has characters that no header can carry/);
  assert.equal(said.includes('hunter2'), false);
});
