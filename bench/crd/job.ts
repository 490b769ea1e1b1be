/** What the peer is asked to do: a dry-run update of objects, labelled otherwise. A line of JSON. */
export interface WriteJob {
  readonly kubeconfig: string;
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  readonly certificate: string;
  readonly privateKey: string;
  /** Requests under way at the same time. */
  readonly atOnce: number;
  /** Of all objects, how many. */
  readonly count: number;
}

/** What it answers. */
export interface WriteResult {
  readonly seconds: number;
  readonly writes: number;
  readonly refused: number;
}
