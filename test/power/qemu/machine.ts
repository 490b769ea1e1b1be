import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

/** Where a kernel and its modules lie: the machine's own, or an unpacked Debian package `linux-image-*` (`dpkg -x`). */
export interface Kernel {
  readonly image: string;
  readonly modules: readonly string[];
}

const REPOSITORY = join(import.meta.dirname, '../../..');
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;

/** In the order in which they are loaded; what is built in has no file. */
const MODULES = [
  'virtio_ring',
  'virtio',
  'virtio_pci_legacy_dev',
  'virtio_pci_modern_dev',
  'virtio_pci',
  'virtio_blk',
  'crc16',
  'crc32c_generic',
  'libcrc32c',
  'mbcache',
  'jbd2',
  'ext4',
];

/** The kernel to boot, or why there is none. DRYDOCK_KERNEL names the directory of an unpacked package. */
export function findKernel(): Kernel | string {
  for (const [tool, option] of [
    ['qemu-system-x86_64', '--version'],
    ['busybox', '--help'],
    ['cpio', '--version'],
    ['mke2fs', '-V'],
    ['debugfs', '-V'],
  ] as const)
    if (spawnSync(tool, [option], { env: { ...process.env, PATH } }).error !== undefined)
      return `${tool} is not installed`;
  const root = process.env['DRYDOCK_KERNEL'] ?? '/';
  const boot = join(root, 'boot');
  const name = fs.existsSync(boot)
    ? fs.readdirSync(boot).findLast((entry) => /^vmlinuz-.*amd64$/.test(entry))
    : undefined;
  if (name === undefined)
    return `no kernel is in ${boot}: DRYDOCK_KERNEL names a directory with an unpacked linux-image-cloud-amd64`;
  const lib = join(root, 'lib/modules', name.slice('vmlinuz-'.length));
  const files = fs.readdirSync(lib, { recursive: true, encoding: 'utf8' });
  const modules = MODULES.flatMap((module) => files.filter((file) => file.endsWith(`/${module}.ko`)).slice(0, 1));
  return { image: join(boot, name), modules: modules.map((file) => join(lib, file)) };
}

