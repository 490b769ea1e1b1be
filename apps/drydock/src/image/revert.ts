import type { BootImage } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { Pin } from '@drydock/boot-images';
import type { KubeClient } from '@drydock/kube';
import type { Command } from 'commander';
import { agreed } from '../confirmation.ts';
import { connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type Leadership, leadershipOf, leadershipText } from '../leadership.ts';
import { type OutputFormat, print } from '../output/format.ts';
import { imageOfSet } from '../output/names.ts';
import { leaderWords } from '../status.ts';
import { shell } from '../template/next-command.ts';
import { say, sayError } from '../terminal.ts';
import type { AffectedMachines } from './affected-machines.ts';
import { holdUntil } from './hold.ts';
import type { RevertRefusal, RevertWish, ToldRevert } from './revert-plan.ts';
import { type RevertSubject, revertSubject } from './revert-subject.ts';
import { revertText } from './revert-text.ts';
import { type SetFlags, setVerb } from './set-flags.ts';

interface RevertFlags extends SetFlags {
  readonly to?: string;
  readonly reason?: string;
  readonly hold: string;
  readonly allOnName?: boolean;
  readonly yes?: boolean;
}

/** What `image revert` prints as JSON and YAML. */
export interface RevertOutput {
  readonly set: string;
  /** Reverted: the sets have the image. Pinned: the pin is written, and they will. Refused: nothing was written. */
  readonly result: 'reverted' | 'pinned' | 'refused';
  readonly from?: string;
  readonly pin?: Pin;
  /** The pin that was there before. */
  readonly replaces?: Pin;
  /** What may keep new machines from joining, where their user-data stub is in doubt. */
  readonly stub?: string;
  readonly sets?: readonly string[];
  readonly machines?: AffectedMachines;
  readonly leader: Leadership;
  readonly message: string;
  readonly next?: string;
}

/** How long a revert is waited for. It takes seconds where somebody leads. */
const WAIT_MS = 30_000;

/** Adds `drydock image revert`: pins a set to an image that it had. */
export function addRevert(group: Command): void {
  setVerb(group, 'revert', 'pin a set to an image that it had, so that no release moves it until the pin is lifted')
    .option('--to <image>', 'identifier, image or release of its history (default: the one before)')
    .option('--reason <text>', 'why, for whoever sees the pin')
    .option('--hold <duration>', 'how long it is held, as 12h or 7d, or until-released', 'until-released')
    .option('--all-on-name', 'where one template name serves more sets, take them along')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      `
Nothing is uploaded: the image must still be there. Machines that exist stay as they are; new ones start from the image.
Exit codes: 0 reverted, 1 failed, 2 usage, 3 refused or nobody leads, 4 somebody changed the pin meanwhile, 5 nobody said yes or not known yet, 130 and 143 interrupted.`,
    )
    .action((name: string, flags: RevertFlags) =>
      untilInterrupted((signal) => revert(name, flags, signal), 'what was written is shown by drydock image history'),
    );
}

async function revert(name: string, flags: RevertFlags, signal: AbortSignal): Promise<number> {
  const now = new Date();
  const until = holdUntil(flags.hold, now);
  const { whoAsks } = await import('./pin-writer.ts');
  const { writePins } = await import('./revert-writes.ts');
  await using client = await connect(flags);
  const [leader, by] = await Promise.all([
    leadershipOf(client, { role: 'boot-images', namespace: flags.leaseNamespace }, { signal }),
    whoAsks(client, signal),
  ]);
  const words = {
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    ...{ by, since: `${now.toISOString().slice(0, 19)}Z` },
    ...(until === undefined ? {} : { until }),
  };
  const wish = { to: flags.to, words, allOnName: flags.allOnName === true };
  const warn = (message: string): void => sayError(`warning: ${message}`);
  await using subject = await revertSubject(name, { client, flags, warn, signal });
  const set = subject.id;
  const plan = await told(subject, wish, { client, signal });
  const out = outputOf(flags.output, set, leader);
  if ('code' in plan) return out.refuse(plan);
  const would = await writePins(client, plan, { signal, dryRun: true });
  if ('code' in would) return out.refuse(would);
  if (flags.output.people) say(revertText(plan, leader, now.getTime()));
  if (!(await agreed('Go back?', { yes: flags.yes === true, signal }))) {
    const to = flags.to === undefined ? '' : shell` --to ${flags.to}`;
    const again = `drydock image revert ${set}${to} --yes`;
    return out.refuse({ code: exitCode.undecided, message: 'nothing was changed: that needs a yes', next: again });
  }
  const began = performance.now();
  const written = await writePins(client, plan, { signal });
  if ('code' in written) return out.refuse(written);
  return out.end(plan, await outcomeOf(client, written.images, leader, signal), began);
}

