import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ConfigMap, Payload } from '@drydock/api';
import { ApiError } from '@drydock/kube';
import { KubeClientKilled, type MemoryKubeClient, until } from '@drydock/kube/testing';
import { firstSeed, generator, soaking } from '@drydock/model';
import { imageOf, ReleaseWorld } from '../testing/manager-world.ts';
import { type TestSigner, testSigner } from '../testing/signatures.ts';

// A process of the manager that dies after each of its writes while an update is under way, and what another one makes of it: going on, going back, beside it, and after one that had no rights.

const [FIRST, SECOND] = ['1.0.0', '1.0.1'];
const STRANGERS = { namespace: 'default', name: 'strangers' };

let signer: TestSigner;
before(async () => {
  signer = await testSigner('ours');
});

const configMap = (name: string, data: object, annotations: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', annotations }, data });
const deleted = { 'release.openshift.io/delete': 'true' };

/** Where the first release is complete, and the second is wanted. */
async function updating(): Promise<ReleaseWorld> {
  const world = new ReleaseWorld(signer, { really: true });
  const first = [configMap('a', { v: '1', old: 'x' }), configMap('gone', { v: '1' }), configMap('left', { v: '1' })];
  const second = [configMap('a', { v: '2' }), configMap('gone', {}, deleted), configMap('new', { v: '2' })];
  await world.release(FIRST, { manifests: first });
  await world.release(SECOND, { manifests: [...second, configMap('strangers', { ours: '1' })] });
  await world.client.create(ConfigMap, { metadata: STRANGERS, data: { theirs: '1' } });
  await world.start();
  await world.create('tools', { image: imageOf(FIRST) });
  await world.completed('tools', FIRST);
  await world.stop();
  await world.patch('tools', { image: imageOf(SECOND) });
  return world;
}

interface Death {
  /** After this many writes of its process, by itself or in the name of the account. */
  readonly after: number;
}

/** A process that dies; resolves when it is dead, or done without having written so often. `meanwhile`: at that instant, before it dies; with `lives` it does not. */
async function process(
  world: ReleaseWorld,
  death: Death | undefined,
  {
    meanwhile,
    lives = false,
    forbidden = false,
  }: {
    readonly meanwhile?: () => Promise<unknown>;
    readonly lives?: boolean;
    /** The account may not write. */
    readonly forbidden?: boolean;
  } = {},
): Promise<{ readonly writes: number; readonly died: boolean }> {
  const [own, account] = [world.cluster.client(), world.cluster.client()];
  const mine = new Set<MemoryKubeClient>([own, account]);
  let [writes, died] = [0, false];
  const struck = Promise.withResolvers<void>();
  world.cluster.onCall = async (_call, phase, { client, mutates }) => {
    if (!mine.has(client) || !mutates) return;
    if (phase === 'before' && forbidden && client === account)
      throw new ApiError({ code: 'Forbidden', action: 'write', said: 'you may not', status: 403 });
    if (phase === 'before') return;
    writes += 1;
    if (writes !== death?.after || died) return;
    died = true;
    await meanwhile?.();
    struck.resolve();
    if (lives) return;
    for (const one of mine) one.kill();
    throw new KubeClientKilled();
  };
  await world.start({ own, account });
  let over = false;
  void struck.promise.then(() => {
    over = true;
  });
  const ended = (): boolean =>
    forbidden ? world.condition('tools', 'Failing').startsWith('True') : world.isCompleted('tools', wantedOf(world));
  await until('it is dead, or done', () => over || ended());
  if (died && lives) await world.completed('tools', wantedOf(world));
  await world.stop();
  world.cluster.onCall = undefined;
  return { writes, died };
}

function wantedOf(world: ReleaseWorld): string {
  const wanted = world.cluster.peek(Payload, { name: 'tools' })?.spec;
  return wanted?.image === imageOf(SECOND) ? SECOND : FIRST;
}

const dataOf = (world: ReleaseWorld, name: string): object | undefined =>
  world.cluster.peek(ConfigMap, { namespace: 'default', name })?.data;

/** How everything must be at the end, whatever happened before. */
async function check(world: ReleaseWorld, version: string): Promise<void> {
  await process(world, undefined);
  const back = version === FIRST;
  assert.deepEqual(dataOf(world, 'a'), back ? { v: '1', old: 'x' } : { v: '2' });
  assert.deepEqual(dataOf(world, 'gone') !== undefined, back, 'what the release deletes');
  assert.deepEqual(dataOf(world, 'left'), { v: '1' }, 'what it does not bring any more stays');
  const strangers = dataOf(world, 'strangers') as Readonly<Record<string, string>>;
  assert.equal(strangers['theirs'], '1', 'what others wrote stays');
  if (!back) assert.equal(strangers['ours'], '1');
  const history = world.history('tools').map((one) => one.replace(/^\d+ /, ''));
  assert.equal(history[0], `${version} Completed`);
  assert.equal(history.at(-1), `${FIRST} Completed`);
  for (const [at, entry] of history.entries()) assert.notEqual(entry.split(' ')[0], history[at + 1]?.split(' ')[0]);
  const { entries } = await world.inventory().open({ name: 'Payload tools' }, new AbortController().signal);
  const brought = [...entries.values()].filter(({ left }) => left !== true);
  assert.deepEqual(
    brought.filter(({ intent, uid }) => intent !== undefined || uid === '').map(({ id }) => id.name),
    [],
    'nothing is about to be written',
  );
  const made = brought.filter((one) => one.made).map(({ id }) => id.name);
  assert.deepEqual(made.toSorted(), back ? ['a', 'gone', 'left'] : ['a', 'new']);
}

/** Tries a history at every write of an update, until there are no more; `play` resolves to what is wanted at its end, or undefined where nobody died. */
async function atEach(
  what: string,
  least: number,
  play: (world: ReleaseWorld, death: Death) => Promise<string | undefined>,
): Promise<void> {
  for (let after = 1; ; after += 1) {
    await using world = await updating();
    try {
      const version = await play(world, { after });
      if (version === undefined) {
        assert.ok(after > least, `only ${after - 1} writes were tried`);
        return;
      }
      await check(world, version);
    } catch (error) {
      throw new Error(`${what}, after write ${after}`, { cause: error });
    }
  }
}

test('an update whose process dies after any of its writes is ended by the next one as if nobody had died', () =>
  atEach('on', 8, async (world, death) => ((await process(world, death)).died ? SECOND : undefined)));

test('somebody wants the older release again at any of the writes of an update, and its process dies', () =>
  atEach('back', 8, async (world, death) => {
    const meanwhile = (): Promise<unknown> => world.patch('tools', { image: null, version: FIRST });
    return (await process(world, death, { meanwhile })).died ? FIRST : undefined;
  }));

test('another process begins at any of the writes of an update, and the first one goes on beside it', () =>
  atEach('beside', 8, async (world, death) => {
    const meanwhile = (): Promise<unknown> =>
      world.start({ own: world.cluster.client(), account: world.cluster.client() });
    return (await process(world, death, { meanwhile, lives: true })).died ? SECOND : undefined;
  }));

test('an account that may not write leaves nothing behind that another one trips over, wherever its process dies', () =>
  atEach('without rights', 3, async (world, death) =>
    (await process(world, death, { forbidden: true })).died ? SECOND : undefined,
  ));

test('two processes die one after the other, each after any of its writes', async () => {
  const random = generator(firstSeed());
  for (let first = 1; first <= 9; first += 1) {
    // All pairs in a soak; of each first death one second here.
    const seconds = soaking ? Array.from({ length: 9 }, (_, at) => at + 1) : [1 + Math.floor(random() * 6)];
    for (const second of seconds) {
      await using world = await updating();
      await process(world, { after: first });
      await process(world, { after: second });
      await check(world, SECOND).catch((error: unknown) => {
        throw new Error(`after write ${first}, then after write ${second}; seed ${firstSeed()}`, { cause: error });
      });
    }
  }
});

test('a manager that forgets what it was about to write is found out', async () => {
  await using world = await updating();
  await process(world, { after: 4 });
  const labels = 'app.kubernetes.io/component=release-inventory';
  for await (const { metadata } of world.client.list(ConfigMap, { namespace: 'default', labels }))
    await world.client.delete(ConfigMap, { namespace: 'default', name: metadata.name });
  await assert.rejects(check(world, SECOND));
});
