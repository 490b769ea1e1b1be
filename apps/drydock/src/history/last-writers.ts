import { type BootImage, MachineSet } from '@drydock/api';
import { isNotFound, type KubeClient } from '@drydock/kube';
import type { Happening } from './happenings.ts';

/** Of `managedFields`: who wrote which fields of an object last, and when (Kubernetes API reference, ManagedFieldsEntry). */
interface ManagedFields {
  readonly manager?: unknown;
  readonly time?: unknown;
  readonly fieldsV1?: unknown;
}

/** Where the machines of a set say how they are made. */
const PROVIDER = ['spec', 'template', 'spec', 'providerSpec', 'value'];
/** What a machine starts from there: on vSphere, AWS, Azure, Google Cloud. */
const IMAGES = ['template', 'ami', 'image', 'disks'];

/**
 * Who wrote the image of each machine set last, as the API server says, where its status does not: nobody keeps the history of a set that is left alone. Sets that cannot be read are named in `unread`.
 */
export async function lastWriters(
  client: Pick<KubeClient, 'raw'>,
  images: readonly BootImage[],
  signal: AbortSignal,
): Promise<{ readonly writers: readonly Happening[]; readonly unread: readonly string[] }> {
  const writers: Happening[] = [];
  const unread: string[] = [];
  for (const image of images) {
    const { kind, name } = image.spec?.machineSet ?? {};
    if (kind !== MachineSet.kind || name === undefined) continue;
    try {
      const found = await writerOf(client, image, name, signal);
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
  name: string,
  signal: AbortSignal,
): Promise<Happening | undefined> {
  const { group, version, plural } = MachineSet;
  const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${name}`;
  const set = await client.raw({ path }, { signal });
  const template = at(set, [...PROVIDER, 'template']);
  const [newest] = status?.history ?? [];
  if (typeof template === 'string' && template === newest?.image) return undefined;
  const entries = at(set, ['metadata', 'managedFields']);
  const fields = PROVIDER.map((part) => `f:${part}`);
  const wrote = ({ fieldsV1 }: ManagedFields): boolean =>
    IMAGES.some((leaf) => at(fieldsV1, [...fields, `f:${leaf}`]) !== undefined);
  const last = (Array.isArray(entries) ? (entries as readonly ManagedFields[]) : [])
    .filter((one) => typeof one?.manager === 'string' && typeof one.time === 'string' && wrote(one))
    .toSorted((a, b) => Date.parse(String(a.time)) - Date.parse(String(b.time)))
    .at(-1);
  if (last === undefined) return undefined;
  return {
    ...{ when: String(last.time), who: String(last.manager), from: 'set', namespace },
    subject: status?.set ?? `ms/${name}`,
    what: `wrote its image last${typeof template === 'string' ? `: ${template}` : ''}`,
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
