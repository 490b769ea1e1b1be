import { type Command, InvalidArgumentError } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { say, sayError } from '../terminal.ts';

interface PageFlags extends ClusterFlags {
  readonly leaseNamespace: string;
  readonly port: number;
  readonly bindAddress: string;
}

/** Adds `drydock page`: a web page on this machine that answers "can I scale now?". It only reads. */
export function addPage(program: Command): void {
  const command = program
    .command('page')
    .description('show on a web page of this machine where new machines can be made now, and what happens')
    .option('--port <number>', 'port of the page; 0 takes a free one', portNumber, 8088)
    .option('--bind-address <ip>', 'address of this machine alone', '127.0.0.1')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
It reads what status, tree and release status read, with your own rights, and only while somebody looks at it. Nothing is
asked of vCenters, and nothing is written. Whoever works on this machine can look, too.

Example:
  drydock page --port 0

Exit codes: 0 ended by a signal, 1 failed, 2 usage.`,
    );
  clusterFlags(command).action((flags: PageFlags) =>
    untilInterrupted((signal) => page(flags, signal), 'nothing was changed'),
  );
}

async function page(flags: PageFlags, signal: AbortSignal): Promise<number> {
  const { feed, isLoopback, loopbackOnly, pageAssets, startPage } = await import('@drydock/page');
  if (!isLoopback(flags.bindAddress))
    throw new UsageError(
      `--bind-address ${flags.bindAddress}: the page asks for no login here, so that it is served to this machine alone. In a cluster: drydock operator --page`,
    );
  const [{ pageWorld }, { pageTriggers }, assets] = await Promise.all([
    import('./world.ts'),
    import('./triggers.ts'),
    pageAssets(),
  ]);
  await using client = await connect(flags);
  await using state = feed({
    read: (reading) => pageWorld(client, flags, reading),
    triggers: (changed) => pageTriggers(client, flags.leaseNamespace, changed),
  });
  // Whoever may read nothing is told here, and not by an empty page.
  await state.now();
  await using server = await startPage({
    ...{ feed: state, assets, admit: loopbackOnly, host: flags.bindAddress, port: flags.port },
    onError: (error) => sayError(`drydock: ${error instanceof Error ? error.message : String(error)}`),
  });
  say(`${server.url}\n`);
  sayError('Ctrl-C ends it.');
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return exitCode.done;
}

function portNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('a port is expected, at most 65535.');
  return value;
}
