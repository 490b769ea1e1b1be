import { usage } from '../errors.ts';
import type { SourceNames } from './fetch.ts';

/** What one installer lays down; the names of the fields follow the flags. */
export interface InstallSpec {
  readonly revision: string;
  readonly nodeName: string;
  readonly namespace: string;
  /** Prefix of the ConfigMap with the pod, and name of its manifest. */
  readonly pod: string;
  /** Revisioned objects, without their `-<revision>`. */
  readonly sources: SourceNames;
  /** Objects that all revisions share, below `certDir`; without that they are ignored, as library-go's installer does. */
  readonly certs?: SourceNames;
  readonly certDir?: string;
  readonly resourceDir: string;
  readonly manifestDir: string;
  /** Taken while manifests are written, where a startup monitor shares them. */
  readonly lockFile?: string;
  /** Time for everything after the wait for other installers; default 120 s. */
  readonly timeoutMs?: number;
}

/** Throws `USAGE` unless a revision can be installed from this; checks in the order of library-go's installer, then what it leaves unchecked. */
export function validateInstall(spec: InstallSpec): void {
  if (spec.revision === '') throw usage('--revision is required');
  if (spec.nodeName === '') throw usage('env var NODE_NAME is required');
  if (spec.namespace === '') throw usage('--namespace is required');
  if (spec.pod === '') throw usage('--pod is required');
  if ((spec.sources.configmaps ?? []).length === 0) throw usage('--configmaps is required');
  if (spec.timeoutMs !== undefined && !(spec.timeoutMs > 0)) throw usage('--timeout-duration cannot be 0');
  if (spec.resourceDir === '') throw usage('--resource-dir is required');
  if (spec.manifestDir === '') throw usage('--pod-manifest-dir is required');
  if (!/^\d{1,10}$/.test(spec.revision))
    throw usage(`--revision is ${JSON.stringify(spec.revision)}, expected a number`);
  checkObjectName('NODE_NAME', spec.nodeName);
  checkObjectName('--namespace', spec.namespace);
  checkObjectName('--pod', spec.pod);
  checkSources('', spec.sources);
  checkSources('cert-', spec.certs ?? {});
}

/** Throws `USAGE` unless the text can be an object's name and with that one directory's. */
export function checkObjectName(flag: string, name: string): void {
  // RFC 1123 subdomain, as the API server wants it.
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) || name.includes('..') || name.length > 253)
    throw usage(`${flag}: ${JSON.stringify(name)} is no name of an object`);
}

function checkSources(prefix: string, names: SourceNames): void {
  const lists: readonly (readonly [string, readonly string[] | undefined])[] = [
    [`--${prefix}secrets`, names.secrets],
    [`--optional-${prefix}secrets`, names.optionalSecrets],
    [`--${prefix}configmaps`, names.configmaps],
    [`--optional-${prefix}configmaps`, names.optionalConfigmaps],
  ];
  for (const [flag, list] of lists) for (const name of list ?? []) checkObjectName(flag, name);
}
