import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { splitNames } from '../explain/cluster-api.ts';
import { wholeNumber } from '../flag-numbers.ts';
import { untilInterrupted } from '../interruption.ts';
import { leadershipOf } from '../leadership.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { imageOfSet } from '../output/names.ts';
import { shell } from '../template/next-command.ts';
import { say, sayError } from '../terminal.ts';
import { chosenSets, type ToldFlags, toldFlags, toldOf } from '../told-flags.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';
import { type ImageFlags, imageFlags, imagesOf } from './image-flags.ts';
import { type ImagePlan, writeImagePlan } from './plan-file.ts';
import { planText } from './plan-text.ts';
import { withClusterApi } from './rotated-plan.ts';

interface PlanFlags extends ClusterFlags, VCenterFlags, ToldFlags, ImageFlags {
  readonly output: OutputFormat;
  readonly out?: string;
  readonly keep: number;
}

/** Adds `drydock image plan`: what the operator would do about boot images, call by call. It only reads. */
export function addPlan(group: Command): void {
  const command = group
    .command('plan')
    .description('say what the operator would do about boot images, call by call; "apply" does exactly that')
    .argument('[set...]', 'names, also as ms/NAME, cpms/NAME or capi-md/NAME with -n NAMESPACE (default: all)')
    .option('--out <file>', 'keep the plan in a file, for "apply"')
    .option(
      '--keep <count>',
      'templates of each place that stay as a way back, as the operator is told',
      wholeNumber,
      2,
    )
    .addOption(outputOption({ names: true }))
    .addHelpText(
      'after',
      `
It asks what the operator asks, by the same code, and writes nothing. What -o json prints is a plan for "apply", too.
Exit codes: 0 nothing to do, 1 failed, 2 usage, 3 something stops a set, 5 something could not be read, 6 changes are pending, 130 and 143 interrupted.`,
    );
  imageFlags(toldFlags(vcenterFlags(clusterFlags(command)))).action((names: readonly string[], flags: PlanFlags) =>
    untilInterrupted((signal) => plan(names, flags, signal), 'nothing was changed'),
  );
}

async function plan(names: readonly string[], flags: PlanFlags, signal: AbortSignal): Promise<number> {
  const { clusterApi, openshift } = splitNames(names);
  // Boot images of OpenShift are in one namespace; those of Cluster API are in any.
  const { namespace, ...told } = flags;
  const { downgrade, stubSecret, publication } = toldOf(openshift === undefined ? told : flags);
  const images = await imagesOf(flags);
  // What is read of a large cluster stays until the end: the young generation, which V8 would let grow to 32 MiB, is mostly copied.
  for (const flag of ['--semi-space-growth-factor=1', '--optimize-for-size']) setFlagsFromString(flag);
  const { keptSets } = await import('@drydock/boot-images');
  // With the client of vCenters, which the checks above do without.
  const { clusterImages } = await import('../cluster-images.ts');
  await using client = await connect(flags);
  const warn = (message: string): void => sayError(`warning: ${message}`);
  const leader = await leadershipOf(client, { role: 'boot-images', namespace: images.leaseNamespace }, { signal });
  await using cluster = await clusterImages({
    ...{ client, flags, downgrade, stubSecret, publication, leader, warn, signal },
    ...{ ...images, retain: flags.keep },
  });
  const sets = openshift === undefined ? [] : await chosenSets(keptSets(cluster.world), openshift);
  const ours = await cluster.plan(sets, { some: names.length > 0 });
  const planned: ImagePlan = {
    drydockImagePlan: 1,
    told: { downgrade, stubSecret, templates: publication, keep: flags.keep },
    ...(clusterApi === undefined
      ? ours
      : await withClusterApi(ours, clusterApi, {
          ...{ client, cluster, flags, images, namespace, warn, signal, retain: flags.keep },
        })),
  };
  if (flags.out !== undefined) await writeImagePlan(flags.out, planned);
  print(
    flags.output,
    planned,
    () => planText(planned),
    () => [...new Set(planned.steps.flatMap((step) => ('set' in step ? [imageOfSet(step.set)] : [])))],
  );
  if (flags.output.people && flags.out !== undefined && planned.steps.length > 0)
    say(`\nTo do exactly this: ${shell`drydock image apply ${flags.out}`}\n`);
  if (planned.rest.some(({ step }) => step === 'blocked' || step === 'failed')) return exitCode.blocked;
  if (planned.rest.some(({ step }) => step === 'unknown')) return exitCode.undecided;
  return planned.steps.length === 0 ? exitCode.done : exitCode.pending;
}
