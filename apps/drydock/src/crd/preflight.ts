import type { Command } from 'commander';
import { untilInterrupted } from '../interruption.ts';
import { outputOption } from '../output/format.ts';
import type { PreflightFlags } from './preflight-run.ts';
import { CRD_ARGUMENT, sourceFlags } from './sources.ts';

/** Adds `crd preflight`: judges every stored object of a cluster under the definitions it would go to. It only reads, unless the server is to be probed. */
export function addPreflight(group: Command): void {
  sourceFlags(group.command('preflight').description('judge every stored object under the CRDs of another release'))
    .requiredOption('--to <source>', `CRDs to go to: ${CRD_ARGUMENT}`)
    .option('--target-version <version>', 'Kubernetes version of the API server then, such as 1.32 (default: as now)')
    .option('--era-now <era>', 'E0|E1|E2, where a feature gate makes the server another than its version says')
    .option('--era-target <era>', 'likewise')
    .option('--ack <id...>', 'accept findings: CLASS:DEFINITION or CLASS:DEFINITION:PLACE')
    .option('--strict', 'what stops only creation and server-side apply counts as blocking')
    .option('--again', 'look once more at what changes during a long scan')
    .option('--show-values', 'print values; they can be secrets')
    .option(
      '--server-probe',
      'ask the server where nothing else can tell: installs a labelled definition for the time of the run',
    )
    .option('--yes', 'do not ask before a probe')
    .addOption(outputOption())
    .action((flags: PreflightFlags) =>
      untilInterrupted(async (signal) => {
        const { runPreflight } = await import('./preflight-run.ts');
        return runPreflight(flags, signal);
      }),
    );
}
