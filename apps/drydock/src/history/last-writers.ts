import { type BootImage, ControlPlaneMachineSet, MachineSet } from '@drydock/api';
import { CLUSTER_API, type ServedKinds, servedKinds } from '@drydock/boot-images';
import { isNotFound, type KubeClient, type KubeObject, type Resource } from '@drydock/kube';
import type { Happening } from './happenings.ts';

/** Of `managedFields`: who wrote which fields of an object last, and when (Kubernetes API reference, ManagedFieldsEntry). */
interface ManagedFields {
  readonly manager?: unknown;
  readonly time?: unknown;
  readonly fieldsV1?: unknown;
}

/** Where a set says what its machines start from. */
interface ImagePlace {
  readonly resource: Resource<KubeObject>;
  readonly paths: readonly (readonly string[])[];
  /** The image that stands there, as a status knows it. */
  readonly image: (set: unknown, status: BootImage['status']) => unknown;
  readonly what: string;
  /** Names it, below one of the paths. */
  readonly name: string;
}

/** On vSphere, AWS, Azure, Google Cloud. */
const IMAGES = ['template', 'ami', 'image', 'disks'];

/** Sets of OpenShift, by their provider's settings. */
function ofProvider<T extends KubeObject>(resource: Resource<T>, machine: readonly string[]): ImagePlace {
  const value = [...machine, 'spec', 'providerSpec', 'value'];
  return {
    resource: resource as Resource<KubeObject>,
    paths: IMAGES.map((leaf) => [...value, leaf]),
    image: (set) => at(set, [...value, 'template']),
    what: 'wrote its image last',
    name: '',
  };
}

const OF_OPENSHIFT: readonly ImagePlace[] = [
  ofProvider(MachineSet, ['spec', 'template']),
  ofProvider(ControlPlaneMachineSet, ['spec', 'template', 'machines_v1beta1_machine_openshift_io']),
];

/** Sets of Cluster API refer to a template of their provider, which is never changed: another image is another reference. */
const REFERENCES = [
  ['spec', 'template', 'spec', 'infrastructureRef'],
  ['spec', 'machineTemplate', 'infrastructureRef'],
  ['spec', 'machineTemplate', 'spec', 'infrastructureRef'],
];

function ofClusterApi(resource: Resource<KubeObject>): ImagePlace {
  return {
    ...{ resource, paths: REFERENCES, name: 'name' },
    image: (_, status) => status?.current,
    what: 'wrote last which template it refers to',
  };
}

/**
 * Who wrote the image of each set last, as the API server says, where its status does not: nobody keeps the history of a set that is left alone. Sets that cannot be read are named in `unread`.
 */
export async function lastWriters(
  client: Pick<KubeClient, 'raw'>,
  images: readonly BootImage[],
  signal: AbortSignal,
): Promise<{ readonly writers: readonly Happening[]; readonly unread: readonly string[] }> {
  const writers: Happening[] = [];
  const unread: string[] = [];
  let served: ServedKinds | undefined;
  const placeOf = async ({ apiGroup = '', kind = '' }: { readonly apiGroup?: string; readonly kind?: string }) => {
    if (apiGroup !== CLUSTER_API && !apiGroup.endsWith(`.${CLUSTER_API}`))
      return OF_OPENSHIFT.find((one) => one.resource.kind === kind);
    served ??= await servedKinds(client, { signal });
    const resource = served.of(apiGroup, kind);
    return resource === undefined ? undefined : ofClusterApi(resource);
  };
  for (const image of images) {
    const { machineSet } = image.spec ?? {};
    if (machineSet?.name === undefined) continue;
    try {
      const place = await placeOf(machineSet);
      const found =
        place === undefined ? undefined : await writerOf(client, image, { ...place, of: machineSet.name }, signal);
      if (found !== undefined) writers.push(found);
    } catch (error) {
      signal.throwIfAborted();
      if (!isNotFound(error)) unread.push(error instanceof Error ? error.message : String(error));
    }
  }
  return { writers, unread };
}

async function writerOf(
  client: Pick<KubeClient, 'raw'>,
  { metadata: { namespace = '' }, status }: BootImage,
  place: ImagePlace & { readonly of: string },
  signal: AbortSignal,
): Promise<Happening | undefined> {
  const { group, kind, version, plural } = place.resource;
  const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${place.of}`;
  const set = await client.raw({ path }, { signal });
  const [newest] = status?.history ?? [];
  const image = place.image(set, status);
  if (typeof image === 'string' && image === newest?.image) return undefined;
  const entries = at(set, ['metadata', 'managedFields']);
  const wrote = ({ fieldsV1 }: ManagedFields): boolean =>
    place.paths.some(
      (parts) =>
        at(
          fieldsV1,
          parts.map((part) => `f:${part}`),
        ) !== undefined,
    );
  const last = (Array.isArray(entries) ? (entries as readonly ManagedFields[]) : [])
    .filter((one) => typeof one?.manager === 'string' && typeof one.time === 'string' && wrote(one))
    .toSorted((a, b) => Date.parse(String(a.time)) - Date.parse(String(b.time)))
    .at(-1);
  if (last === undefined) return undefined;
  const named =
    place.name === ''
      ? image
      : place.paths.map((parts) => at(set, [...parts, place.name])).find((one) => one !== undefined);
  return {
    ...{ when: String(last.time), who: String(last.manager), from: 'set', namespace },
    subject: status?.set ?? `${kind}/${place.of}`,
    what: `${place.what}${typeof named === 'string' ? `: ${named}` : ''}`,
  };
}

function at(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[part];
  }
  return found;
}
