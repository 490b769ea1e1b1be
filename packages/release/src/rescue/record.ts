import { createHash } from 'node:crypto';
import { readJson } from '@drydock/api';
import { jsonText } from '@drydock/api/text';
import type { JsonObject } from '@drydock/crd';
import type { ConfigMapStore } from '@drydock/kube';

/** What a rescue notes before it writes: by it a later process tells what was done from what is to do. */
export interface RescueRecord {
  /** `namespace/name` of the object, for people. */
  readonly object: string;
  /** {@link statusHash} of the status that is written. Another legal one in its place was written by somebody else. */
  readonly wrote: string;
  /** Uids of the writer's pods that may keep what was refused. */
  readonly pods: readonly string[];
  /** RFC 3339. */
  readonly since: string;
}

/** Records by the uid of the object, which outlive the process. */
export interface RescueRecords {
  readonly read: (uid: string) => Promise<RescueRecord | undefined>;
  readonly save: (uid: string, record: RescueRecord) => Promise<void>;
  readonly remove: (uid: string) => Promise<void>;
}

/** Name of the ConfigMap that has them. */
export const RESCUE_RECORDS = 'drydock-rescue';

/** Keeps records in ConfigMaps. */
export function rescueRecords(store: ConfigMapStore): RescueRecords {
  return {
    read: async (uid) => {
      const text = (await store.read()).get(uid);
      return text === undefined ? undefined : parse(text);
    },
    save: async (uid, record) => void (await store.change(uid, () => JSON.stringify(record))),
    remove: async (uid) => void (await store.change(uid, () => undefined)),
  };
}

/** What somebody has edited until it cannot be read counts as none: everything is looked at, and noted, anew. */
function parse(text: string): RescueRecord | undefined {
  let read: unknown;
  try {
    read = readJson(text);
  } catch {
    return undefined;
  }
  const { object, wrote, pods, since } = (read ?? {}) as Partial<RescueRecord>;
  const texts = [object, wrote, since, ...(Array.isArray(pods) ? pods : [undefined])];
  return texts.every((one) => typeof one === 'string') ? (read as RescueRecord) : undefined;
}

/** Identifies a status: 16 hexadecimal digits of the SHA-256 of its JSON with sorted keys. */
export function statusHash(status: JsonObject): string {
  const sorted = (_key: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const plain: unknown = JSON.parse(jsonText(status), sorted);
  return createHash('sha256').update(JSON.stringify(plain)).digest('hex').slice(0, 16);
}
