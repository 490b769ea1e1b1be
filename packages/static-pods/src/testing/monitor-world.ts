import type { FsOps } from '@drydock/durable';
import { type Image, type MemoryFs, memoryFs } from '@drydock/durable/testing';
import { markLastKnownGood } from '../monitor/last-known-good.ts';
import type { MonitorSpec } from '../monitor/monitor.ts';

/** The monitor of revision 8 of kube-apiserver. */
export const MONITOR: MonitorSpec = {
  revision: 8,
  target: 'kube-apiserver',
  resourceDir: '/resources',
  manifestDir: '/manifests',
  nodeName: 'master-0',
  lockFile: '/installer.lock',
};

/** The text of a pod's manifest with a revision. */
export function podOf(revision: number | string | undefined): string {
  const labels = revision === undefined ? {} : { revision: String(revision) };
  return JSON.stringify({
    kind: 'Pod',
    metadata: { name: 'kube-apiserver', labels },
    spec: { containers: [{ name: 'main' }] },
  });
}

/** Writes a file as it is. */
export async function put(ops: FsOps, path: string, text: string): Promise<void> {
  const file = await ops.open(path, 'truncate', 0o600);
  await ops.write(file, Buffer.from(text), 0);
  await ops.close(file);
}

/** A node on which revision 8 was just installed: revisions, the manifests that kubelet reads, and the link. */
export async function monitorDisk(options: {
  readonly revisions?: readonly number[];
  /** Content of the root manifest; undefined: there is none. */
  readonly manifest?: string | undefined;
  readonly good?: number;
}): Promise<Image> {
  const fs: MemoryFs = memoryFs();
  for (const dir of ['/resources', '/manifests']) await fs.mkdir(dir, 0o755);
  for (const revision of options.revisions ?? [6, 7, 8]) {
    await fs.mkdir(`/resources/kube-apiserver-pod-${revision}`, 0o755);
    await put(fs, `/resources/kube-apiserver-pod-${revision}/kube-apiserver-pod.yaml`, podOf(revision));
  }
  if (options.manifest !== undefined) await put(fs, '/manifests/kube-apiserver-pod.yaml', options.manifest);
  await put(fs, '/manifests/kube-apiserver-startup-monitor-pod.yaml', podOf(8));
  if (options.good !== undefined) await markLastKnownGood(MONITOR, options.good, { ops: fs });
  return fs.now();
}
