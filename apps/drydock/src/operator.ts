import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  type BootImageMetrics,
  type BootImagesRole,
  bootImageMetrics,
  bootImagesRole,
  credentialsKey,
  policyStatuses,
  type Stamp,
  type StubSecret,
  serverOf,
} from '@drydock/boot-images';
import {
  eventRecorder,
  fencedClient,
  type KubeClient,
  type KubeMetrics,
  kubeMetrics,
  type Leader,
  leaderElection,
  processSignals,
  serveHealth,
  statusChannel,
  systemClock,
} from '@drydock/kube';
import { type ClusterRecords, templateStore } from '@drydock/templates';
import { loginBudget } from '@drydock/vsphere';
import { type Command, InvalidArgumentError } from 'commander';
import type { Logger } from 'pino';
import { clusterApiPart, type Worlds, worldsOf } from './cluster-api-part.ts';
import { type ClusterFlags, clusterFlags, connect } from './connect.ts';
import { exitCode, UsageError } from './exit.ts';
import { portNumber, wholeNumber } from './flag-numbers.ts';
import { imageMirrors, mirrorPairs } from './image-mirrors.ts';
import { storeDuring } from './image-store.ts';
import { type LeaseFlags, leaseFlags, leaseTimes } from './lease-times.ts';
import { clusterLogins } from './login-notes.ts';
import { type MarkKeyFlags, markKeyFlags, markKeySecret, markKeys } from './mark-keys.ts';
import { type LogFlags, logFlags, operatorLog } from './operator-log.ts';
import { orphanedVerdict } from './orphaned-verdict.ts';
import { clusterLedger } from './ownership-ledger.ts';
import { checkOperatorPage, type OperatorPageFlags, operatorPage, operatorPageFlags } from './page/operator-page.ts';
import { pauseOf } from './pause/pause.ts';
import { pausedImages } from './pause/paused-images.ts';
import { type ReleaseFlags, releaseFlags, releaseRoleParts } from './release-role.ts';
import { type RoleParts, type RunningRole, startRole } from './role-run.ts';
import { type StatusKeepers, statusKeeping } from './status-keeping.ts';
import { LEASE_NAMESPACE } from './status-notes.ts';
import { type VCenterFlags, vcenterFlags } from './vcenter-flags.ts';
import { placesNow, vcenterLooks } from './vcenter-looks.ts';
import { vcenterNotes } from './vcenter-notes.ts';
import { connector, vcenters } from './vcenters.ts';
import { VERSION } from './version.ts';
import { type WatchFlags, type WatchParts, watchParts } from './watch-role.ts';

const roles = ['boot-images', 'watch', 'release'] as const;

interface OperatorFlags
  extends ClusterFlags,
    VCenterFlags,
    WatchFlags,
    MarkKeyFlags,
    ReleaseFlags,
    OperatorPageFlags,
    LeaseFlags,
    LogFlags {
  readonly roles: string;
  readonly leaseNamespace: string;
  readonly identity?: string;
  readonly port: number;
  readonly bindAddress: string;
  readonly cacheDir: string;
  readonly cacheSize: number;
  readonly imageMirror?: readonly string[];
  readonly imageMirrorsFile?: string;
  readonly keep: number;
  readonly vsphereProviderNamespace: string;
  readonly downgrade: string;
  readonly templates: string;
  readonly stubSecret: StubSecret;
  readonly clusterOperator: string;
  readonly stamp?: Stamp;
}

