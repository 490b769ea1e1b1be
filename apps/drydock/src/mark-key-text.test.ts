import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keysOfText, type ListedTemplate } from '@drydock/templates';
import { codeLines, freeKeyName, signingText } from './mark-key-text.ts';

const [OLD, NEW] = ['0'.repeat(64), 'f'.repeat(64)];
const idOf = (key: string): string => keysOfText(key).keys.current?.id ?? assert.fail();
const template = (name: string, proof: ListedTemplate['proof'], ...keyIds: readonly string[]): ListedTemplate => ({
  ...{ name, instanceUuid: name, ref: { type: 'VirtualMachine', value: name }, isTemplate: true, keyIds },
  role: proof === undefined ? 'unproven' : 'current',
  ...(proof === undefined ? {} : { proof }),
});
const lines = (text: string, ...templates: readonly ListedTemplate[]) =>
  codeLines(templates, keysOfText(text).keys, 'the operator signs them again').map(
    ({ state, detail }) => `${state} ${detail}`,
  );

test('KEEP-3: doctor says which key signs and which others count, by id and by name', () => {
  assert.equal(signingText(keysOfText(NEW).keys), `${idOf(NEW)} signs new codes`);
  assert.equal(
    signingText(keysOfText(`k2:${NEW}\nk1:${OLD}`).keys),
    `${idOf(NEW)} (k2) signs new codes; ${idOf(OLD)} (k1) still counts`,
  );
  assert.equal(signingText(keysOfText('').keys), 'no key signs new codes');
  assert.equal(freeKeyName(keysOfText(`key:${NEW}`).keys), 'key-2');
  assert.equal(freeKeyName(keysOfText(`key-2:${NEW}\nkey-3:${OLD}`).keys), 'key-4');
});

test('KEEP-3: doctor has a line for codes under earlier ids of the current key, and for templates that still need another key', () => {
  const keys = `k1:${NEW}\nk0:${OLD}`;
  assert.deepEqual(lines(keys, template('a', 'keyed', 'k1'), template('b', 'keyed', 'k1', idOf(NEW))), [
    `ok 1 template has its code under k1, an earlier id of ${idOf(NEW)}, which counts; the operator signs them again`,
    `ok no template here needs ${idOf(OLD)} (k0) any more`,
  ]);
  for (const id of ['k0', idOf(OLD)])
    assert.deepEqual(lines(keys, template('a', 'keyed', id), template('b', 'keyed', id)), [
      `warn 2 templates still need ${idOf(OLD)} (k0): keep that key until it is needed no more; the operator signs them again`,
    ]);
  assert.deepEqual(lines(`k1:${NEW}`, template('a', 'keyed', idOf(NEW))), []);
  assert.deepEqual(lines('', template('a', 'none', 'k1')), [], 'without a key there is nothing to say');
});

test('KEEP-3: doctor reports a key that was changed under its name by that name, and codes of keys that are gone by their ids', () => {
  const said = lines(
    `k1:${NEW}`,
    template('a', undefined, 'k1'),
    template('b', 'recorded', 'k1'),
    template('c', undefined, idOf(OLD)),
    template('d', undefined),
    template('e', 'keyed', 'k1', idOf(NEW)),
  );
  assert.equal(said.length, 2, said.join('\n'));
  assert.match(
    said[0] ?? '',
    /^warn the key k1 is another one than the codes under this name were made with, or they are forged: a, b\. Add the earlier key under another name; /,
  );
  assert.equal(
    said[1],
    `warn 1 template has a code under ${idOf(OLD)}, made with a key that is gone or is not known here, or forged: adopt what you know to be right`,
  );
});
