import { setImmediate as tick } from 'node:timers/promises';
import { ConfigMap } from '@drydock/api';
import type { Clock, KubeObject, Resource } from '@drydock/kube';
import { type ClusterHook, type MemoryCluster, memoryCluster } from '@drydock/kube/testing';
import { createKinds } from '../apply/kinds.ts';
import { type ApplyMemory, applyMemory } from '../apply/memory.ts';
import { type ApplyCluster, DEFINITION } from './apply-cluster.ts';

/** A clock on which every sleep is over at once. */
export const instantClock: Clock = {
  now: () => 0,
  date: () => new Date(Date.UTC(2026, 0, 1)),
  sleep: async (_ms, { signal } = {}) => {
    signal?.throwIfAborted();
    await tick();
    signal?.throwIfAborted();
  },
};

/** An in-memory cluster for the applier. It establishes definitions and serves their kinds, and deletes their objects with them, as the real server does. */
export function memoryApplyCluster(resources: readonly Resource<KubeObject>[] = []): ApplyCluster & {
  readonly cluster: MemoryCluster;
  hook: ClusterHook | undefined;
} {
  const cluster = memoryCluster({ resources });
  const managers = new Set<string>();
  let [writes, requests] = [0, 0];
  cluster.subscribe(({ resource, now, old }) => {
    if (resource !== `${DEFINITION.plural}.${DEFINITION.group}` || now === undefined || old !== undefined) return;
    cluster.serve(now);
    const established = { conditions: [{ type: 'Established', status: 'True' }] };
    cluster.put(DEFINITION, { name: now.metadata.name }, { ...now, status: established } as Partial<KubeObject>);
  });
  const world = {
    cluster,
    hook: undefined as ClusterHook | undefined,
    namespace: 'default',
    clock: instantClock,
    writes: () => writes,
    requests: () => requests,
    client: (actor: 'manager' | 'administrator') => {
      const client = cluster.client();
      if (actor === 'manager') managers.add(client.id);
      return client;
    },
  };
  cluster.onCall = (call, phase, context) => {
    if (phase === 'before' && managers.has(context.client.id)) {
      if (call.verb !== 'watch') requests += 1;
      if (context.mutates) writes += 1;
    }
    return world.hook?.(call, phase, context);
  };
  return world;
}

/** What a process remembers that has asked for the kinds of ConfigMaps and definitions. */
export async function discovered(cluster: MemoryCluster): Promise<ApplyMemory> {
  const memory = applyMemory();
  const { signal } = new AbortController();
  const kinds = createKinds({ client: cluster.client(), manifests: [], memory, signal });
  for (const { group = '', version, kind } of [ConfigMap, DEFINITION]) {
    const found = await kinds.resourceOf({ group, kind, namespace: '', name: '' }, version);
    if (found === undefined) throw new Error(`${kind} is not served`);
  }
  return memory;
}
