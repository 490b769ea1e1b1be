import { BootImage } from '@drydock/api';
import { keyOf } from '@drydock/kube';
import type { KeptSet } from '../observe/kept-set.ts';
import { type PassOutcome, runPass } from '../pass/pass.ts';
import { createPassState, type PassPorts, type PassState } from '../pass/pass-state.ts';
import { setFacts } from '../pass/set-facts.ts';
import { attemptsIn, createBootImages, imageOf } from '../status/boot-image-store.ts';
import type { PassCause } from '../wakes/causes.ts';
import { type FakeCluster, type FakeClusterOptions, fakeCluster, machineSet } from './fake-cluster.ts';

/** A fake cluster whose passes write BootImages, by processes that can be replaced. */
export interface ReportingCluster {
  readonly cluster: FakeCluster;
  /** Of the process that runs now. */
  readonly state: PassState;
  readonly ports: PassPorts;
  /** A second later than the one before. */
  readonly pass: (cause?: Partial<PassCause>) => Promise<PassOutcome>;
  /** Another process, which knows only what the BootImages say. */
  readonly restart: () => void;
  readonly image: (set?: string) => BootImage | undefined;
}

/** See {@link ReportingCluster}. */
export function reportingCluster(options: FakeClusterOptions = {}): ReportingCluster {
  const cluster = fakeCluster(options);
  const started = (): { readonly state: PassState; readonly ports: PassPorts } => {
    const images = createBootImages({
      client: cluster.client,
      cached: (which) => cluster.client.peek(BootImage, which),
      exists: () => true,
      platform: () => 'vsphere',
      now: cluster.ports.now,
      facts: (set) => setFacts(set, cluster.ports),
    });
    const recorded = (set: KeptSet): ReturnType<typeof attemptsIn> =>
      attemptsIn(cluster.client.peek(BootImage, keyOf(imageOf(set))), set);
    return { state: createPassState(new Date(0), recorded), ports: { ...cluster.ports, report: images.report } };
  };
  let running = started();
  return {
    cluster,
    get state() {
      return running.state;
    },
    get ports() {
      return running.ports;
    },
    pass: (cause = {}) => {
      cluster.clock += 1000;
      return runPass(running.ports, running.state, { reason: 'Test', touched: 'all', ...cause });
    },
    restart: () => {
      running = started();
    },
    image: (set = 'wk-a') => cluster.client.peek(BootImage, keyOf(imageOf(machineSet(set)))),
  };
}
