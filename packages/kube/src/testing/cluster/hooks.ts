import type { KubeClient } from '../../client/client.ts';
import type { Key } from '../../resource.ts';

/** One process that talks to the in-memory cluster. */
export interface MemoryKubeClient extends KubeClient {
  readonly id: string;
  /** Ends the process: no later call reaches the server, its watches end, nothing is cleaned up. */
  kill(): void;
}

/** What a call does, by the name of the client's method. `raw` is whatever has no method, such as a dry run or `/version`. */
export type ClusterVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'replace'
  | 'replaceStatus'
  | 'apply'
  | 'applyStatus'
  | 'patch'
  | 'mergePatch'
  | 'delete'
  | 'raw';

/** One request to the cluster. */
export interface ClusterCall {
  readonly verb: ClusterVerb;
  /** `machinesets.machine.openshift.io`, `configmaps`; '' outside the resources. */
  readonly resource: string;
  /** Absent for collections, and for a create whose name the server chooses. */
  readonly key?: Key;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body?: unknown;
}

/** Before or after the server acted. */
export type ClusterPhase = 'before' | 'after';

/** Where a hook is called from. */
export interface ClusterContext {
  readonly client: MemoryKubeClient;
  /** Number of the call over all clients of the cluster, from 1. */
  readonly index: number;
  /** Whether the call can change objects; dry runs cannot. */
  readonly mutates: boolean;
}

/**
 * Called around every call that reaches the cluster; for `watch` around its opening. What it throws is what the caller gets: in phase
 * `before` the server did not act (a lost request), in phase `after` it did (a lost answer). To end the process, call
 * `context.client.kill()` and throw anything. A promise holds the call back, for interleavings.
 */
export type ClusterHook = (call: ClusterCall, phase: ClusterPhase, context: ClusterContext) => void | Promise<void>;

/** What a killed client's calls reject with: not an `ApiError`, because nothing of the dead process may handle it. */
export class KubeClientKilled extends Error {
  override readonly name = 'KubeClientKilled';

  constructor() {
    super('the client was killed by the test; its process makes no more calls');
  }
}
