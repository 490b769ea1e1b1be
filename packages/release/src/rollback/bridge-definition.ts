import { createHash } from 'node:crypto';
import { jsonText } from '@drydock/api/text';
import { bridge, type Crd, isObject, type Json, type JsonObject, type Unbridged } from '@drydock/crd';

/** Begins the name of the column by which the bridge is told from what it bridges. Columns say it without a refusal, for whoever may read, and of every API server. */
const COLUMN = 'drydock-bridge-';

/** A definition under which both releases can write, as it is put; or what stands in its way. */
export type BridgeSpec =
  | { readonly spec: JsonObject; readonly column: string; readonly unbridged?: undefined }
  | { readonly spec?: undefined; readonly unbridged: readonly Unbridged[] };

/** The bridge between what is gone to and what is there. One way is enough where no version keeps both open: what is there is stored so that the target reads it. */
export function bridgeSpec(target: Crd, live: Crd): BridgeSpec {
  const open = bridge(target, live);
  const found = open.crd === undefined ? bridge(target, live, { stores: 'older' }) : open;
  if (found.crd === undefined) return { unbridged: open.unbridged };
  const spec = found.crd.manifest['spec'] as JsonObject & { readonly versions: readonly JsonObject[] };
  const versions = spec.versions.map((version) => ({ version, columns: columnsIn(version) }));
  const digest = createHash('sha256').update(jsonText(versions)).digest('hex').slice(0, 8);
  const column = `${COLUMN}${digest}`;
  const own: JsonObject = { name: column, type: 'string', priority: 1, jsonPath: '.metadata.name' };
  return {
    column,
    spec: {
      ...spec,
      versions: versions.map(({ version, columns }) => ({
        ...version,
        additionalPrinterColumns: [...(columns.length === 0 ? [AGE] : columns), own],
      })),
    },
  };
}

/** What a server shows where a definition names no column. */
const AGE: JsonObject = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** The column of a bridge that a definition is; undefined where it is none. */
export function bridgeColumn(spec: JsonObject | undefined): string | undefined {
  const versions = spec?.['versions'];
  for (const version of Array.isArray(versions) ? (versions as readonly Json[]) : [])
    for (const column of isObject(version) ? allColumns(version) : []) {
      const { name } = column;
      if (isBridgeColumn(name)) return name as string;
    }
  return undefined;
}

/** Whether a column is that of a bridge. */
export function isBridgeColumn(name: unknown): boolean {
  return typeof name === 'string' && name.startsWith(COLUMN);
}

function columnsIn(version: JsonObject): readonly JsonObject[] {
  return allColumns(version).filter(({ name }) => !isBridgeColumn(name));
}

function allColumns(version: JsonObject): readonly JsonObject[] {
  const columns = version['additionalPrinterColumns'];
  return Array.isArray(columns) ? (columns as readonly Json[]).filter(isObject) : [];
}
