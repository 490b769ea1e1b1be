import type { Moments } from '@drydock/vm-watch/testing';

/** Where the synthetic vCenter is, and how to get in. */
export interface Target {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** PEM file of the CA. */
  readonly ca: string;
  /** Folders of as many machines each. */
  readonly containers: readonly string[];
}

/** What a watcher is told, a line of JSON: to watch until all machines were read, or to go on. It answers when it has `requests`, or after `patienceMs`. */
export type WatchJob = { readonly requests: number; readonly patienceMs: number } & (
  | (Omit<Target, 'containers'> & {
      readonly do: 'watch';
      /** The folder that is watched. */
      readonly container: string;
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
      /** In each folder. */
      readonly machines: number;
      readonly folders: number;
      readonly identity: { readonly certificate: string; readonly privateKey: string };
      readonly ca: string;
    }
  | {
      readonly do: 'change';
      /** Which of the folders has the machines that change. */
      readonly folder: number;
      readonly updates: number;
      /** 0: a full page whenever one is asked for. */
      readonly perSecond: number;
      /** Share of updates that change nothing that anybody acts on. */
      readonly noise: number;
      /** The connection of the wait is cut this often; 0 never. */
      readonly resetEveryMs: number;
    };

/** What the server answers to `change`. */
export interface Changed extends Moments {
  /** By how much (ms) its clock was late in the worst of a hundred ticks: how busy the machine was with other things. */
  readonly lateMs: number;
}
