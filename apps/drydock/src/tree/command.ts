import type { ClusterTree } from '@drydock/boot-images';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import type { Leadership } from '../leadership.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { leaderText, notesText, stuckText, unreadText } from '../status.ts';
import { LEASE_NAMESPACE, statusNotes } from '../status-notes.ts';
import { terminalWidth } from '../table.ts';
import { say, sayError, tell } from '../terminal.ts';
import { clusterTreeNow } from './cluster-tree.ts';
import { treeText } from './text.ts';

interface TreeFlags extends ClusterFlags {
  readonly output: OutputFormat;
  readonly all?: boolean;
  readonly leaseNamespace: string;
}

/** What `drydock tree` prints as JSON and YAML: everything, nothing folded. */
export interface TreeOutput extends ClusterTree {
  readonly leader: Leadership;
  /** What could not be read, so that the operator's last word stands instead. */
  readonly unread: readonly string[];
}

/** Adds `drydock tree`: all sets by what they share. It only reads. */
export function addTree(program: Command): void {
  const command = program
    .command('tree')
    .description('show all sets by release, place and image: what is fine is folded, what is not stands out')
    .addOption(outputOption({ names: true }))
    .option('--all', 'fold nothing')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
It says of each set what status says. A set is fine where it is Current and nobody pinned it.

Example:
  drydock tree -o json | jq '[.. | objects | select(.fine == false) | .set]'

Exit codes: 0 shown, 1 failed, 2 usage, 130 and 143 interrupted.`,
    );
  clusterFlags(command).action((flags: TreeFlags) =>
    untilInterrupted((signal) => tree(flags, signal), 'nothing was changed'),
  );
}

async function tree(flags: TreeFlags, signal: AbortSignal): Promise<number> {
  await using client = await connect(flags);
  const [found, notes] = await Promise.all([
    clusterTreeNow(client, flags, signal),
    statusNotes(client, flags.leaseNamespace),
  ]);
  const { images, leader, now, tree: made, unread } = found;
  const output: TreeOutput = { leader, ...made, unread };
  const text = (): string => treeText(made, { now: now.getTime(), all: flags.all === true, width: terminalWidth() });
  const names = (): readonly string[] => images.map(({ metadata }) => `bootimage.drydock.dev/${metadata.name}`);
  if (!flags.output.people) {
    print(flags.output, output, text, names);
    return exitCode.done;
  }
  say(leaderText(leader, now.getTime()));
  tell(unreadText(output.unread));
  if (notes !== undefined) tell(notesText(notes, now.getTime()));
  if (images.length === 0) sayError('There are no machine sets, and no boot images.');
  print(flags.output, output, text, names);
  tell(stuckText(images));
  return exitCode.done;
}
