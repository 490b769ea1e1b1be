import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  BootImagePolicy,
  type BootImagePolicySpec,
  type BootImageStatus,
  Lease,
  Machine,
  MachineSet,
  Node,
} from '@drydock/api';
import { type MachineFate, machineActor } from '@drydock/boot-images/testing';
import { isInvalid } from '@drydock/kube';
import { generator, seeds } from '@drydock/model';
import { scratchFolder } from '@drydock/sandbox';
import { writeTestOva } from '@drydock/templates/testing';
import { filesOfOva, libraryKeeper } from './support/content-library.ts';
import { uncovered } from './support/rbac-coverage.ts';
import { apply, grantsTo, manifestsOf } from './support/rbac-manifests.ts';
import { type Operator, type RbacVoyage, startRbacVoyage, userOf } from './support/rbac-voyage.ts';
import { eventually } from './support/voyage.ts';
import { installerTemplate, machineApi, machineSet, oldRelease } from './support/voyage-cluster.ts';

const account = 'drydock-boot-images';
const set = 'wk-a';
const folder = '/DC0/vm/harbour';
const canaries = manifestsOf('canary');

let rbac: RbacVoyage;
let operator: Operator;
let fate: MachineFate = 'boots';
const stack = new AsyncDisposableStack();

before(async () => {
  rbac = stack.use(await startRbacVoyage(() => rbac.voyage.touch(set)));
  const { voyage } = rbac;
  await voyage.folder('harbour');
  const made = machineSet({ name: set, folder });
  const labels = { ...made.spec?.selector?.matchLabels, 'machine.openshift.io/cluster-api-cluster': 'c1' };
  const template = { ...made.spec?.template, metadata: { labels } };
  await voyage.client.create(MachineSet, { ...made, spec: { ...made.spec, template } });
  operator = await rbac.operator('boot-images', account);
  await voyage.current(set, oldRelease);
  stack.use(machineApiStandIn());
});
after(async () => {
  await operator?.[Symbol.asyncDispose]();
  await stack.disposeAsync();
});

