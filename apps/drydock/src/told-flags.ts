import type { DowngradePolicy, KeptSet, StubSecret, TemplatePublication } from '@drydock/boot-images';
import type { Command } from 'commander';
import type { ClusterFlags } from './connect.ts';
import { UsageError } from './exit.ts';

/** What the operator is told by its flags, and whoever foresees what it does must be told as well. */
export interface ToldFlags {
  readonly downgrade: string;
  readonly stubSecret: string;
  readonly templates: string;
}

/** The same, once it was looked at. */
export interface Told {
  readonly downgrade: DowngradePolicy;
  readonly stubSecret: StubSecret;
  readonly publication: TemplatePublication;
}

/** Where boot images are managed. */
const NAMESPACE = 'openshift-machine-api';

/** Adds the flags. */
export function toldFlags(command: Command): Command {
  return command
    .option('--downgrade <policy>', 'keep|replace, as the operator is told', 'keep')
    .option('--stub-secret <way>', 'InPlace|Managed, as the operator is told', 'InPlace')
    .option('--templates <way>', 'pointer|swap, as the operator is told', 'pointer');
}

/** Looks at the flags. Throws `UsageError`. */
export function toldOf({ downgrade, stubSecret, templates, namespace = NAMESPACE }: ToldFlags & ClusterFlags): Told {
  if (downgrade !== 'keep' && downgrade !== 'replace')
    throw new UsageError(`unknown downgrade policy ${downgrade}: use keep or replace`);
  if (stubSecret !== 'InPlace' && stubSecret !== 'Managed')
    throw new UsageError(`unknown way ${stubSecret} to a stub: use InPlace or Managed`);
  if (templates !== 'pointer' && templates !== 'swap')
    throw new UsageError(`unknown way to publish templates ${templates}: use pointer or swap`);
  if (namespace !== NAMESPACE)
    throw new UsageError(`--namespace ${namespace}: boot images are managed in ${NAMESPACE} alone`);
  return { downgrade, stubSecret, publication: templates };
}

/** The sets that are meant, in the order in which they are named; all of them where none is. A name without a kind is a machine set's, where there is one. Throws `UsageError`. */
export async function chosenSets(sets: readonly KeptSet[], names: readonly string[]): Promise<readonly KeptSet[]> {
  if (names.length === 0) return sets;
  const { idOf } = await import('@drydock/boot-images');
  return names.map((given) => {
    const id = given
      .replace(/^machinesets?(\.[a-z.]+)?\//i, 'ms/')
      .replace(/^controlplanemachinesets?(\.[a-z.]+)?\//i, 'cpms/');
    const set = sets.find((one) => idOf(one) === id || one.metadata.name === id);
    if (set !== undefined) return set;
    const there = sets.map(idOf).join(', ');
    throw new UsageError(`there is no machine set ${given}; there ${there === '' ? 'are none' : `are ${there}`}`);
  });
}
