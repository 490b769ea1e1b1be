import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '@drydock/api';
import { ApiError, type ApiErrorCode } from '@drydock/kube';
import { keysOfSecret, keysOfText, listKeys } from '@drydock/templates';
import { addKeyCommand, createCommand, markKeySecret, markKeys, revokeCommand } from './mark-keys.ts';

const key = markKeySecret('drydock/drydock-mark-key');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const SECRET = 'this-is-a-key-that-nobody-may-ever-see';
const idOf = (key: string): string => keysOfText(`k:${key}`).keys.current?.id ?? assert.fail();

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
    return `${current?.id}: ${[...known.keys()].toSorted().join()}`;
  };
  const [id1, id2] = [idOf(`${SECRET}-1`), idOf(`${SECRET}-2`)];
  const only = [id1, 'k1'].toSorted().join();
  assert.equal(await now(), `${id1}: ${only}`);
  await Promise.all([keys(), keys(), keys()]);
  assert.equal(asked, 1, 'a pass asks once');
  answer = () => ({ current: base64('k2'), k1: base64(`${SECRET}-1`), k2: base64(`${SECRET}-2`) });
  assert.equal(await now(), `${id2}: ${[id1, id2, 'k1', 'k2'].toSorted().join()}`);
  answer = () => ({ current: base64('k3'), k1: base64(`${SECRET}-1`) });
  assert.equal(
    await now(),
    `undefined: ${only}`,
    'what is named current is not there: nothing new is made, the old is checked',
  );
  const fail = (code: ApiErrorCode) => () => {
    throw new ApiError({ code, action: 'get Secret', said: 'no' });
  };
  answer = fail('ServerError');
  assert.equal(await now(), `undefined: ${only}`, 'out of reach: what was known still counts');
  answer = () => ({});
  assert.equal(await now(), 'undefined: ');
  assert.equal(await now(), 'undefined: ');
  answer = fail('NotFound');
  assert.equal(await now(), 'undefined: ');
  answer = () => ({ current: base64('k1'), k1: base64(`${SECRET}-1`) });
  assert.equal(await now(), `${id1}: ${only}`);
  answer = fail('Forbidden');
  assert.equal(await now(), 'undefined: ', 'forbidden is no key');
  assert.equal(said.length, 5, said.join('\n'));
  assert.match(said[3] ?? '', /there is no such Secret: kubectl create secret generic drydock-mark-key -n drydock/);
  assert.ok(!said.join('').includes(SECRET.slice(0, 10)));
});

test('OWN-3 the Secret is named as namespace/name', () => {
  assert.match(createCommand(markKeySecret('a/b')), /^kubectl create secret generic b -n a --from-literal=key="/);
  for (const wrong of ['a', 'a/', '/b', 'a/b/c', '']) assert.throws(() => markKeySecret(wrong), /use NAMESPACE\/NAME/);
});

/** Does to a Secret what a printed command does, as the API server and a shell would. */
function run(
  command: string,
  data: Readonly<Record<string, string>>,
  random: string,
): Readonly<Record<string, string>> {
  const [, create] = /--from-literal=(\w+)="\$\(openssl rand -hex 32\)"$/.exec(command) ?? [];
  if (create !== undefined) return { [create]: base64(random) };
  const [, patch = ''] = /^kubectl patch secret drydock-mark-key -n drydock -p '(.*)'$/.exec(command) ?? [];
  const { data: taken = {}, stringData = {} } = JSON.parse(patch.replace("'$(openssl rand -hex 32)'", random)) as {
    readonly data?: Readonly<Record<string, null>>;
    readonly stringData?: Readonly<Record<string, string>>;
  };
  const kept = Object.entries(data).filter(([name]) => !(name in taken));
  return Object.fromEntries([...kept, ...Object.entries(stringData).map(([name, text]) => [name, base64(text)])]);
}

test('KEEP-3: the printed commands make, exchange and revoke keys whose ids follow from them, and never put one in the place of another', () => {
  const [first, second, third] = ['1'.repeat(64), '2'.repeat(64), '3'.repeat(64)];
  let data = run(createCommand(key), {}, first);
  let { keys, problems } = keysOfSecret(data);
  assert.deepEqual([problems, keys.current?.id], [[], idOf(first)]);
  data = run(addKeyCommand(key, keys), data, second);
  ({ keys, problems } = keysOfSecret(data));
  assert.deepEqual(problems, []);
  assert.deepEqual(
    listKeys(keys).map(({ id, names }) => [id, names]),
    [
      [idOf(second), ['key-2']],
      [idOf(first), ['key']],
    ],
  );
  // The current one leaked: another one takes its place in the same step, under a name of its own.
  const [leaked = assert.fail(), older = assert.fail()] = listKeys(keys);
  data = run(revokeCommand(key, keys, leaked), data, third);
  ({ keys, problems } = keysOfSecret(data));
  assert.deepEqual(problems, []);
  assert.deepEqual(listKeys(keys), [
    { id: idOf(third), names: ['key-3'], current: true },
    { id: idOf(first), names: ['key'], current: false },
  ]);
  data = run(revokeCommand(key, keys, older), data, 'none');
  assert.deepEqual(Object.keys(data).toSorted(), ['current', 'key-3']);
  assert.equal(keysOfSecret(data).keys.current?.id, idOf(third));
  // Nothing is lost by a command that is run where keys are that cannot sign.
  const unnamed = { key: base64(first), k1: base64(second) };
  const mended = keysOfSecret(run(addKeyCommand(key, keysOfSecret(unnamed).keys), unnamed, third));
  assert.deepEqual([mended.problems, listKeys(mended.keys).length], [[], 3]);
});

test('KEEP-3: a Secret that names its key k1, as they all did, works unchanged', () => {
  const data = { current: base64('k1'), k1: base64(SECRET) };
  const { keys, problems } = keysOfSecret(data);
  assert.deepEqual(problems, []);
  assert.deepEqual(listKeys(keys), [{ id: idOf(SECRET), names: ['k1'], current: true }]);
  assert.ok(keys.known.has('k1'));
});
