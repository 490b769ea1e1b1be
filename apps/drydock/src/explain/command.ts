import type { Command } from 'commander';
import { worldsOf } from '../cluster-api-part.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { leadershipOf } from '../leadership.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { imageOfSet } from '../output/names.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { sayError } from '../terminal.ts';
import { chosenSets, type ToldFlags, toldFlags, toldOf } from '../told-flags.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';
import { explainClusterApi, splitNames } from './cluster-api.ts';
import { type Explained, isStuck } from './explained.ts';
import { explainedText } from './text.ts';

interface ExplainFlags extends ClusterFlags, VCenterFlags, ToldFlags {
  readonly leaseNamespace: string;
  readonly output: OutputFormat;
}

/** Adds `drydock explain`: why a machine set boots from what it boots from, and what comes next. It only reads. */
export function addExplain(program: Command): void {
  const command = program
    .command('explain')
    .description('say why a machine set boots from what it boots from, and what comes next')
    .argument('[machineset...]', 'names, also as ms/NAME, cpms/NAME or capi-md/NAME (default: all)')
    .addOption(outputOption({ names: true }))
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
It asks what the operator asks, by the same code, and writes nothing. vCenters are reached with the Secret of the cluster.
Exit codes: 0 explained, 1 failed, 2 usage, 3 something stops a set, 5 something could not be read, 130 and 143 interrupted.`,
    );
  toldFlags(vcenterFlags(clusterFlags(command))).action((names: readonly string[], flags: ExplainFlags) =>
    untilInterrupted((signal) => explain(names, flags, signal), 'nothing was changed'),
  );
}

async function explain(names: readonly string[], flags: ExplainFlags, signal: AbortSignal): Promise<number> {
  const told = toldOf(flags);
  const { keptSets, machineApiNamespace } = await import('@drydock/boot-images');
  // With the client of vCenters, which the checks above do without.
  const { clusterImages } = await import('../cluster-images.ts');
  await using client = await connect(flags);
  const warn = (message: string): void => sayError(`warning: ${message}`);
  await using images = await clusterImages({
    client,
    flags,
    leaseNamespace: flags.leaseNamespace,
    ...told,
    warn,
    signal,
  });
  const { clusterApi, openshift } = splitNames(names);
  const sets = openshift === undefined ? [] : await chosenSets(keptSets(images.world), openshift);
  const leader = await leadershipOf(client, { role: 'boot-images', namespace: flags.leaseNamespace }, { signal });
  const explained: Explained[] = [];
  for (const set of sets) explained.push(await images.explain(set));
  if (clusterApi !== undefined && (await worldsOf(client, { warn: () => undefined })).clusterApi !== undefined)
    explained.push(...(await explainClusterApi(client, clusterApi, { world: images.world, leader, signal })));
  print(
    flags.output,
    explained,
    () => explainedText(explained, leader, Date.now()),
    () => explained.map(({ set }) => imageOfSet(set)),
  );
  if (explained.length === 0)
    sayError(`There are no machine sets in ${machineApiNamespace}, and no sets of Cluster API.`);
  return codeOf(explained);
}

function codeOf(explained: readonly Explained[]): number {
  if (explained.some(isStuck)) return exitCode.blocked;
  return explained.some(({ step }) => step === 'unknown') ? exitCode.undecided : exitCode.done;
}
