import { join } from 'node:path';
import { ConfigMap } from '@drydock/api';
import type { FileSpec } from '@drydock/durable';
import { type Client, isNotFound } from '@drydock/kube';
import { StaticPodError } from '../errors.ts';
import { type Patience, patiently } from '../patience.ts';
import { type Fetched, type FetchOptions, fetchSources } from './fetch.ts';
import type { InstallSpec } from './install-spec.ts';
import { bytesOf, filesOf, sourceText } from './object-files.ts';
import { decodePod, encodePod, needsUid, type PodMutation, withContentUid, withoutUid } from './pod.ts';
import { substitute } from './substitute.ts';

/** A static pod's manifest. */
export interface Manifest {
  readonly name: string;
  readonly content: Uint8Array;
}

/** Everything of one revision, fetched, substituted and checked. */
export interface Revision {
  /** The revision's own directory. */
  readonly dir: string;
  /** `secrets/<name>` or `configmaps/<name>` → files. */
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, FileSpec>>;
  /** In the order in which they are published: what watches over the pod first, the pod itself last. */
  readonly manifests: readonly Manifest[];
}

/** Permissions of manifests: a pod's environment may hold secrets. */
export const MANIFEST_MODE = 0o600;

/** The main key of a pod's ConfigMap. */
const MAIN = 'pod.yaml';

/** Where a revision lies. */
export function revisionDir(resourceDir: string, pod: string, revision: string | number): string {
  return join(resourceDir, `${pod}-${revision}`);
}

/** The number of a revision's directory of a static pod; undefined where the name is not exactly `<pod>-<number>`. */
export function revisionOfDirectory(name: string, pod: string): number | undefined {
  const rest = name.startsWith(`${pod}-`) ? name.slice(pod.length + 1) : '';
  return /^\d{1,10}$/.test(rest) ? Number(rest) : undefined;
}

/** Fetches a whole revision before anything is written. Fails with `MISSING`, `BAD_CONTENT` or the API's error. */
export async function fetchRevision(
  spec: InstallSpec,
  client: Client,
  options: Patience & { readonly kubeletVersion: string; readonly mutations: readonly PodMutation[] },
): Promise<Revision> {
  const { namespace, pod, revision, nodeName } = spec;
  const fetch: FetchOptions = { ...options, client, namespace, suffix: `-${revision}` };
  const change = (bytes: Uint8Array): Uint8Array => substitute(bytes, { revision, nodeName });
  const sources = await fetchSources(spec.sources, fetch);
  const objects = new Map(
    sources.map(({ kind, name, object }: Fetched) => [`${kind}/${name}`, filesOf(kind, object, 'revision', change)]),
  );
  const key = { namespace, name: `${pod}-${revision}` };
  const where = sourceText('configmaps', namespace, key.name);
  const map = await patiently(
    (signal) => client.get(ConfigMap, key, signal === undefined ? {} : { signal }),
    options,
  ).catch((error: unknown) => {
    throw isNotFound(error) ? new StaticPodError('MISSING', where, 'it does not exist and is required', error) : error;
  });
  return { dir: revisionDir(spec.resourceDir, pod, revision), objects, manifests: manifestsOf(spec, map, options) };
}

/** The manifests of a pod's ConfigMap: `pod.yaml` becomes `<pod>.yaml`, `*-pod.yaml` keep their names, others are none. */
export function manifestsOf(
  { namespace, pod, revision, nodeName }: InstallSpec,
  map: ConfigMap,
  options: { readonly kubeletVersion: string; readonly mutations: readonly PodMutation[] },
): readonly Manifest[] {
  const where = sourceText('configmaps', namespace, map.metadata.name);
  const content = bytesOf('configmaps', map);
  if (!content.has(MAIN)) throw new StaticPodError('MISSING', where, `it has no key ${MAIN}`);
  const manifests: Manifest[] = [];
  for (const [key, bytes] of [...content].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (key !== MAIN && !key.endsWith(`-${MAIN}`)) continue;
    const name = key === MAIN ? `${pod}.yaml` : key;
    if (manifests.some((one) => one.name === name))
      throw new StaticPodError('BAD_CONTENT', where, `two of its keys become ${name}`);
    let decoded = decodePod(substitute(bytes, { revision, nodeName }), `${where}, key ${key}`);
    // Callbacks see the pod as it will be, with or without uid.
    decoded = needsUid(options.kubeletVersion) ? withContentUid(decoded) : withoutUid(decoded);
    for (const mutate of options.mutations) decoded = mutate(structuredClone(decoded));
    manifests.push({ name, content: encodePod(decoded) });
  }
  const isMain = ({ name }: Manifest): number => (name === `${pod}.yaml` ? 1 : 0);
  return manifests.sort((a, b) => isMain(a) - isMain(b));
}
