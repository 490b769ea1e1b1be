import { homedir } from 'node:os';
import { join } from 'node:path';
import { bootImageMetrics, bootImagesRole, credentialsKey, type ImageStore } from '@drydock/boot-images';
import { kubeMetrics, leaderElection, processSignals, run } from '@drydock/kube';
import { type TemplateStore, templateStore } from '@drydock/templates';
import { type Command, InvalidArgumentError } from 'commander';
import { pino } from 'pino';
import { type ClusterFlags, clusterFlags, connect } from './connect.ts';
import { exitCode, UsageError } from './exit.ts';
import { connector, type VCenterFlags, type VCenters, vcenters } from './vcenters.ts';

const roles = ['boot-images'] as const;

interface OperatorFlags extends ClusterFlags, VCenterFlags {
  readonly roles: string;
  readonly leaseNamespace: string;
  readonly identity?: string;
  readonly port: number;
  readonly cacheDir: string;
  readonly cacheSize: number;
  readonly downgrade: string;
  readonly templates: string;
  readonly logLevel: string;
}

/** Adds `drydock operator`: the controllers, until a signal. */
export function addOperator(program: Command): void {
  clusterFlags(program.command('operator').description('run the controllers'))
    .option('--roles <list>', `comma-separated: ${roles.join(', ')}`, roles.join(','))
    .option('--lease-namespace <name>', 'namespace of the leader election Lease', 'openshift-machine-config-operator')
    .option('--identity <name>', 'identity of this process in the Lease (default: host name and a random part)')
    .option('--port <number>', 'port of /healthz, /readyz and /metrics; 0 takes a free one', integer, 8081)
    .option('--cache-dir <folder>', 'where downloaded images are kept', join(homedir(), '.cache', 'drydock', 'images'))
    .option('--cache-size <GiB>', 'most that the image cache may hold', integer, 8)
    .option('--vcenter-url <server=url...>', 'reach a vCenter under another address than its name')
    .option('--vcenter-ca <file>', 'certificate authority of the vCenters (PEM)')
    .option('--vcenter-pin <sha256>', 'SHA-256 fingerprint of the vCenter certificate')
    .option('--vcenter-insecure', 'do not verify vCenter certificates (unsafe)')
    .option('--downgrade <policy>', 'keep|replace: what to do with templates newer than the release', 'keep')
    .option(
      '--templates <way>',
      'pointer|swap: point sets at new templates, or let these take over the names',
      'pointer',
    )
    .option('--log-level <level>', 'fatal|error|warn|info|debug', 'info')
    .action(operate);
}

async function operate(flags: OperatorFlags): Promise<void> {
  for (const role of flags.roles.split(',')) {
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
  using signals = processSignals();
  const log = pino(
    { level: flags.logLevel, base: { app: 'drydock' }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: true }),
  );
  const metrics = kubeMetrics();
  const client = await connect(flags, { onRequest: (metric) => metrics.request(metric) });
  await using closing = new AsyncDisposableStack();
  closing.use(client);
  const counted = bootImageMetrics(metrics.registry);
  const servers = closing.use(
    vcenters({
      connect: await connector(flags, log),
      // The role's own cache: its watch wakes the pass that takes a rotated Secret up.
      secret: () => role.caches.credentials.get(credentialsKey),
      metrics: counted,
    }),
  );
  const store = closing.use(
    templateStore({ vcenters: servers.of, cacheDir: flags.cacheDir, cacheBytes: flags.cacheSize * 2 ** 30, log }),
  );
  const leader = leaderElection({
    client,
    namespace: flags.leaseNamespace,
    name: 'drydock-boot-images',
    ...(flags.identity === undefined ? {} : { identity: flags.identity }),
    log,
  });
  const role = bootImagesRole({
    client,
    store: storeDuring(store, servers),
    leader,
    log,
    downgrade,
    publication,
    metrics: counted,
  });
  await using operator = await run({
    client,
    ...role,
    leader,
    http: { port: flags.port },
    metrics,
    log,
    signal: signals.signal,
  });
  await operator.finished;
  process.exitCode = exitCode.done;
}

/** The store, which tells when it uses a server. */
function storeDuring(store: TemplateStore, servers: VCenters): ImageStore {
  return {
    inspect: (placement, ...rest) => servers.during(placement.server, () => store.inspect(placement, ...rest)),
    publish: (wish, ...rest) => servers.during(wish.placement.server, () => store.publish(wish, ...rest)),
    collect: (placement, ...rest) => servers.during(placement.server, () => store.collect(placement, ...rest)),
  };
}

function integer(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('a whole number is expected.');
  return value;
}
