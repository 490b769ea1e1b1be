import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { checkCode, codeOf } from './code.ts';
import { keyIdOf, keysOfSecret, keysOfText, listKeys, type MarkKeys } from './keys.ts';

const OLD = '0'.repeat(64);
const NEW = 'f'.repeat(64);
const subject = ['test', 'o', 'p', 'd', '42000000-0000-4000-8000-00000000000f'];
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const secret = (data: Readonly<Record<string, string>>) =>
  keysOfSecret(Object.fromEntries(Object.entries(data).map(([name, text]) => [name, base64(text)])));
const idOf = (text: string): string => keysOfText(text).keys.current?.id ?? assert.fail();
const reading = (keys: MarkKeys, code: string) => checkCode(keys, code, subject);

/** A code as versions wrote it that took the name of an entry for the id of its key. */
function legacyCode(name: string, key: string): string {
  const { keys } = keysOfText(`${name}:${key}`);
  return (codeOf(keys, subject) ?? '').replace(/^[^:]+/, name);
}

test('KEEP-3: the id of a key follows from the key alone, and says nothing of it', () => {
  const id = idOf(`k1:${OLD}`);
  assert.match(id, /^[0-9a-f]{12}$/);
  assert.equal(id, createHmac('sha256', OLD).update('drydock.key-id/1').digest('hex').slice(0, 12));
  assert.equal(idOf(`another-name:${OLD}`), id);
  assert.notEqual(idOf(`k1:${NEW}`), id, 'another key under the same name has another id');
  const { current } = keysOfText(`k1:${OLD}`).keys;
  assert.equal(current && keyIdOf(current.key), id);
  assert.ok(codeOf(keysOfText(`k1:${OLD}`).keys, subject)?.startsWith(`${id}:`));
});

test('KEEP-3: keys are read from a Secret with one entry of any name, from one that names its current key, and from key files with and without names', () => {
  for (const read of [
    secret({ key: OLD }),
    secret({ key: `${OLD}\n` }),
    secret({ current: 'k1', k1: OLD }),
    secret({ current: 'k1\n', k1: OLD, older: NEW }),
    keysOfText(`${OLD}\n`),
    keysOfText(`# made on Monday\n\n${OLD}\nolder:${NEW}\n`),
    keysOfText(`k1:${OLD}\r\n${NEW}`),
  ]) {
    assert.deepEqual(read.problems, []);
    assert.equal(read.keys.current?.id, idOf(OLD));
    assert.ok(read.keys.known.has(idOf(OLD)));
  }
  const { keys } = keysOfText(`k1:${OLD}\n${NEW}\nk3:${NEW}`);
  assert.deepEqual([...keys.known.keys()].toSorted(), [idOf(NEW), idOf(OLD), 'k1', 'k3'].toSorted());
  assert.deepEqual(listKeys(keys), [
    { id: idOf(OLD), names: ['k1'], current: true },
    { id: idOf(NEW), names: ['k3'], current: false },
  ]);
});

test('KEEP-3: keys that cannot be used are problems that show no byte of what may be a key', () => {
  assert.deepEqual(secret({ key: OLD, more: NEW }).problems, [
    'the entry current is missing: it names the key that signs',
  ]);
  assert.deepEqual(secret({ current: 'k2', k1: OLD }).problems, ['the entry current names none of the keys']);
  assert.deepEqual(secret({}).problems, ['there is no key']);
  assert.deepEqual(keysOfText('').problems, ['there is no key']);
  for (const text of [`k1 ${OLD}`, `k1=${OLD}`, `K1:${OLD}`, OLD.slice(0, 20), `k1:${OLD.slice(0, 20)}`]) {
    const { keys, problems } = keysOfText(text);
    assert.equal(keys.current, undefined, text);
    assert.ok(problems.length > 0 && !problems.join().includes('0000'), problems.join());
  }
  assert.deepEqual(keysOfText(`k1:${OLD}\nk1:${NEW}`).problems, ['the name k1 is used twice']);
});

test('KEEP-3: a code under the earlier id of its key counts, under the name of that key and under any other, and is to be signed again', () => {
  const code = legacyCode('k1', OLD);
  assert.equal(reading(keysOfText(`k1:${OLD}`).keys, code), 'older');
  assert.equal(reading(secret({ current: 'k2', k2: NEW, k1: OLD }).keys, code), 'older');
  assert.equal(reading(keysOfText(`k1:${NEW}\nfound-again:${OLD}`).keys, code), 'older');
  assert.equal(reading(keysOfText(`${OLD}`).keys, code), 'older');
  const { keys } = keysOfText(`k1:${OLD}`);
  assert.equal(reading(keys, codeOf(keys, subject) ?? ''), 'current');
});

test('KEEP-3: a code that no key at hand made is gone, whatever id it bears: forged and lost cannot be told apart', () => {
  const replaced = keysOfText(`k1:${NEW}`).keys;
  const made = codeOf(keysOfText(OLD).keys, subject) ?? '';
  for (const code of [
    legacyCode('k1', OLD),
    made,
    made.replace(/^[^:]+/, replaced.current?.id ?? ''),
    `k1:${'A'.repeat(43)}`,
    'k1:AAAA',
    'no code',
  ])
    assert.equal(reading(replaced, code), 'gone', code);
  assert.equal(checkCode(replaced, undefined, subject), 'absent');
  assert.equal(checkCode(replaced, '', subject), 'absent');
  // A right code is worth nothing on another machine.
  const own = codeOf(replaced, subject) ?? '';
  assert.equal(checkCode(replaced, own, [...subject, 'another']), 'gone');
});

test('KEEP-3: a name that looks like the id of another key does not hide that key', () => {
  const { keys } = keysOfText(`${OLD}\n${idOf(OLD)}:${NEW}`);
  assert.equal(reading(keys, codeOf(keysOfText(OLD).keys, subject) ?? ''), 'current');
  assert.equal(reading(keys, codeOf(keysOfText(NEW).keys, subject) ?? ''), 'older');
});
