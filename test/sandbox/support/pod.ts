import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { recordProcess } from '@drydock/sandbox';
import type { ImageConfig } from './image.ts';

/** As much of a pod's specification as is played here. */
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes: readonly {
    readonly name: string;
    readonly emptyDir?: unknown;
    readonly configMap?: unknown;
    readonly hostPath?: { readonly path: string };
  }[];
  readonly securityContext?: { readonly runAsUser?: number };
}

/** One container. */
export interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources: { readonly limits: { readonly memory: string } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

/** What a kubelet gives to a pod. */
export interface PodSetting {
  readonly image: ImageConfig;
  /** What is under `/drydock`. */
  readonly tree: string;
  /** Folder for log and mounts, and where the process is recorded. */
  readonly files: string;
  /** Folder with token, ca.crt and namespace. */
  readonly serviceAccount: string;
  /** Folders of the volumes that are no emptyDir. */
  readonly volumes: Readonly<Record<string, string>>;
  /** Environment that every container has. */
  readonly env: Readonly<Record<string, string>>;
}

/** A container that runs. Disposal ends it with SIGTERM and waits. */
export interface RunningPod extends AsyncDisposable {
  readonly pid: number;
  log(): string;
}

/** A user as OpenShift gives one: any number, with the group root. */
const UID = '1000650000';

/** Why no pod can be played here; undefined where one can. */
export function noPods(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root: mounts make the file system of a container';
  const { status } = spawnSync('unshare', ['--mount', '--propagation', 'private', 'mount', '-t', 'tmpfs', 'x', '/mnt']);
  return status === 0 ? undefined : 'mounts are not permitted here';
}

/**
 * Runs the container of a pod as a container runtime would, but for the network: a root of its own that nobody can write to, its volumes, the token of its
 * ServiceAccount, the user of the pod or else one that nobody knows, no capability and no way to one. Only libraries are this machine's. Nothing of it outlives the process.
 */
export function startPod(spec: PodSpec, setting: PodSetting): RunningPod {
  const [container] = spec.containers;
  if (container === undefined) throw new Error('a pod without containers');
  const root = join(setting.files, 'root');
  const mounts = container.volumeMounts.map(({ name, mountPath }) => {
    const at = join(root, mountPath);
    const volume = spec.volumes.find((one) => one.name === name);
    if (volume === undefined) throw new Error(`there is no volume ${name}`);
    return volume.emptyDir === undefined
      ? `mkdir -p ${at}; mount --bind ${setting.volumes[name]} ${at}`
      : `mkdir -p ${at}; mount -t tmpfs -o mode=777 tmpfs ${at}`;
  });
  const user = String(spec.securityContext?.runAsUser ?? UID);
  const links = Object.entries(setting.image.links).map(
    ([path, to]) => `mount -t tmpfs -o mode=755 tmpfs ${dirname(path)}; ln -s ${to} ${path}`,
  );
  const account = join(root, 'var/run/secrets/kubernetes.io/serviceaccount');
  const script = `
    mkdir -p ${root}; mount -t tmpfs -o mode=755 tmpfs ${root}; cd ${root}
    mkdir usr dev proc opt opt/node drydock
    for one in bin sbin lib lib64; do if [ -L /$one ]; then cp -P /$one .; elif [ -d /$one ]; then mkdir $one; mount --bind /$one $one; fi; done
    mount --rbind /usr usr; mount --rbind /dev dev; mount --rbind /proc proc
    mount --bind ${dirname(process.execPath)} opt/node; mount --bind ${setting.tree} drydock
    ${links.join('\n')}
    ${mounts.join('\n')}
    mkdir -p ${account}; mount --bind ${setting.serviceAccount} ${account}
    mount -o remount,ro ${root}
    exec chroot ${root} setpriv --reuid=${user} --regid=0 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"`;
  const file = join(setting.files, 'log');
  const log = openSync(file, 'a');
  const env = {
    PATH: '/opt/node:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/',
    ...setting.env,
    ...setting.image.env,
    ...Object.fromEntries(container.env.map(({ name, value }) => [name, value])),
  };
  const command = [...setting.image.entrypoint, ...container.args];
  const child = spawn(
    'unshare',
    ['--mount', '--propagation', 'private', 'bash', '-euc', script, 'container', ...command],
    { stdio: ['ignore', log, log], env },
  );
  closeSync(log);
  const { pid = 0 } = child;
  recordProcess(setting.files, 'pod', pid);
  const exited = once(child, 'exit');
  return {
    pid,
    log: () => readFileSync(file, 'utf8'),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await exited;
    },
  };
}
