import { Infrastructure } from '@drydock/api';
import { isNotFound, type KubeClient } from '@drydock/kube';
import { type Command, Option } from 'commander';
import type { Logger } from 'pino';
import { UsageError } from './exit.ts';
import { secondsOf } from './release-role.ts';

/** How long the Leases of the operator last; see `LeaderOptions` of kube. Times in ms. */
export interface LeaseTimes {
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
}

/** Flags for it, in seconds. */
export type LeaseFlags = Partial<LeaseTimes>;

/** What kube-controller-manager has by default. */
const KUBERNETES = { leaseDuration: 15, renewDeadline: 10, retryPeriod: 2 };
/** `LeaderElectionDefaulting` of github.com/openshift/library-go: the API server may be unavailable while it is rolled out. */
const OPENSHIFT = { leaseDuration: 137, renewDeadline: 107, retryPeriod: 26 };
/** `LeaderElectionSNOConfig` of the same: a single node has no other API server meanwhile. */
const SINGLE_NODE = { leaseDuration: 270, renewDeadline: 240, retryPeriod: 60 };

/** Adds the flags. */
export function leaseFlags(command: Command): Command {
  const option = (flag: string, text: string): Option => new Option(`${flag} <seconds>`, text).argParser(secondsOf);
  return command
    .addOption(option('--lease-duration', 'Wait this long for a silent leader (default: 15; on OpenShift 137 or 270)'))
    .addOption(option('--renew-deadline', 'Lead this long without a renewal (default: 10; on OpenShift 107 or 240)'))
    .addOption(option('--retry-period', 'Longest pause between attempts (default: 2; on OpenShift 26 or 60)'));
}

/** Flags first, then what suits the cluster. Throws `UsageError` where they contradict each other. */
export async function leaseTimes(
  flags: LeaseFlags,
  client: Pick<KubeClient, 'get' | 'raw'>,
  log: Pick<Logger, 'warn'>,
): Promise<LeaseTimes> {
  const usual = await usualTimes(client, log);
  const leaseDuration = flags.leaseDuration ?? usual.leaseDuration;
  const renewDeadline = flags.renewDeadline ?? usual.renewDeadline;
  const retryPeriod = flags.retryPeriod ?? usual.retryPeriod;
  if (leaseDuration <= renewDeadline || renewDeadline <= retryPeriod) {
    const times = `--lease-duration ${leaseDuration} --renew-deadline ${renewDeadline} --retry-period ${retryPeriod}`;
    throw new UsageError(
      `${times}: the lease duration must be longer than the renew deadline, and that longer than the retry period. Give all three: those that you omit have the defaults of this cluster`,
    );
  }
  return {
    leaseDuration: leaseDuration * 1_000,
    renewDeadline: renewDeadline * 1_000,
    retryPeriod: retryPeriod * 1_000,
  };
}

/** Times in s. */
async function usualTimes(client: Pick<KubeClient, 'get' | 'raw'>, log: Pick<Logger, 'warn'>): Promise<LeaseTimes> {
  try {
    await client.raw({ method: 'GET', path: '/apis/config.openshift.io' });
  } catch (error) {
    if (isNotFound(error)) return KUBERNETES;
    log.warn(
      { err: error },
      "Whether this is OpenShift cannot be read: Leases last as long as OpenShift's. Give --lease-duration, --renew-deadline and --retry-period for others.",
    );
    return OPENSHIFT;
  }
  try {
    const { status } = await client.get(Infrastructure, { name: 'cluster' });
    return status?.controlPlaneTopology === 'SingleReplica' ? SINGLE_NODE : OPENSHIFT;
  } catch (error) {
    if (!isNotFound(error))
      log.warn(
        { err: error },
        'The topology of the control plane cannot be read: Leases last 137 s. On a single node, apply deploy/rbac or give --lease-duration 270 --renew-deadline 240 --retry-period 60.',
      );
    return OPENSHIFT;
  }
}
