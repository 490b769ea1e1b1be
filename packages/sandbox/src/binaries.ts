import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { binaryPath, type GoServer } from './build.ts';
import { type ApiServerEra, ERA_PROGRAMS } from './era.ts';
import { SandboxError } from './errors.ts';

/** A program and the arguments that come before a server's own flags. */
export interface Program {
  readonly binary: string;
  readonly prefix: readonly string[];
}

/** How etcd and kube-apiserver are run. */
export interface Binaries {
  readonly etcd: Program;
  /** kube-apiserver of an era, without the flags that make the era. */
  readonly apiserver: (era: ApiServerEra) => Program;
  /** What must be built before a sandbox of this era starts; little where KUBEBUILDER_ASSETS brought the servers along. */
  readonly needed: (era: ApiServerEra) => readonly GoServer[];
}

/**
 * KUBEBUILDER_ASSETS, as in controller-runtime's envtest, names a folder with `etcd` and `kube-apiserver`; without it
 * the binary that `build` makes is used. The API server of era E1 is always our own: it is pinned.
 */
export function findBinaries(assets: string | undefined = process.env['KUBEBUILDER_ASSETS']): Binaries {
  const ours = (server: GoServer, role: string): Program => ({ binary: binaryPath(server), prefix: [role] });
  if (assets === undefined || assets === '') {
    return {
      etcd: ours('drydock-apiserver', 'etcd'),
      apiserver: (era) => ours(ERA_PROGRAMS[era].server, 'kube-apiserver'),
      needed: (era) => [...new Set<GoServer>(['drydock-apiserver', ERA_PROGRAMS[era].server])],
    };
  }
  const program = (name: string): Program => {
    const binary = resolve(assets, name);
    if (existsSync(binary)) return { binary, prefix: [] };
    throw new SandboxError(
      'BadInput',
      `KUBEBUILDER_ASSETS is ${assets}, but there is no ${binary}. Put it there, or unset the variable.`,
    );
  };
  const [etcd, apiserver] = [program('etcd'), program('kube-apiserver')];
  return {
    etcd,
    apiserver: (era) => (era === 'E1' ? ours(ERA_PROGRAMS.E1.server, 'kube-apiserver') : apiserver),
    needed: (era) => (era === 'E1' ? [ERA_PROGRAMS.E1.server] : []),
  };
}

/** Which of the real servers that such sandboxes need are not built, as a command that builds them; undefined where nothing is missing. */
export function missingServers(wanted: {
  readonly eras: readonly ApiServerEra[];
  readonly workloads: boolean;
}): string | undefined {
  const missing = new Set(
    [
      ...wanted.eras.flatMap(findBinaries().needed),
      ...(wanted.workloads ? (['drydock-workloads'] as const) : []),
    ].filter((server) => !existsSync(binaryPath(server))),
  );
  const more = [
    ...(missing.has(ERA_PROGRAMS.E1.server) ? ['--era E1'] : []),
    ...(missing.has('drydock-workloads') ? ['--workloads'] : []),
  ];
  if (more.length > 0) return `./drydock-sandbox build ${more.join(' ')}`;
  return missing.size > 0 ? 'make servers' : undefined;
}
