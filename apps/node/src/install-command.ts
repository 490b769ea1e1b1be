import { type InstallSpec, install, validateInstall } from '@drydock/static-pods';
import type { Command } from 'commander';
import { connect, notices } from './cluster.ts';
import { addDisk, type DiskFlags, diskOf, duration, list } from './flags.ts';

interface Flags extends DiskFlags {
  readonly kubeconfig?: string;
  readonly revision: string;
  readonly namespace: string;
  readonly pod: string;
  readonly secrets: readonly string[];
  readonly configmaps: readonly string[];
  readonly optionalSecrets: readonly string[];
  readonly optionalConfigmaps: readonly string[];
  readonly certSecrets: readonly string[];
  readonly certConfigmaps: readonly string[];
  readonly optionalCertSecrets: readonly string[];
  readonly optionalCertConfigmaps: readonly string[];
  readonly certDir: string;
  readonly resourceDir: string;
  readonly podManifestDir: string;
  readonly timeoutDuration: number;
  readonly podManifestsLockFile: string;
  readonly settleDuration: number;
  readonly alone?: true;
}

/** Adds `install`; the flags are those of library-go's installer. */
export function addInstall(program: Command, signal: AbortSignal): void {
  const command = program
    .command('install')
    .alias('installer')
    .description('install one revision of a static pod, whole, and let kubelet have it')
    .option('--kubeconfig <file>', 'kubeconfig (default: in-cluster)')
    .option('--revision <number>', 'revision to install; required', '')
    .option('-n, --namespace <name>', 'namespace of the objects; required', '')
    .option('--pod <prefix>', 'ConfigMap with the pod, without its number; required', '')
    .option('--resource-dir <dir>', 'holds the revisions; required', '')
    .option('--pod-manifest-dir <dir>', 'read by kubelet; required', '')
    .option(
      '--cert-dir <dir>',
      'holds the certificates that all revisions share; without it their lists are ignored',
      '',
    )
    .option('--timeout-duration <duration>', 'time for the work', duration, 120_000)
    .option('--pod-manifests-lock-file <file>', 'shared with a startup monitor', '')
    .option('--settle-duration <duration>', 'pause after other installers ended', duration, 30_000)
    .option('--alone', 'not run as an installer pod: do not look for others');
  for (const [kind, named] of [
    ['secrets', 'Secrets'],
    ['configmaps', 'ConfigMaps'],
  ] as const)
    for (const [flag, text] of [
      [kind, `${named} of the revision, without its number${kind === 'configmaps' ? '; required' : ''}`],
      [`optional-${kind}`, 'the same, where they may be absent'],
      [`cert-${kind}`, `${named} that all revisions share`],
      [`optional-cert-${kind}`, 'the same, where they may be absent'],
    ] as const)
      command.option(`--${flag} <names>`, text, list, []);
  addDisk(command, 'directories');
  command.addHelpText(
    'after',
    '\nLists may be repeated or hold commas. NODE_NAME is this node; POD_NAME finds whom events are about.',
  );
  command.action(async (flags: Flags) => {
    const spec = specOf(flags, process.env['NODE_NAME'] ?? '');
    validateInstall(spec);
    await using client = await connect(flags);
    await using events = await notices(client, 'drydock.dev/static-pod-installer', {
      namespace: flags.namespace || 'default',
      pod: process.env['POD_NAME'],
    });
    const result = await install(spec, {
      client,
      signal,
      ...diskOf(flags),
      notify: events.notify,
      log: (line) => console.error(line),
      installers: flags.alone === true ? false : { settleMs: flags.settleDuration },
    });
    console.log(JSON.stringify(result));
  });
}

function specOf(flags: Flags, nodeName: string): InstallSpec {
  const { revision, namespace, pod, resourceDir, podManifestDir, certDir, podManifestsLockFile, timeoutDuration } =
    flags;
  const { secrets, optionalSecrets, configmaps, optionalConfigmaps } = flags;
  return {
    revision,
    nodeName,
    namespace,
    pod,
    resourceDir,
    manifestDir: podManifestDir,
    timeoutMs: timeoutDuration,
    sources: { secrets, optionalSecrets, configmaps, optionalConfigmaps },
    certs: {
      secrets: flags.certSecrets,
      optionalSecrets: flags.optionalCertSecrets,
      configmaps: flags.certConfigmaps,
      optionalConfigmaps: flags.optionalCertConfigmaps,
    },
    ...(certDir === '' ? {} : { certDir }),
    ...(podManifestsLockFile === '' ? {} : { lockFile: podManifestsLockFile }),
  };
}
