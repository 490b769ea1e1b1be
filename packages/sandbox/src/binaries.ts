import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { binaryPath } from './build.ts';
import { SandboxError } from './errors.ts';

/** A program and the arguments that come before a server's own flags. */
export interface Program {
  readonly binary: string;
  readonly prefix: readonly string[];
}

/** How etcd and kube-apiserver are run. */
export interface Binaries {
  readonly etcd: Program;
  readonly apiserver: Program;
  /** False where they were brought along by KUBEBUILDER_ASSETS. */
  readonly built: boolean;
}

/**
 * KUBEBUILDER_ASSETS, as in controller-runtime's envtest, names a folder with `etcd` and `kube-apiserver`; without it
 * the binary that `build` makes is used.
 */
export function findBinaries(assets: string | undefined = process.env['KUBEBUILDER_ASSETS']): Binaries {
  if (assets === undefined || assets === '') {
    const binary = binaryPath('drydock-apiserver');
    return { etcd: { binary, prefix: ['etcd'] }, apiserver: { binary, prefix: ['kube-apiserver'] }, built: true };
  }
  const program = (name: string): Program => {
    const binary = resolve(assets, name);
    if (existsSync(binary)) return { binary, prefix: [] };
    throw new SandboxError(
      'BadInput',
      `KUBEBUILDER_ASSETS is ${assets}, but there is no ${binary}. Put it there, or unset the variable.`,
    );
  };
  return { etcd: program('etcd'), apiserver: program('kube-apiserver'), built: false };
}
