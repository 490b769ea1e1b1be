import { ConfigMap, Secret } from '@drydock/api';
import { type Client, isNotFound } from '@drydock/kube';
import { StaticPodError } from '../errors.ts';
import { type Patience, patiently } from '../patience.ts';
import { type Source, type SourceKind, sourceText } from './object-files.ts';

/** Names of objects to fetch. */
export interface SourceNames {
  readonly secrets?: readonly string[];
  readonly optionalSecrets?: readonly string[];
  readonly configmaps?: readonly string[];
  readonly optionalConfigmaps?: readonly string[];
}

/** One object that was fetched, under the name that its directory gets. */
export interface Fetched {
  readonly kind: SourceKind;
  readonly name: string;
  readonly object: Source;
}

/** Where and how to fetch. */
export interface FetchOptions extends Patience {
  readonly client: Client;
  readonly namespace: string;
  /** Added to each name for the GET, such as `-7`. */
  readonly suffix?: string;
}

/** One object, as the server has it now; undefined where an optional one is absent. A required one that is absent is `MISSING`, without a repetition. */
export async function fetchSource(
  kind: SourceKind,
  name: string,
  optional: boolean,
  options: FetchOptions,
): Promise<Source | undefined> {
  const { client, namespace, suffix = '' } = options;
  const key = { namespace, name: `${name}${suffix}` };
  try {
    return await patiently<Source>(
      (signal) =>
        kind === 'secrets'
          ? client.get(Secret, key, signal === undefined ? {} : { signal })
          : client.get(ConfigMap, key, signal === undefined ? {} : { signal }),
      options,
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
    if (optional) return undefined;
    throw new StaticPodError(
      'MISSING',
      sourceText(kind, namespace, key.name),
      'it does not exist and is required',
      error,
    );
  }
}

/** All objects, secrets first, required before optional, each sorted. Absent optional ones are left out. */
export async function fetchSources(names: SourceNames, options: FetchOptions): Promise<readonly Fetched[]> {
  const lists: readonly (readonly [SourceKind, readonly string[], boolean])[] = [
    ['secrets', names.secrets ?? [], false],
    ['secrets', names.optionalSecrets ?? [], true],
    ['configmaps', names.configmaps ?? [], false],
    ['configmaps', names.optionalConfigmaps ?? [], true],
  ];
  const found = new Map<string, Fetched>();
  for (const [kind, list, optional] of lists)
    for (const name of [...list].sort()) {
      const object = await fetchSource(kind, name, optional, options);
      if (object !== undefined) found.set(`${kind}/${name}`, { kind, name, object });
    }
  return [...found.values()];
}
