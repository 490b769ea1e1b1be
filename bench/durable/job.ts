/** What a worker is asked to make durable; both sides fill files with {@link contentOf}. */
export type DurableJob =
  | {
      readonly do: 'directory';
      /** Replaced as a whole; `staging` is where upstream's order builds it. */
      readonly target: string;
      readonly staging: string;
      readonly files: number;
      readonly bytes: number;
      readonly generation: number;
    }
  | {
      readonly do: 'revision';
      /** Holds `resources` and `manifests`. */
      readonly root: string;
      readonly objects: number;
      readonly files: number;
      readonly bytes: number;
      readonly generation: number;
    };

/** What a worker answers. */
export interface DurableResult {
  readonly wallMs: number;
  /** System calls of fsync. */
  readonly fsyncs: number;
}

/** Name of the static pod of a revision. */
export const POD = 'bench-pod';

/** Name of a file. */
export function fileName(index: number): string {
  return `file-${index}`;
}

/** Content of a file: different in each generation. */
export function contentOf(generation: number, index: number, bytes: number): string {
  return `${generation} ${index} `.padEnd(bytes, 'x');
}

/** The pod of a revision, in JSON, which is YAML too. */
export function podOf(generation: number): string {
  const metadata = { name: 'bench', labels: { revision: String(generation) } };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'main' }] } });
}
