import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type MarkKeyFlags, markKeyFlags } from '../mark-keys.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { say } from '../terminal.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';
import { codeOf, diagnosisOf, diagnosisText } from './finding.ts';

const ROLES = ['boot-images', 'watch'] as const;

interface DoctorFlags extends ClusterFlags, VCenterFlags, MarkKeyFlags {
  readonly roles: string;
  readonly leaseNamespace: string;
  readonly output: OutputFormat;
  readonly privileges?: boolean;
}

/** Adds `drydock doctor`: one look at everything that the operator needs. It only reads. */
export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('look at everything that the operator needs: rights, definitions, who acts, vCenters, machine sets')
    .option('--roles <list>', `comma-separated: ${ROLES.join(', ')}`, 'boot-images')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .option('--privileges', 'print what the user in vCenter needs, and how a role with it is made; asks nobody')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
It changes nothing, neither in the cluster nor in a vCenter. To ask for the operator's own rights: --as system:serviceaccount:drydock:drydock-boot-images.
Exit codes: 0 nothing stands in the way, 1 failed, 2 usage, 3 something does, 5 something could not be looked at, 130 and 143 interrupted.`,
    );
  markKeyFlags(vcenterFlags(clusterFlags(command))).action((flags: DoctorFlags) =>
    untilInterrupted((signal) => doctor(flags, signal), 'nothing was changed'),
  );
}

async function doctor(flags: DoctorFlags, signal: AbortSignal): Promise<number> {
  const roles = new Set(flags.roles.split(','));
  for (const role of roles)
    if (!ROLES.some((known) => known === role))
      throw new UsageError(`unknown role ${role}: there are ${ROLES.join(', ')}`);
  if (flags.privileges === true) {
    const { privilegesText } = await import('../template/privileges.ts');
    say(privilegesText());
    return exitCode.done;
  }
  const { examine } = await import('./examination.ts');
  await using client = await connect(flags);
  const diagnosis = diagnosisOf(await examine(client, { flags, roles, leaseNamespace: flags.leaseNamespace, signal }));
  print(flags.output, diagnosis, () => diagnosisText(diagnosis));
  return codeOf(diagnosis);
}
