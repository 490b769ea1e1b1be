import { prune } from '@drydock/static-pods';
import type { Command } from 'commander';
import { addDisk, type DiskFlags, diskOf, integer, numbers } from './flags.ts';

interface Flags extends DiskFlags {
  readonly maxEligibleRevision: number;
  readonly protectedRevisions: readonly number[];
  readonly resourceDir: string;
  readonly staticPodName: string;
}

/** Adds `prune`; the flags are those of library-go's pruner. */
export function addPrune(program: Command, signal: AbortSignal): void {
  const command = program
    .command('prune')
    .description('remove revisions that nobody needs, each as a whole')
    .option('--max-eligible-revision <number>', 'newer ones stay; required', integer, 0)
    .option('--protected-revisions <numbers>', 'may be repeated or hold commas', numbers, [])
    .option('--resource-dir <dir>', 'holds the revisions; required', '')
    .option('--static-pod-name <name>', 'revisions are named <name>-<number>; required', '');
  addDisk(command, 'files').action(async (flags: Flags) => {
    const { maxEligibleRevision, protectedRevisions, resourceDir, staticPodName } = flags;
    const spec = { maxEligibleRevision, protectedRevisions, resourceDir, staticPod: staticPodName };
    console.log(JSON.stringify(await prune(spec, { ...diskOf(flags), signal, log: (line) => console.error(line) })));
  });
}
