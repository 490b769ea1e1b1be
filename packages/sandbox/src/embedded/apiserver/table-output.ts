import { ageOf } from './human-duration.ts';
import { compileJsonPath, type JsonPath } from './json-path.ts';
import { type Fields, textAt } from './object-fields.ts';
import type { PrinterColumn, ServedResource } from './objects.ts';
import type { TablePrinter } from './table-printer.ts';
import { builtInTable, recordedColumns } from './table-printers.ts';

/** What of an object a row carries: its metadata by default. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** The printer of a resource: the server's own for built-in kinds, the declared columns for others. */
export function printerOf(resource: ServedResource): TablePrinter {
  return (resource.builtIn ? builtInTable(resource) : undefined) ?? declaredTable(resource.additionalPrinterColumns);
}

function declaredTable(declared: readonly PrinterColumn[]): TablePrinter {
  // Its first column is every kind's name, its second the time of creation.
  const [name, created] = recordedColumns('apiextensions.k8s.io/v1/customresourcedefinitions') ?? [];
  const description = created?.description ?? '';
  const age: PrinterColumn = { name: 'Age', type: 'date', description, jsonPath: '.metadata.creationTimestamp' };
  const columns = (declared.length === 0 ? [age] : declared).map((column) => ({
    ...column,
    find: pathOf(column.jsonPath),
  }));
  const shown = columns.map(({ name: title, type, format = '', description: said = '', priority = 0, jsonPath }) => ({
    ...{ name: title, type, format, priority },
    description: said === '' ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : said,
  }));
  return {
    columns: name === undefined ? shown : [name, ...shown],
    cells: (object, now) => [
      textAt(object, 'metadata.name'),
      ...columns.map(({ type, find }) => {
        const [value] = find(object);
        return value === undefined || value === null ? null : cellOf(type, value, now);
      }),
    ],
  };
}

function pathOf(source: string): JsonPath {
  try {
    return compileJsonPath(source);
  } catch {
    return () => [];
  }
}

function cellOf(type: string, value: unknown, now: number): unknown {
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? ageOf(value, now) : null;
    case 'string':
      return typeof value === 'string' ? value : JSON.stringify(value);
    default:
      return null;
  }
}

/** Metadata alone, as a PartialObjectMetadata. */
export function partialMetadata(object: Readonly<Record<string, unknown>>, version: string): object {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object['metadata'] ?? {} };
}

/** A Table of one object or of a list. `columns` false leaves the definitions out, as later events of a watch do. */
export function tableOf(
  body: Readonly<Record<string, unknown>>,
  printer: TablePrinter,
  options: {
    readonly version: string;
    readonly include: IncludeObject;
    /** Of the rows' objects, which lists leave out. */
    readonly kind: { readonly kind: string; readonly apiVersion: string };
    readonly columns?: boolean;
    readonly now: number;
  },
): object {
  const { version, include, now } = options;
  const items = Array.isArray(body['items'])
    ? (body['items'] as readonly Readonly<Record<string, unknown>>[])
    : undefined;
  const ordered = printer.order === undefined ? items : items?.toSorted(printer.order);
  const rows = (ordered ?? [body]).map((object) => ({
    cells: printer.cells(object, now),
    object:
      include === 'None'
        ? null
        : include === 'Object'
          ? { ...options.kind, ...object }
          : partialMetadata(object, version),
  }));
  const { resourceVersion, continue: more, remainingItemCount } = (body['metadata'] ?? {}) as Fields;
  const metadata = {
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(items === undefined || more === undefined || more === '' ? {} : { continue: more }),
    ...(items === undefined || remainingItemCount === undefined ? {} : { remainingItemCount }),
  };
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    ...(options.columns === false ? { columnDefinitions: null } : { columnDefinitions: printer.columns }),
    rows,
  };
}
