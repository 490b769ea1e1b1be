/** RPM names of the architectures that stream metadata knows. */
export type Architecture = 'x86_64' | 'aarch64' | 's390x' | 'ppc64le';

/** What 2.4 says about one set: an architecture, a skip, or an error with upstream's text. */
export type ArchitectureResult =
  | { readonly kind: 'known'; readonly architecture: string }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'invalid'; readonly message: string };

/** The annotation in which machine-api publishes node labels for the cluster autoscaler. */
export const autoscalerLabelsAnnotation = 'capacity.cluster-autoscaler.kubernetes.io/labels';

const prefix = 'kubernetes.io/arch=';
const rpmNames: Readonly<Record<string, Architecture>> = {
  amd64: 'x86_64',
  arm64: 'aarch64',
  s390x: 's390x',
  ppc64le: 'ppc64le',
};

/**
 * The architecture of a machine set (boot-images.md §2.4). The first `kubernetes.io/arch` entry of the annotation decides; an
 * annotation without one is an error even on a single-architecture cluster, as upstream has it.
 */
export function architectureOf(set: {
  readonly name: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** `ClusterVersion.status.desired.architecture`. */
  readonly clusterArchitecture: string | undefined;
  /** RPM name used when nothing else tells; see {@link ownArchitecture}. */
  readonly fallback: string;
}): ArchitectureResult {
  const annotation = set.annotations?.[autoscalerLabelsAnnotation];
  if (annotation === undefined) {
    return set.clusterArchitecture === 'Multi'
      ? { kind: 'unknown', message: `no architecture annotation found on machineset ${set.name}` }
      : { kind: 'known', architecture: set.fallback };
  }
  const entry = annotation
    .split(',')
    .map((part) => part.trim())
    .find((part) => part.startsWith(prefix));
  if (entry === undefined) {
    return { kind: 'invalid', message: `kubernetes.io/arch label not found in annotation: ${annotation}` };
  }
  const value = entry.slice(prefix.length);
  const architecture = Object.hasOwn(rpmNames, value) ? rpmNames[value] : undefined;
  return architecture === undefined
    ? { kind: 'invalid', message: `invalid architecture value found in annotation: ${value}` }
    : { kind: 'known', architecture };
}

/** This process's architecture in RPM naming: right only where the operator runs on a control plane node of the cluster. */
export function ownArchitecture(arch: string = process.arch): string {
  const names: Readonly<Record<string, Architecture>> = {
    x64: 'x86_64',
    arm64: 'aarch64',
    ppc64: 'ppc64le',
    s390x: 's390x',
  };
  return names[arch] ?? arch;
}
