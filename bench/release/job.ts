import type { Sandbox } from '@drydock/sandbox';

/** What either side is asked to do: a line of JSON. */
export type ReleaseJob =
  /** Reads a payload of a folder, and keeps it for what follows. */
  | { readonly do: 'read'; readonly folder: string }
  /** Applies what was read; `reconciling` is an attempt at what is complete. */
  | {
      readonly do: 'apply';
      readonly kubeconfig: string;
      readonly server: Sandbox['admin'];
      readonly mode: 'initializing' | 'reconciling';
    }
  /** Ours alone: reads an image, checks its digests and its signature, and says what is for a cluster. */
  | { readonly do: 'load'; readonly layout: string; readonly signatures: string; readonly ring: string };

/** What it answers. */
export interface ReleaseResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Requests but those that begin a watch. */
  readonly requests: number;
  readonly manifests: number;
  /** High-water mark of the process, in 10^6 bytes. */
  readonly rssMB: number;
}
