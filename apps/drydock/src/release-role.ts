import { type KubeClient, type KubeMetrics, loadKubeconfig } from '@drydock/kube';
import type { Account, ClusterVersionTrust, ReleaseRoleOptions } from '@drydock/release';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Logger } from 'pino';
import { accountClients } from './account-clients.ts';
import type { ClusterFlags } from './connect.ts';
import { UsageError } from './exit.ts';
import { type RegistryFlags, registryFlags, registryOptions } from './release/payload-source.ts';
import type { RoleParts } from './role-run.ts';
import { readSmallFile } from './small-file.ts';
import type { StatusKeepers } from './status-keeping.ts';

/** Flags of the role `release`. */
export interface ReleaseFlags extends ClusterFlags, RegistryFlags {
  readonly leaseNamespace: string;
  readonly releaseAccount?: Account;
  readonly releaseKeyring?: readonly string[];
  readonly releaseStore?: readonly string[];
  readonly writerPatience?: number;
}

/** Adds the flags of the role `release`. */
export function releaseFlags(command: Command): Command {
  return registryFlags(command)
    .option(
      '--release-account <namespace/name>',
      'also manage ClusterVersion, in the name of this ServiceAccount, where no cluster-version-operator does',
      accountOf,
    )
    .option(
      '--release-keyring <file...>',
      'who must have signed the first release of ClusterVersion; the next ones by the key rings that a release brings',
    )
    .option('--release-store <url...>', 'where its signatures are')
    .addOption(patienceOption());
}

/** For how long a way back waits for the writers of its release. */
export function patienceOption(): Option {
  return new Option(
    '--writer-patience <seconds>',
    'how long a writer has to write anew once a way back has brought its release (default: 30)',
  ).argParser(secondsOf);
}

/** What the role is made of. */
export interface ReleasePartOptions {
  readonly flags: ReleaseFlags;
  readonly client: KubeClient;
  readonly metrics: KubeMetrics;
  readonly log: Logger;
  /** Applies instead of `applyPayload`. */
  readonly apply?: ReleaseRoleOptions['apply'];
}

/** The role of releases: Payloads, and ClusterVersion where an account is named for it. What is returned makes its parts, each time anew. */
export async function releaseRoleParts(
  options: ReleasePartOptions,
): Promise<(statuses: StatusKeepers, closing: AsyncDisposableStack) => Promise<RoleParts>> {
  const { flags, client, metrics, log } = options;
  if (flags.as !== undefined)
    throw new UsageError('the role release acts in the name of accounts: --as cannot be given with it');
  const release = await import('@drydock/release');
  release.markHeapAtOnce();
  const registry = await registryOptions(flags);
  const trust = {
    ...(registry.ca === undefined ? {} : { ca: registry.ca }),
    ...(registry.plain === undefined ? {} : { plain: registry.plain }),
  };
  const clusterVersion = await trustOf(flags);
  const namespace = flags.leaseNamespace;
  const counted = release.releaseMetrics(metrics.registry);
  return async (statuses, closing) => {
    const clients = closing.use(accountClients(await loadKubeconfig(flags), { metrics, now: () => performance.now() }));
    const role = release.releaseRole({
      ...{ client, namespace, log },
      clientFor: clients.of,
      ...(clients.at === undefined ? {} : { clientAt: clients.at }),
      inventory: release.configMapInventory({ client, namespace }),
      apply: options.apply ?? release.applyPayload,
      retrieve: async (image, signal) => {
        await using source = release.registryImage(release.parseReference(image), registry);
        return await release.readPayloadImage(source, {
          signal,
          ...(flags.architecture === undefined ? {} : { architecture: flags.architecture }),
        });
      },
      storeAt: (address) => release.httpStore(address, trust),
      metrics: counted,
      statuses: statuses.of,
      ...(flags.writerPatience === undefined ? {} : { patience: flags.writerPatience * 1_000 }),
      ...(clusterVersion === undefined ? {} : { clusterVersion }),
    });
    return { ...role, services: [statuses.sweeper] };
  };
}

async function trustOf({
  releaseAccount: account,
  releaseKeyring = [],
  releaseStore = [],
}: ReleaseFlags): Promise<ClusterVersionTrust | undefined> {
  if (account === undefined) {
    if (releaseKeyring.length + releaseStore.length > 0)
      throw new UsageError('--release-keyring and --release-store are for ClusterVersion: give --release-account, too');
    return undefined;
  }
  const { MAX_RING } = await import('@drydock/release');
  const rings: { readonly name: string; readonly armoured: string }[] = [];
  for (const file of releaseKeyring) {
    const armoured = await readSmallFile(file, MAX_RING).catch((error: Error) => {
      throw new UsageError(`${file} cannot be read: ${error.message}`);
    });
    rings.push({ name: file, armoured });
  }
  return { account, rings, stores: releaseStore };
}

/** Seconds of a flag, at most an hour. */
export function secondsOf(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 3_600)
    throw new InvalidArgumentError('a whole number from 1 to 3600 is expected.');
  return value;
}

function accountOf(text: string): Account {
  const [, namespace, name] = /^([a-z0-9][-a-z0-9]{0,62})\/([a-z0-9][-a-z0-9.]{0,252})$/.exec(text) ?? [];
  if (namespace === undefined || name === undefined)
    throw new InvalidArgumentError('NAMESPACE/NAME of a ServiceAccount is expected.');
  return { namespace, name };
}
