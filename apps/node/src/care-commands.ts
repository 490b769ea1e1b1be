import { doctor, recoverNode, type WayBack, waysBack } from '@drydock/static-pods';
import type { Command } from 'commander';
import { exitCode, UsageError } from './exit.ts';
import { addDisk, type DiskFlags, diskOf } from './flags.ts';

interface Flags {
  readonly resourceDir?: string;
  readonly podManifestDir?: string;
  readonly certDir?: string;
}

interface RecoverFlags extends Flags, DiskFlags {
  readonly staticPodName?: string;
  readonly podManifestsLockFile?: string;
}

function directories(command: Command): Command {
  return command
    .option('--resource-dir <dir>', 'holds the revisions')
    .option('--pod-manifest-dir <dir>', 'read by kubelet')
    .option('--cert-dir <dir>', 'holds the certificates that all revisions share');
}

function specOf({ resourceDir, podManifestDir, certDir }: Flags) {
  if (resourceDir === undefined && podManifestDir === undefined && certDir === undefined)
    throw new UsageError('at least one of --resource-dir, --pod-manifest-dir and --cert-dir is required');
  return {
    ...(resourceDir !== undefined && { resourceDir }),
    ...(podManifestDir !== undefined && { manifestDir: podManifestDir }),
    ...(certDir !== undefined && { certDir }),
  };
}

function textOfWay({ target, revision, to, good }: WayBack): string {
  if (to === undefined) return `${target}: from revision ${revision} there is no way back`;
  return `${target}: from revision ${revision} the way back is ${to}, ${good ? 'the last known good one' : 'the newest one before it'}`;
}

/** Adds `doctor`, which only reads, and `recover`, which cleans up. */
export function addCare(program: Command, signal: AbortSignal): void {
  directories(program.command('doctor'))
    .description(
      'say what is stale, torn or foreign, what the file system cannot do (exit code 3), and what would be fallen back to',
    )
    .action(async (flags: Flags) => {
      const spec = specOf(flags);
      const findings = await doctor(spec, { signal });
      for (const finding of findings) console.log(JSON.stringify(finding));
      const { resourceDir } = spec;
      if (resourceDir !== undefined)
        for (const way of await waysBack({ ...spec, resourceDir }, { signal })) console.error(textOfWay(way));
      if (findings.length > 0) process.exitCode = exitCode.blocked;
    });
  addDisk(directories(program.command('recover')), 'files')
    .description('clean up what crashes left of one static pod')
    .option('--static-pod-name <name>', 'such as kube-apiserver-pod')
    .option('--pod-manifests-lock-file <file>', 'shared with installer and startup monitor')
    .action(async (flags: RecoverFlags) => {
      const { staticPodName, podManifestsLockFile } = flags;
      if (staticPodName === undefined) throw new UsageError('--static-pod-name is required');
      const lock = podManifestsLockFile === undefined ? {} : { lockFile: podManifestsLockFile };
      for (const path of await recoverNode(
        { ...specOf(flags), staticPod: staticPodName, ...lock },
        { ...diskOf(flags), signal },
      ))
        console.log(path);
    });
}