/** Runs a command that must succeed. */
export function run(command: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, PATH },
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr.trim()}`);
  return stdout;
}

/** Fills the directory with what the machine boots: `initrd`, `system` and an empty `disk`. */
export function makeMachine(dir: string, { modules }: Kernel): void {
  const early = join(dir, 'early');
  for (const path of ['bin', 'dev', 'proc', 'sys', 'root', 'modules'])
    fs.mkdirSync(join(early, path), { recursive: true });
  fs.copyFileSync(run('sh', '-c', 'command -v busybox').trim(), join(early, 'bin/busybox'));
  for (const [index, module] of modules.entries()) fs.copyFileSync(module, join(early, `modules/${10 + index}.ko`));
  fs.writeFileSync(join(early, 'init'), INIT, { mode: 0o755 });
  run('sh', '-c', `cd '${early}' && find . | cpio -o -H newc --quiet > '${join(dir, 'initrd')}'`);

  const system = join(dir, 'tree');
  const copy = (from: string, to: string): void => {
    fs.mkdirSync(dirname(join(system, to)), { recursive: true });
    fs.cpSync(from, join(system, to), { recursive: true, dereference: true });
  };
  copy(process.execPath, 'bin/node');
  for (const [library] of run('ldd', process.execPath).matchAll(/\/\S+/g)) copy(library, library);
  const koffi = fs.readdirSync(join(REPOSITORY, 'node_modules/@koromix'));
  for (const path of ['node_modules/koffi', ...koffi.map((name) => `node_modules/@koromix/${name}`)])
    copy(join(REPOSITORY, path), `app/${path}`);
  for (const path of ['src', 'package.json'])
    copy(join(REPOSITORY, 'packages/durable', path), `app/packages/durable/${path}`);
  fs.mkdirSync(join(system, 'app/node_modules/@drydock'), { recursive: true });
  fs.symlinkSync('../../packages/durable', join(system, 'app/node_modules/@drydock/durable'));
  copy(join(import.meta.dirname, 'guest.ts'), 'app/guest.ts');
  fs.writeFileSync(join(system, 'app/package.json'), '{"type":"module"}');
  for (const path of ['data', 'proc', 'dev', 'sys', 'tmp']) fs.mkdirSync(join(system, path));
  run('truncate', '-s', '320M', join(dir, 'system'));
  run('mke2fs', '-q', '-t', 'ext4', '-d', system, join(dir, 'system'));
  fs.rmSync(system, { recursive: true });
  run('truncate', '-s', '64M', join(dir, 'disk'));
  run('mke2fs', '-q', '-t', 'ext4', join(dir, 'disk'));
}

const INIT = `#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for m in /modules/*.ko; do $b insmod $m; done
for i in 1 2 3 4 5 6 7 8 9 10; do [ -b /dev/vdb ] && break; $b sleep 1; done
$b mount -t ext4 -o ro /dev/vdb /root
$b mount -t ext4 /dev/vda /root/data
for d in proc sys dev; do $b mount --bind /$d /root/$d; done
$b stty -F /dev/ttyS0 -echo
$b chroot /root /bin/node /app/guest.ts < /dev/ttyS0 > /dev/ttyS0 2>&1
echo "GUEST ENDED WITH $?"
$b poweroff -f
`;

/** A machine that runs. */
export interface Machine extends AsyncDisposable {
  /** Its next stop, or `END`; throws where it ends or is silent too long, with what it said. */
  next(): Promise<string>;
  go(): void;
  /** SIGKILL: the power goes. */
  kill(): Promise<void>;
}

/** The emulated processor broke the guest's Node (seen once in 50 boots): says nothing about the disk. */
export class EmulationError extends Error {
  override readonly name = 'EmulationError';
}

/** Does something with a machine, again where the emulation broke. */
export async function emulated<T>(action: () => Promise<T>, attempts = 3): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof EmulationError) || attempts === 1) throw error;
    return emulated(action, attempts - 1);
  }
}

/** How long (ms) the machine may be silent: everything is emulated. */
const SILENCE_MS = 120_000;

/** The disk, and a log of what it was asked to write and to flush. */
function loggedDisk(dir: string): readonly string[] {
  run('truncate', '-s', '0', join(dir, 'log'));
  run('truncate', '-s', '4G', join(dir, 'log'));
  const log = 'log-sector-size=512,log-super-update-interval=1';
  return [
    ...['-blockdev', `driver=file,filename=${join(dir, 'disk')},node-name=plain`],
    ...['-blockdev', `driver=file,filename=${join(dir, 'log')},node-name=log`],
    ...['-blockdev', `driver=blklogwrites,node-name=d0,file=plain,log=log,${log}`],
    ...['-device', 'virtio-blk-pci,drive=d0'],
  ];
}

/** Boots; `cache` is how the host treats what the machine writes to its disk: with `logged` each request is also put down in the file `log`. */
export function boot(dir: string, { image }: Kernel, cache: 'writeback' | 'none' | 'logged'): Machine {
  const drive = (file: string, id: string, more: string): readonly string[] => [
    '-drive',
    `file=${join(dir, file)},if=none,id=${id},format=raw,${more}`,
    '-device',
    `virtio-blk-pci,drive=${id}`,
  ];
  const child: ChildProcess = spawn(
    'qemu-system-x86_64',
    [
      ...['-M', 'q35', '-nodefaults', '-accel', 'tcg', '-cpu', 'max', '-m', '768', '-smp', '1'],
      ...['-kernel', image, '-initrd', join(dir, 'initrd')],
      // On a busy host the emulated timer is late, and the kernel takes that for a broken one.
      ...['-append', 'console=ttyS0 quiet loglevel=1 panic=-1 no_timer_check'],
      ...(cache === 'logged' ? loggedDisk(dir) : drive('disk', 'd0', `cache=${cache}`)),
      ...drive('system', 'd1', 'readonly=on'),
      ...['-serial', 'stdio', '-display', 'none', '-monitor', 'none', '-no-reboot'],
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  const closed = once(child, 'close');
  const said: string[] = [];
  child.stderr?.on('data', (chunk) => said.push(String(chunk)));
  const lines = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]();
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await closed;
  };
  return {
    next: async () => {
      for (;;) {
        const silence = AbortSignal.timeout(SILENCE_MS);
        const { promise: late, reject } = Promise.withResolvers<never>();
        silence.addEventListener('abort', () =>
          reject(new Error(`silent for ${SILENCE_MS} ms; it said:\n${said.join('\n')}`)),
        );
        const { value, done } = await Promise.race([lines.next(), late]);
        if (done === true) throw new Error(`the machine ended; it said:\n${said.join('\n')}`);
        const line = value.replace(/\r/g, '');
        const match = /(?:^|[^A-Z])CUT (.*)$/.exec(line);
        if (match !== null) return match[1] ?? '';
        if (line.endsWith('END')) return 'END';
        said.push(line);
        if (line.includes('GUEST ENDED WITH 139')) throw new EmulationError(said.join('\n'));
      }
    },
    go: () => void child.stdin?.write('\n'),
    kill,
    [Symbol.asyncDispose]: kill,
  };
}
