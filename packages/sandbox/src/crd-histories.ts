import type { CrdSet } from './crd-set.ts';

/** A project over two releases or more, oldest first. */
export interface CrdHistory {
  readonly name: string;
  /** Names of sets. */
  readonly sets: readonly string[];
}

interface Project {
  readonly name: string;
  readonly versions: readonly string[];
  /** Where a version keeps its definitions. */
  readonly globs: (version: string) => readonly string[];
  /** What its pin is called, where it is not `histories/<name>-<version>`. */
  readonly pins?: Readonly<Record<string, string>>;
  /** Of several projects in one module. */
  readonly module?: string;
}

const gateway = (channel: string): Project => ({
  name: `gateway-api-${channel}`,
  module: 'gateway-api',
  versions: ['0.8.1', '1.0.0', '1.4.0'],
  globs: () => [`config/crd/${channel}/gateway*.yaml`],
});

const PROJECTS: readonly Project[] = [
  gateway('standard'),
  gateway('experimental'),
  { name: 'cert-manager', versions: ['1.11.0', '1.19.1'], globs: () => ['deploy/crds/*.yaml'] },
  {
    name: 'cluster-api',
    versions: ['1.5.0', '1.9.0', '1.14.2'],
    globs: (version) =>
      [version === '1.14.2' ? 'core' : '.', 'bootstrap/kubeadm', 'controlplane/kubeadm'].map(
        (folder) => `${folder}/config/crd/bases/*.yaml`,
      ),
    pins: { '1.14.2': 'crds-cluster-api' },
  },
  { name: 'keda', versions: ['2.12.0', '2.18.0'], globs: () => ['config/crd/bases/*.yaml'] },
  { name: 'kueue', versions: ['0.6.0', '0.14.0'], globs: () => ['config/components/crd/bases/*.yaml'] },
  { name: 'karpenter', versions: ['0.37.0', '1.8.0'], globs: () => ['pkg/apis/crds/*.yaml'] },
];

/** Sets that are fetched when somebody names them, and never by a build that names none: `<project>-<version>`. */
export const HISTORY_SETS: readonly CrdSet[] = PROJECTS.flatMap(({ globs, module, name, pins, versions }) =>
  versions.map((version) => ({
    name: `${name}-${version}`,
    pin: pins?.[version] ?? `histories/${module ?? name}-${version}`,
    files: globs(version),
  })),
);

/** Real projects whose definitions changed: for tests of what lies between two releases. */
export const CRD_HISTORIES: readonly CrdHistory[] = PROJECTS.map(({ name, versions }) => ({
  name,
  sets: versions.map((version) => `${name}-${version}`),
}));
