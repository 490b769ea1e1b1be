/** Where the synthetic vCenter is, and how to get in. */
export interface Target {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** PEM file of the CA. */
  readonly ca: string;
  /** The folder that is watched. */
  readonly container: string;
}

/** What a watcher is told, a line of JSON: to watch until all machines were read, or to go on. It answers when it has `requests`, or after `patienceMs`. */
export type WatchJob = { readonly requests: number; readonly patienceMs: number } & (
  | (Target & {
      readonly do: 'watch';
      /** The Kubernetes side knows each machine: the first pass asks for nothing. */
      readonly verified: boolean;
    })
  | { readonly do: 'collect' }
);

/** What a watcher answers. */
export interface WatchResult {
  readonly wallSeconds: number;
  /** Since the last answer. */
  readonly cpuSeconds: number;
  readonly peakRssMB: number;
  /** Requests to reconcile since the last answer: whose machine, and when, in microseconds since 1970. */
  readonly machines: readonly string[];
  readonly at: readonly number[];
}

/** What the server is told, a line of JSON. */
export type ServerJob =
  | {
      readonly do: 'serve';
      readonly machines: number;
      readonly identity: { readonly certificate: string; readonly privateKey: string };
      readonly ca: string;
    }
  | {
      readonly do: 'change';
      readonly updates: number;
      /** 0: a full page whenever one is asked for. */
      readonly perSecond: number;
      /** Share of updates that change nothing that anybody acts on. */
      readonly noise: number;
      /** The connection of the wait is cut this often; 0 never. */
      readonly resetEveryMs: number;
    };

/** Changes that count, in order: whose machine, and when, in microseconds since 1970. */
export interface Changes {
  readonly machines: readonly string[];
  readonly at: readonly number[];
}

/** Microseconds since 1970, the same clock in every process of this machine. */
export function nowMicros(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}
