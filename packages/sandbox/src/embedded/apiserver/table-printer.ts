/** A column as a Table declares it. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** How objects of one kind become rows. */
export interface TablePrinter {
  /** The order of rows, where it is not that of the list. */
  readonly order?: (a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>) => number;
  readonly columns: readonly TableColumn[];
  /** Cells in the order of the columns. `now` is in milliseconds since 1970. */
  cells(object: Readonly<Record<string, unknown>>, now: number): readonly unknown[];
}
