import { BootImage } from '@drydock/api';
import type { Client } from '@drydock/kube';
import { type PassOutcome, runPass } from '../pass/pass.ts';
import { createPassState, type PassPorts } from '../pass/pass-state.ts';
import { setFacts } from '../pass/set-facts.ts';
import type { Platforms } from '../platforms.ts';
import { createBootImages } from '../status/boot-image-store.ts';
import type { FakeCluster } from './fake-cluster.ts';

/** What one process of the operator has of its own. */
export interface OperatorProcessOptions {
  readonly client: Client;
  readonly platforms: Platforms;
  /** A mistake that a test must find. */
  readonly mistake?: (ports: PassPorts) => PassPorts;
}

/** The passes of one process over a fake cluster: it knows nothing but what it reads, and ends with its client. */
export interface OperatorProcess {
  readonly ports: PassPorts;
  readonly pass: () => Promise<PassOutcome>;
}

/** See {@link OperatorProcess}. */
export function operatorProcess(
  { client: server, ports: shared }: FakeCluster,
  { client, platforms, mistake = (same) => same }: OperatorProcessOptions,
): OperatorProcess {
  const own = { ...shared, client, platforms, writeConditions: async () => undefined };
  const images = createBootImages({
    ...{ client, cached: (key) => server.peek(BootImage, key), exists: () => true },
    ...{ platform: () => 'vsphere', now: shared.now, facts: (set) => setFacts(set, own) },
  });
  const ports = mistake({ ...own, report: images.report });
  const state = createPassState(new Date(0));
  return { ports, pass: () => runPass(ports, state, { reason: 'Test', touched: 'all' }) };
}
