import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type KubeClient, type KubeObject, type Resource, statusWriter } from '@drydock/kube';
import {
  askAddress,
  askCommand,
  askPod,
  askServer,
  type MonitorEnvironment,
  type MonitorSpec,
  monitorStartup,
  type ReadinessSpec,
  validateMonitor,
} from '@drydock/static-pods';
import { type Command, InvalidArgumentError } from 'commander';
import { connect } from './cluster.ts';
import { addDisk, type DiskFlags, diskOf, duration, integer } from './flags.ts';
import { giveBack } from './memory.ts';
import { rotatingLog } from './rotating-log.ts';

interface Flags extends DiskFlags {
  readonly kubeconfig?: string;
  readonly revision: number;
  readonly fallbackTimeoutDuration: number;
  readonly resourceDir: string;
  readonly manifestsDir: string;
  readonly targetName: string;
  readonly nodeName: string;
  readonly installerLockFile: string;
  readonly logFilePath: string;
  readonly namespace?: string;
  readonly readyzInterval: number;
  readonly readiness?: Probe;
  readonly readinessCa?: string;
  readonly operator?: OperatorKind;
}

interface OperatorKind {
  readonly resource: Resource<Operator>;
  readonly name: string;
}

interface Operator extends KubeObject {
  readonly status?: {
    readonly nodeStatuses?: readonly {
      readonly nodeName: string;
      readonly targetRevision?: number;
      readonly [key: string]: unknown;
    }[];
  };
}

/** Adds `startup-monitor`; the flags are library-go's, which compiles the question whether a pod is ready into each operator; here a flag says it. */
export function addMonitor(program: Command, signal: AbortSignal): void {
  const command = program
    .command('startup-monitor')
    .description('watch a new revision start, and fall back where it does not')
    .option('--kubeconfig <file>', 'kubeconfig of the server on this node')
    .option('--revision <number>', 'revision to watch; required', integer, 0)
    .option('--fallback-timeout-duration <duration>', 'how long it may take', duration, 33_000)
    .option('--resource-dir <dir>', 'holds the revisions; required', '')
    .option('--manifests-dir <dir>', 'read by kubelet; required', '')
    .option('--target-name <name>', 'static pod, without -pod; required', '')
    .option('--node-name <name>', 'this node (NODE_NAME); required', process.env['NODE_NAME'] ?? '')
    .option('--installer-lock-file <file>', 'shared with the installer', '')
    .option('--log-file-path <file>', 'log here as well; three files of 5 MB, 28 days', '')
    .option(
      '-n, --namespace <name>',
      "namespace of the static pod's mirror pod, where it is not the manifest's (POD_NAMESPACE)",
      process.env['POD_NAMESPACE'],
    )
    .option('--readyz-interval <duration>', 'time between two of the three answers of /readyz', duration, 5_000)
    .option(
      '--readiness <probe>',
      'what must answer besides the pod: "kube-apiserver" (the default for that target), "pod" (for others: nothing else), an http or https address, or "exec:COMMAND ARGUMENT…"',
      probe,
    )
    .option('--readiness-ca <file>', 'PEM by which an https address is verified, besides the authorities of the system')
    .option(
      '--operator <kind>',
      "whose status is told, as plural.version.group/name; OpenShift's own for its static pods",
      operatorKind,
    );
  addDisk(command, 'files').action(async (flags: Flags) => {
    const { revision, targetName: target, nodeName, installerLockFile, readyzInterval } = flags;
    const namespace = flags.namespace === '' ? undefined : flags.namespace;
    const operator = flags.operator ?? operatorOf(target);
    const spec: MonitorSpec = {
      revision,
      nodeName,
      target,
      resourceDir: flags.resourceDir,
      manifestDir: flags.manifestsDir,
      timeoutMs: flags.fallbackTimeoutDuration,
      ...(installerLockFile === '' ? {} : { lockFile: installerLockFile }),
    };
    validateMonitor(spec);
    const ca = flags.readinessCa === undefined ? undefined : await readFile(flags.readinessCa, 'utf8');
    const log = logTo(flags.logFilePath);
    await using client = await connect(flags);
    const outcome = await monitorStartup(spec, {
      signal,
      ...diskOf(flags),
      ready: asking(flags.readiness ?? (target === 'kube-apiserver' ? 'kube-apiserver' : 'pod'), {
        ...{ client, nodeName, intervalMs: readyzInterval },
        ...(namespace !== undefined && { namespace }),
        ...(ca !== undefined && { ca }),
      }),
      ...(operator && { acknowledge: () => acknowledge(client, operator, nodeName, revision) }),
      log,
    });
    console.log(JSON.stringify({ outcome }));
    giveBack();
    // Kubelet ends this process; were it to end itself, it would be started again before kubelet sees that the manifest is gone.
    await untilEnded(signal);
  });
}

