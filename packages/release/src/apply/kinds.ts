import { isObject, type Json } from '@drydock/crd';
import { isNotFound, type KubeClient, type KubeObject, type Resource } from '@drydock/kube';
import type { Manifest, ObjectId } from '../payload/manifest.ts';
import { objectIn, objectsIn, textIn } from './json.ts';
import type { ApplyMemory } from './memory.ts';
import { kindOf } from './merge/kinds.ts';

/** Where objects of a kind are on the server. */
export interface Kinds {
  /** undefined: the server does not serve it. Rejects with `ApiError`. */
  resourceOf(id: ObjectId, version: string): Promise<Resource<KubeObject> | undefined>;
  /** What is known without asking. */
  known(id: ObjectId, version: string): Resource<KubeObject> | undefined;
}

/** Names that can be in a path. */
const PLAIN = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;

/** Kinds of a server. Those that the payload itself defines need not be asked for. */
export function createKinds(options: {
  readonly client: Pick<KubeClient, 'raw'>;
  readonly manifests: readonly Manifest[];
  readonly memory: ApplyMemory;
  readonly signal: AbortSignal;
}): Kinds {
  const { client, memory, signal } = options;
  const defined = new Map(options.manifests.flatMap(definedBy));

  async function served(group: string, version: string): Promise<ReadonlyMap<string, Resource<KubeObject>>> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    let answer: unknown;
    try {
      answer = await client.raw({ path }, { signal });
    } catch (error) {
      if (isNotFound(error)) return new Map();
      throw error;
    }
    const list = isObject(answer as Json) ? objectsIn(answer as never, 'resources') : [];
    const found = list.flatMap((one): (readonly [string, Resource<KubeObject>])[] => {
      const [plural, kind] = [textIn(one, 'name'), textIn(one, 'kind')];
      if (plural.includes('/') || !PLAIN.test(plural)) return [];
      const scope = one['namespaced'] === true ? 'Namespaced' : 'Cluster';
      return [[kind, { group, version, kind, plural, scope }]];
    });
    return new Map(found);
  }

  const known: Kinds['known'] = ({ group, kind }, version) =>
    memory.kinds.get(`${group}/${version}`)?.get(kind) ?? defined.get(`${group}/${version} ${kind}`);

  return {
    known,
    resourceOf: async (id, version) => {
      const { group, kind } = id;
      const here = known(id, version);
      if (here !== undefined || !PLAIN.test(version) || (group !== '' && !PLAIN.test(group))) return here;
      const kinds = await served(group, version);
      memory.kinds.set(`${group}/${version}`, kinds);
      return kinds.get(kind);
    },
  };
}

/** Kinds that a definition of the payload brings. */
function definedBy({ id, object }: Manifest): readonly (readonly [string, Resource<KubeObject>])[] {
  if (kindOf(id) !== 'CustomResourceDefinition.apiextensions.k8s.io') return [];
  const spec = objectIn(object, 'spec');
  const names = objectIn(spec, 'names');
  const [group, kind, plural] = [textIn(spec, 'group'), textIn(names, 'kind'), textIn(names, 'plural')];
  if (!PLAIN.test(group) || !PLAIN.test(plural)) return [];
  const scope = textIn(spec, 'scope') === 'Namespaced' ? 'Namespaced' : 'Cluster';
  return objectsIn(spec, 'versions')
    .filter((one) => one['served'] === true && PLAIN.test(textIn(one, 'name')))
    .map((one) => {
      const version = textIn(one, 'name');
      return [`${group}/${version} ${kind}`, { group, version, kind, plural, scope }];
    });
}
