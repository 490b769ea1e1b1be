import { setTimeout as sleep } from 'node:timers/promises';
import type { BootImage } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { Command } from 'commander';
import { type ClusterStandings, clusterStandings } from '../cluster-standings.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { durationMs } from '../image/hold.ts';
import { untilInterrupted } from '../interruption.ts';
import { type Leadership, leadershipText } from '../leadership.ts';
import { setsNamed } from '../machines/command.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { imageOfSet } from '../output/names.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { say, sayError } from '../terminal.ts';
import { standingOf, type Wish, wishOf } from './wish.ts';

/** How often (ms) it is looked. */
const LOOK_MS = 2_000;

interface WaitFlags extends ClusterFlags {
  readonly for: string;
  readonly timeout: string;
  readonly output: OutputFormat;
  readonly leaseNamespace: string;
}

/** What `drydock wait` prints as JSON and YAML: how each set stood last. */
export interface WaitOutput {
  /** Met: all are as wished. Stuck: one is not, and waits for a person. Late: the time was over. */
  readonly result: 'met' | 'stuck' | 'late';
  readonly leader: Leadership;
  readonly sets: readonly {
    readonly set: string;
    readonly namespace?: string;
    readonly met: boolean;
    readonly phase?: string;
    readonly current?: string;
    readonly target?: string;
    readonly message?: string;
    readonly nextStep?: string;
  }[];
}

/** Adds `drydock wait`: until sets are as wished. It only reads. */
export function addWait(program: Command): void {
  const command = program
    .command('wait')
    .description('wait until machine sets have the image, the release or the phase that is wanted')
    .argument('<set...>', 'names, also as ms/NAME, cpms/NAME or capi-md/NAME')
    .option('--for <wish>', 'current, release=RELEASE or phase=PHASE', 'current')
    .option('--timeout <duration>', 'how long, as 30s, 10m or 2h', '30m')
    .addOption(outputOption({ names: true }))
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
A set that is Blocked or Skipped waits for a person, and ends the wait; one that failed is tried again.

Example:
  drydock wait worker-a worker-b --for release=9.8.20260802-0 --timeout 1h

Exit codes: 0 all are as wanted, 1 failed, 2 usage, 3 a set is stuck, 5 not within the time, 130 and 143 interrupted.`,
    );
  clusterFlags(command).action((names: readonly string[], flags: WaitFlags) =>
    untilInterrupted((signal) => wait(names, flags, signal), 'nothing was changed'),
  );
}

async function wait(names: readonly string[], flags: WaitFlags, signal: AbortSignal): Promise<number> {
  const wish = wishOf(flags.for);
  const length = durationMs(flags.timeout);
  if (length === undefined)
    throw new UsageError(`--timeout ${flags.timeout}: a duration such as 30s, 10m or 2h is expected`);
  await using client = await connect(flags);
  const end = performance.now() + length;
  const { namespace, leaseNamespace } = flags;
  const where = { leaseNamespace, ...(namespace === undefined ? {} : { namespace }) };
  const told = new Map<string, string>();
  for (;;) {
    const output = outputOf(await clusterStandings(client, where, signal), names, wish);
    if (flags.output.people) tellChanges(output, told);
    const left = end - performance.now();
    if (output.result === 'late' && left > 0) {
      await sleep(Math.min(LOOK_MS, left), undefined, { signal });
      continue;
    }
    if (flags.output.people) tellEnd(output);
    else
      print(
        flags.output,
        output,
        () => '',
        () => output.sets.map(({ set }) => imageOfSet(set)),
      );
    return { met: exitCode.done, stuck: exitCode.blocked, late: exitCode.undecided }[output.result];
  }
}

function outputOf({ images, leader }: ClusterStandings, names: readonly string[], wish: Wish): WaitOutput {
  const named = setsNamed(
    names,
    images.flatMap(({ status }) => status?.set ?? []),
  );
  const meant = images.filter(({ status }) => status?.set !== undefined && named?.has(status.set) !== false);
  const standings = meant.map(({ status }) => standingOf(status, wish));
  const result = standings.every((one) => one === 'met') ? 'met' : standings.includes('stuck') ? 'stuck' : 'late';
  return { result, leader, sets: meant.map((image, at) => setOf(image, standings[at] === 'met')) };
}

function setOf({ metadata, status }: BootImage, met: boolean): WaitOutput['sets'][number] {
  const { phase, current, target, message, nextStep } = status ?? {};
  return {
    ...{ set: status?.set ?? metadata.name, met },
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    ...(phase === undefined ? {} : { phase }),
    ...(current === undefined ? {} : { current }),
    ...(target === undefined ? {} : { target }),
    ...(message === undefined ? {} : { message }),
    ...(nextStep === undefined ? {} : { nextStep }),
  };
}

/** A line where a set is otherwise than it was said to be last. */
function tellChanges({ sets }: WaitOutput, told: Map<string, string>): void {
  for (const { set, namespace, phase = 'Pending', current, target } of sets) {
    const to = target === undefined || target === current ? '' : ` → ${target}`;
    const text = oneLine(`${set} ${phase}: ${current ?? 'no image'}${to}`);
    const id = `${namespace} ${set}`;
    if (told.get(id) !== text) say(`${text}\n`);
    told.set(id, text);
  }
}

function tellEnd({ result, sets, leader }: WaitOutput): void {
  if (result === 'met') return;
  for (const { set, met, phase = 'Pending', message, nextStep } of sets)
    if (!met)
      sayError(
        oneLine(
          `drydock: ${set} is ${phase}${message === undefined ? '' : `: ${message}`}${nextStep === undefined ? '' : `. Next: ${nextStep}`}`,
        ),
      );
  if (result === 'late')
    sayError(oneLine(`drydock: not within the time; ${leadershipText(leader, 'boot images', Date.now())}`));
}
