import { jsonText } from '@drydock/api/text';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { say, sayError } from '../terminal.ts';
import { chosenSets, type ToldFlags, toldFlags, toldOf } from '../told-flags.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';
import { yamlText } from '../yaml.ts';
import { planText } from './plan-text.ts';

const FORMATS = ['text', 'json', 'yaml'] as const;

interface PlanFlags extends ClusterFlags, VCenterFlags, ToldFlags {
  readonly output: string;
}

/** Adds `drydock image plan`: what the operator would do about boot images, call by call. It only reads. */
export function addPlan(group: Command): void {
  const command = group
    .command('plan')
    .description('say what the operator would do about boot images, call by call')
    .argument('[machineset...]', 'names, also as ms/NAME or cpms/NAME (default: all)')
    .option('-o, --output <format>', FORMATS.join('|'), 'text')
    .addHelpText(
      'after',
      `
It asks what the operator asks, by the same code, and writes nothing.
Exit codes: 0 nothing to do, 1 failed, 2 usage, 3 something stops a set, 5 something could not be read, 6 changes are pending, 130 and 143 interrupted.`,
    );
  toldFlags(vcenterFlags(clusterFlags(command))).action((names: readonly string[], flags: PlanFlags) =>
    untilInterrupted((signal) => plan(names, flags, signal), 'nothing was changed'),
  );
}

async function plan(names: readonly string[], flags: PlanFlags, signal: AbortSignal): Promise<number> {
  const format = FORMATS.find((known) => known === flags.output);
  if (format === undefined)
    throw new UsageError(`unknown output format ${flags.output}: use one of ${FORMATS.join(', ')}`);
  const told = toldOf(flags);
  const { keptSets } = await import('@drydock/boot-images');
  // With the client of vCenters, which the checks above do without.
  const { clusterImages } = await import('../cluster-images.ts');
  await using client = await connect(flags);
  const warn = (message: string): void => sayError(`warning: ${message}`);
  await using images = await clusterImages({ client, flags, ...told, warn, signal });
  const planned = await images.plan(await chosenSets(keptSets(images.world), names));
  if (format === 'text') say(planText(planned));
  if (format === 'json') say(`${jsonText(planned, 2)}\n`);
  if (format === 'yaml') say(yamlText(planned));
  if (planned.rest.some(({ step }) => step === 'blocked' || step === 'failed')) return exitCode.blocked;
  if (planned.rest.some(({ step }) => step === 'unknown')) return exitCode.undecided;
  return planned.steps.length === 0 ? exitCode.done : exitCode.pending;
}
