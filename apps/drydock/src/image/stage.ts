import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { imageMirrors, mirrorPairs } from '../image-mirrors.ts';
import { untilInterrupted } from '../interruption.ts';
import { createCommand, type MarkKeyFlags, markKeyFlags, markKeySecret, readMarkKeys } from '../mark-keys.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { defaultStateDir } from '../state-file.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { table } from '../table.ts';
import { sayError, tell } from '../terminal.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';

interface StageFlags extends ClusterFlags, VCenterFlags, MarkKeyFlags {
  readonly version: string;
  readonly output: OutputFormat;
  readonly dryRun?: boolean;
  readonly imageMirror?: readonly string[];
  readonly vsphereProviderNamespace: string;
  readonly cacheDir: string;
  readonly leaseNamespace: string;
}

/** One template that is where an upgrade will look for it. */
interface StagedTemplate {
  readonly server: string;
  readonly folder: string;
  readonly failureDomain: string;
  readonly release: string;
  /** Absent: it is not made yet. */
  readonly template?: string;
  readonly state: 'imported' | 'there' | 'missing';
}

/** What `image stage` prints as JSON and YAML. */
export interface StageOutput {
  readonly staged: readonly StagedTemplate[];
  /** Why something is not where it should be, a sentence each. */
  readonly failures: readonly string[];
}

