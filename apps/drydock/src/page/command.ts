import type { ClusterConfig } from '@drydock/kube';
import type { RemotePage } from '@drydock/page';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { portNumber } from '../flag-numbers.ts';
import { untilInterrupted } from '../interruption.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { say, sayError } from '../terminal.ts';

interface PageFlags extends ClusterFlags {
  readonly leaseNamespace: string;
  readonly port: number;
  readonly bindAddress: string;
  readonly inCluster?: boolean;
  readonly service: string;
  readonly portForward?: true | number;
}

/** Adds `drydock page`: a web page on this machine that answers "can I scale now?". It only reads. */
export function addPage(program: Command): void {
  const command = program
    .command('page')
    .description('show on a web page of this machine where new machines can be made now, and what happens')
    .option('--port <number>', 'port of the page; 0 takes a free one', portNumber, 8088)
    .option('--bind-address <ip>', 'address of this machine alone', '127.0.0.1')
    .option(
      '--in-cluster',
      'show what the operator serves in the cluster (drydock operator --page), with a token for it',
    )
    .option('--service <namespace/name:port>', 'Service of that page', 'drydock/drydock-page:https')
    .option(
      '--port-forward [port]',
      "the same through a port of the operator's pod, without a token (8444)",
      portNumber,
    )
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
It reads what status, tree and release status read, with your own rights, and only while somebody looks at it. Nothing is
asked of vCenters, and nothing is written. Whoever works on this machine can look, too.

With --in-cluster it shows what the operator reads, with its rights. Drydock requests a token for the page alone
(ServiceAccount drydock-page-viewer, audience drydock-page). If you may not request one, it sends your own token, but only
if ClusterRoleBinding drydock-page names the namespace and records its uid. Otherwise it sends nothing.

With --port-forward it sends no token at all: whoever may forward ports of the operator's pod may look.

Examples:
  drydock page --port 0
  drydock page --in-cluster

Exit codes: 0 ended by a signal, 1 failed, 2 usage.`,
    );
  clusterFlags(command).action((flags: PageFlags) =>
    untilInterrupted((signal) => page(flags, signal), 'nothing was changed'),
  );
}

async function page(flags: PageFlags, signal: AbortSignal): Promise<number> {
  const { isLoopback, relayPage } = await import('@drydock/page');
  if (!isLoopback(flags.bindAddress))
    throw new UsageError(
      `--bind-address ${flags.bindAddress}: the page asks for no login here, so that it is served to this machine alone. In a cluster: drydock operator --page`,
    );
  const { loadKubeconfig } = await import('@drydock/kube');
  await using stack = new AsyncDisposableStack();
  const { bindAddress: host, port } = flags;
  let url: string;
  if (flags.inCluster === true || flags.portForward !== undefined) {
    const { asGroup: asGroups, ...rest } = flags;
    const config = await loadKubeconfig({ ...rest, ...(asGroups === undefined ? {} : { asGroups }) });
    const remote = await remotePage(flags, config, stack);
    // A caller who may not look is refused here.
    await remote.text('/state', signal);
    url = stack.use(await relayPage(remote, { host, port })).url;
  } else {
    const { localPage } = await import('./local-page.ts');
    const client = stack.use(await connect(flags));
    const onError = (error: unknown): void =>
      sayError(`drydock: ${error instanceof Error ? error.message : String(error)}`);
    const { leaseNamespace } = flags;
    url = stack.use(await localPage({ client, leaseNamespace, host, port, onError })).url;
  }
  say(`${url}\n`);
  sayError('Ctrl-C ends it.');
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return exitCode.done;
}

async function remotePage(
  { service, portForward }: PageFlags,
  config: ClusterConfig,
  stack: AsyncDisposableStack,
): Promise<RemotePage> {
  const { createClient, portForwarder } = await import('@drydock/kube');
  const { inClusterPage, namespaceOf } = await import('./in-cluster.ts');
  const client = stack.use(createClient(config));
  if (portForward === undefined) return inClusterPage(client, config, service);
  const { FORWARD_PORT, forwardedPage } = await import('./forwarded-page.ts');
  const forwarder = stack.use(portForwarder(config));
  const port = portForward === true ? FORWARD_PORT : portForward;
  return forwardedPage({ client, forwarder, namespace: namespaceOf(service), port });
}
