import { BootImage } from '@drydock/api';
import { apiVersionOf, type KubeClient } from '@drydock/kube';
import { at, list, nonEmpty } from '../observe/json.ts';

/** A field manager and when it wrote, as `metadata.managedFields` has it. */
export interface FieldManager {
  readonly manager: string;
  /** RFC 3339, in whole seconds. */
  readonly time: string;
}

/** What `metadata.managedFields` of a BootImage says of its pin. It names clients, never users, and keeps nothing of a client that only removed fields. */
export interface PinWriters {
  /** The client that wrote `spec.pin`; absent where there is none. */
  readonly owner?: FieldManager;
  /** The client besides Drydock that wrote the object last, apart from its status. */
  readonly last?: FieldManager;
  /** When Drydock changed the status last: a pin that the status has as open was still there. */
  readonly seen?: string;
}

/** The managers of Drydock begin so. */
const OURSELVES = /^drydock\b/;
/** They write nothing but metadata. */
const METADATA_ONLY: ReadonlySet<string> = new Set(['kubectl-annotate', 'kubectl-label']);

interface Entry extends FieldManager {
  readonly status: boolean;
  readonly fields: unknown;
}

/** Reads it from an object as the API server sent it. Pure. */
export function pinWritersIn(object: unknown): PinWriters {
  const entries = list(at(object, ['metadata', 'managedFields'])).flatMap((one): readonly Entry[] => {
    const [manager, time] = [nonEmpty(at(one, ['manager'])), nonEmpty(at(one, ['time']))];
    if (manager === undefined || time === undefined) return [];
    return [{ manager, time, status: at(one, ['subresource']) === 'status', fields: at(one, ['fieldsV1']) }];
  });
  const owner = latest(
    entries.filter(({ status, fields }) => !status && at(fields, ['f:spec', 'f:pin']) !== undefined),
  );
  const last = latest(
    entries.filter(({ status, manager }) => !status && !OURSELVES.test(manager) && !METADATA_ONLY.has(manager)),
  );
  const seen = latest(entries.filter(({ status, manager }) => status && OURSELVES.test(manager)))?.time;
  return {
    ...(owner === undefined ? {} : { owner }),
    ...(last === undefined ? {} : { last }),
    ...(seen === undefined ? {} : { seen }),
  };
}

function latest(entries: readonly Entry[]): FieldManager | undefined {
  const last = entries.toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time)).at(-1);
  return last === undefined ? undefined : { manager: last.manager, time: last.time };
}

/** Whether the object itself does not say who wrote its pin, or who lifted it: then its field managers are worth a read. */
export function lacksPinWriter({ spec, status }: BootImage): boolean {
  const [newest] = status?.pins ?? [];
  const open = newest !== undefined && newest.liftedAt === undefined ? newest : undefined;
  if (spec?.pin === undefined) return open !== undefined;
  return spec.pin.by === undefined && open?.by === undefined;
}

/** Reads the field managers of a BootImage, which clients otherwise leave out. */
export async function pinWriters(
  client: Pick<KubeClient, 'raw'>,
  { metadata: { namespace = '', name } }: BootImage,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<PinWriters> {
  const path = `/apis/${apiVersionOf(BootImage)}/namespaces/${namespace}/${BootImage.plural}/${name}`;
  return pinWritersIn(await client.raw({ path }, options));
}
