import { clusterEra } from '@drydock/preflight';
import { type RollbackMemory, rollbackMemory } from './memory.ts';
import { PATIENCE, type RollbackPhase, type RollbackPorts, type RollbackWish } from './wish.ts';

/** One attempt to go a way. */
export interface Way {
  readonly wish: RollbackWish;
  readonly ports: RollbackPorts;
  readonly memory: RollbackMemory;
  readonly patience: number;
  /** Kubernetes 1.x of the server. */
  readonly minor: () => Promise<number>;
  readonly say: (phase: RollbackPhase, what?: string) => void;
}

/** Begins one. */
export function wayOf(wish: RollbackWish, ports: RollbackPorts): Way {
  const { client, signal, patience = PATIENCE, memory = rollbackMemory() } = ports;
  let minor: Promise<number> | undefined;
  return {
    ...{ wish, ports, memory, patience },
    minor: () => {
      minor ??= clusterEra(client, { signal }).then(({ server }) => server.minor);
      return minor;
    },
    say: (phase, what = '') => ports.onProgress({ phase, what }),
  };
}