/** Stands in for Machine API until disposal. */
function machineApiStandIn(): AsyncDisposable {
  const { client } = rbac.voyage;
  const named = async (name: string): Promise<number> => Number((await rbac.voyage.inventory(folder)).has(name));
  const actor = machineActor({ client, templates: named, fate: () => fate });
  const ends = new AbortController();
  const run = async (): Promise<void> => {
    while (!ends.signal.aborted) {
      await actor.round();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const running = run();
  return {
    [Symbol.asyncDispose]: async () => {
      ends.abort();
      await running;
      assert.deepEqual(actor.adopted, []);
    },
  };
}

async function policy(spec: BootImagePolicySpec, name = 'gold'): Promise<void> {
  const { client } = rbac.voyage;
  const there = (await Array.fromAsync(client.list(BootImagePolicy))).some(({ metadata }) => metadata.name === name);
  if (there) await client.delete(BootImagePolicy, { name });
  await client.create(BootImagePolicy, { metadata: { name }, spec });
}

/** Waits until the BootImage is as wanted; what nobody watches is looked at when the set is touched. */
async function status(what: string, wanted: (status: BootImageStatus) => boolean): Promise<BootImageStatus> {
  const ends = new AbortController();
  const touching = (async () => {
    while (!ends.signal.aborted) {
      await rbac.voyage.touch(set);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  })();
  try {
    return await rbac.voyage.status(set, what, wanted);
  } finally {
    ends.abort();
    await touching;
  }
}

const reason = (is: string) => (status: BootImageStatus) => status.reason === is;
const machines = (): Promise<readonly Machine[]> =>
  Array.fromAsync(rbac.voyage.client.list(Machine, { namespace: machineApi }));
const creations = (): number =>
  rbac.audit
    .calls()
    .filter(({ user, verb, resource }) => user === userOf(account) && `${verb} ${resource}` === 'create machines')
    .length;

test('OWN-18 the server refuses on admission what a schema can tell', async () => {
  const [url, sha256] = ['https://images.example/a.ova', 'a'.repeat(64)];
  const entry = { version: 'v1.34.2', url, sha256 };
  const bad: readonly (readonly [what: string, spec: object, says: RegExp])[] = [
    ['an empty image', { image: {} }, /name a release, a catalogue, or both/],
    [
      'two entries for one version',
      { image: { catalogue: [entry, { ...entry, architecture: 'amd64' }] } },
      /Duplicate/,
    ],
    ['an address without a digest', { image: { catalogue: [{ version: '1', url }] } }, /needs the sha256/],
    ['two sources', { image: { catalogue: [{ ...entry, contentLibraryItem: 'a/b' }] } }, /and one of them/],
    [
      'an item without a digest',
      { image: { catalogue: [{ version: '1', contentLibraryItem: 'a/b' }] } },
      /that of its files/,
    ],
    ['a file', { image: { catalogue: [{ ...entry, url: 'file:///etc/shadow' }] } }, /should match/],
    ['In without values', { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }, /need values/],
    ['a hold without a reason', { hold: {} }, /reason/],
    ['no pace', { pace: { setsAtATime: 0 } }, /greater than or equal to 1/],
    ['another kind', { kinds: ['Pod'] }, /Unsupported value/],
    ['half a schedule', { windows: [{ schedule: '0 2 * *', duration: '1h' }] }, /should match/],
  ];
  for (const [what, spec, says] of bad) {
    const made = rbac.voyage.client.create(BootImagePolicy, { metadata: { name: 'bad' }, spec } as BootImagePolicy);
    await assert.rejects(made, (error: Error) => isInvalid(error) && says.test(error.message), what);
  }
});

test('OWN-18 what the schema cannot tell is refused on the policy, and the sets that it decides about stay', async () => {
  const { client } = rbac.voyage;
  await policy({ windows: [{ schedule: '0 2 30 2 *', duration: '1h', timeZone: 'Europe/Berlin' }] });
  await status('refused', reason('PolicyRefused'));
  const told = async (): Promise<string | undefined> => {
    const { status: is } = await client.get(BootImagePolicy, { name: 'gold' });
    const accepted = is?.conditions?.find(({ type }) => type === 'Accepted');
    return accepted && `${is?.selected} ${accepted.status} ${accepted.reason}`;
  };
  await eventually('never opens', async () => (await told()) === '1 False WindowNeverOpens' || undefined, told);
  await policy({ hold: { reason: 'fair' } });
  await policy({}, 'silver');
  await status('a conflict', reason('PolicyConflict'));
  await client.delete(BootImagePolicy, { name: 'silver' });
  await status('current', ({ phase, policy: by }) => phase === 'Current' && by === 'gold');
  await eventually('accepted', async () => (await told()) === '1 True Accepted' || undefined, told);
});

test('OWN-18 without the component the policy is refused with the missing verb; with it a machine is made, becomes a node, goes, and the set is moved', async () => {
  const { voyage } = rbac;
  const { client } = voyage;
  await policy({ canary: { mode: 'Machine' } });
  const image = await voyage.image('9.8.20260802-0');
  await voyage.release(image);
  const refused = await status('refused', reason('PolicyRefused'));
  assert.match(
    refused.message ?? '',
    /the operator may not get machines\.machine\.openshift\.io in openshift-machine-api/,
  );
  assert.deepEqual(await machines(), []);

  fate = 'no-node';
  await apply(client, canaries);
  const trying = await status('a canary', reason('Canary'));
  assert.equal(trying.phase, 'Publishing');
  assert.equal(await voyage.template(set), installerTemplate);
  // Another process goes on with the same machine.
  await operator[Symbol.asyncDispose]();
  operator = await rbac.operator('boot-images', account);
  fate = 'boots';
  const done = await status('moved', ({ phase, current }) => phase === 'Current' && current === image.release);
  assert.equal(done.canary?.verdict, 'Passed');
  await eventually('no machine', async () => (await machines()).length === 0 || undefined, machines);
  assert.equal(creations(), 1);
  assert.deepEqual(await Array.fromAsync(client.list(Node)), []);
});

/** What a canary's way is made of, as the server was asked for it. */
const WAY: ReadonlySet<string> = new Set(['bootimages', 'bootimages/status', 'machines', 'machinesets']);
/** So many kills on the way of one image. */
const CHAIN = 7;

/** What 15 s without a renewal do. */
async function expireLeases(): Promise<void> {
  const { client } = rbac.voyage;
  for await (const lease of client.list(Lease))
    await client.replace(Lease, { ...lease, spec: { ...lease.spec, holderIdentity: '' } });
}

test('OWN-18 killed while a canary runs, again and again, each time at another write: one machine for each image, none is left, and the set is moved', async () => {
  const { voyage } = rbac;
  fate = 'boots';
  const writes = (): number =>
    rbac.audit
      .calls()
      .filter(({ user, verb, resource }) => user === userOf(account) && !READS.has(verb) && WAY.has(resource)).length;
  const kills = seeds(20, 10_000, 'kills while a canary runs');
  for (let [images, kill] = [1, kills.next()]; kill.done !== true; images += 1) {
    const made = creations();
    const image = await voyage.image(`9.8.${20_270_000 + images}-${images}`);
    await voyage.release(image);
    const moved = ({ phase, current }: BootImageStatus): boolean => phase === 'Current' && current === image.release;
    const ways: number[] = [];
    for (let over = false; !over && kill.done !== true && ways.length < CHAIN; kill = kills.next()) {
      // The first one comes as far as the canary, more or less; the others go a write or two on.
      const steps = 1 + Math.floor(generator(kill.value)() * (ways.length === 0 ? 7 : 2));
      const wanted = writes() + steps;
      const seen = await status(`${steps} writes after ${ways.join()}`, (one) => writes() >= wanted || moved(one));
      over = moved(seen);
      ways.push(steps);
      await operator.crash();
      await expireLeases();
      operator = await rbac.operator('boot-images', account);
    }
    await status('moved', moved);
    await eventually('no machine', async () => (await machines()).length === 0 || undefined, machines);
    assert.equal(creations(), made + 1, `kills after ${ways.join(', ')} writes`);
  }
});

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

test('OWN-18 a canary that does not become ready: nothing is patched, nothing is left, and it is not tried again', async () => {
  const { voyage } = rbac;
  fate = 'kubelet-not-ready';
  await policy({ canary: { mode: 'Machine', timeout: '5s' } });
  const before = await voyage.template(set);
  const made = creations();
  await voyage.release(await voyage.image('9.9.20261101-0'));
  const failed = await status('failed', reason('CanaryFailed'));
  assert.match(
    failed.message ?? '',
    /(Ready=False KubeletNotReady|no node).*; vcenter \S+ says: no machine of it is there/,
  );
  await eventually('no machine', async () => (await machines()).length === 0 || undefined, machines);
  assert.equal(await voyage.template(set), before);
  for (let touches = 0; touches < 3; touches += 1) await voyage.touch(set);
  await status('still failed', ({ phase }) => phase === 'Blocked');
  assert.equal(creations(), made + 1);
  const calls = rbac.audit.calls().filter(({ user, code }) => user === userOf(account) && code !== 403);
  const own = calls.filter(({ resource }) => resource !== 'selfsubjectaccessreviews');
  assert.deepEqual(uncovered(own, grantsTo(account, [...rbac.manifests, ...canaries])), []);
  assert.deepEqual(
    rbac.audit.calls().filter(({ user, code }) => user === userOf(account) && code === 403),
    [],
  );
});

test('OWN-18 an item of a content library moves a set; one that is missing, another one, forbidden or one of two of its name is told with what to do, and nothing is imported', async () => {
  const { voyage } = rbac;
  const { switchboard } = voyage;
  const release = '9.9.20261201-0';
  const restSessions = async (): Promise<number> =>
    (await switchboard.sessions()).sessions.filter(({ kind }) => kind === 'rest').length;
  // Of operators that were killed.
  const left = await restSessions();
  const before = await voyage.template(set);
  const listed = [...(await voyage.inventory(folder)).keys()].toSorted();
  const wanted = (sha256: string, contentLibraryItem = 'Images/rhcos 9.9', version = release): Promise<void> =>
    policy({ image: { release: version, catalogue: [{ version, contentLibraryItem, sha256 }] } });
  const refused = async (why: string, says: RegExp, next: RegExp): Promise<BootImageStatus> => {
    const is = await status(why, reason(why));
    assert.match(is.message ?? '', says);
    assert.match(is.nextStep ?? '', next);
    assert.equal(is.phase, 'Blocked');
    assert.equal(await voyage.template(set), before);
    assert.deepEqual([...(await voyage.inventory(folder)).keys()].toSorted(), listed);
    return is;
  };

  await wanted('a'.repeat(64));
  await refused('LibraryItemMissing', /the vCenter has no content libraries Images\b/, /govc library\.ls/);

  using files = scratchFolder();
  const ova = join(files.path, 'rhcos.ova');
  await writeTestOva(ova, { version: release, diskBytes: 100_000, diskFile: 'disk.img' });
  const [datastore] = await switchboard.objects('Datastore');
  await using keeper = await libraryKeeper(voyage.sandbox.vcenter, datastore?.moref ?? '');
  await keeper.add('Images', 'rhcos 9.9', await filesOfOva(ova));
  const another = await refused(
    'DigestMismatch',
    /has sha256 [0-9a-f]{64}, but a{64} was expected/,
    /spec\.image\.catalogue: kubectl edit bootimagepolicy gold/,
  );
  const [, digest = ''] = /has sha256 ([0-9a-f]{64})/.exec(another.message ?? '') ?? [];

  const denied = await switchboard.rule({
    on: 'POST /rest/com/vmware/content/library/item/download-session',
    do: 'status',
    status: 403,
  });
  await wanted(digest);
  await refused('PrivilegeMissing', /needs the privilege ContentLibrary\.DownloadSession/, /privilege/);
  await denied.remove();
  const done = await status('moved', ({ phase, current }) => phase === 'Current' && current === release);
  assert.equal(done.template?.digest, digest);
  assert.match(await voyage.template(set), new RegExp(`${release}`));
  assert.notEqual(await voyage.template(set), before);

  await keeper.add('Images', 'rhcos 9.9', await filesOfOva(ova), { anotherLibrary: true });
  await wanted('c'.repeat(64), 'Images/rhcos 9.9', '9.9.20261202-0');
  const twice = await status('ambiguous', reason('LibraryItemAmbiguous'));
  assert.match(twice.message ?? '', /has 2 content libraries Images \([0-9a-f-]{36}, [0-9a-f-]{36}\)/);
  // One REST session is the operator's, the other the keeper's.
  assert.ok((await restSessions()) - left <= 2);
});
