import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '@drydock/api';
import { ApiError, type ApiErrorCode } from '@drydock/kube';
import { createCommand, markKeySecret, markKeys } from './mark-keys.ts';

const key = markKeySecret('drydock/drydock-mark-key');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const SECRET = 'this-is-a-key-that-nobody-may-ever-see';

test('OWN-3 the key of the operator in mid-run: exchanged, emptied, removed, unreadable, out of reach; what is wrong is said once, without a byte of it', async () => {
  let answer: () => Record<string, string> = () => ({ current: base64('k1'), k1: base64(`${SECRET}-1`) });
  let time = 0;
  let asked = 0;
  const said: string[] = [];
  const client = {
    get: async () => {
      asked += 1;
      return { metadata: { name: key.name }, data: answer() } as Secret;
    },
  };
  const log = { warn: (fields: object, message: string) => void said.push(`${message} ${JSON.stringify(fields)}`) };
  const keys = markKeys(client as Parameters<typeof markKeys>[0], key, log, () => time);
  const now = async (): Promise<string> => {
    time += 60_000;
    const { current, known } = await keys();
    return `${current?.id}: ${[...known.keys()].join()}`;
  };
  assert.equal(await now(), 'k1: k1');
  await Promise.all([keys(), keys(), keys()]);
  assert.equal(asked, 1, 'a pass asks once');
  answer = () => ({ current: base64('k2'), k1: base64(`${SECRET}-1`), k2: base64(`${SECRET}-2`) });
  assert.equal(await now(), 'k2: k1,k2');
  answer = () => ({ current: base64('k3'), k1: base64(`${SECRET}-1`) });
  assert.equal(
    await now(),
    'undefined: k1',
    'what is named current is not there: nothing new is made, the old is checked',
  );
  const fail = (code: ApiErrorCode) => () => {
    throw new ApiError({ code, action: 'get Secret', said: 'no' });
  };
  answer = fail('ServerError');
  assert.equal(await now(), 'undefined: k1', 'out of reach: what was known still counts');
  answer = () => ({});
  assert.equal(await now(), 'undefined: ');
  assert.equal(await now(), 'undefined: ');
  answer = fail('NotFound');
  assert.equal(await now(), 'undefined: ');
  answer = () => ({ current: base64('k1'), k1: base64(`${SECRET}-1`) });
  assert.equal(await now(), 'k1: k1');
  answer = fail('Forbidden');
  assert.equal(await now(), 'undefined: ', 'forbidden is no key');
  assert.equal(said.length, 5, said.join('\n'));
  assert.match(said[3] ?? '', /there is no such Secret: kubectl create secret generic drydock-mark-key -n drydock/);
  assert.ok(!said.join('').includes(SECRET.slice(0, 10)));
});

test('OWN-3 the Secret is named as namespace/name', () => {
  assert.match(createCommand(markKeySecret('a/b')), /^kubectl create secret generic b -n a --from-literal=current=k1 /);
  for (const wrong of ['a', 'a/', '/b', 'a/b/c', '']) assert.throws(() => markKeySecret(wrong), /use NAMESPACE\/NAME/);
});