/** With the machines that it concerns, which nobody asks for where nothing is done. */
async function told(
  subject: RevertSubject,
  wish: RevertWish,
  { client, signal }: { readonly client: KubeClient; readonly signal: AbortSignal },
): Promise<ToldRevert | RevertRefusal> {
  const plan = await subject.plan(wish);
  if ('code' in plan) return plan;
  const { affectedMachines } = await import('./affected-machines.ts');
  return { ...plan, machines: await affectedMachines(client, await subject.affected(), signal) };
}

interface Ending {
  readonly code: number;
  readonly result: 'reverted' | 'pinned';
  readonly message: string;
  readonly next?: string;
}

async function outcomeOf(
  client: Pick<KubeClient, 'get'>,
  written: readonly BootImage[],
  leader: Leadership,
  signal: AbortSignal,
): Promise<Ending> {
  if (leader.state === 'vacant' || leader.state === 'never') {
    const message = `the pin is written, and nothing moves yet: ${leadershipText(leader, 'boot images', Date.now())}`;
    return {
      code: exitCode.blocked,
      result: 'pinned',
      message,
      next: leaderWords(leader, 0).nextStep ?? 'drydock operator',
    };
  }
  const { pinsObeyed } = await import('./pin-wait.ts');
  const outcome = await pinsObeyed(client, written, { waitMs: WAIT_MS, signal });
  if (outcome.kind === 'obeyed')
    return { code: exitCode.done, result: 'reverted', message: 'new machines start from the pinned image' };
  if (outcome.kind === 'replaced') {
    const { pinText } = await import('@drydock/boot-images');
    const now = outcome.pin === undefined ? 'has no pin any more' : `is ${pinText(outcome.pin)}`;
    const message = `the pin was written, and somebody changed it since: ${outcome.set} ${now}`;
    return { code: exitCode.moved, result: 'pinned', message, next: shell`drydock image history ${outcome.set}` };
  }
  const { phase = 'Pending', message = 'the operator has not looked at it yet', nextStep } = outcome.status ?? {};
  const stuck = outcome.kind === 'stuck';
  return {
    ...{ code: stuck ? exitCode.blocked : exitCode.undecided, result: 'pinned' },
    message: `the pin is written; ${outcome.set} is ${phase}: ${message}`,
    next: (stuck ? nextStep : undefined) ?? 'drydock status',
  };
}

interface Output {
  readonly refuse: (refusal: RevertRefusal) => number;
  readonly end: (plan: ToldRevert, ending: Ending, began: number) => number;
}

/** Data on stdout, for programs one object; for people the outcome of what was refused on stderr. */
function outputOf(format: OutputFormat, set: string, leader: Leadership): Output {
  const said = (output: RevertOutput): void => {
    if (!format.people)
      print(
        format,
        output,
        () => '',
        () => [imageOfSet(set)],
      );
  };
  const tellNext = (message: string, next: string | undefined): void =>
    sayError(oneLine(`drydock: ${set}: ${message}${next === undefined ? '' : `. Next: ${next}`}`));
  return {
    refuse: ({ code, message, next }) => {
      said({ set, result: 'refused', leader, message, ...(next === undefined ? {} : { next }) });
      tellNext(message, next);
      return code;
    },
    end: (plan, { code, result, message, next }, began) => {
      const { from, pin, replaces, stub, sets, machines } = plan;
      said({
        ...{ set, result, pin, machines, leader, message },
        ...(from === undefined ? {} : { from }),
        ...(replaces === undefined ? {} : { replaces }),
        ...(stub === undefined ? {} : { stub }),
        sets: sets.map(({ id }) => id),
        ...(next === undefined ? {} : { next }),
      });
      if (code !== exitCode.done) tellNext(message, next);
      else if (format.people) {
        const seconds = ((performance.now() - began) / 1000).toFixed(1);
        say(
          `${oneLine(`${set}: ${message}, after ${seconds} s. To follow the release again: drydock image release ${set}`)}\n`,
        );
      }
      return code;
    },
  };
}
