import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORE_CELLS } from './core-cells.ts';
import { NETWORK_CELLS } from './network-cells.ts';
import { type Fields, numberAt, valueAt } from './object-fields.ts';
import type { ServedResource } from './objects.ts';
import { POD_CELLS } from './pod-cells.ts';
import { POLICY_CELLS } from './policy-cells.ts';
import { STORAGE_CELLS } from './storage-cells.ts';
import { age, type Cell, type Cells, type CellsByKind, NONE, text } from './table-cells.ts';
import type { TableColumn, TablePrinter } from './table-printer.ts';
import { WORKLOAD_CELLS } from './workload-cells.ts';

const CELLS: CellsByKind = {
  '/pods': POD_CELLS,
  ...CORE_CELLS,
  ...WORKLOAD_CELLS,
  ...NETWORK_CELLS,
  ...STORAGE_CELLS,
  ...POLICY_CELLS,
};

interface RecordedColumns {
  readonly descriptions: readonly string[];
  readonly columns: Readonly<Record<string, readonly (readonly [string, string, string, number, number])[]>>;
}

let recorded: RecordedColumns | undefined;

/** The columns that the real server has for a resource, which `src/recording/record-server-objects.ts` records. */
export function recordedColumns(resource: string): readonly TableColumn[] | undefined {
  recorded ??= JSON.parse(
    readFileSync(join(import.meta.dirname, 'recorded/table-columns.json'), 'utf8'),
  ) as RecordedColumns;
  const { descriptions } = recorded;
  return recorded.columns[resource]?.map(([name, type, format, description, priority]) => ({
    ...{ name, type, format, priority },
    description: descriptions[description] ?? '',
  }));
}

const none: Cell = () => NONE;

const COMMON: Cells = {
  Name: text('metadata.name'),
  Age: age('metadata.creationTimestamp'),
  'Created At': (object) => valueAt(object, 'metadata.creationTimestamp'),
};

/** The printer of a built-in kind; undefined for a kind whose columns were not recorded. */
export function builtInTable({ group, version, plural }: ServedResource): TablePrinter | undefined {
  const columns = recordedColumns(`${group}/${version}/${plural}`);
  if (columns === undefined) return undefined;
  const cells: Cells = { ...COMMON, ...CELLS[`${group}/${plural}`] };
  const precedence = (object: Fields): number => numberAt(object, 'spec.matchingPrecedence');
  return {
    columns,
    ...(plural === 'flowschemas' ? { order: (a: Fields, b: Fields) => precedence(a) - precedence(b) } : {}),
    cells: (object, now) => columns.map(({ name }) => (cells[name] ?? none)(object, now)),
  };
}