/** Adds `drydock operator`: the controllers, until a signal. */
export function addOperator(program: Command): void {
  const command = program.command('operator').description('run the controllers');
  logFlags(leaseFlags(operatorPageFlags(releaseFlags(markKeyFlags(vcenterFlags(clusterFlags(command)))))))
    .option('--roles <list>', `comma-separated: ${roles.join(', ')}`, 'boot-images')
    .option('--lease-namespace <name>', 'namespace of the leader election Lease', LEASE_NAMESPACE)
    .option('--identity <name>', 'identity of this process in the Lease (default: host name and a random part)')
    .option('--port <number>', 'port of /healthz, /readyz and /metrics; 0 takes a free one', portNumber, 8081)
    .option(
      '--bind-address <ip>',
      'address of that port; * for all of this machine, as a pod needs it',
      address,
      '127.0.0.1',
    )
    .option('--cache-dir <folder>', 'where downloaded images are kept', join(homedir(), '.cache', 'drydock', 'images'))
    .option('--cache-size <GiB>', 'most that the image cache may hold', wholeNumber, 8)
    .option('--image-mirror <from=to...>', 'read images whose address begins with from at to, http(s) or file')
    .option(
      '--image-mirrors-file <file>',
      'the same, one a line, also with user:password (or set DRYDOCK_IMAGE_MIRRORS)',
    )
    .option('--keep <count>', 'templates of each failure domain that stay as a way back', wholeNumber, 2)
    .option(
      '--vsphere-provider-namespace <name>',
      'where Cluster API keeps the Secrets of VSphereClusterIdentities',
      'capv-system',
    )
    .option('--vcenter <server...>', 'vCenters whose machines are watched (default: those of Infrastructure)')
    .option('--vcenter-secret <namespace/name>', 'Secret with credentials for the watch', 'kube-system/vsphere-creds')
    .option('--watch-paths <list>', 'properties of machines that are watched, as default,config.version,-parent')
    .option('--watch-ignored-keys <list>', 'keys of extraConfig whose change is none, as default,guestinfo.clock')
    .option('--downgrade <policy>', 'keep|replace: what to do with templates newer than the release', 'keep')
    .option(
      '--templates <way>',
      'pointer|swap: point sets at new templates, or let these take over the names',
      'pointer',
    )
    .option(
      '--stub-secret <way>',
      'InPlace|Managed: convert a stub of Ignition 2 in its Secret, or switch its set to NAME-managed where that does the same',
      stubSecretOf,
      'InPlace' as const,
    )
    .option(
      '--cluster-operator <name>',
      'ClusterOperator in which boot images say whether a minor upgrade may go on; "" for none',
      clusterOperatorName,
      'drydock',
    )
    .option(
      '--stamp <release=hash>',
      'stamp this release into the golden ConfigMap once its control plane runs it',
      stampOf,
    )
    .action(operate);
}

async function operate(flags: OperatorFlags): Promise<void> {
  using signals = processSignals();
  await operateUntil(flags, signals.signal);
  process.exitCode = exitCode.done;
}

