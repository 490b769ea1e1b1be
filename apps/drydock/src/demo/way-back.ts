import { BootImage, BootImagePolicy, type BootImageStatus, bootImageName, Machine } from '@drydock/api';
import { machineActor } from '@drydock/boot-images/testing';
import { exitCode } from '../exit.ts';
import { table } from '../table.ts';
import { type DemoImage, machineApi, machineSets, publishRelease, templatesOf } from './cluster.ts';
import { drydock } from './command-line.ts';
import { awaited } from './patience.ts';
import { type Stage, vcenterName } from './stage.ts';

/** The set that goes back. */
const SET = 'worker-a';
const POLICY = 'careful';
const DEADLINE_MS = 120_000;

/** An image that is bad stops at the machine that tries it; a set goes back to an image that it had, and stays there when the next release comes. */
export async function wayBackChapter(stage: Stage): Promise<void> {
  const { client, options, tell } = stage;
  tell.chapter('WAY BACK: a bad image reaches no set, and a set that goes back stays there');
  const [bad, next] = [stage.image('bad'), stage.image('next')];
  if (stage.operator === undefined) await stage.operate();
  if (!options.chapters.includes('boot-images')) {
    for (const image of [stage.image('first'), stage.image('second')]) {
      tell.step(`Release ${image.version} brings image ${image.release}`);
      await publishRelease(client, image);
      await said(stage, kept, `at ${image.release}`, at(image));
    }
  }

  tell.step(
    `A policy has a machine try each image before sets use it. Release ${bad.version} brings ${bad.release}, from which no machine can be made`,
  );
  await using _machines = machineApiStandIn(stage);
  await client.create(BootImagePolicy, { metadata: { name: POLICY }, spec: { canary: { mode: 'Machine' } } });
  const before = await templatesOf(client);
  await publishRelease(client, bad);
  const blocked = await said(stage, kept, 'stopped by the canary', ({ reason }) => reason === 'CanaryFailed');
  const unchanged = JSON.stringify([...(await templatesOf(client))]) === JSON.stringify([...before]);
  if (!unchanged) throw new Error('a set was pointed at an image whose canary failed');
  await awaited(
    async () => (await Array.fromAsync(client.list(Machine, { namespace: machineApi }))).length === 0 || undefined,
    { deadline: DEADLINE_MS, signal: stage.signal, sentence: () => 'a machine that tried an image was left' },
  );
  tell.say(
    table(
      [
        { header: 'MACHINESET', cell: ([name]: readonly [string, BootImageStatus]) => name },
        { header: 'PHASE', cell: ([, { phase = '' }]) => phase },
        { header: 'REASON', cell: ([, { reason = '' }]) => reason },
        { header: 'NEW MACHINES START FROM', cell: ([name]) => `${before.get(name) ?? ''} (unchanged)` },
      ],
      [...blocked],
    ),
  );
  tell.say(`${blocked.get(SET)?.message ?? ''}\nmachines left: 0`);

  tell.step(`${SET} goes back to the image that it had before`);
  const { count } = await stage.switchboard.uploads();
  tell.say(await run(stage, ['image', 'revert', SET, '--reason', 'nodes lose their disks']));
  const back = (await templatesOf(client)).get(SET) ?? '';
  const uploads = (await stage.switchboard.uploads()).count - count;
  if (back === before.get(SET) || uploads !== 0)
    throw new Error(`${SET} points at ${back} after its revert, with ${uploads} uploads`);
  tell.say(`uploads: ${uploads}`);

  tell.step(`Release ${next.version} brings ${next.release}, which is good; the policy is taken off`);
  await publishRelease(client, next);
  await client.delete(BootImagePolicy, { name: POLICY });
  const others = kept.filter((name) => name !== SET);
  await said(stage, others, `at ${next.release}`, at(next));
  const held = await said(stage, [SET], 'held by its pin', ({ reason }) => reason === 'Pinned');
  if ((await templatesOf(client)).get(SET) !== back) throw new Error(`the next release moved ${SET}, which is pinned`);
  tell.say(`${others.join(' and ')} have it. ${held.get(SET)?.message ?? ''}`);
  tell.say(await run(stage, ['image', 'release', SET]));
  await said(stage, [SET], `at ${next.release}`, at(next));
  tell.say(`${SET} follows the release again: ${(await templatesOf(client)).get(SET)}`);
}

const at =
  ({ release }: DemoImage) =>
  ({ phase, current }: BootImageStatus): boolean =>
    phase === 'Current' && current === release;

/** The sets that Drydock may touch. */
const kept: readonly string[] = machineSets.filter(({ owner }) => owner === undefined).map(({ name }) => name);

/** What is said of these sets, once it is as wanted. */
async function said(
  { client, signal, operator }: Stage,
  names: readonly string[],
  what: string,
  wanted: (status: BootImageStatus) => boolean,
): Promise<ReadonlyMap<string, BootImageStatus>> {
  let seen = new Map<string, BootImageStatus>();
  return awaited(
    async () => {
      operator?.alive();
      const images = await Array.fromAsync(client.list(BootImage, { namespace: machineApi }, { signal }));
      const of = new Map(images.map(({ metadata, status = {} }) => [metadata.name, status]));
      seen = new Map(names.map((name) => [name, of.get(bootImageName('ms', name)) ?? {}]));
      return seen.values().every(wanted) ? seen : undefined;
    },
    {
      deadline: DEADLINE_MS,
      signal,
      sentence: () =>
        `${names.join(', ')} are not ${what}: ${[...seen].map(([name, { phase, message }]) => `${name} ${phase}: ${message}`).join('; ')}`,
    },
  );
}

/** Runs a verb of `drydock`; what it says, with the command above it as a person would type it. */
async function run({ folder, sandbox, signal }: Stage, words: readonly string[]): Promise<string> {
  const { url, ca } = sandbox.vcenter;
  const args = [
    ...[...words, '--yes', '--kubeconfig', sandbox.kubeconfig, '--lease-namespace', machineApi],
    ...['--vcenter-url', `${vcenterName}=${url}`, '--vcenter-ca', ca],
  ];
  const { code, out, errors } = await drydock(args, { cwd: folder, signal });
  const typed = words.map((word) => (word.includes(' ') ? `'${word}'` : word)).join(' ');
  if (code !== exitCode.done) throw new Error(`"drydock ${typed}" ended with ${code}:\n${errors}`);
  return `\n$ drydock ${typed} --yes\n${out}`;
}

/** Stands in for Machine API, on which no machine can be made, until disposal. */
function machineApiStandIn({ client, switchboard, signal }: Stage): AsyncDisposable {
  const templates = async (name: string): Promise<number> =>
    (await switchboard.templates()).filter((one) => one.name === name).length;
  const actor = machineActor({ client, templates, fate: () => 'invalid' });
  const ends = new AbortController();
  const either = AbortSignal.any([ends.signal, signal]);
  const running = awaited(async () => void (await actor.round()), {
    ...{ deadline: Number.POSITIVE_INFINITY, signal: either, sentence: () => '' },
  }).catch((error: unknown) => {
    if (!either.aborted) throw error;
  });
  return {
    [Symbol.asyncDispose]: async () => {
      ends.abort();
      await running;
    },
  };
}