/** What is asked besides the mirror pod. */
type Probe = 'kube-apiserver' | 'pod' | URL | readonly string[];

/** Reads `--readiness`. */
export function probe(text: string): Probe {
  if (text === 'kube-apiserver' || text === 'pod') return text;
  const words = text.startsWith('exec:')
    ? text
        .slice(5)
        .split(' ')
        .filter((word) => word !== '')
    : [];
  if (words.length > 0) return words;
  const address = URL.parse(text);
  if (address?.protocol === 'https:' || address?.protocol === 'http:') return address;
  throw new InvalidArgumentError('expected kube-apiserver, pod, an http or https address, or exec:COMMAND.');
}

function asking(asked: Probe, { ca, ...spec }: ReadinessSpec & { readonly ca?: string }): MonitorEnvironment['ready'] {
  if (asked === 'kube-apiserver') return askServer(spec);
  if (asked === 'pod') return askPod(spec);
  return asked instanceof URL ? askAddress(spec, asked, ca) : askCommand(spec, asked);
}

/** Waits for the signal without work; the timer only keeps the process alive. */
async function untilEnded(signal: AbortSignal): Promise<void> {
  const alive = setInterval(() => undefined, 60_000);
  try {
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    clearInterval(alive);
  }
}

/** Sets the node's current revision where its target is the one that was watched. */
async function acknowledge(
  client: KubeClient,
  { resource, name }: OperatorKind,
  nodeName: string,
  revision: number,
): Promise<void> {
  await statusWriter({ client, resource }).write({ name }, ({ status }) => {
    const nodes = status?.nodeStatuses ?? [];
    if (!nodes.some((node) => node.nodeName === nodeName && node.targetRevision === revision)) return undefined;
    const nodeStatuses = nodes.map((node) =>
      node.nodeName === nodeName ? { ...node, currentRevision: revision, targetRevision: 0 } : node,
    );
    return { ...status, nodeStatuses };
  });
}

/** Whose static pods OpenShift's operators run; library-go compiles each one's own operator into its startup monitor. */
const OPERATORS: Readonly<Record<string, string>> = {
  etcd: 'etcds',
  'kube-apiserver': 'kubeapiservers',
  'kube-controller-manager': 'kubecontrollermanagers',
  'kube-scheduler': 'kubeschedulers',
};

function operatorOf(target: string): OperatorKind | undefined {
  const plural = OPERATORS[target];
  return plural === undefined ? undefined : operatorKind(`${plural}.v1.operator.openshift.io/cluster`);
}

function operatorKind(text: string): OperatorKind {
  const match = /^([a-z]+)\.(v[a-z0-9]+)\.([a-z0-9.-]+)\/([a-z0-9.-]+)$/.exec(text);
  if (match === null)
    throw new InvalidArgumentError('expected such as kubeapiservers.v1.operator.openshift.io/cluster.');
  const [, plural = '', version = '', group = '', name = ''] = match;
  return { name, resource: { group, version, kind: plural, plural, scope: 'Cluster' } };
}

/** Lines go to stderr and, where a file is named, to it. */
function logTo(path: string): (line: string) => void {
  const file = path === '' ? undefined : rotatingLog(path, (error) => console.error(`${path}: ${String(error)}`));
  return (line) => {
    console.error(line);
    file?.write(line);
  };
}
