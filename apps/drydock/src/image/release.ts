import type { BootImage } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { Pin } from '@drydock/boot-images';
import { type KubeClient, keyOf } from '@drydock/kube';
import type { Command } from 'commander';
import { agreed } from '../confirmation.ts';
import { connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type Leadership, leadershipOf, leadershipText } from '../leadership.ts';
import { print } from '../output/format.ts';
import { imageOfSet } from '../output/names.ts';
import { say, sayError } from '../terminal.ts';
import { isRotated, rotatedImage } from './rotated-image.ts';
import { checkNamespace, type SetFlags, setVerb } from './set-flags.ts';

interface ReleaseFlags extends SetFlags {
  readonly reason?: string;
  readonly yes?: boolean;
}

/** What `image release` prints as JSON and YAML. */
export interface ReleaseOutput {
  readonly set: string;
  /** Released: the pin is off. Unpinned: there was none. Refused: nothing was written. */
  readonly result: 'released' | 'unpinned' | 'refused';
  readonly pin?: Pin;
  readonly leader: Leadership;
  readonly message: string;
}

/** Adds `drydock image release`: lifts the pin of a set. */
export function addRelease(group: Command): void {
  setVerb(group, 'release', 'lift the pin of a set, so that it follows the release again')
    .option('--reason <text>', 'why, for the history')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      `
The set may be gone: its pin stays until it is lifted.
Exit codes: 0 released, or there was no pin, 1 failed, 2 usage, 3 nobody leads, 4 somebody changed the pin meanwhile, 5 nobody said yes, 130 and 143 interrupted.`,
    )
    .action((name: string, flags: ReleaseFlags) =>
      untilInterrupted((signal) => release(name, flags, signal), 'what was written is shown by drydock image history'),
    );
}

async function release(name: string, flags: ReleaseFlags, signal: AbortSignal): Promise<number> {
  const { pinText } = await import('@drydock/boot-images');
  const { liftPin, whoAsks } = await import('./pin-writer.ts');
  await using client = await connect(flags);
  const [leader, { image, set }] = await Promise.all([
    leadershipOf(client, { role: 'boot-images', namespace: flags.leaseNamespace }, { signal }),
    isRotated(name) ? imageOfRotation(client, name, flags, signal) : imageOfKept(client, name, flags, signal),
  ]);
  const pin = image?.spec?.pin;
  const end = (result: ReleaseOutput['result'], message: string, code: number): number => {
    const output: ReleaseOutput = { set, result, ...(pin === undefined ? {} : { pin }), leader, message };
    if (!flags.output.people)
      print(
        flags.output,
        output,
        () => '',
        () => [imageOfSet(set)],
      );
    if (code !== exitCode.done) sayError(oneLine(`drydock: ${set}: ${message}`));
    else if (flags.output.people) say(`${oneLine(`${set}: ${message}`)}\n`);
    return code;
  };
  if (image === undefined || pin === undefined) return end('unpinned', 'it has no pin: nothing to lift', exitCode.done);
  if (flags.output.people) say(`${oneLine(`${set} is ${pinText(pin)}; without the pin it follows the release`)}\n`);
  if (!(await agreed('Lift the pin?', { yes: flags.yes === true, signal })))
    return end(
      'refused',
      `nothing was changed: that needs a yes: drydock image release ${set} --yes`,
      exitCode.undecided,
    );
  const lifted = {
    ...{ by: await whoAsks(client, signal), since: `${new Date().toISOString().slice(0, 19)}Z` },
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
  };
  if ((await liftPin(client, image, { pin, lifted }, signal)) === 'moved')
    return end('refused', 'somebody changed the pin meanwhile, so nothing was lifted: look again', exitCode.moved);
  if (leader.state === 'vacant' || leader.state === 'never') {
    const who = leadershipText(leader, 'boot images', Date.now());
    return end('released', `the pin is lifted, and nothing moves yet: ${who}`, exitCode.blocked);
  }
  return end('released', 'the pin is lifted: the set follows the release again (drydock status)', exitCode.done);
}

async function imageOfRotation(
  client: KubeClient,
  name: string,
  { namespace }: SetFlags,
  signal: AbortSignal,
): Promise<NamedImage> {
  const { id: set, image } = await rotatedImage(client, name, namespace, signal);
  return { image, set };
}

async function imageOfKept(
  client: KubeClient,
  name: string,
  flags: SetFlags,
  signal: AbortSignal,
): Promise<NamedImage> {
  await checkNamespace(flags);
  const { worldNow } = await import('@drydock/boot-images');
  return imageNamed(await worldNow(client, { signal, credentials: 'unread' }), name);
}

interface NamedImage {
  readonly image: BootImage | undefined;
  readonly set: string;
}

/** A pin outlives its set, so that the BootImage may be all that there is. */
async function imageNamed(
  world: Awaited<ReturnType<typeof import('@drydock/boot-images')['worldNow']>>,
  name: string,
): Promise<NamedImage> {
  const { bootImageOf, idOf, keptSets } = await import('@drydock/boot-images');
  const id = name.replace(/^(ms|cpms)\//, '');
  const orphan = world.bootImages().find(({ spec }) => spec?.pin !== undefined && spec.machineSet?.name === id);
  const there = keptSets(world).some((set) => idOf(set) === name || set.metadata.name === id);
  if (!there && orphan !== undefined) return { image: orphan, set: orphan.status?.set ?? name };
  const { setNamed } = await import('./set-flags.ts');
  const set = await setNamed({ world }, name);
  return { image: world.bootImage(keyOf(bootImageOf(set))), set: idOf(set) };
}