/** Adds `drydock image stage`: the image of a Kubernetes version is put where machines are made before an upgrade names it. */
export function addStage(group: Command): void {
  const command = group
    .command('stage')
    .description('put the image of a Kubernetes version into every place before an upgrade names it (Cluster API)')
    .requiredOption('--version <version>', 'the version, as v1.34.2')
    .option('--dry-run', 'only say what would be put where')
    .option('--image-mirror <from=to...>', 'read images whose address begins with from at to, http(s) or file')
    .option(
      '--vsphere-provider-namespace <name>',
      'where Cluster API keeps the Secrets of VSphereClusterIdentities',
      'capv-system',
    )
    .option('--cache-dir <folder>', 'where downloaded images are kept', join(homedir(), '.cache', 'drydock', 'images'))
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
No set is changed. The operator finds what is staged, and uploads nothing when a set names the version.
Exit codes: 0 all is there, 1 failed, 2 usage, 3 something is not, and why, 6 --dry-run: images would be imported, 130 and 143 interrupted.`,
    );
  markKeyFlags(vcenterFlags(clusterFlags(command))).action((flags: StageFlags) =>
    untilInterrupted((signal) => stage(flags, signal), 'what was imported stays; the rest was not'),
  );
}

async function stage(flags: StageFlags, signal: AbortSignal): Promise<number> {
  if (!/^v?\d+\.\d+\.\d+([-+].+)?$/.test(flags.version))
    throw new UsageError(`--version ${flags.version}: a version of Kubernetes is expected, as v1.34.2`);
  const locate = imageMirrors(await mirrorPairs({ arguments: flags.imageMirror, file: undefined, env: process.env }));
  const { CLUSTER_API, identityOf, servedKinds, serverOf, serverOfWish, stageOf } = await import(
    '@drydock/boot-images'
  );
  const { templateStore } = await import('@drydock/templates');
  const { loginBudget } = await import('@drydock/vsphere');
  const { passwordVersion } = await import('@drydock/vm-watch');
  const { loginFile } = await import('../login-file.ts');
  const { readClusterLedger } = await import('../ownership-ledger.ts');
  const { stageLedger } = await import('./stage-ledger.ts');
  const { processHolder } = await import('../template/holder.ts');
  const { progressLine } = await import('../template/progress-line.ts');
  const { connector, vcenters } = await import('../vcenters.ts');
  await using client = await connect(flags);
  const served = await servedKinds(client, { signal });
  if (served.of(CLUSTER_API, 'Cluster') === undefined) {
    sayError('drydock: this cluster does not serve Cluster API (cluster.x-k8s.io v1beta1 or v1beta2)');
    return exitCode.blocked;
  }
  const keySecret = markKeySecret(flags.markKeySecret);
  const keys = await readMarkKeys(client, keySecret, { signal });
  if (keys?.keys === undefined) {
    sayError(
      `drydock: without a key of marks the operator would not believe what is staged: ${createCommand(keySecret)}`,
    );
    return exitCode.blocked;
  }
  const holder = processHolder();
  const { vsphereProviderNamespace: providerNamespace, version } = flags;
  const { wishes, problems } = await stageOf({
    client,
    served,
    version,
    holder: holder.identity,
    providerNamespace,
    locate,
    signal,
  });
  const log = { info: () => undefined, warn: (_: object, message: string) => sayError(`warning: ${message}`) };
  await using closing = new AsyncDisposableStack();
  const reach = await connector(flags, log, loginBudget({ notes: loginFile(), attempts: 1, log }));
  const servers = closing.use(
    vcenters({
      connect: (server, credentials) => reach(serverOf(server), credentials),
      secret: () => undefined,
      credentials: async (server) => {
        const identity = await identityOf(server, { client, served, providerNamespace });
        if (identity === undefined) return undefined;
        const { user, password, secret } = identity;
        return {
          user,
          password,
          version: passwordVersion(secret, `${secret.metadata.namespace ?? ''}/${secret.metadata.name}`),
        };
      },
      metrics: { vcenterCall: () => undefined, vcenterSessions: () => undefined },
    }),
  );
  const { leaseNamespace } = flags;
  const warn = (message: string): void => log.warn({}, message);
  const ledger =
    flags.dryRun === true
      ? readClusterLedger(client, leaseNamespace, warn)
      : await stageLedger(client, { leaseNamespace, stateDir: defaultStateDir(process.env), warn, signal });
  const store = closing.use(
    templateStore({ vcenters: servers.of, cacheDir: flags.cacheDir, markKeys: async () => keys.keys, ledger }),
  );
  const staged: StagedTemplate[] = [];
  const failures: string[] = [...problems];
  for (const wish of wishes) {
    const { folder, datacenter, failureDomain } = wish.placement;
    const about = {
      server: serverOfWish(wish),
      folder: folder || datacenter,
      failureDomain,
      release: wish.image.release,
    };
    if (flags.dryRun === true) {
      staged.push({ ...about, state: 'missing' });
      continue;
    }
    const line = progressLine(process.stderr, () => performance.now());
    try {
      const { name, adopted } = await servers.during(wish.placement.server, () =>
        store.publish(wish, { onProgress: (progress) => line.show(progress), holderIsLive: holder.isLive, signal }),
      );
      staged.push({ ...about, template: name, state: adopted ? 'there' : 'imported' });
    } catch (error) {
      signal.throwIfAborted();
      failures.push(`${about.server} ${about.folder}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      line.settle();
    }
  }
  if (!flags.output.people || staged.length > 0)
    print(flags.output, { staged, failures } satisfies StageOutput, () => stagedText(staged));
  for (const failure of failures) tell(`${failure}\n`);
  if (failures.length > 0) return exitCode.blocked;
  return flags.dryRun === true && staged.length > 0 ? exitCode.pending : exitCode.done;
}

/** What stands where, as a table. */
export function stagedText(staged: readonly StagedTemplate[]): string {
  return table<StagedTemplate>(
    [
      { header: 'VCENTER', cell: ({ server }) => server },
      { header: 'FOLDER', cell: ({ folder }) => folder },
      { header: 'PLACE', cell: ({ failureDomain }) => failureDomain },
      { header: 'RELEASE', cell: ({ release }) => release },
      { header: 'TEMPLATE', cell: ({ template = '' }) => template },
      { header: 'STATE', cell: ({ state }) => state },
    ],
    staged,
  );
}
