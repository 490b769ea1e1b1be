import type { ClusterConfig, KubeClient, TransportOptions } from '@drydock/kube';
import type { Command } from 'commander';

/** The flags that say which cluster is meant; the names are kubectl's. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
  readonly server?: string;
  readonly token?: string;
  readonly certificateAuthority?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly as?: string;
  readonly asGroup?: readonly string[];
}

/** Adds kubectl's cluster flags to a command. */
export function clusterFlags(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig file (default: KUBECONFIG, ~/.kube/config, in-cluster)')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--cluster <name>', 'cluster of the kubeconfig')
    .option('--user <name>', 'user of the kubeconfig')
    .option('-n, --namespace <name>', 'namespace')
    .option('-s, --server <url>', 'address of the API server')
    .option('--token <token>', 'bearer token')
    .option('--certificate-authority <file>', 'certificate authority of the API server')
    .option('--insecure-skip-tls-verify', 'do not verify the API server (unsafe)')
    .option('--as <user>', 'act as this user')
    .option('--as-group <group...>', 'act as these groups');
}

/** A client for the cluster that the flags name; the caller disposes it. */
export async function connect(flags: ClusterFlags, transport: TransportOptions = {}): Promise<KubeClient> {
  // Not before a cluster is wanted: a verb that reads files alone does without.
  const { createClient } = await import('@drydock/kube');
  return createClient(await configOf(flags), transport);
}

/** The cluster that the flags name, and the login. */
export async function configOf({ asGroup, ...flags }: ClusterFlags): Promise<ClusterConfig> {
  const { loadKubeconfig } = await import('@drydock/kube');
  return await loadKubeconfig({ ...flags, ...(asGroup === undefined ? {} : { asGroups: asGroup }) });
}