async function operateUntil(flags: OperatorFlags, signal: AbortSignal): Promise<void> {
  const wanted = new Set(flags.roles.split(','));
  for (const role of wanted) {
    if (!roles.some((known) => known === role))
      throw new UsageError(`unknown role ${role}: there are ${roles.join(', ')}`);
  }
  const { downgrade } = flags;
  if (downgrade !== 'keep' && downgrade !== 'replace') {
    throw new UsageError(`unknown downgrade policy ${downgrade}: use keep or replace`);
  }
  const { templates: publication } = flags;
  if (publication !== 'pointer' && publication !== 'swap') {
    throw new UsageError(`unknown way to publish templates ${publication}: use pointer or swap`);
  }
  const locate = imageMirrors(
    await mirrorPairs({ arguments: flags.imageMirror, file: flags.imageMirrorsFile, env: process.env }),
  );
  const keySecret = markKeySecret(flags.markKeySecret);
  await checkOperatorPage(flags);
  const log = operatorLog(flags);
  const metrics = kubeMetrics({ process: true });
  const client = await connect(flags, { onRequest: (metric) => metrics.request(metric) });
  await using closing = new AsyncDisposableStack();
  closing.use(client);
  const refused = new Set<(server: string) => void>();
  const logins = loginBudget({
    notes: clusterLogins(client, flags.leaseNamespace),
    log,
    onRefused: (server) => {
      for (const count of refused) count(server);
    },
  });
  const reach = await connector(flags, log, logins);
  const events = closing.use(eventRecorder({ client, controller: 'drydock.dev/status', log }));
  const channel = statusChannel({ registry: metrics.registry, events });
  const keeping = (role: string): StatusKeepers =>
    statusKeeping(role, {
      ...{ client, namespace: flags.leaseNamespace, channel, events, log, clock: systemClock },
      release: `drydock ${VERSION}`,
    });
  const times = await leaseTimes(flags, client, log);
  const leaderOf = (role: string, paused: PausedHook = () => undefined): Leader =>
    leaderElection({
      client,
      waits: (lease) => {
        const pause = pauseOf(lease, Date.now());
        if (pause !== undefined) paused(lease, pause);
        return pause !== undefined;
      },
      namespace: flags.leaseNamespace,
      name: `drydock-${role}`,
      ...(flags.identity === undefined ? {} : { identity: flags.identity }),
      annotations: channel.annotations,
      ...times,
      log,
    });
  const watch = wanted.has('watch')
    ? closing.use(
        await watchParts({
          flags,
          client,
          connect: reach,
          metrics,
          log,
          env: process.env,
        }),
      )
    : undefined;
  if (watch !== undefined) refused.add(watch.refused);
  const running: RunningRole[] = [];
  const start = async (name: string, make: (closing: AsyncDisposableStack) => Promise<RoleParts>): Promise<void> => {
    running.push(closing.use(await startRole({ name, make, client, metrics, log, clock: systemClock, signal })));
  };
  if (wanted.has('boot-images')) {
    const found = await worldsOf(client, log);
    const counted = bootImageMetrics(metrics.registry);
    await start('boot-images', (scope) =>
      bootImages({
        ...{ flags, downgrade, publication, locate, keySecret, client, log, metrics, reach, leaderOf, watch },
        ...{ found, counted, closing: scope, statuses: keeping('boot-images') },
      }),
    );
  }
  if (watch !== undefined) {
    const { clusterOperator: name, leaseNamespace } = flags;
    const orphaned =
      wanted.has('boot-images') || name === ''
        ? []
        : [orphanedVerdict({ client, name, leaseNamespace, log, clock: systemClock })];
    await start('watch', async () => {
      const mirrored = keeping('watch');
      const vms = await watch.vms(mirrored.of);
      return { ...vms, services: [...vms.services, mirrored.sweeper, ...orphaned], leader: leaderOf('watch') };
    });
  }
  if (wanted.has('release')) {
    const parts = await releaseRoleParts({ flags, client, metrics, log });
    await start('release', async (scope) => ({
      ...(await parts(keeping('release'), scope)),
      leader: leaderOf('release'),
    }));
  }
  const checks = (of: 'live' | 'ready') => () => Object.assign({}, ...running.map((role) => role[of]()));
  const health = closing.use(
    await serveHealth({
      ...{ port: flags.port, host: flags.bindAddress, registry: metrics.registry },
      live: checks('live'),
      ready: () => ({ ...checks('ready')(), statuses: channel.check }),
    }),
  );
  log.info({ port: health.port }, 'health and metrics are served');
  if (flags.page === true) closing.use(await operatorPage({ flags, client, log, clock: systemClock }));
  // The end of one is the end of all, and one that did not end well is told, whichever it is.
  await Promise.race(running.map(({ finished }) => finished));
  await Promise.all(running.map((one) => one[Symbol.asyncDispose]()));
  await Promise.all(running.map(({ finished }) => finished));
}

/** Told of each look at a Lease that is paused. */
type PausedHook = ReturnType<typeof pausedImages>;

interface BootImagesOptions {
  readonly flags: OperatorFlags;
  readonly downgrade: 'keep' | 'replace';
  readonly publication: 'pointer' | 'swap';
  readonly locate: (location: string) => string;
  readonly keySecret: ReturnType<typeof markKeySecret>;
  readonly client: KubeClient;
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  readonly closing: AsyncDisposableStack;
  readonly reach: Awaited<ReturnType<typeof connector>>;
  readonly leaderOf: (role: string, paused?: PausedHook) => Leader;
  readonly watch: WatchParts | undefined;
  readonly statuses: StatusKeepers;
  readonly found: Worlds;
  readonly counted: BootImageMetrics;
}

