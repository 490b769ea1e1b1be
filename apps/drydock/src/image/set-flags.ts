import type { KeptSet } from '@drydock/boot-images';
import type { Command } from 'commander';

import type { ClusterImages } from '../cluster-images.ts';
import { type ClusterFlags, clusterFlags } from '../connect.ts';
import { UsageError } from '../exit.ts';
import { type OutputFormat, outputOption } from '../output/format.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { chosenSets } from '../told-flags.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';

/** Flags of every verb about one set. */
export interface SetFlags extends ClusterFlags, VCenterFlags {
  readonly output: OutputFormat;
  readonly leaseNamespace: string;
  readonly vsphereProviderNamespace: string;
}

/** Adds the argument and the flags of a verb about one set. */
export function setVerb(group: Command, name: string, about: string): Command {
  const command = group
    .command(name)
    .description(about)
    .argument('<set>', 'a machine set, also as ms/NAME, cpms/NAME, or capi-md/NAME with -n NAMESPACE')
    .addOption(outputOption({ names: true }))
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .option(
      '--vsphere-provider-namespace <name>',
      'where Cluster API keeps the Secrets of VSphereClusterIdentities',
      'capv-system',
    );
  return vcenterFlags(clusterFlags(command));
}

/** Boot images are managed in one namespace. */
export async function checkNamespace({ namespace }: SetFlags): Promise<void> {
  const { machineApiNamespace } = await import('@drydock/boot-images');
  if (namespace !== undefined && namespace !== machineApiNamespace)
    throw new UsageError(`--namespace ${namespace}: boot images are managed in ${machineApiNamespace} alone`);
}

/** The one set that is meant. */
export async function setNamed({ world }: Pick<ClusterImages, 'world'>, name: string): Promise<KeptSet> {
  const { keptSets } = await import('@drydock/boot-images');
  const [set] = await chosenSets(keptSets(world), [name]);
  if (set === undefined) throw new UsageError(`there is no machine set ${name}`);
  return set;
}