/** The role of boot images; together with the watch, also that on their templates. */
async function bootImages(options: BootImagesOptions): Promise<RoleParts> {
  const { flags, downgrade, publication, locate, client, log, closing, statuses, watch, found, counted } = options;
  const servers = closing.use(
    vcenters({
      connect: (server, credentials) => options.reach(serverOf(server), credentials),
      // The role's own cache: its watch wakes the pass that takes a rotated Secret up.
      secret: () => role?.caches.credentials.get(credentialsKey),
      credentials: async (server) => worlds.clusterApi?.credentials(server),
      metrics: counted,
    }),
  );
  const store = closing.use(
    templateStore({
      ...{ vcenters: servers.of, cacheDir: flags.cacheDir, cacheBytes: flags.cacheSize * 2 ** 30, log },
      markKeys: markKeys(client, options.keySecret, log),
      ledger: clusterLedger(client, flags.leaseNamespace),
      fence: () => leader.assertHeld(),
      cluster: {
        recorded: (operation, instanceUuid) => records().some((one) => one.recorded(operation, instanceUuid)),
        refers: (name) => records().some((one) => one.refers(name)),
        retired: (name) => records().some((one) => one.retired(name)),
      },
    }),
  );
  const leader = options.leaderOf('boot-images', (lease, pause) => tellPaused(lease, pause));
  const templates = watch?.templates();
  const during = storeDuring(store, servers);
  const openshift = (): BootImagesRole =>
    bootImagesRole({
      client,
      store: during,
      leader,
      log,
      downgrade,
      publication,
      retain: flags.keep,
      stubSecret: flags.stubSecret,
      locate,
      metrics: counted,
      statuses: statuses.of,
      ...(flags.clusterOperator === '' ? {} : { clusterOperator: { name: flags.clusterOperator, version: VERSION } }),
      ...(flags.stamp === undefined ? {} : { stamp: flags.stamp }),
      ...(templates === undefined ? {} : { templates }),
    });
  const role = found.openshift ? openshift() : undefined;
  const worlds = await clusterApiPart(found, {
    ...{ client, store: during, leader, log, metrics: counted, locate, retain: flags.keep },
    ...{
      providerNamespace: flags.vsphereProviderNamespace,
      statuses: statuses.of,
      openshift: role?.openshift,
    },
  });
  const looks = vcenterLooks({
    ...{ vcenters: servers, notes: vcenterNotes(client, flags.leaseNamespace), log, clock: systemClock },
    places: async () => [
      ...(role === undefined ? [] : placesNow(role.caches)),
      ...((await worlds.clusterApi?.role.places()) ?? []),
    ],
  });
  const records = (): readonly ClusterRecords[] =>
    [role?.records, worlds.clusterApi?.role.records].filter((one) => one !== undefined);
  const tellPaused = pausedImages({
    ...{ client, log, now: () => new Date(), holderIsLive: leader.holderIsLive.bind(leader) },
    lease: { namespace: flags.leaseNamespace, name: leader.name },
    // Of Cluster API all namespaces are watched.
    images: worlds.clusterApi?.role.bootImages ?? (() => role?.caches.bootImages.all() ?? []),
  });
  const [first, ...others] = [role?.policies, worlds.clusterApi?.role.policies].filter((one) => one !== undefined);
  return {
    caches: { ...role?.caches, ...worlds.clusterApi?.role.caches, ...templates?.caches },
    controllers: [
      ...(role?.controllers ?? []),
      ...(worlds.clusterApi?.role.controllers ?? []),
      // One for both worlds: a policy selects sets of either.
      ...(first === undefined
        ? []
        : [policyStatuses([first, ...others], { client: fencedClient(client, () => leader.assertHeld()) })]),
      ...(templates?.controllers ?? []),
    ],
    services: [...(templates?.services ?? []), statuses.sweeper, worlds.watch, looks],
    ready: { ...templates?.ready },
    leader,
  };
}

function clusterOperatorName(text: string): string {
  if (text === 'machine-config') throw new InvalidArgumentError('that one is written by machine-config-operator.');
  if (!/^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$/.test(text)) throw new InvalidArgumentError('a DNS label is expected.');
  return text;
}

function stubSecretOf(text: string): StubSecret {
  if (text !== 'InPlace' && text !== 'Managed') throw new InvalidArgumentError('InPlace or Managed is expected.');
  return text;
}

function stampOf(text: string): Stamp {
  const [, release, hash] = /^([^=]{1,128})=([^=]{1,128})$/.exec(text) ?? [];
  if (release === undefined || hash === undefined)
    throw new InvalidArgumentError('a release and a hash are expected, as 4.21.0=0123abc.');
  return { release, hash };
}

function address(text: string): string {
  if (text !== '*' && isIP(text) === 0) throw new InvalidArgumentError('an IP address or * is expected.');
  return text;
}
